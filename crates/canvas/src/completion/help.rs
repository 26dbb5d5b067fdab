//! Help about the words of a template, in sentences. Names are in backquotes.

use hot::{
    constraint::Constraint,
    parameter::{Parameter, as_string},
    template::Resource,
};
use types::{OnChange, Property, PropertyKind, ResourceType};

use super::CompletionInput;

/// Longest list of permitted values.
const VALUES_MAX: usize = 12;

pub(super) fn type_help(described: &ResourceType) -> Vec<String> {
    let required = described.properties.iter().filter(|one| one.required);
    let required: Vec<String> = required.map(|one| format!("`{}`", one.name)).collect();
    let mut lines = vec![format!("{}. {}", described.title, described.summary)];
    if !required.is_empty() {
        lines.push(format!("Required: {}.", required.join(", ")));
    }
    lines.extend(described.advice.clone());
    lines
}

pub(super) fn property_help(property: &Property) -> Vec<String> {
    let kind = match &property.kind {
        PropertyKind::String => "Text",
        PropertyKind::Integer => "Whole number",
        PropertyKind::Number => "Number",
        PropertyKind::Boolean => "Boolean",
        PropertyKind::List { .. } => "List",
        PropertyKind::Map { .. } => "Map",
        PropertyKind::Any => "Any value",
    };
    let mut facts = vec![kind.to_owned()];
    if property.required {
        facts.push("required".to_owned());
    }
    if let Some(default) = &property.default {
        facts.push(format!("default `{}`", as_string(default)));
    }
    let values = property.constraints.iter().find_map(|one| match one {
        Constraint::AllowedValues(values) if values.len() <= VALUES_MAX => Some(values),
        _ => None,
    });
    let values = values.map(|values| {
        let values: Vec<String> = values
            .iter()
            .map(|one| format!("`{}`", as_string(one)))
            .collect();
        format!("One of {}.", values.join(", "))
    });
    let change = match property.on_change {
        OnChange::UpdateInPlace => "A change keeps the resource.",
        OnChange::Replace => "A change replaces the resource.",
    };
    let summary = Some(property.summary.clone()).filter(|text| !text.is_empty());
    [
        summary,
        Some(format!("{}.", facts.join(", "))),
        values,
        Some(change.to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(super) fn parameter_help(parameter: &Parameter) -> Vec<String> {
    let fact = match &parameter.default {
        Some(default) if !parameter.hidden => {
            format!(
                "Parameter, {}, default `{}`.",
                parameter.kind,
                as_string(default)
            )
        }
        _ => format!("Parameter, {}.", parameter.kind),
    };
    parameter
        .description
        .iter()
        .cloned()
        .chain([fact])
        .collect()
}

pub(super) fn resource_help(input: &CompletionInput<'_>, resource: &Resource) -> Vec<String> {
    let title = input
        .types
        .get(&resource.resource_type)
        .map(|one| &one.title);
    let kind = match title {
        Some(title) => format!("{title}, `{}`.", resource.resource_type),
        None => format!("`{}`.", resource.resource_type),
    };
    resource.description.iter().cloned().chain([kind]).collect()
}

/// Help about a function of HOT. Empty for old functions of CloudFormation.
pub(super) fn function_help(name: &str) -> Vec<String> {
    let text = match name {
        "get_param" => "The value of a parameter: `{ get_param: name }`.",
        "get_resource" => "The id of a resource: `{ get_resource: name }`.",
        "get_attr" => "An attribute of a resource: `{ get_attr: [name, attribute] }`.",
        "get_file" => "The content of a file beside the template: `{ get_file: path }`.",
        "list_join" => "Joins lists of texts: `{ list_join: [delimiter, list] }`.",
        "resource_facade" => "A part of the resource that a nested template stands for.",
        "str_replace" => {
            "Replaces words in a text: `{ str_replace: { template: text, params: map } }`."
        }
        "str_replace_strict" => "As `str_replace`, but every word must be in the text.",
        "str_replace_vstrict" => "As `str_replace_strict`, and no value may be empty.",
        "repeat" => {
            "A list with one entry for each item: `{ repeat: { template: entry, for_each: map } }`."
        }
        "digest" => "A hash: `{ digest: [algorithm, text] }`.",
        "str_split" => "The parts of a text: `{ str_split: [delimiter, text] }`.",
        "map_merge" => "Several maps as one. Later ones win.",
        "map_replace" => "Replaces keys and values of a map.",
        "yaql" => "The result of a YAQL expression: `{ yaql: { expression: text, data: map } }`.",
        "if" => "One of two values: `{ if: [condition, value, other value] }`.",
        "filter" => "A list without some values: `{ filter: [values, list] }`.",
        "make_url" => "An address from its parts: `scheme`, `host`, `port`, `path`.",
        "list_concat" => "Several lists as one.",
        "list_concat_unique" => "Several lists as one, with each item once.",
        "contains" => "Whether a value is in a list: `{ contains: [value, list] }`.",
        "equals" => "Whether two values are equal: `{ equals: [value, value] }`.",
        "not" => "Whether a condition is false.",
        "and" => "Whether all of these conditions are true.",
        "or" => "Whether one of these conditions is true.",
        _ => return Vec::new(),
    };
    vec![text.to_owned()]
}

#[cfg(test)]
mod tests {
    use hot::version::Version;

    #[test]
    fn every_function_of_the_newest_version_has_help() {
        for name in hot::expr::functions(Version::default()) {
            assert!(!super::function_help(name).is_empty(), "{name}");
        }
    }
}
