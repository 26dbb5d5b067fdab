//! Collections of a service: networks, projects, users, volume types, flavors ...
//!
//! Most collections differ only in their names and in the HTTP method of updates. A [`Collection`] describes these
//! differences, and the calls are written once: `session.records(&PROJECTS).list(...)`. A record stays as the service
//! sent it.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::lookups::{LONG, SHORT, only};
use crate::wire::call::Call;
use crate::wire::id::looks_like_id;
use crate::{Error, Microversion, Service, Session};

/// A resource as returned by its service. The id is the field `id`.
pub type Record = Map<String, Value>;

/// Description of a REST collection.
#[derive(Clone, Copy, Debug)]
pub struct Collection {
    /// Service of the collection.
    pub service: Service,
    /// Display name of the resource type: `volume type`.
    pub title: &'static str,
    /// Path of the collection: `os-aggregates`, `qos/policies`. Braces stand for the id of the parent resource:
    /// `lbaas/pools/{pool}/members`.
    pub(crate) path: &'static str,
    /// Path segment of the list with all fields: `detail`.
    pub in_full: Option<&'static str>,
    /// Key of one record in bodies.
    pub(crate) key: &'static str,
    /// Key of several records in bodies.
    pub(crate) list_key: &'static str,
    /// First microversion with all fields that Stackloom uses.
    pub version: Option<Microversion>,
    /// Query of a list with all records, including private ones.
    pub all: &'static [(&'static str, &'static str)],
    /// Whether lists have a filter by name.
    pub by_name: bool,
    /// Lifetime of a cached look-up.
    pub(crate) cache_lifetime: Duration,
}

impl Collection {
    /// A collection with the usual properties.
    pub const fn of(
        service: Service,
        path: &'static str,
        (key, list_key): (&'static str, &'static str),
        title: &'static str,
    ) -> Collection {
        Collection {
            service,
            title,
            path,
            in_full: None,
            key,
            list_key,
            version: None,
            all: &[],
            by_name: true,
            cache_lifetime: SHORT,
        }
    }

    fn segments<'a>(&self) -> std::str::Split<'a, char> {
        let path: &'a str = self.path;
        path.split('/')
    }

    /// Uses the long cache lifetime, for resources that outlive runs.
    pub(crate) const fn long_cached(mut self) -> Collection {
        self.cache_lifetime = LONG;
        self
    }
}

/// The id of a record as text. Some of Nova's ids are numbers.
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
    /// Calls to a collection.
    pub fn records(&self, of: &'static Collection) -> Records<'_> {
        Records { session: self, of }
    }
}

