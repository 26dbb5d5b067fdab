//! Pagination of lists.
//!
//! Services have different fields for the next page: Nova and Neutron `servers_links` with `rel: next`, Glance and
//! Barbican `next`, Keystone `links.next`. Only the query of such a link is used: behind proxies its host is often
//! wrong, and a token is sent only to the endpoint.

use reqwest::Url;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::call::Call;
use crate::Error;

/// Maximum number of pages. More pages indicate a loop in the service's links.
const PAGES_MAX: usize = 1000;

impl Call<'_> {
    /// Sends the call for each page of a list. Returns the items of all pages; `key` is their key in the response.
    pub async fn list<T: DeserializeOwned>(self, key: &str) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        let mut call = self;
        let mut request_id = String::new();
        for _ in 0..PAGES_MAX {
            let answer = call.clone().send().await?;
            request_id = answer.request_id();
            let mut body: Value = answer.json()?;
            let next = next_query(&body, key);
            let items = body
                .get_mut(key)
                .map(Value::take)
                .ok_or_else(|| answer.malformed(format!("`{key}` is missing")))?;
            let items: Vec<T> = serde_json::from_value(items)
                .map_err(|error| answer.malformed(format!("`{key}`: {error}")))?;
            let empty = items.is_empty();
            all.extend(items);
            match next {
                Some(next) if !empty && next != call.query => call.query = next,
                _ => return Ok(all),
            }
        }
        Err(Error::Malformed {
            service: call.service,
            method: "GET".into(),
            path: format!("/{}", call.path.join("/")),
            why: format!("the list does not end after {PAGES_MAX} pages"),
            request_id,
        })
    }
}

/// The query of the link to the next page, if any.
fn next_query(body: &Value, key: &str) -> Option<Vec<(String, String)>> {
    let linked = body
        .get(format!("{key}_links"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .find(|link| link.get("rel").and_then(Value::as_str) == Some("next"))
        .and_then(|link| link.get("href"));
    let href = linked
        .or_else(|| body.get("next"))
        .or_else(|| body.get("links")?.get("next"))?
        .as_str()?;
    // Glance returns only a path. The base is irrelevant, as only the query is used.
    let base: Url = "http://localhost/".parse().ok()?;
    let link = base.join(href).ok()?;
    Some(link.query_pairs().into_owned().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(body: Value, key: &str, expected: Option<(&str, &str)>) {
        let found = next_query(&body, key);
        let expected = expected.map(|(name, value)| vec![(name.to_string(), value.to_string())]);
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn every_service_has_its_own_link() {
        check(
            json!({"servers": [], "servers_links": [{"rel": "next", "href": "http://x/servers?marker=a"}]}),
            "servers",
            Some(("marker", "a")),
        );
        check(
            json!({"ports": [], "ports_links": [{"rel": "previous", "href": "http://x?marker=a"}]}),
            "ports",
            None,
        );
        check(
            json!({"images": [], "next": "/v2/images?marker=b"}),
            "images",
            Some(("marker", "b")),
        );
        check(
            json!({"secrets": [], "next": "http://x/v1/secrets?offset=10"}),
            "secrets",
            Some(("offset", "10")),
        );
        check(
            json!({"projects": [], "links": {"next": null, "self": "x"}}),
            "projects",
            None,
        );
    }
}
