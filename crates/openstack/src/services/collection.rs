//! Things that administrators keep: projects, users, roles, volume types, flavors ...
//!
//! Keystone's, Cinder's and Nova's collections work alike, but for the words and for the method that changes one; so a
//! [`Collection`] says the words and the calls are written once: `session.records(&PROJECTS).list(...)`. A record
//! stays as the service said it: who reads one reads a field or two, and shows the rest.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::lookups::{LONG, SHORT, only};
use crate::wire::call::Call;
use crate::wire::id::looks_like_id;
use crate::{Error, Microversion, Service, Session};

/// What a service says of one thing; its id is under `id`.
pub type Record = Map<String, Value>;

/// How a service changes a thing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ChangedBy {
    Put,
    Patch,
}

/// A kind of thing, and where it is kept.
#[derive(Clone, Copy, Debug)]
pub struct Collection {
    /// By which service.
    pub service: Service,
    /// For people: `volume type`.
    pub title: &'static str,
    /// The path of the collection: `os-aggregates`.
    pub(crate) path: &'static str,
    /// What follows it where all are listed in full: `detail`.
    pub(crate) in_full: Option<&'static str>,
    /// The word for one in bodies.
    pub(crate) one: &'static str,
    /// The word for many in bodies.
    pub(crate) many: &'static str,
    /// What changes one.
    pub(crate) changed_by: ChangedBy,
    /// The least microversion that has what is read and said.
    pub(crate) version: Option<Microversion>,
    /// What a list is asked with so that it has all, private ones too.
    pub(crate) all: &'static [(&'static str, &'static str)],
    /// Whether a list can be asked for a name.
    pub(crate) by_name: bool,
    /// For how long a look-up is kept.
    pub(crate) keep: Duration,
}

impl Collection {
    /// A collection that is as most are.
    pub(crate) const fn of(
        service: Service,
        path: &'static str,
        (one, many): (&'static str, &'static str),
        title: &'static str,
    ) -> Collection {
        Collection {
            service,
            title,
            path,
            in_full: None,
            one,
            many,
            changed_by: ChangedBy::Put,
            version: None,
            all: &[],
            by_name: true,
            keep: SHORT,
        }
    }

    /// Its things outlive runs.
    pub(crate) const fn lasting(mut self) -> Collection {
        self.keep = LONG;
        self
    }
}

/// The id; Nova numbers some things.
pub fn id_of(record: &Record) -> String {
    match record.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// Calls to a collection.
pub struct Records<'a> {
    session: &'a Session,
    of: &'static Collection,
}

impl Session {
    /// The things of a collection.
    pub fn records(&self, of: &'static Collection) -> Records<'_> {
        Records { session: self, of }
    }
}

impl<'a> Records<'a> {
    /// A call on the collection, or on what `rest` names in it.
    pub(crate) fn call(&self, method: Method, rest: &[&str]) -> Call<'a> {
        let path: Vec<&str> = [self.of.path]
            .into_iter()
            .chain(rest.iter().copied())
            .collect();
        let call = self.session.call(self.of.service, method, &path);
        match self.of.version {
            Some(version) => call.microversion(version),
            None => call,
        }
    }

    /// All that match, private ones too; filters as the service names them.
    pub async fn list(&self, query: &[(&str, &str)]) -> Result<Vec<Record>, Error> {
        let call = self.call(Method::GET, self.of.in_full.as_slice());
        let call = call.query(self.of.all.iter().chain(query).copied());
        call.list(self.of.many).await
    }

    /// All of this name, as far as the service can tell; else all.
    pub async fn list_named(
        &self,
        name: &str,
        query: &[(&str, &str)],
    ) -> Result<Vec<Record>, Error> {
        let named = [("name", name)];
        let named = named.iter().filter(|_| self.of.by_name);
        let query: Vec<(&str, &str)> = named.chain(query).copied().collect();
        self.list(&query).await
    }

    /// One.
    pub async fn get(&self, id: &str) -> Result<Record, Error> {
        self.call(Method::GET, &[id]).fetch(self.of.one).await
    }

    /// Make one; `fields` without the word around them.
    pub async fn create(&self, fields: &Record) -> Result<Record, Error> {
        let call = self.call(Method::POST, &[]);
        call.json(&json!({self.of.one: fields}))
            .fetch(self.of.one)
            .await
    }

    /// Change one; `fields` without the word around them.
    pub async fn update(&self, id: &str, fields: &Record) -> Result<(), Error> {
        let method = match self.of.changed_by {
            ChangedBy::Put => Method::PUT,
            ChangedBy::Patch => Method::PATCH,
        };
        let call = self.call(method, &[id]);
        call.json(&json!({self.of.one: fields}))
            .send()
            .await
            .map(drop)
    }

    /// Remove one. Not there is an error of status 404.
    pub async fn delete(&self, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, &[id]).send().await.map(drop)
    }

    /// Let one do something: `{"addTenantAccess": {...}}`.
    pub async fn act(&self, id: &str, body: &Value) -> Result<(), Error> {
        let call = self.call(Method::POST, &[id, "action"]);
        call.json(body).send().await.map(drop)
    }

    /// The id of the one with this id, or with a name that only one has among those that fit the query. What has the form of
    /// an id is not looked up: the service says itself when there is none.
    pub async fn id_named(&self, given: &str, query: &[(&str, &str)]) -> Result<String, Error> {
        if looks_like_id(given) {
            return Ok(given.to_owned());
        }
        let key = query.iter().fold(given.to_owned(), |key, (name, value)| {
            format!("{key}\n{name}={value}")
        });
        let lookups = self.session.lookups();
        let fetch = || self.id_now(given, query);
        let keep = |_: &String| self.of.keep;
        lookups.find(self.of.path, &key, keep, fetch).await
    }

    async fn id_now(&self, given: &str, query: &[(&str, &str)]) -> Result<String, Error> {
        match self.get(given).await {
            Ok(found) => return Ok(id_of(&found)),
            // Where ids are numbers, a name is no wrong id but a wrong question.
            Err(error) if error.is_not_found() || error.status() == Some(400) => {}
            Err(error) => return Err(error),
        }
        let mut named = self.list_named(given, query).await?;
        named.retain(|record| record.get("name").and_then(Value::as_str) == Some(given));
        let ids: Vec<String> = named.iter().map(id_of).collect();
        only(ids, self.of.title, given, |id| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_may_be_numbers() {
        let of = |record: Value| id_of(record.as_object().unwrap());
        assert_eq!(of(json!({"id": "a1"})), "a1");
        assert_eq!(of(json!({"id": 7})), "7");
        assert_eq!(of(json!({})), "");
    }
}
