//! Nova's flavors and host aggregates for administrators. Source: Compute API, "Flavors", "Flavors access", "Flavors
//! extra-specs", "Host aggregates".

use reqwest::Method;
use serde_json::{Value, json};

use super::Compute;
use crate::services::collection::{Collection, Record};
use crate::{Error, Microversion, Service};

/// Flavors, including private ones. Microversion 2.55 adds descriptions, 2.61 adds extra specs to the response.
pub static FLAVORS: Collection = Collection {
    in_full: Some("detail"),
    version: Some(Microversion(2, 61)),
    all: &[("is_public", "None")],
    by_name: false,
    ..Collection::of(Service::Compute, "flavors", ("flavor", "flavors"), "flavor")
};

/// Host aggregates.
pub static AGGREGATES: Collection = Collection {
    by_name: false,
    ..Collection::of(
        Service::Compute,
        "os-aggregates",
        ("aggregate", "aggregates"),
        "host aggregate",
    )
};

impl Compute<'_> {
    /// Sets some extra specs of a flavor.
    pub async fn flavor_set_specs(&self, id: &str, specs: &Record) -> Result<(), Error> {
        let flavors = self.0.records(&FLAVORS);
        let call = flavors.call(Method::POST, &[id, "os-extra_specs"]);
        call.json(&json!({"extra_specs": specs}))
            .send()
            .await
            .map(drop)
    }

    /// Removes an extra spec of a flavor. A missing key is an error of status 404.
    pub async fn flavor_unset_spec(&self, id: &str, key: &str) -> Result<(), Error> {
        let flavors = self.0.records(&FLAVORS);
        let call = flavors.call(Method::DELETE, &[id, "os-extra_specs", key]);
        call.send().await.map(drop)
    }

    /// Runs an action of a host aggregate: `add_host`, `remove_host`, or `set_metadata`, where null removes a key.
    pub async fn aggregate_act(&self, id: &str, action: &str, what: Value) -> Result<(), Error> {
        let aggregates = self.0.records(&AGGREGATES);
        aggregates.act(id, &json!({action: what})).await
    }
}
