//! Rules about several properties: mutual exclusion, alternatives, dependencies.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One rule about several properties of a resource, or about several keys of a map. A property counts as given if it is
/// neither null nor empty nor false.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Condition of the rule. `None` means always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// At least one of these must be given.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "one_or_many"
    )]
    pub any_of: Vec<String>,
    /// At most one of these can be given.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "one_or_many"
    )]
    pub one_at_most: Vec<String>,
    /// All of these must be given.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "one_or_many"
    )]
    pub needs: Vec<String>,
    /// Properties that cannot be given with it.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "one_or_many"
    )]
    pub refuses: Vec<String>,
    /// Numbers in ascending order; equal numbers are valid.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "one_or_many"
    )]
    pub ascending: Vec<String>,
}

/// Condition of a [`Rule`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum When {
    /// A property is given.
    Given(String),
    /// A property has one of these values, explicitly or by default.
    Is(std::collections::BTreeMap<String, OneOf>),
}

/// One value, or several alternatives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOf {
    /// Alternatives.
    Many(Vec<Value>),
    /// A single value.
    One(Value),
}

impl OneOf {
    /// Whether a value is among them.
    pub fn has(&self, value: &Value) -> bool {
        match self {
            OneOf::Many(values) => values.contains(value),
            OneOf::One(one) => one == value,
        }
    }
}

/// Accepts `a` for `[a]`.
fn one_or_many<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Names::deserialize(from)? {
        Names::One(name) => vec![name],
        Names::Many(names) => names,
    })
}
