//! `OS::Barbican::Order`: has the key manager make a key, a pair of keys or a certificate.
//!
//! What it makes (a secret, or a container with secrets) has the order's name, and goes with it: Heat leaves it behind. Most
//! clouds let administrators alone delete an order, so where that is refused this receipt stays, without anything behind it.
//! Of what was made, attributes give what everybody may read; a private key is none of them, for attributes are stored in clear.
//! Source: Key Manager API v1, "Orders".

use async_trait::async_trait;
use openstack::key_manager::{KeyManager, Kind, id_of};
use serde_json::{Map, Value, json};

use super::key_manager::{Keeps, about};
use super::properties::Properties;
use crate::driver::DriverError;

pub(super) struct Order;

/// Secrets of a container that others may read.
const PUBLIC: &[&str] = &["public_key", "certificate", "intermediates"];

#[async_trait]
impl Keeps for Order {
    const KIND: Kind = Kind::Order;
    const TITLE: &'static str = "order for a secret";

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
        let mut attributes = Map::new();
        for made in [Kind::Secret, Kind::Container] {
            let reference = order[made.reference()].clone();
            attributes.insert(made.reference().into(), reference);
        }
        for secret in secrets(keys, order).await? {
            let name = secret["name"].as_str().unwrap_or_default();
            let id = reference(&secret, Kind::Secret);
            if let Some(id) = id.filter(|_| PUBLIC.contains(&name)) {
                let payload = keys.secret_payload(id).await?;
                attributes.insert(name.to_owned(), payload.expose().into());
            }
        }
        Ok(attributes)
    }

    async fn remove(&self, keys: &KeyManager<'_>, id: &str) -> Result<(), DriverError> {
        let Some(order) = about(keys, Kind::Order, id).await? else {
            return Ok(());
        };
        let secrets = secrets(keys, &order).await?;
        if let Some(id) = reference(&order, Kind::Container) {
            keys.remove(Kind::Container, id).await?;
        }
        for holder in secrets.iter().chain([&order]) {
            if let Some(id) = reference(holder, Kind::Secret) {
                keys.remove(Kind::Secret, id).await?;
            }
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

    /// A receipt of what is gone is nothing that is left.
    async fn is_gone(&self, keys: &KeyManager<'_>, id: &str) -> Result<bool, DriverError> {
        let Some(order) = about(keys, Kind::Order, id).await? else {
            return Ok(true);
        };
        for made in [Kind::Secret, Kind::Container] {
            if let Some(id) = reference(&order, made)
                && about(keys, made, id).await?.is_some()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The id that stands under a kind's word.
fn reference(holder: &Value, kind: Kind) -> Option<&str> {
    holder[kind.reference()].as_str().map(id_of)
}

/// What stands in the container that an order made, if it made one.
async fn secrets(keys: &KeyManager<'_>, order: &Value) -> Result<Vec<Value>, DriverError> {
    let Some(id) = reference(order, Kind::Container) else {
        return Ok(Vec::new());
    };
    let container = about(keys, Kind::Container, id).await?;
    let listed = container.and_then(|one| one["secret_refs"].as_array().cloned());
    Ok(listed.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

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
