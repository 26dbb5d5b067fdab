//! `OS::Barbican::Secret`: a secret in the key manager.
//!
//! The payload is the attribute `decrypted_payload`, as in Heat, if it is text. The journal encrypts attributes of that
//! name. Source: Key Manager API v1, "Secrets".

use async_trait::async_trait;
use openstack::key_manager::{KeyManager, Kind, id_of};
use serde_json::{Map, Value};

use super::key_manager::{KeyManagerType, payload};
use super::properties::Properties;
use crate::driver::DriverError;

pub(super) struct Secret;

#[async_trait]
impl KeyManagerType for Secret {
    const KIND: Kind = Kind::Secret;
    const TITLE: &'static str = "secret";

    fn body(
        &self,
        name: String,
        properties: Properties<'_>,
    ) -> Result<Map<String, Value>, DriverError> {
        let mut body = Map::new();
        body.insert("name".into(), name.into());
        properties.copy(
            &[
                "payload",
                "payload_content_encoding",
                "mode",
                "expiration",
                "algorithm",
                "secret_type",
            ],
            &mut body,
        );
        if let Some(bits) = properties.integer("bit_length")? {
            body.insert("bit_length".into(), bits.into());
        }
        // Barbican requires a content type with a payload, and refuses one without.
        if body.contains_key("payload") {
            let form = properties.filled("payload_content_type")?;
            let form = form.unwrap_or_else(|| "text/plain".into());
            body.insert("payload_content_type".into(), form.into());
        }
        Ok(body)
    }

    async fn attributes(
        &self,
        keys: &KeyManager<'_>,
        secret: &Value,
    ) -> Result<Map<String, Value>, DriverError> {
        let id = secret[Self::KIND.reference()].as_str().map(id_of);
        // A secret without content types has no payload.
        let id = id.filter(|_| secret["content_types"].is_object());
        let found = match id {
            Some(id) => payload(keys, id).await?,
            None => None,
        };
        let payload = found.unwrap_or_default();
        Ok(Map::from_iter([("decrypted_payload".to_owned(), payload)]))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn body_of_a_secret() {
        let check = |properties: Value, expected: Value| {
            let properties = Properties::of(properties.as_object().unwrap());
            let body = Secret.body("ours".into(), properties).unwrap();
            assert_eq!(Value::Object(body), expected);
        };
        check(
            json!({"payload": "x", "bit_length": "256"}),
            json!({"name": "ours", "payload": "x", "bit_length": 256, "payload_content_type": "text/plain"}),
        );
        check(
            json!({"name": "mine", "payload_content_type": "text/plain"}),
            json!({"name": "ours"}),
        );
    }
}
