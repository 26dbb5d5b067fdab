//! `OS::Swift::Container`: a container of the object store, described by header fields.
//!
//! The name is the id, and a request to create an existing container changes it. So the driver looks for the container
//! first, and refuses one without its marker, which is a metadata field. A container with objects is deleted only with
//! `PurgeOnDelete`, a part of its objects at a time. Other than in Heat, all properties but the name update in place: a
//! replacement would lose the objects.
//!
//! Not tried on a real cloud: none with Swift was available. Sources: Object Storage API v1; Heat's `swift/container.py`.

use async_trait::async_trait;
use openstack::object_store::{Headers, ObjectStore};
use serde_json::{Map, Value, json};

use super::described::lookup;
use super::marker;
use super::properties::{Properties, if_valid};
use super::record::{done_if_gone, with_show};
use crate::driver::{Abilities, Context, Driver, DriverError, Duplicates, Progress, Ready, Update};

pub(super) struct Container;

/// The header field of the marker.
const MARKER: &str = "x-container-meta-stackloom";
/// Properties that are header fields of the container.
const ACCESS: [&str; 2] = ["X-Container-Read", "X-Container-Write"];
const METADATA: &str = "X-Container-Meta";
const ACCOUNT_METADATA: &str = "X-Account-Meta";
/// Objects that one call of a deletion removes.
const PURGED_AT_ONCE: usize = 200;
/// Swift's limit for names of containers.
const NAME_BYTES_MAX: usize = 256;

#[async_trait]
impl Driver for Container {
    /// A name identifies one container.
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Refused
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            update: Some(self),
            repeats_deletion: true,
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let name = name(context)?;
        let store = context.session.object_store();
        let headers = container_headers(context)?;
        let account = metadata_headers(context, ACCOUNT_METADATA)?;
        match head(&store, &name).await? {
            None => store.put(&name, headers).await?,
            Some(found) if is_ours(&found, context) => store.post(&name, headers).await?,
            Some(_) => {
                let message = format!(
                    "there is a container `{name}` already, which is not of this resource; choose another name"
                );
                return Err(Properties::of(context.properties).wrong("name", message));
            }
        }
        if !account.is_empty() {
            store.post_account(account).await?;
        }
        Ok(name)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let store = context.session.object_store();
        let Some(found) = head(&store, physical_id).await? else {
            return Ok(Progress::Failed("the container is gone".into()));
        };
        let account = store.account_url().await?;
        Ok(Progress::Ready(Ready {
            reference: json!(physical_id),
            attributes: attributes(physical_id, account.as_str(), &found),
        }))
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let store = context.session.object_store();
        let name = match physical_id {
            Some(id) => id.to_owned(),
            None => {
                let Some(name) = if_valid(name(context))? else {
                    return Ok(());
                };
                match head(&store, &name).await? {
                    Some(found) if is_ours(&found, context) => name,
                    _ => return Ok(()),
                }
            }
        };
        let objects = match store.objects(&name, PURGED_AT_ONCE).await {
            Err(error) if error.is_not_found() => return Ok(()),
            objects => objects?,
        };
        let purge = Properties::of(context.properties).boolean("PurgeOnDelete")?;
        if let Some(object) = objects.first()
            && purge != Some(true)
        {
            return Err(DriverError::Other(format!(
                "the container `{name}` has objects, such as `{object}`; delete them, or set `PurgeOnDelete` and update \
                 the deployment"
            )));
        }
        if let Some(object) = objects.iter().find(|object| has_no_address(object)) {
            return Err(DriverError::Other(format!(
                "the object `{object}` of the container `{name}` cannot be deleted, because a URL cannot end in this \
                 name; delete it with another tool, such as `curl --path-as-is`, and repeat"
            )));
        }
        for object in &objects {
            done_if_gone(store.delete_object(&name, object).await)?;
        }
        if objects.len() == PURGED_AT_ONCE {
            // The engine repeats the call for the others.
            return Ok(());
        }
        done_if_gone(store.delete(&name).await)
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        let store = context.session.object_store();
        Ok(head(&store, physical_id).await?.is_none())
    }
}

#[async_trait]
impl Update for Container {
    fn removable_entries(&self) -> &'static [&'static str] {
        &[METADATA, ACCOUNT_METADATA]
    }

    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let store = context.session.object_store();
        let mut headers = container_headers(context)?;
        // An empty field removes the access.
        for property in ACCESS {
            headers.entry(property.to_lowercase()).or_default();
        }
        store.post(physical_id, headers).await?;
        let account = metadata_headers(context, ACCOUNT_METADATA)?;
        if !account.is_empty() {
            store.post_account(account).await?;
        }
        Ok(())
    }
}

/// The name of the container: that of the template, else one that only this resource has.
fn name(context: &Context<'_>) -> Result<String, DriverError> {
    let properties = Properties::of(context.properties);
    let Some(given) = properties.filled("name")? else {
        return Ok(marker::unique_name(context.marker, context.properties).replace('/', "-"));
    };
    let is_path = matches!(given.as_str(), "." | "..") || given.contains('/');
    if is_path || given.len() > NAME_BYTES_MAX {
        let message = format!("it must be a name of {NAME_BYTES_MAX} bytes at most, without `/`");
        return Err(properties.wrong("name", message));
    }
    Ok(given)
}

