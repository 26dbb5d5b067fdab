//! Cinder's QoS specs. They are stored without effect: the lab has one type of disk.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kit::table::keyed_by_id;

/// A QoS spec.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QosSpecs {
    pub id: String,
    pub name: String,
    /// The consumer of the keys: `front-end`, `back-end`, `both`.
    pub consumer: String,
    /// The keys and values.
    pub specs: BTreeMap<String, String>,
}

keyed_by_id!(QosSpecs);
