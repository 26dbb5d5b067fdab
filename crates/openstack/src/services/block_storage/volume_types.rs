//! Cinder: kinds of volumes as administrators make them: who may use them, what they promise, how they are encrypted.
//! Source: Block Storage API v3, "Volume types", "Volume type access", "Volume type encryption", "Quality of service
//! specifications".

use reqwest::Method;
use serde_json::{Value, json};

use super::BlockStorage;
use crate::services::collection::{Collection, Record};
use crate::{Error, Service};

/// Kinds of volumes, private ones too.
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

/// What volumes of some types promise.
pub static QOS_SPECS: Collection = Collection {
    by_name: false,
    ..Collection::of(
        Service::BlockStorage,
        "qos-specs",
        ("qos_specs", "qos_specs"),
        "QoS specification",
    )
};

/// A type has one encryption, and Cinder does not look at its id.
const THE_ONE: &str = "provider";

impl BlockStorage<'_> {
    /// Set some further keys of a volume type.
    pub async fn type_set_specs(&self, id: &str, specs: &Record) -> Result<(), Error> {
        let types = self.0.records(&VOLUME_TYPES);
        let call = types.call(Method::POST, &[id, "extra_specs"]);
        call.json(&json!({"extra_specs": specs}))
            .send()
            .await
            .map(drop)
    }

    /// Take a further key away. Not there is an error of status 404.
    pub async fn type_unset_spec(&self, id: &str, key: &str) -> Result<(), Error> {
        let types = self.0.records(&VOLUME_TYPES);
        let call = types.call(Method::DELETE, &[id, "extra_specs", key]);
        call.send().await.map(drop)
    }

    /// How volumes of a type are encrypted; empty where they are not.
    pub async fn encryption_get(&self, volume_type: &str) -> Result<Record, Error> {
        let types = self.0.records(&VOLUME_TYPES);
        let call = types.call(Method::GET, &[volume_type, "encryption"]);
        call.send().await?.json()
    }

    /// Have volumes of a type encrypted. A second encryption is an error of status 400.
    pub async fn encryption_create(&self, volume_type: &str, fields: &Record) -> Result<(), Error> {
        let types = self.0.records(&VOLUME_TYPES);
        let call = types.call(Method::POST, &[volume_type, "encryption"]);
        call.json(&json!({"encryption": fields}))
            .send()
            .await
            .map(drop)
    }

    /// Change how volumes of a type are encrypted; refused while there are any.
    pub async fn encryption_update(&self, volume_type: &str, fields: &Record) -> Result<(), Error> {
        let types = self.0.records(&VOLUME_TYPES);
        let call = types.call(Method::PUT, &[volume_type, "encryption", THE_ONE]);
        call.json(&json!({"encryption": fields}))
            .send()
            .await
            .map(drop)
    }

    /// Encrypt no more; refused while there are volumes of the type. Not there is an error of status 404.
    pub async fn encryption_delete(&self, volume_type: &str) -> Result<(), Error> {
        let types = self.0.records(&VOLUME_TYPES);
        let call = types.call(Method::DELETE, &[volume_type, "encryption", THE_ONE]);
        call.send().await.map(drop)
    }

    /// Set some keys of a QoS specification.
    pub async fn qos_set(&self, id: &str, specs: &Record) -> Result<(), Error> {
        self.0.records(&QOS_SPECS).update(id, specs).await.map(drop)
    }

    /// Take keys of a QoS specification away. A key that is not there is an error of status 404.
    pub async fn qos_unset(&self, id: &str, keys: &[String]) -> Result<(), Error> {
        let specs = self.0.records(&QOS_SPECS);
        let call = specs.call(Method::PUT, &[id, "delete_keys"]);
        call.json(&json!({"keys": keys})).send().await.map(drop)
    }

    /// Types that have a QoS specification, each with `id` and `name`.
    pub async fn qos_types(&self, id: &str) -> Result<Vec<Value>, Error> {
        let specs = self.0.records(&QOS_SPECS);
        let call = specs.call(Method::GET, &[id, "associations"]);
        call.fetch("qos_associations").await
    }

    /// Give a type a QoS specification. One that it has already is fine, another one an error of status 400.
    pub async fn qos_associate(&self, id: &str, volume_type: &str) -> Result<(), Error> {
        self.qos_bind(id, "associate", Some(volume_type)).await
    }

    /// Take a QoS specification from a type. One that the type has not is fine.
    pub async fn qos_disassociate(&self, id: &str, volume_type: &str) -> Result<(), Error> {
        self.qos_bind(id, "disassociate", Some(volume_type)).await
    }

    /// Take a QoS specification from all types.
    pub async fn qos_disassociate_all(&self, id: &str) -> Result<(), Error> {
        self.qos_bind(id, "disassociate_all", None).await
    }

    /// Cinder changes these things by GET.
    async fn qos_bind(&self, id: &str, how: &str, volume_type: Option<&str>) -> Result<(), Error> {
        let specs = self.0.records(&QOS_SPECS);
        let call = specs.call(Method::GET, &[id, how]);
        let call = call.query(volume_type.map(|id| ("vol_type_id", id)));
        call.send().await.map(drop)
    }
}
