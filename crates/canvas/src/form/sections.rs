//! Forms of parameters, conditions and outputs.
//!
//! Their keys are described like the properties of a resource, so they get the same controls, tables and sources.

use hot::{
    constraint::{CUSTOM, Constraint},
    document::{Document, Edit, Section},
    expr::Expr,
    template::Template,
};
use planner::cloud::CloudFacts;
use serde_json::{Value, json};
use types::{Property, PropertyKind, Registry, of_kind};

use super::{
    Field, condition,
    link::PARAMETER_TYPES,
    maker::{Maker, Values, mark_alone, pairs},
};
use crate::commands::Proposal;

/// Names in a section, in the order of the text.
pub fn names(template: &Template, section: Section) -> Vec<String> {
    match section {
        Section::Parameters => template
            .parameters
            .iter()
            .map(|one| one.name.clone())
            .collect(),
        Section::Conditions => template
            .conditions
            .iter()
            .map(|one| one.name.clone())
            .collect(),
        Section::Outputs => template
            .outputs
            .iter()
            .map(|one| one.name.clone())
            .collect(),
    }
}

/// Fields of one entry. Empty if there is none of this name.
pub fn entry_fields(
    document: &Document,
    section: Section,
    name: &str,
    types: &Registry,
    cloud: &CloudFacts,
) -> Vec<Field> {
    let template = document.template();
    let Some(value) = document.value(&[section.key(), name]) else {
        return Vec::new();
    };
    let path = vec![section.key().to_owned(), name.to_owned()];
    let maker = Maker {
        template,
        types,
        cloud,
        own: "",
    };
    match section {
        Section::Conditions => condition::fields(template, name, &path),
        Section::Parameters => {
            let expr = literal(&value);
            let Expr::Map(entries) = &expr else {
                return Vec::new();
            };
            let values = Values {
                entries: pairs(entries),
                path,
                prefix: String::new(),
            };
            let mut fields = maker.map(&of_parameter(&value), &[], &values);
            mark_alone(&mut fields, &expr, 2);
            fields
        }
        Section::Outputs => {
            let Some(output) = template.outputs.iter().find(|one| one.name == name) else {
                return Vec::new();
            };
            let description = output
                .description
                .clone()
                .map(|text| Expr::Literal(json!(text)));
            let entries: Vec<(&str, &Expr)> = [
                ("description", description.as_ref()),
                ("value", Some(&output.value)),
                ("condition", output.condition.as_ref()),
            ]
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
            .collect();
            let values = Values {
                entries,
                path,
                prefix: String::new(),
            };
            let mut fields = maker.map(&of_output(template), &[], &values);
            mark_alone(&mut fields, &literal(&value), 2);
            fields
        }
    }
}

fn of(name: &str, kind: PropertyKind, summary: &str) -> Property {
    Property {
        summary: summary.to_owned(),
        ..of_kind(name, kind)
    }
}

pub(super) fn text(name: &str, summary: &str) -> Property {
    of(name, PropertyKind::String, summary)
}

pub(super) fn one_of(mut property: Property, values: impl IntoIterator<Item = Value>) -> Property {
    let values = values.into_iter().collect();
    property.constraints = vec![Constraint::AllowedValues(values)];
    property
}

/// Keys of a parameter with this definition.
fn of_parameter(definition: &Value) -> Vec<Property> {
    let kind = definition["type"].as_str().unwrap_or("string");
    let hidden = definition["hidden"] == json!(true);
    let summary = "The value if none is given.";
    let default = match kind {
        "number" => of("default", PropertyKind::Number, summary),
        "boolean" => one_of(
            of("default", PropertyKind::Any, summary),
            [json!(true), json!(false)],
        ),
        "json" => of("default", PropertyKind::Any, summary),
        "comma_delimited_list" if !definition["default"].is_string() => {
            of("default", PropertyKind::List { of: None }, summary)
        }
        _ => text("default", summary),
    };
    let range = |name: &str, keys: [&str; 2], summary: &str| {
        let keys = keys.map(|key| of(key, PropertyKind::Integer, "")).to_vec();
        of(name, PropertyKind::Map { of: keys }, summary)
    };
    let all = [
        (
            of(
                "allowed_values",
                PropertyKind::List { of: None },
                "One of these values.",
            ),
            json!({ "allowed_values": [definition.get("default").cloned().unwrap_or(json!("value"))] }),
            kind != "json",
        ),
        (
            text(
                "allowed_pattern",
                "A regular expression that the whole value matches.",
            ),
            json!({ "allowed_pattern": ".*" }),
            kind == "string",
        ),
        (
            range("length", ["min", "max"], "Number of characters or items."),
            json!({ "length": { "min": 1 } }),
            matches!(kind, "string" | "json" | "comma_delimited_list"),
        ),
        (
            range(
                "range",
                ["min", "max"],
                "The smallest and the largest number.",
            ),
            json!({ "range": { "min": 0 } }),
            kind == "number",
        ),
        (
            range(
                "modulo",
                ["step", "offset"],
                "A multiple of the step, plus the offset.",
            ),
            json!({ "modulo": { "step": 1, "offset": 0 } }),
            kind == "number",
        ),
        (
            one_of(
                text("custom_constraint", "An object of the cloud, or a format."),
                CUSTOM.iter().map(|name| json!(name)),
            ),
            json!({ "custom_constraint": "nova.flavor" }),
            kind != "json",
        ),
    ];
    let label = |name: &str| super::label(name);
    let presets = all.iter().filter(|(_, _, fits)| *fits);
    let presets = presets
        .map(|(key, value, _)| (label(&key.name), value.clone()))
        .collect();
    let mut keys: Vec<Property> = all.into_iter().map(|(key, _, _)| key).collect();
    keys.push(text(
        "description",
        "The message for a value that is not allowed.",
    ));
    let keys = Some(Box::new(of_kind(
        "constraints",
        PropertyKind::Map { of: keys },
    )));
    vec![
        one_of(
            Property {
                required: true,
                ..text("type", "")
            },
            PARAMETER_TYPES.map(Value::from),
        ),
        Property {
            secret: hidden,
            ..default
        },
        text("label", "The name in forms."),
        text("description", "The help text in forms."),
        of(
            "hidden",
            PropertyKind::Boolean,
            "The value is never displayed.",
        ),
        of(
            "immutable",
            PropertyKind::Boolean,
            "A deployment keeps its first value.",
        ),
        Property {
            presets,
            ..of(
                "constraints",
                PropertyKind::List { of: keys },
                "Limits of the value.",
            )
        },
        of(
            "tags",
            PropertyKind::List { of: None },
            "Words for other programs.",
        ),
    ]
}

