//! Version discovery: from the URL in the catalogue to the URL of the supported API version.
//!
//! Catalogues contain anything from `http://host:9696` over `http://host/network/v2.0/` to
//! `https://host/compute/v2.1/<project id>`. The part before the version segment stays unchanged: links of services
//! behind a proxy often have a wrong host or lack the proxy's path prefix. Only the version segment is taken from a
//! version document.

use std::sync::PoisonError;

use reqwest::{Method, Url};
use serde_json::Value;

use super::endpoint::{Endpoint, Microversion};
use super::transport::{Outgoing, Transport};
use crate::{Error, Secret, Service};

impl Transport {
    /// The endpoint of a service, cached per cloud.
    pub(crate) async fn endpoint(
        &self,
        service: Service,
        address: &Url,
        project_id: Option<&str>,
        token: &Secret,
    ) -> Result<Endpoint, Error> {
        let key = (service, address.to_string());
        let endpoints = || {
            self.endpoints
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let known = endpoints().get(&key).cloned();
        if let Some(endpoint) = known {
            return Ok(endpoint);
        }
        let endpoint = self
            .discover(service, address, project_id, Some(token))
            .await?;
        endpoints().insert(key, endpoint.clone());
        Ok(endpoint)
    }

    /// Reads the URL of the supported version from the service. Services without version discovery get the default
    /// path.
    pub(crate) async fn discover(
        &self,
        service: Service,
        address: &Url,
        project_id: Option<&str>,
        token: Option<&Secret>,
    ) -> Result<Endpoint, Error> {
        let Some((major, usual)) = service.version() else {
            return Ok(Endpoint {
                base: trimmed(address.clone()),
                microversions: None,
            });
        };
        let (root, version, rest) = split(address, project_id);
        let wants_microversions = matches!(service, Service::Compute | Service::BlockStorage);
        // A versioned URL is sufficient, unless the range of microversions is needed.
        if let Some(version) = &version
            && version_of(version).is_some_and(|(found, _)| found == major)
            && !wants_microversions
        {
            return Ok(Endpoint {
                base: join(&root, &[version], &rest),
                microversions: None,
            });
        }
        let address = match &version {
            Some(version) => join(&root, &[version, ""], &[]),
            None => join(&root, &[""], &[]),
        };
        let answer = self
            .exchange(Outgoing {
                service,
                method: Method::GET,
                url: address,
                token,
                headers: Vec::new(),
                body: None,
            })
            .await?;
        // Keystone, Glance and Barbican answer 300 at their root.
        let document: Value = match answer.status {
            200 | 300 => answer.json().unwrap_or(Value::Null),
            502..=504 | 429 => return Err(answer.refusal()),
            _ => Value::Null,
        };
        let best = versions(&document)
            .into_iter()
            .filter(|found| found.number.0 == major)
            .max_by_key(|found| (found.current, found.number));
        let segment = match (&version, &best) {
            (Some(version), _) => version.clone(),
            (None, Some(best)) => best.segment.clone(),
            (None, None) => usual.to_string(),
        };
        Ok(Endpoint {
            base: join(&root, &[&segment], &rest),
            microversions: best.and_then(|best| best.microversions),
        })
    }
}

/// Splits a URL into the part before the version, the version segment, and the rest without the project id. Nova
/// accepts URLs with and without the project id; the form without is newer.
fn split(address: &Url, project_id: Option<&str>) -> (Url, Option<String>, Vec<String>) {
    let segments: Vec<String> = address
        .path_segments()
        .into_iter()
        .flatten()
        .filter(|segment| !segment.is_empty())
        .map(str::to_string)
        .collect();
    let at = segments
        .iter()
        .position(|segment| version_of(segment).is_some());
    let (before, version, after) = match at {
        Some(at) => (
            &segments[..at],
            Some(segments[at].clone()),
            segments[at + 1..].to_vec(),
        ),
        None => (&segments[..], None, Vec::new()),
    };
    let optional = project_id.is_some_and(|id| after.first().is_some_and(|first| first == id))
        && version.as_deref() == Some("v2.1");
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    let root = join(&with_path(address, ""), &before, &[]);
    (root, version, if optional { Vec::new() } else { after })
}

/// Parses a version segment: `v2.1` is (2, 1).
fn version_of(segment: &str) -> Option<(u32, u32)> {
    let number = segment.strip_prefix('v')?;
    match number.split_once('.') {
        Some((major, minor)) => Some((major.parse().ok()?, minor.parse().ok()?)),
        None => Some((number.parse().ok()?, 0)),
    }
}

struct Version {
    number: (u32, u32),
    segment: String,
    current: bool,
    microversions: Option<(Microversion, Microversion)>,
}

/// All versions of a document: `{"versions": [...]}`, Keystone's `{"versions": {"values": [...]}}`, or one `{"version":
/// {...}}`.
fn versions(document: &Value) -> Vec<Version> {
    let listed = match (document.get("versions"), document.get("version")) {
        (Some(Value::Array(all)), _) => all.clone(),
        (Some(other), _) => other
            .get("values")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
        (None, Some(one)) => vec![one.clone()],
        (None, None) => Vec::new(),
    };
    listed
        .iter()
        .filter_map(|version| {
            let id = version.get("id")?.as_str()?;
            let text = |key: &str| version.get(key).and_then(Value::as_str).unwrap_or_default();
            let segment = version
                .get("links")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter(|link| link.get("rel").and_then(Value::as_str) == Some("self"))
                .find_map(|link| {
                    let path = link.get("href")?.as_str()?.trim_end_matches('/');
                    let last = path.rsplit('/').next()?;
                    version_of(last).map(|_| last.to_string())
                })
                .unwrap_or_else(|| id.to_string());
            let range = Microversion::parse(text("min_version")).zip(
                Microversion::parse(text("max_version"))
                    .or_else(|| Microversion::parse(text("version"))),
            );
            Some(Version {
                number: version_of(id)?,
                segment,
                current: matches!(text("status").to_lowercase().as_str(), "current" | "stable"),
                microversions: range,
            })
        })
        .collect()
}

fn with_path(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

fn trimmed(url: Url) -> Url {
    let path = url.path().trim_end_matches('/').to_string();
    with_path(&url, &path)
}

/// Appends segments. An empty last segment produces a trailing slash.
fn join(root: &Url, first: &[&str], rest: &[String]) -> Url {
    let mut path = root.path().trim_end_matches('/').to_string();
    for segment in first.iter().copied().chain(rest.iter().map(String::as_str)) {
        path.push('/');
        path.push_str(segment);
    }
    with_path(root, &path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_split(address: &str, root: &str, version: Option<&str>, rest: &[&str]) {
        let found = split(&address.parse().unwrap(), Some("p1"));
        assert_eq!(found.0.as_str().trim_end_matches('/'), root, "{address}");
        assert_eq!(found.1.as_deref(), version, "{address}");
        assert_eq!(found.2, rest, "{address}");
    }

    #[test]
    fn the_path_before_the_version_is_kept() {
        check_split("http://h:9696", "http://h:9696", None, &[]);
        check_split(
            "http://h/network/v2.0/",
            "http://h/network",
            Some("v2.0"),
            &[],
        );
        check_split("https://h/a/b/v2.1/p1", "https://h/a/b", Some("v2.1"), &[]);
        check_split("https://h/v3/p1", "https://h", Some("v3"), &["p1"]);
        check_split("https://h/volume", "https://h/volume", None, &[]);
    }

    #[test]
    fn version_documents_of_all_kinds() {
        let nova = json!({"version": {"id": "v2.1", "status": "CURRENT", "version": "2.93", "min_version": "2.1",
            "links": [{"rel": "self", "href": "http://wrong/v2.1/"}]}});
        let found = versions(&nova);
        assert_eq!(
            found[0].microversions,
            Some((Microversion(2, 1), Microversion(2, 93)))
        );
        assert_eq!(found[0].segment, "v2.1");

        let glance = json!({"versions": [
            {"id": "v2.16", "status": "CURRENT", "links": [{"rel": "self", "href": "http://h:9292/v2/"}]},
            {"id": "v2.0", "status": "SUPPORTED", "links": [{"rel": "self", "href": "http://h:9292/v2/"}]}]});
        assert_eq!(versions(&glance)[0].segment, "v2");

        let keystone =
            json!({"versions": {"values": [{"id": "v3.14", "status": "stable", "links": []}]}});
        assert_eq!(versions(&keystone)[0].number, (3, 14));

        assert!(versions(&json!("nonsense")).is_empty());
        assert!(versions(&json!({"versions": 7})).is_empty());
    }

    #[test]
    fn microversions_are_ordered_as_numbers() {
        assert!(Microversion::parse("2.9") < Microversion::parse("2.52"));
        assert_eq!(Microversion::parse("two"), None);
    }
}
