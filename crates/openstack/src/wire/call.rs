//! A builder for one call to a service.

use std::borrow::Cow;

use reqwest::{Method, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answer::Answer;
use super::endpoint::{Endpoint, Microversion};
use super::transport::{Outgoing, Transport};
use crate::{Error, Secret, Service};

/// Transport and token for a call.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub transport: &'a Transport,
    pub token: &'a Secret,
    pub project_id: Option<&'a str>,
}

/// A call to a service.
#[derive(Clone)]
pub struct Call<'a> {
    caller: Caller<'a>,
    pub(super) service: Service,
    /// URL of the service, from the configuration or the catalogue.
    address: Result<Url, Error>,
    method: Method,
    pub(super) path: Vec<String>,
    pub(super) query: Vec<(String, String)>,
    body: Option<Value>,
    microversion: Option<Microversion>,
    headers: Vec<(Cow<'static, str>, String)>,
}

impl Caller<'_> {
    /// The endpoint of the service with this URL.
    pub(crate) async fn endpoint(
        &self,
        service: Service,
        address: &Url,
    ) -> Result<Endpoint, Error> {
        self.transport
            .endpoint(service, address, self.project_id, self.token)
            .await
    }
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        caller: Caller<'a>,
        service: Service,
        address: Result<Url, Error>,
        method: Method,
        path: &[&str],
    ) -> Call<'a> {
        Call {
            caller,
            service,
            address,
            method,
            path: path.iter().map(|segment| segment.to_string()).collect(),
            query: Vec::new(),
            body: None,
            microversion: None,
            headers: Vec::new(),
        }
    }

    /// Adds query parameters.
    pub fn query<'q>(mut self, pairs: impl IntoIterator<Item = (&'q str, &'q str)>) -> Self {
        let pairs = pairs
            .into_iter()
            .map(|(key, value)| (key.to_string(), value.to_string()));
        self.query.extend(pairs);
        self
    }

    /// Sets the JSON body.
    pub fn json(mut self, body: &Value) -> Self {
        self.body = Some(body.clone());
        self
    }

    /// Adds a header field. The name must be in lower case.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name.into(), value.to_string()));
        self
    }

    /// Adds header fields with computed names, in lower case. An invalid name or value is an error of the call.
    pub fn headers(mut self, fields: impl IntoIterator<Item = (String, String)>) -> Self {
        let fields = fields.into_iter();
        self.headers
            .extend(fields.map(|(name, value)| (name.into(), value)));
        self
    }

    /// Sets the lowest microversion with the features of the call. Older clouds get their newest version instead, and
    /// refuse unknown features.
    pub fn microversion(mut self, wanted: Microversion) -> Self {
        self.microversion = Some(wanted);
        self
    }

    /// Sends the call. A status other than 2xx is an error.
    pub async fn send(self) -> Result<Answer, Error> {
        self.answer().await?.check()
    }

    /// Sends the call and returns the response with any status.
    pub async fn answer(self) -> Result<Answer, Error> {
        let Caller {
            transport, token, ..
        } = self.caller;
        let endpoint = self.caller.endpoint(self.service, &self.address?).await?;
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let mut url = segments(&endpoint.base, &path);
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        let mut headers = self.headers;
        if let Some(wanted) = self.microversion {
            let spoken = endpoint
                .microversions
                .map_or(wanted, |(_, newest)| wanted.min(newest));
            let service = self.service.microversion_name();
            headers.push((
                "openstack-api-version".into(),
                format!("{service} {spoken}"),
            ));
            if self.service == Service::Compute {
                headers.push(("x-openstack-nova-api-version".into(), spoken.to_string()));
            }
        }
        let out = Outgoing {
            service: self.service,
            method: self.method,
            url,
            token: Some(token),
            headers,
            body: self.body,
        };
        transport.exchange(out).await
    }

    /// Sends the call and parses the value of a key of the response.
    pub async fn fetch<T: DeserializeOwned>(self, key: &str) -> Result<T, Error> {
        self.send().await?.json_at(key)
    }
}

/// Appends percent-encoded segments, so user input cannot change other parts of the path.
pub(crate) fn segments(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_in_paths() {
        let base: Url = "http://h/compute/v2.1".parse().unwrap();
        let url = segments(&base, &["os-keypairs", "../servers/x?y#z"]);
        assert_eq!(
            url.as_str(),
            "http://h/compute/v2.1/os-keypairs/..%2Fservers%2Fx%3Fy%23z"
        );
    }
}
