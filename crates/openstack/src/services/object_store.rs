//! Swift: containers and their objects. Containers are described by header fields.

use std::collections::BTreeMap;

use reqwest::{Method, Url};
use serde_json::Value;

use crate::{Error, Service, Session};

/// Names and values of header fields. Names are in lower case.
pub type Headers = BTreeMap<String, String>;

impl Session {
    /// Swift.
    pub fn object_store(&self) -> ObjectStore<'_> {
        ObjectStore(self)
    }
}

/// Calls to Swift, in the account of the project.
pub struct ObjectStore<'a>(&'a Session);

impl ObjectStore<'_> {
    /// URL of the account.
    pub async fn account_url(&self) -> Result<Url, Error> {
        self.0.service_url(Service::ObjectStore).await
    }

    /// Header fields of a container.
    pub async fn head(&self, container: &str) -> Result<Headers, Error> {
        let call = self
            .0
            .call(Service::ObjectStore, Method::HEAD, &[container]);
        let answer = call.send().await?;
        let fields = answer.headers.iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.as_str().to_owned(), value.into_owned())
        });
        Ok(fields.collect())
    }

    /// Creates a container. An existing one gets the header fields in addition to its own.
    pub async fn put(&self, container: &str, headers: Headers) -> Result<(), Error> {
        self.change(Method::PUT, &[container], headers).await
    }

    /// Updates the given header fields of a container.
    pub async fn post(&self, container: &str, headers: Headers) -> Result<(), Error> {
        self.change(Method::POST, &[container], headers).await
    }

    /// Updates the given header fields of the account.
    pub async fn post_account(&self, headers: Headers) -> Result<(), Error> {
        self.change(Method::POST, &[], headers).await
    }

    async fn change(&self, method: Method, path: &[&str], headers: Headers) -> Result<(), Error> {
        let call = self.0.call(Service::ObjectStore, method, path);
        // Some gateways refuse a request without a length.
        let call = call.header("content-length", "0").headers(headers);
        call.send().await.map(drop)
    }

    /// Deletes a container. One with objects is a conflict.
    pub async fn delete(&self, container: &str) -> Result<(), Error> {
        let path = [container];
        let call = self.0.call(Service::ObjectStore, Method::DELETE, &path);
        call.send().await.map(drop)
    }

    /// Names of the first objects in a container, `limit` at most.
    pub async fn objects(&self, container: &str, limit: usize) -> Result<Vec<String>, Error> {
        let call = self.0.call(Service::ObjectStore, Method::GET, &[container]);
        let limit = limit.to_string();
        let call = call.query([("format", "json"), ("limit", limit.as_str())]);
        let answer = call.send().await?;
        // Without objects, some versions answer without a body.
        if answer.body.is_empty() {
            return Ok(Vec::new());
        }
        let objects: Vec<Value> = answer.json()?;
        let names = objects.iter().filter_map(|one| one["name"].as_str());
        Ok(names.map(str::to_owned).collect())
    }

    /// Deletes an object.
    pub async fn delete_object(&self, container: &str, object: &str) -> Result<(), Error> {
        let path = [container, object];
        let call = self.0.call(Service::ObjectStore, Method::DELETE, &path);
        call.send().await.map(drop)
    }
}