impl<'a> Records<'a> {
    /// A call to the collection, or to the path `rest` below it.
    pub(crate) fn call(&self, method: Method, rest: &[&str]) -> Call<'a> {
        let path: Vec<&str> = self.of.segments().chain(rest.iter().copied()).collect();
        self.call_at(method, &path)
    }

    fn call_at(&self, method: Method, path: &[&str]) -> Call<'a> {
        let call = self.session.call(self.of.service, method, path);
        match self.of.version {
            Some(version) => call.microversion(version),
            None => call,
        }
    }

    /// All matching records, including private ones. `query` contains filters of the service.
    pub async fn list(&self, query: &[(&str, &str)]) -> Result<Vec<Record>, Error> {
        let call = self.call(Method::GET, self.of.in_full.as_slice());
        let call = call.query(self.of.all.iter().chain(query).copied());
        call.list(self.of.list_key).await
    }

    /// All records of a nested collection in this parent resource.
    pub async fn list_in(&self, parent: &str) -> Result<Vec<Record>, Error> {
        let segments = self.of.segments();
        let path = segments.map(|segment| {
            if segment.starts_with('{') {
                parent
            } else {
                segment
            }
        });
        let path: Vec<&str> = path.collect();
        let call = self.call_at(Method::GET, &path);
        call.list(self.of.list_key).await
    }

    /// Records with this name. All records if the service has no filter by name.
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

    /// The record with this id.
    pub async fn get(&self, id: &str) -> Result<Record, Error> {
        self.call(Method::GET, &[id]).fetch(self.of.key).await
    }

    /// Creates a record. `fields` is the object without its outer key.
    pub async fn create(&self, fields: &Record) -> Result<Record, Error> {
        let call = self.call(Method::POST, &[]);
        call.json(&json!({self.of.key: fields}))
            .fetch(self.of.key)
            .await
    }

    /// Updates a record. `fields` is the object without its outer key. Returns the record, or an empty one if the
    /// response has no record.
    pub async fn update(&self, id: &str, fields: &Record) -> Result<Record, Error> {
        let method = match self.of.service {
            Service::Identity => Method::PATCH,
            _ => Method::PUT,
        };
        let call = self.call(method, &[id]);
        let answer = call.json(&json!({self.of.key: fields})).send().await?;
        Ok(answer.json_at(self.of.key).unwrap_or_default())
    }

    /// Replaces all tags of a record.
    pub async fn set_tags(&self, id: &str, tags: &[String]) -> Result<(), Error> {
        let call = self.call(Method::PUT, &[id, "tags"]);
        call.json(&json!({"tags": tags})).send().await.map(drop)
    }

    /// Deletes a record. A missing record is an error of status 404.
    pub async fn delete(&self, id: &str) -> Result<(), Error> {
        self.call(Method::DELETE, &[id]).send().await.map(drop)
    }

    /// Sends an action: `{"addTenantAccess": {...}}`.
    pub async fn act(&self, id: &str, body: &Value) -> Result<(), Error> {
        let call = self.call(Method::POST, &[id, "action"]);
        call.json(body).send().await.map(drop)
    }

    /// The id of the record with this id, or with a name that is unique among the matches of the query. Text in the
    /// form of an id is returned without a look-up: the service reports a missing record itself.
    pub async fn id_named(&self, given: &str, query: &[(&str, &str)]) -> Result<String, Error> {
        if looks_like_id(given) {
            return Ok(given.to_owned());
        }
        let key = query.iter().fold(given.to_owned(), |key, (name, value)| {
            format!("{key}\n{name}={value}")
        });
        let lookups = self.session.lookups();
        let fetch = || self.find_now(given, query);
        let cache_lifetime = |found: &Record| match found.get("router:external") {
            Some(Value::Bool(true)) => LONG,
            _ => self.of.cache_lifetime,
        };
        let found = lookups
            .find(self.of.path, &key, cache_lifetime, fetch)
            .await?;
        Ok(id_of(&found))
    }

    /// Looks up a record. Of several with the name, the one in the session's own project wins, as administrators see
    /// all projects.
    async fn find_now(&self, given: &str, query: &[(&str, &str)]) -> Result<Record, Error> {
        // Neutron and Octavia use UUIDs, which the caller has recognized already.
        if !matches!(self.of.service, Service::Network | Service::LoadBalancer) {
            match self.get(given).await {
                Ok(found) => return Ok(found),
                // A service with numeric ids can answer 400 to a name.
                Err(error) if error.is_not_found() || error.status() == Some(400) => {}
                Err(error) => return Err(error),
            }
        }
        let text = |record: &Record, field: &str| {
            let text = record.get(field).and_then(Value::as_str);
            text.map(str::to_owned)
        };
        let mut named = self.list_named(given, query).await?;
        named.retain(|record| text(record, "name").as_deref() == Some(given));
        if let Some(own) = self.session.project() {
            let is_own = |record: &Record| text(record, "project_id").as_ref() == Some(&own.id);
            if named.len() > 1 && named.iter().any(is_own) {
                named.retain(is_own);
            }
        }
        let named = named.into_iter().map(|record| (id_of(&record), record));
        let found = only(named.collect(), self.of.title, given, |(id, _)| id)?;
        Ok(found.1)
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
