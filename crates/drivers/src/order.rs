//! `OS::Barbican::Order`: an order for a generated key, key pair or certificate.
//!
//! The result (a secret, or a container with secrets) has the order's name and is deleted with it; Heat leaves it
//! behind. The secrets are deleted first, since only the container lists them. On most clouds, only administrators can
//! delete an order. If Barbican refuses, the order remains without its result and is not used again.
//!
//! An order for a key cannot be deleted while it is pending, as its result would be orphaned. An order for a
//! certificate can be pending forever and is deleted at once. The result is in attributes, including the private key,
//! which the journal encrypts like all attributes of that name. Source: Key Manager API v1, "Orders".

use async_trait::async_trait;
use openstack::key_manager::{KeyManager, Kind, id_of};
use serde_json::{Map, Value, json};

use super::key_manager::{KeyManagerType, metadata, payload};
use super::properties::Properties;
use crate::driver::DriverError;

pub(super) struct Order;

/// Secrets of a container that are attributes of the order.
const SECRET_ATTRIBUTES: &[&str] = &["public_key", "private_key", "certificate", "intermediates"];

#[async_trait]
impl KeyManagerType for Order {
    const KIND: Kind = Kind::Order;
    const TITLE: &'static str = "order for a secret";
    const GROWS: bool = true;

    fn body(
        &self,
        name: String,
        properties: Properties<'_>,
    ) -> Result<Map<String, Value>, DriverError> {
        let mut meta = Map::new();
        meta.insert("name".into(), name.into());
        properties.copy(
            &[
                "payload_content_type",
                "mode",
                "expiration",
                "algorithm",
                "request_type",
                "subject_dn",
                "source_container_ref",
                "ca_id",
                "profile",
                "request_data",
                "pass_phrase",
            ],
            &mut meta,
        );
        if let Some(bits) = properties.integer("bit_length")? {
            meta.insert("bit_length".into(), bits.into());
        }
        if let Some(container) = meta.remove("source_container_ref") {
            meta.insert("container_ref".into(), container);
        }
        let kind = properties.required("type")?;
        let body = json!({"type": kind, "meta": meta});
        Ok(body.as_object().cloned().unwrap_or_default())
    }

    async fn attributes(
        &self,
        keys: &KeyManager<'_>,
        order: &Value,
    ) -> Result<Map<String, Value>, DriverError> {
        let nothing = SECRET_ATTRIBUTES
            .iter()
            .map(|name| ((*name).to_owned(), Value::Null));
        let mut attributes: Map<String, Value> = nothing.collect();
        for made in [Kind::Secret, Kind::Container] {
            let reference = order[made.reference()].clone();
            attributes.insert(made.reference().into(), reference);
        }
        for secret in secrets(keys, order).await? {
            let name = secret["name"].as_str().unwrap_or_default();
            let id = reference(&secret, Kind::Secret);
            if let Some(id) = id.filter(|_| SECRET_ATTRIBUTES.contains(&name))
                && let Some(payload) = payload(keys, id).await?
            {
                attributes.insert(name.to_owned(), payload);
            }
        }
        Ok(attributes)
    }

    /// Whether the order has neither failed nor lost its result.
    async fn is_usable(&self, keys: &KeyManager<'_>, order: &Value) -> Result<bool, DriverError> {
        Ok(match order["status"].as_str() {
            Some("ERROR") => false,
            Some("PENDING") => true,
            _ => has_result(keys, order).await?,
        })
    }

    async fn remove(&self, keys: &KeyManager<'_>, id: &str) -> Result<(), DriverError> {
        let Some(order) = metadata(keys, Kind::Order, id).await? else {
            return Ok(());
        };
        if is_generating(&order) {
            return Ok(());
        }
        let secrets = secrets(keys, &order).await?;
        for holder in secrets.iter().chain([&order]) {
            if let Some(id) = reference(holder, Kind::Secret) {
                keys.remove(Kind::Secret, id).await?;
            }
        }
        if let Some(id) = reference(&order, Kind::Container) {
            keys.remove(Kind::Container, id).await?;
        }
        match keys.remove(Kind::Order, id).await {
            Err(error) if error.status() == Some(403) => {
                tracing::warn!(
                    order = id,
                    "administrators alone delete orders here; this one's receipt stays, what it made is gone"
                );
                Ok(())
            }
            other => Ok(other?),
        }
    }

    /// An order without its result counts as gone.
    async fn is_gone(&self, keys: &KeyManager<'_>, id: &str) -> Result<bool, DriverError> {
        let Some(order) = metadata(keys, Kind::Order, id).await? else {
            return Ok(true);
        };
        Ok(!is_generating(&order) && !has_result(keys, &order).await?)
    }
}

/// Whether the key manager is generating a result.
fn is_generating(order: &Value) -> bool {
    order["status"] == "PENDING" && order["type"] != "certificate"
}

/// Whether the result of an order exists.
async fn has_result(keys: &KeyManager<'_>, order: &Value) -> Result<bool, DriverError> {
    for made in [Kind::Secret, Kind::Container] {
        if let Some(id) = reference(order, made)
            && metadata(keys, made, id).await?.is_some()
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The id in the reference field of a resource type.
fn reference(holder: &Value, kind: Kind) -> Option<&str> {
    holder[kind.reference()].as_str().map(id_of)
}

/// The secrets of the container that an order created. Empty without a container.
async fn secrets(keys: &KeyManager<'_>, order: &Value) -> Result<Vec<Value>, DriverError> {
    let Some(id) = reference(order, Kind::Container) else {
        return Ok(Vec::new());
    };
    let container = metadata(keys, Kind::Container, id).await?;
    let listed = container.and_then(|one| one["secret_refs"].as_array().cloned());
    Ok(listed.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pending_key_is_being_generated_and_a_certificate_is_not() {
        let order = |kind: &str, status: &str| json!({"type": kind, "status": status});
        assert!(is_generating(&order("key", "PENDING")));
        assert!(is_generating(&order("asymmetric", "PENDING")));
        assert!(!is_generating(&order("certificate", "PENDING")));
        assert!(!is_generating(&order("key", "ACTIVE")));
    }

    #[test]
    fn body_of_an_order() {
        let given = json!({"type": "asymmetric", "algorithm": "rsa", "bit_length": "2048", "pass_phrase": "x", "mode": null});
        let body = Order.body("n".into(), Properties::of(given.as_object().unwrap()));
        assert_eq!(
            Value::Object(body.unwrap()),
            json!({"type": "asymmetric", "meta": {"name": "n", "algorithm": "rsa", "bit_length": 2048, "pass_phrase": "x"}})
        );
    }
}
