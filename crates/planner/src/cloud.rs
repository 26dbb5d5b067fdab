//! What a cloud really has, as far as forms, checks and passes need it.
//!
//! The server asks the cloud and caches the answer briefly per project; the browser gets it as JSON.
//! A list that is `None` was not asked for or could not be read: checks that need it stay silent.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Live look-ups of one project in one cloud.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CloudFacts {
    /// Images that a server can boot from.
    pub images: Option<Vec<Named>>,
    /// Flavors.
    pub flavors: Option<Vec<Flavor>>,
    /// Networks of the project and shared ones.
    pub networks: Option<Vec<Named>>,
    /// Networks to the outside, from which floating IPs come.
    pub external_networks: Option<Vec<Named>>,
    /// Key pairs of the user.
    pub key_pairs: Option<Vec<Named>>,
    /// Availability zones for servers.
    pub availability_zones: Option<Vec<Named>>,
    /// What volumes can be stored on.
    pub volume_types: Option<Vec<Named>>,
    /// Other things, by the name of the custom constraint that asks for them (`neutron.subnet`). Only those that a template asks for:
    /// see [`asked`](crate::lookup::asked).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub things: BTreeMap<String, Vec<Named>>,
    /// Types of the services that the catalogue lists in the cloud's region: `compute`, `load-balancer` ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<BTreeSet<String>>,
    /// The region, if the configuration names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Quotas of the project, by the services' own names: `instances`, `floatingip`, `gigabytes` ... A quota without an entry is
    /// not known, and no limit to a plan.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub quotas: BTreeMap<String, Quota>,
    /// When it was asked, in seconds since 1970 (UTC): what ends must end later. Not asked: nothing ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<i64>,
}

impl CloudFacts {
    /// Names of the availability zones, where they are known.
    pub fn zone_names(&self) -> Option<Vec<String>> {
        let zones = self.availability_zones.as_ref()?;
        Some(zones.iter().map(|zone| zone.name.clone()).collect())
    }
}

/// Something with a name and an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The cloud's id.
    pub id: String,
    /// For people; not unique.
    pub name: String,
}

/// A server size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flavor {
    /// The cloud's id.
    pub id: String,
    /// Such as `m1.small`.
    pub name: String,
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Memory in MiB.
    pub ram_mib: u32,
    /// Root disk in GiB.
    pub disk_gib: u32,
}

/// Limit and use of one quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// How much the project may have. -1: no limit.
    pub limit: i64,
    /// How much it has now.
    pub used: i64,
}
