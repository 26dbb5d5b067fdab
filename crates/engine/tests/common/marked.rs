//! Administrators' resources with a deployment's marker: the places of markers, and the marked resources.

use openstack::Session;
use openstack::collection::{Collection, id_of};
use openstack::flavors::{AGGREGATES, FLAVORS};
use openstack::identity::{DOMAINS, ENDPOINTS, GROUPS, PROJECTS, REGIONS, ROLES, SERVICES, USERS};
use openstack::volume_types::VOLUME_TYPES;
use serde_json::Value;

/// Collections of resources with the marker.
pub const MARKED: [&Collection; 11] = [
    &DOMAINS,
    &PROJECTS,
    &ROLES,
    &GROUPS,
    &USERS,
    &REGIONS,
    &SERVICES,
    &ENDPOINTS,
    &VOLUME_TYPES,
    &FLAVORS,
    &AGGREGATES,
];

/// The marked resources of a deployment, each with its kind and id.
pub async fn marked(session: &Session, deployment: &str) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for of in MARKED {
        let mut all = session.records(of).list(&[]).await.unwrap();
        all.retain(|one| Value::Object(one.clone()).to_string().contains(deployment));
        found.extend(all.iter().map(|one| (of.title, id_of(one))));
    }
    found
}
