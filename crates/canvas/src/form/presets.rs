//! Presets of a type: values of several properties, set as one change.

use hot::{document::Edit, template::Resource};
use serde_json::Value;
use types::ResourceType;

use crate::commands::Proposal;

/// The change that sets the properties of a preset, by its label. Properties of the type's other presets are removed,
/// such as the path of an HTTP check from a check by ping. `None` for an unknown label.
pub fn apply_preset(
    resource: &Resource,
    described: &ResourceType,
    label: &str,
) -> Option<Proposal> {
    let (_, chosen) = described.presets.iter().find(|(one, _)| one == label)?;
    let chosen = chosen.as_object()?;
    let path = |name: &str| {
        ["resources", &resource.name, "properties", name]
            .map(str::to_owned)
            .to_vec()
    };
    let others = described
        .presets
        .iter()
        .filter_map(|(_, value)| value.as_object());
    let mut unused: Vec<&str> = others
        .flat_map(|values| values.keys().map(String::as_str))
        .filter(|name| !chosen.contains_key(*name) && resource.property(name).is_some())
        .collect();
    unused.sort_unstable();
    unused.dedup();
    let set = chosen
        .iter()
        .map(|(name, value): (&String, &Value)| Edit::Set {
            path: path(name),
            value: value.clone(),
        });
    let remove = unused
        .into_iter()
        .map(|name| Edit::Remove { path: path(name) });
    Some(Proposal {
        label: format!("Set {} to {label}", resource.name),
        edits: set.chain(remove).collect(),
        ..Proposal::default()
    })
}
