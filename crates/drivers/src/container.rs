//! `OS::Barbican::GenericContainer`, `RSAContainer` and `CertificateContainer`: groups of secrets, each with a name.
//!
//! The secrets are separate resources, and stay when the container is deleted. Source: Key Manager API v1,
//! "Containers".

use async_trait::async_trait;
use openstack::key_manager::{KeyManager, Kind};
use serde_json::{Map, Value, json};

use super::key_manager::{KeyManagerDriver, KeyManagerType};
use super::properties::Properties;
use crate::driver::DriverError;

/// A container type.
pub(super) struct Container {
    /// Barbican's name of the type.
    pub(super) kind: &'static str,
    /// The secrets in the container, in Barbican's format.
    pub(super) secrets: fn(Properties<'_>) -> Result<Vec<Value>, DriverError>,
}

/// The driver of a container type.
pub(super) type ContainerDriver = KeyManagerDriver<Container>;

#[async_trait]
impl KeyManagerType for Container {
    const KIND: Kind = Kind::Container;
    const TITLE: &'static str = "secret container";

    fn body(
        &self,
        name: String,
        properties: Properties<'_>,
    ) -> Result<Map<String, Value>, DriverError> {
        Ok(Map::from_iter([
            ("name".to_owned(), name.into()),
            ("type".to_owned(), self.kind.into()),
            ("secret_refs".to_owned(), (self.secrets)(properties)?.into()),
        ]))
    }

    /// `secret_refs` by name, as in Heat.
    async fn attributes(
        &self,
        _keys: &KeyManager<'_>,
        metadata: &Value,
    ) -> Result<Map<String, Value>, DriverError> {
        let listed = metadata["secret_refs"].as_array();
        let by_name = listed.into_iter().flatten().map(|one| {
            let name = one["name"].as_str().unwrap_or_default();
            (name.to_owned(), one["secret_ref"].clone())
        });
        Ok(Map::from_iter([
            ("secret_refs".to_owned(), Value::Object(by_name.collect())),
            ("consumers".to_owned(), metadata["consumers"].clone()),
        ]))
    }
}

/// The secrets of a container type with a property `<name>_ref` for each possible secret.
pub(super) fn by_property(
    properties: Properties<'_>,
    names: &[&str],
) -> Result<Vec<Value>, DriverError> {
    let mut secrets = Vec::new();
    for name in names {
        if let Some(reference) = properties.filled(&format!("{name}_ref"))? {
            secrets.push(json!({"name": name, "secret_ref": reference}));
        }
    }
    Ok(secrets)
}

#[cfg(test)]
mod tests {
    use super::super::{generic_container, rsa_container};
    use super::*;

    fn body(of: &ContainerDriver, given: &Value) -> Result<Value, DriverError> {
        let properties = Properties::of(given.as_object().unwrap());
        of.0.body("n".into(), properties).map(Value::Object)
    }

    #[test]
    fn secrets_by_name() {
        let given = json!({"secrets": [{"name": "key", "ref": "http://k/secrets/1"}]});
        let refs = json!([{"name": "key", "secret_ref": "http://k/secrets/1"}]);
        assert_eq!(
            body(&generic_container::GENERIC_CONTAINER, &given).unwrap(),
            json!({"name": "n", "type": "generic", "secret_refs": refs})
        );
        let given = json!({"private_key_ref": "http://k/secrets/1", "public_key_ref": null});
        let refs = json!([{"name": "private_key", "secret_ref": "http://k/secrets/1"}]);
        assert_eq!(
            body(&rsa_container::RSA_CONTAINER, &given).unwrap(),
            json!({"name": "n", "type": "rsa", "secret_refs": refs})
        );
        let nameless = json!({"secrets": [{"ref": "http://k/secrets/1"}]});
        assert_eq!(
            body(&generic_container::GENERIC_CONTAINER, &nameless)
                .unwrap_err()
                .to_string(),
            "property `secrets.0.name`: it must be given"
        );
    }
}
