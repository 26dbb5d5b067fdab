//! Rules about several properties: mutual exclusion, alternatives, dependencies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One rule about several properties of a resource, or about several keys of a map. A property counts as given if it is
/// neither null nor empty nor false.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rule {
    /// Condition of the rule. `None` means always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// At least one of these must be given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<String>,
    /// At most one of these can be given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub one_at_most: Vec<String>,
    /// All of these must be given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Properties that cannot be given with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refuses: Vec<String>,
    /// Numbers in ascending order; equal numbers are valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ascending: Vec<String>,
}

/// Condition of a [`Rule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// A property is given.
    Given(String),
    /// Each property has one of its values, explicitly or by default.
    Is(BTreeMap<String, Vec<Value>>),
}
