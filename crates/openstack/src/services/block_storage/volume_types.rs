//! Cinder's volume types for administrators: access, QoS specifications and encryption. Source: Block Storage API v3,
//! "Volume types", "Volume type access", "Volume type encryption", "Quality of service specifications".

use reqwest::Method;
use serde_json::{Value, json};

use super::BlockStorage;
use crate::services::collection::{Collection, Record};
use crate::{Error, Service};

/// Volume types, including private ones.
pub static VOLUME_TYPES: Collection = Collection {
    all: &[("is_public", "None")],
    by_name: false,
    ..Collection::of(
        Service::BlockStorage,
        "types",
        ("volume_type", "volume_types"),
        "volume type",
    )
};

/// QoS specifications of volume types.
pub static QOS_SPECS: Collection = Collection {
    by_name: false,
    ..Collection::of(
        Service::BlockStorage,
        "qos-specs",
        ("qos_specs", "qos_specs"),
        "QoS specification",
    )
};

/// Id of the encryption in URLs. A type has only one encryption, and Cinder ignores its id.
const ENCRYPTION_ID: &str = "provider";

impl BlockStorage<'_> {
    /// Sets some extra specs of a volume type.
    pub async fn type_set_specs(&self, id: &str, specs: &Record) -> Result<(), Error> {
        let types = self.0.records(&VOLUME_TYPES);
        let call = types.call(Method::POST, &[id, "extra_specs"]);
        call.json(&json!({"extra_specs": specs}))
            .send()
            .await
            .map(drop)
    }

    /// Removes an extra spec of a volume type. A missing key is an error of status 404.
    pub async fn type_unset_spec(&self, id: &str, key: &str) -> Result<(), Error> {
        let types = self.0.records(&VOLUME_TYPES);
        let call = types.call(Method::DELETE, &[id, "extra_specs", key]);
        call.send().await.map(drop)
    }

    /// Encryption of a volume type; empty without encryption.
    pub async fn encryption_get(&self, volume_type: &str) -> Result<Record, Error> {
        let types = self.0.records(&VOLUME_TYPES);
        let call = types.call(Method::GET, &[volume_type, "encryption"]);
        call.send().await?.json()
    }

    /// Adds encryption to a volume type. A second encryption is an error of status 400.
    pub async fn encryption_create(&self, volume_type: &str, fields: &Record) -> Result<(), Error> {
        let types = self.0.records(&VOLUME_TYPES);
        let call = types.call(Method::POST, &[volume_type, "encryption"]);
        call.json(&json!({"encryption": fields}))
            .send()
            .await
            .map(drop)
    }

    /// Changes the encryption of a volume type. Cinder refuses while volumes of the type exist.
    pub async fn encryption_update(&self, volume_type: &str, fields: &Record) -> Result<(), Error> {
        let types = self.0.records(&VOLUME_TYPES);
        let call = types.call(Method::PUT, &[volume_type, "encryption", ENCRYPTION_ID]);
        call.json(&json!({"encryption": fields}))
            .send()
            .await
            .map(drop)
    }

    /// Removes the encryption of a volume type. Cinder refuses while volumes of the type exist. A missing encryption is
    /// an error of status 404.
    pub async fn encryption_delete(&self, volume_type: &str) -> Result<(), Error> {
        let types = self.0.records(&VOLUME_TYPES);
        let call = types.call(Method::DELETE, &[volume_type, "encryption", ENCRYPTION_ID]);
        call.send().await.map(drop)
    }

    /// Sets some keys of a QoS specification.
    pub async fn qos_set(&self, id: &str, specs: &Record) -> Result<(), Error> {
        self.0.records(&QOS_SPECS).update(id, specs).await.map(drop)
    }

    /// Removes keys of a QoS specification. A missing key is an error of status 404.
    pub async fn qos_unset(&self, id: &str, keys: &[String]) -> Result<(), Error> {
        let specs = self.0.records(&QOS_SPECS);
        let call = specs.call(Method::PUT, &[id, "delete_keys"]);
        call.json(&json!({"keys": keys})).send().await.map(drop)
    }

    /// Volume types with a QoS specification, each with `id` and `name`.
    pub async fn qos_types(&self, id: &str) -> Result<Vec<Value>, Error> {
        let specs = self.0.records(&QOS_SPECS);
        let call = specs.call(Method::GET, &[id, "associations"]);
        call.fetch("qos_associations").await
    }

    /// Associates a QoS specification with a volume type. Succeeds if it is associated already; another specification
    /// is an error of status 400.
    pub async fn qos_associate(&self, id: &str, volume_type: &str) -> Result<(), Error> {
        self.qos_bind(id, "associate", Some(volume_type)).await
    }

    /// Dissociates a QoS specification from a volume type. Succeeds if it is not associated.
    pub async fn qos_disassociate(&self, id: &str, volume_type: &str) -> Result<(), Error> {
        self.qos_bind(id, "disassociate", Some(volume_type)).await
    }

    /// Dissociates a QoS specification from all volume types.
    pub async fn qos_disassociate_all(&self, id: &str) -> Result<(), Error> {
        self.qos_bind(id, "disassociate_all", None).await
    }

    /// Cinder changes associations with GET requests.
    async fn qos_bind(&self, id: &str, how: &str, volume_type: Option<&str>) -> Result<(), Error> {
        let specs = self.0.records(&QOS_SPECS);
        let call = specs.call(Method::GET, &[id, how]);
        let call = call.query(volume_type.map(|id| ("vol_type_id", id)));
        call.send().await.map(drop)
    }
}
