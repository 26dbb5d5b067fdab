//! Nova's host aggregates. The lab has one host, and no scheduler that would look at them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kit::table::keyed_by_id;

/// The only host.
pub const HOST: &str = "lab";

/// Hosts with something in common.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Aggregate {
    /// A number, as a text.
    pub id: String,
    /// Nova's other id.
    pub uuid: String,
    pub name: String,
    /// The hosts in it.
    pub hosts: Vec<String>,
    /// Keys for the scheduler; the zone is one of them.
    pub metadata: BTreeMap<String, String>,
    pub created_at: String,
}

keyed_by_id!(Aggregate);
