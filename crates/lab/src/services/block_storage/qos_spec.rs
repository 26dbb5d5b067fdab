//! Cinder's quality of service specifications. Kept, without effect: the lab has one kind of disk.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kit::table::keyed_by_id;

/// A quality of service specification.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QosSpecs {
    pub id: String,
    pub name: String,
    /// Who reads the keys: `front-end`, `back-end`, `both`.
    pub consumer: String,
    /// The keys.
    pub specs: BTreeMap<String, String>,
}

keyed_by_id!(QosSpecs);