/// Header fields of a container. `None` if there is none with the name.
async fn head(store: &ObjectStore<'_>, name: &str) -> Result<Option<Headers>, DriverError> {
    match store.head(name).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// True for names that a URL drops from its path, also if they are percent-encoded: a request would be for the container.
fn has_no_address(object: &str) -> bool {
    matches!(object, "." | "..")
}

/// True for header fields that describe the container. The others describe the response, and change with each.
fn describes(field: &str) -> bool {
    let is_hidden = field == MARKER || field.contains("-key");
    !is_hidden && (field.starts_with("x-container-") || field == "x-storage-policy")
}

fn is_ours(found: &Headers, context: &Context<'_>) -> bool {
    found.get(MARKER) == Some(&marker::tag(context.marker))
}

/// All header fields of the container that come from the template, with the marker.
fn container_headers(context: &Context<'_>) -> Result<Headers, DriverError> {
    let properties = Properties::of(context.properties);
    let mut headers = metadata_headers(context, METADATA)?;
    for property in ACCESS {
        if let Some(value) = properties.filled(property)? {
            headers.insert(
                property.to_lowercase(),
                checked(properties, property, value)?,
            );
        }
    }
    headers.insert(MARKER.to_owned(), marker::tag(context.marker));
    Ok(headers)
}

/// Header fields of a map of metadata. The keys that an update removes have an empty value, which deletes them.
fn metadata_headers(context: &Context<'_>, property: &str) -> Result<Headers, DriverError> {
    let properties = Properties::of(context.properties);
    let (leaving, wanted) = lookup::keys(context, property)?;
    let mut headers = Headers::new();
    let leaving = leaving.into_iter().map(|key| (key, Value::from("")));
    for (key, value) in leaving.chain(wanted) {
        let is_name = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '.');
        if key.is_empty() || !key.chars().all(is_name) {
            let message =
                format!("`{key}` is no name of a header field: use letters, digits and `-`");
            return Err(properties.wrong(property, message));
        }
        let value = value.as_str().unwrap_or_default().to_owned();
        let name = format!("{property}-{key}").to_lowercase();
        headers.insert(name, checked(properties, property, value)?);
    }
    Ok(headers)
}

/// A value of a header field.
fn checked(
    properties: Properties<'_>,
    property: &str,
    value: String,
) -> Result<String, DriverError> {
    if value.chars().any(char::is_control) {
        let message = "it must be one line without control characters".to_owned();
        return Err(properties.wrong(property, message));
    }
    Ok(value)
}

/// Heat's attributes. Keys that sign addresses of objects are not among the header fields.
fn attributes(name: &str, account: &str, found: &Headers) -> Map<String, Value> {
    let field = |name: &str| found.get(name).cloned();
    let host = account.split("://").nth(1).unwrap_or_default();
    let host = host.split(['/', ':']).next().unwrap_or_default();
    let account = account.trim_end_matches('/');
    let shown = found.iter().filter(|(name, _)| describes(name));
    let shown: Map<String, Value> = shown
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let attributes = [
        ("DomainName", json!(host)),
        ("WebsiteURL", json!(format!("{account}/{name}"))),
        ("RootURL", json!(account)),
        ("ObjectCount", json!(field("x-container-object-count"))),
        ("BytesUsed", json!(field("x-container-bytes-used"))),
        ("HeadContainer", Value::Object(shown)),
    ];
    let attributes = attributes.into_iter();
    with_show(
        attributes
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_those_of_heat_without_keys() {
        let found = [
            ("x-container-object-count", "2"),
            ("x-container-bytes-used", "300"),
            ("x-container-meta-tier", "web"),
            ("x-container-meta-temp-url-key", "secret"),
            (MARKER, "stackloom-0123"),
            ("x-storage-policy", "gold"),
            ("date", "Fri, 02 Jan 2026 10:00:00 GMT"),
            ("x-trans-id", "tx0"),
        ];
        let found = found.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let account = "https://objects.example.org:8080/v1/AUTH_p";
        let attributes = attributes("pictures", account, &Headers::from(found));
        assert_eq!(attributes["DomainName"], "objects.example.org");
        assert_eq!(attributes["WebsiteURL"], format!("{account}/pictures"));
        assert_eq!(attributes["RootURL"], account);
        assert_eq!(attributes["ObjectCount"], "2");
        assert_eq!(
            attributes["HeadContainer"],
            json!({"x-container-object-count": "2", "x-container-bytes-used": "300", "x-container-meta-tier": "web",
                "x-storage-policy": "gold"})
        );
        assert!(!Value::Object(attributes).to_string().contains("secret"));
    }

    #[test]
    fn objects_whose_names_a_url_drops_are_refused() {
        for (object, refused) in [(".", true), ("..", true), (".a", false), ("a/.", false)] {
            assert_eq!(has_no_address(object), refused, "{object}");
        }
    }
}
