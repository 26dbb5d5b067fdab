//! Nova: sizes of servers and groups of hosts as administrators make them.
//! Source: Compute API, "Flavors", "Flavors access", "Flavors extra-specs", "Host aggregates".

use reqwest::Method;
use serde_json::{Value, json};

use super::Compute;
use crate::services::collection::{Collection, Record};
use crate::{Error, Microversion, Service};

/// Sizes of servers, private ones too. They have descriptions since 2.55, and show their further keys since 2.61.
pub static FLAVORS: Collection = Collection {
    in_full: Some("detail"),
    version: Some(Microversion(2, 61)),
    all: &[("is_public", "None")],
    by_name: false,
    ..Collection::of(Service::Compute, "flavors", ("flavor", "flavors"), "flavor")
};

/// Hosts with something in common.
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
    /// Set some further keys of a flavor.
    pub async fn flavor_set_specs(&self, id: &str, specs: &Record) -> Result<(), Error> {
        let flavors = self.0.records(&FLAVORS);
        let call = flavors.call(Method::POST, &[id, "os-extra_specs"]);
        call.json(&json!({"extra_specs": specs}))
            .send()
            .await
            .map(drop)
    }

    /// Take a further key away. Not there is an error of status 404.
    pub async fn flavor_unset_spec(&self, id: &str, key: &str) -> Result<(), Error> {
        let flavors = self.0.records(&FLAVORS);
        let call = flavors.call(Method::DELETE, &[id, "os-extra_specs", key]);
        call.send().await.map(drop)
    }

    /// Add hosts to an aggregate (`add_host`), take them out (`remove_host`), or set its metadata (`set_metadata`, null takes a
    /// key away).
    pub async fn aggregate_act(&self, id: &str, action: &str, what: Value) -> Result<(), Error> {
        let aggregates = self.0.records(&AGGREGATES);
        aggregates.act(id, &json!({action: what})).await
    }
}
