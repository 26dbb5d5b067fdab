//! Designate: zones, and the record sets in them. Records are JSON without a key around them.

use reqwest::Method;
use serde_json::Value;

use super::lookups::only;
use crate::wire::call::Call;
use crate::wire::id::looks_like_id;
use crate::{Error, Service, Session};

/// A collection of Designate.
#[derive(Clone, Copy, Debug)]
pub enum DnsCollection<'a> {
    /// The zones of the project.
    Zones,
    /// The record sets of the zone with this id.
    RecordSets(&'a str),
}

impl<'a> DnsCollection<'a> {
    fn path(self) -> Vec<&'a str> {
        match self {
            DnsCollection::Zones => vec!["zones"],
            DnsCollection::RecordSets(zone) => vec!["zones", zone, "recordsets"],
        }
    }

    /// Key of the records in a list.
    fn list_key(self) -> &'static str {
        match self {
            DnsCollection::Zones => "zones",
            DnsCollection::RecordSets(_) => "recordsets",
        }
    }
}

impl Session {
    /// Designate.
    pub fn dns(&self) -> Dns<'_> {
        Dns(self)
    }
}

/// Calls to Designate.
pub struct Dns<'a>(&'a Session);

impl<'a> Dns<'a> {
    fn call(&self, method: Method, of: DnsCollection<'_>, id: Option<&str>) -> Call<'a> {
        let mut path = of.path();
        path.extend(id);
        self.0.call(Service::Dns, method, &path)
    }

    /// Creates a record from `fields`. Returns it, mostly in the state `PENDING`.
    pub async fn create(&self, of: DnsCollection<'_>, fields: &Value) -> Result<Value, Error> {
        let call = self.call(Method::POST, of, None).json(fields);
        call.send().await?.json()
    }

    /// Records that match the filters in `query`.
    pub async fn list(
        &self,
        of: DnsCollection<'_>,
        query: &[(&str, &str)],
    ) -> Result<Vec<Value>, Error> {
        let call = self.call(Method::GET, of, None);
        call.query(query.iter().copied()).list(of.list_key()).await
    }

    /// The record with this id.
    pub async fn get(&self, of: DnsCollection<'_>, id: &str) -> Result<Value, Error> {
        self.call(Method::GET, of, Some(id)).send().await?.json()
    }

    /// Updates some fields of a record.
    pub async fn update(
        &self,
        of: DnsCollection<'_>,
        id: &str,
        fields: &Value,
    ) -> Result<(), Error> {
        let method = match of {
            DnsCollection::Zones => Method::PATCH,
            DnsCollection::RecordSets(_) => Method::PUT,
        };
        let call = self.call(method, of, Some(id)).json(fields);
        call.send().await.map(drop)
    }

    /// Deletes a record. It stays in the state `PENDING` until the name servers have deleted it.
    pub async fn delete(&self, of: DnsCollection<'_>, id: &str) -> Result<(), Error> {
        let call = self.call(Method::DELETE, of, Some(id));
        call.send().await.map(drop)
    }

    /// The zone with this id or name. The dot at the end of a name can be missing.
    pub async fn zone(&self, given: &str) -> Result<Value, Error> {
        if looks_like_id(given) {
            return self.get(DnsCollection::Zones, given).await;
        }
        let name = format!("{}.", given.trim_end_matches('.'));
        let query = [("name", name.as_str())];
        let mut found = self.list(DnsCollection::Zones, &query).await?;
        found.retain(|zone| zone["name"].as_str() == Some(name.as_str()));
        only(found, "zone", given, |zone| {
            zone["id"].as_str().unwrap_or_default()
        })
    }
}