fn of_output(template: &Template) -> Vec<Property> {
    let conditions = template.conditions.iter().map(|one| json!(one.name));
    let condition = text("condition", "The output exists if this condition holds.");
    vec![
        Property {
            required: true,
            ..of(
                "value",
                PropertyKind::Any,
                "Text, or a parameter or attribute from the menu of sources.",
            )
        },
        text("description", ""),
        one_of(condition, conditions),
    ]
}

/// The value as an expression without functions.
fn literal(value: &Value) -> Expr {
    match value {
        Value::Array(items) => Expr::List(items.iter().map(literal).collect()),
        Value::Object(entries) => {
            let entries = entries.iter();
            Expr::Map(
                entries
                    .map(|(key, value)| (key.clone(), literal(value)))
                    .collect(),
            )
        }
        other => Expr::Literal(other.clone()),
    }
}

/// The change that adds an entry, and its name.
pub fn add_entry(template: &Template, section: Section) -> (String, Proposal) {
    let (base, value) = match section {
        Section::Parameters => ("parameter", json!({ "type": "string" })),
        Section::Outputs => ("output", json!({ "value": "" })),
        Section::Conditions => {
            let parameter = template.parameters.first().map(|one| &one.name);
            let value = match parameter {
                Some(name) => json!({ "equals": [{ "get_param": name }, ""] }),
                None => json!(true),
            };
            ("condition", value)
        }
    };
    let taken = names(template, section);
    let name = (1..)
        .map(|number| match number {
            1 => base.to_owned(),
            number => format!("{base}_{number}"),
        })
        .find(|name| !taken.contains(name))
        .unwrap_or_default();
    let proposal = Proposal {
        label: format!("Add {base} {name}"),
        edits: vec![Edit::Set {
            path: vec![section.key().to_owned(), name.clone()],
            value,
        }],
        ..Proposal::default()
    };
    (name, proposal)
}

/// Removal of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryRemoval {
    /// The change.
    pub proposal: Proposal,
    /// Paths that take the parameter's default.
    pub replaced: Vec<String>,
    /// Paths that name it afterwards and must be corrected.
    pub dangling: Vec<String>,
}

/// The removal of an entry. Uses of a parameter take its default if there is one.
pub fn remove_entry(document: &Document, section: Section, name: &str) -> EntryRemoval {
    let default = document.value(&[section.key(), name, "default"]);
    let mut removal = EntryRemoval {
        proposal: Proposal {
            label: format!("Delete {name}"),
            ..Proposal::default()
        },
        replaced: Vec::new(),
        dangling: Vec::new(),
    };
    let edits = &mut removal.proposal.edits;
    let mut uses = document.uses(section, name);
    uses.dedup();
    // Later items of a list are removed first, so that the paths of the others stay valid.
    for path in uses.into_iter().rev() {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        let shown = path.join(".");
        let is_plain = document.value(&keys) == Some(json!({ "get_param": name }));
        match &default {
            _ if keys.first() == Some(&"parameter_groups") => edits.push(Edit::Remove { path }),
            Some(default) if section == Section::Parameters && is_plain => {
                removal.replaced.insert(0, shown);
                edits.push(Edit::Set {
                    path,
                    value: default.clone(),
                });
            }
            _ => removal.dangling.insert(0, shown),
        }
    }
    edits.push(Edit::Remove {
        path: vec![section.key().to_owned(), name.to_owned()],
    });
    removal
}
