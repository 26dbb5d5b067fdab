//! Facts about a cloud for forms, checks and passes.
//!
//! The server reads the facts from the cloud and caches them briefly per project; the browser gets them as JSON. A list
//! that is `None` was not requested or could not be read. Checks that need such a list report nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Results of look-ups in one project of one cloud.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CloudFacts {
    /// Images that a server can boot from.
    pub images: Option<Vec<Named>>,
    /// Facts about the images, by id. Contains only images with facts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub image_facts: BTreeMap<String, ImageFacts>,
    /// Flavors.
    pub flavors: Option<Vec<Flavor>>,
    /// Networks of the project and shared ones.
    pub networks: Option<Vec<Named>>,
    /// External networks, from which floating IPs come.
    pub external_networks: Option<Vec<Named>>,
    /// Key pairs of the user.
    pub key_pairs: Option<Vec<Named>>,
    /// Availability zones for servers.
    pub availability_zones: Option<Vec<Named>>,
    /// Volume types.
    pub volume_types: Option<Vec<Named>>,
    /// Other objects, by the name of their custom constraint (`neutron.subnet`). Contains only the lists that a
    /// template needs: see [`required_lists`](crate::lookup::required_lists).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub things: BTreeMap<String, Vec<Named>>,
    /// Types of the services in the catalogue of the cloud's region: `compute`, `load-balancer` ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<BTreeSet<String>>,
    /// True if the server has a URL for signals, at which the cloud's servers reach it. `None` if that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub takes_signals: Option<bool>,
    /// Region name from the configuration, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Quotas of the project, by the services' own names: `instances`, `floatingip`, `gigabytes` ... A quota without an
    /// entry is unknown and does not limit a plan.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub quotas: BTreeMap<String, Quota>,
    /// Time of the look-up, in seconds since 1970 (UTC), for checks of expiry times. `None` turns these checks off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<i64>,
}

impl CloudFacts {
    /// Names of the availability zones. `None` if they are unknown.
    pub fn zone_names(&self) -> Option<Vec<String>> {
        let zones = self.availability_zones.as_ref()?;
        Some(zones.iter().map(|zone| zone.name.clone()).collect())
    }
}

/// An object with a name and an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The cloud's id.
    pub id: String,
    /// The name. Not unique.
    pub name: String,
}

/// Facts about an image, for choosing one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFacts {
    /// Operating system and version, such as `debian 12`, from the image's properties `os_distro` and `os_version`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub os: Option<String>,
    /// Size of the image's file in MiB.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub size_mib: Option<u64>,
    /// Minimum root disk in GiB. 0 means no limit.
    #[serde(default)]
    pub disk_gib_min: u32,
}

/// A server size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flavor {
    /// The cloud's id.
    pub id: String,
    /// The name, for example `m1.small`.
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
    /// Maximum use. -1 means no limit.
    pub limit: i64,
    /// Current use.
    pub used: i64,
}
