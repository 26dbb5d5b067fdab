//! The source of a field's value: the field itself, a parameter, or another resource.
//!
//! Each field offers the same sources. A switch is one change: a new parameter takes the field's value as its default,
//! and its type and constraints from the property, so that a deployment gives the same result as before.

use std::fmt;

use hot::{
    constraint::Constraint,
    document::Edit,
    expr::Expr,
    template::{Template, is_name},
};
use serde_json::{Map, Value, json};
use types::{Property, PropertyKind, Registry};

use super::{Control, Field, clear};
use crate::commands::Proposal;

/// Maximum number of characters of a word in a proposed name.
const WORD_MAX: usize = 100;

/// Source of a value outside of the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// A parameter, or a part of it.
    Parameter {
        /// The parameter.
        name: String,
        /// Keys and indices into its value.
        keys: Vec<String>,
    },
    /// A resource's id.
    Resource {
        /// The resource.
        name: String,
    },
    /// An attribute of a resource.
    Attribute {
        /// The resource.
        resource: String,
        /// The attribute, then keys and indices into it.
        keys: Vec<String>,
    },
}

impl fmt::Display for Link {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Link::Parameter { name, keys } if keys.is_empty() => write!(to, "parameter {name}"),
            Link::Parameter { name, keys } => write!(to, "{} of parameter {name}", keys.join(".")),
            Link::Resource { name } => write!(to, "{name}"),
            Link::Attribute { resource, keys } => write!(to, "{} of {resource}", keys.join(".")),
        }
    }
}

/// Source that a field can switch to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The field itself.
    Value,
    /// A new parameter with the field's value as its default.
    NewParameter,
    /// A parameter.
    Parameter(String),
    /// A resource's id.
    Resource(String),
    /// A resource and its attribute.
    Attribute(String, String),
}

/// One source with its words.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceChoice {
    /// The source.
    pub source: Source,
    /// Label for users.
    pub label: String,
    /// Further facts, in a few words.
    pub facts: String,
}

/// Sources for a field, those that fit best first.
pub fn sources(template: &Template, types: &Registry, field: &Field) -> Vec<SourceChoice> {
    let property = described(template, types, &field.path);
    let own = owner(&field.path);
    let choice = |source, label: String, facts: String| SourceChoice {
        source,
        label,
        facts,
    };
    let mut choices = Vec::new();
    if matches!(
        field.control,
        Control::Linked(_) | Control::File(_) | Control::Replace(_)
    ) {
        choices.push(choice(
            Source::Value,
            "Value".to_owned(),
            "typed here".to_owned(),
        ));
    }
    let can_be_parameter = !matches!(field.path.first().map(String::as_str), Some("parameters"));
    if can_be_parameter {
        choices.push(choice(
            Source::NewParameter,
            "New parameter".to_owned(),
            new_name(template, &field.path),
        ));
        let kinds = property.map_or(&PARAMETER_TYPES[..], |property| {
            fitting_types(&property.kind)
        });
        let fitting = template.parameters.iter();
        for parameter in fitting.filter(|one| kinds.contains(&one.kind.as_str())) {
            let facts = match &parameter.default {
                Some(default) if !parameter.hidden => {
                    format!("parameter, default {}", hot::parameter::as_string(default))
                }
                _ => "parameter".to_owned(),
            };
            choices.push(choice(
                Source::Parameter(parameter.name.clone()),
                parameter.name.clone(),
                facts,
            ));
        }
    }
    let takes_text = property
        .is_none_or(|property| matches!(property.kind, PropertyKind::String | PropertyKind::Any));
    let targets = property.and_then(|property| property.reference.as_ref());
    for resource in &template.resources {
        if Some(resource.name.as_str()) == own {
            continue;
        }
        let title = types
            .get(&resource.resource_type)
            .map(|one| one.title.clone());
        let fits = targets.is_none_or(|reference| {
            let mut to = reference.to.iter();
            to.any(|one| one.starts_with("component:") || *one == resource.resource_type)
        });
        if takes_text && fits && can_be_parameter {
            choices.push(choice(
                Source::Resource(resource.name.clone()),
                resource.name.clone(),
                title.unwrap_or_else(|| resource.resource_type.clone()),
            ));
        }
    }
    if !can_be_parameter {
        return choices;
    }
    for resource in &template.resources {
        let Some(described) = types.get(&resource.resource_type) else {
            continue;
        };
        if Some(resource.name.as_str()) == own {
            continue;
        }
        for attribute in &described.attributes {
            choices.push(choice(
                Source::Attribute(resource.name.clone(), attribute.name.clone()),
                format!("{} of {}", attribute.name, resource.name),
                attribute.summary.clone(),
            ));
        }
    }
    choices
}

/// The change that switches a field to another source.
pub fn switch(template: &Template, types: &Registry, field: &Field, source: &Source) -> Proposal {
    let set = |value: Value| Edit::Set {
        path: field.path.clone(),
        value,
    };
    let what = field.label.to_lowercase();
    let (label, edits) = match source {
        Source::Value => {
            let default = match &field.control {
                Control::Linked(Link::Parameter { name, keys }) if keys.is_empty() => {
                    let mut parameters = template.parameters.iter();
                    parameters
                        .find(|one| one.name == *name)
                        .and_then(|one| one.default.clone())
                }
                Control::Replace(parts) => {
                    let text = parts.iter().find(|part| part.control == Control::Area);
                    text.map(|text| json!(text.text))
                }
                _ => None,
            };
            let edit = default.map_or_else(|| clear(field), set);
            (format!("Type {what} here"), vec![edit])
        }
        Source::NewParameter => {
            let name = new_name(template, &field.path);
            let property = described(template, types, &field.path);
            let default = value_at(template, &field.path).filter(|value| is_plain(value));
            let words = (field.label.as_str(), field.help.as_str());
            let definition = definition(words, property, default.map(Expr::to_json));
            (
                format!("Make parameter {name}"),
                vec![
                    Edit::Set {
                        path: vec!["parameters".to_owned(), name.clone()],
                        value: definition,
                    },
                    set(json!({ "get_param": name })),
                ],
            )
        }
        Source::Parameter(name) => (
            format!("Take {what} from parameter {name}"),
            vec![set(json!({ "get_param": name }))],
        ),
        Source::Resource(name) => (
            format!("Take {what} from {name}"),
            vec![set(json!({ "get_resource": name }))],
        ),
        Source::Attribute(resource, attribute) => (
            format!("Take {what} from {resource}"),
            vec![set(json!({ "get_attr": [resource, attribute] }))],
        ),
    };
    Proposal {
        label,
        edits,
        ..Proposal::default()
    }
}

/// Types of parameters.
pub const PARAMETER_TYPES: [&str; 5] = [
    "string",
    "number",
    "boolean",
    "comma_delimited_list",
    "json",
];

/// Types of parameters that fit a property, the best first.
fn fitting_types(kind: &PropertyKind) -> &'static [&'static str] {
    match kind {
        PropertyKind::String => &["string", "number"],
        PropertyKind::Integer | PropertyKind::Number => &["number", "string"],
        PropertyKind::Boolean => &["boolean"],
        PropertyKind::List { of } => match of.as_ref().map(|of| &of.kind) {
            Some(PropertyKind::Map { .. } | PropertyKind::List { .. }) => &["json"],
            _ => &["comma_delimited_list", "json"],
        },
        PropertyKind::Map { .. } => &["json"],
        PropertyKind::Any => &PARAMETER_TYPES,
    }
}

/// Definition of a parameter that the value at a path uses, in HOT.
pub fn parameter_for(template: &Template, types: &Registry, path: &[String], name: &str) -> Value {
    let property = described(template, types, path);
    let help = property.map(|property| property.summary.as_str());
    let label = super::label(name);
    definition((&label, help.unwrap_or_default()), property, None)
}

/// Definition of a parameter for a property, in HOT. It has this label and help text.
fn definition(
    (label, help): (&str, &str),
    property: Option<&Property>,
    default: Option<Value>,
) -> Value {
    let kind = match (property.map(|property| &property.kind), &default) {
        (None | Some(PropertyKind::Any), Some(Value::Number(_))) => "number",
        (None | Some(PropertyKind::Any), Some(Value::Bool(_))) => "boolean",
        (None | Some(PropertyKind::Any), Some(Value::Array(_) | Value::Object(_))) => "json",
        (None, _) => "string",
        (Some(property), _) => fitting_types(property)[0],
    };
    let mut definition = Map::from_iter([
        ("type".to_owned(), json!(kind)),
        ("label".to_owned(), json!(label)),
    ]);
    if !help.is_empty() {
        definition.insert("description".to_owned(), json!(help));
    }
    if let Some(default) = default.or_else(|| property?.default.clone()) {
        definition.insert("default".to_owned(), default);
    }
    let Some(property) = property else {
        return Value::Object(definition);
    };
    if property.secret {
        // A secret has no default in the text.
        definition.shift_remove("default");
        definition.insert("hidden".to_owned(), json!(true));
    }
    let constraints: Vec<Value> = property.constraints.iter().map(constraint).collect();
    if !constraints.is_empty() {
        definition.insert("constraints".to_owned(), json!(constraints));
    }
    Value::Object(definition)
}

/// A constraint in HOT.
fn constraint(constraint: &Constraint) -> Value {
    let bounds = |min: Option<Value>, max: Option<Value>| {
        let bounds = [("min", min), ("max", max)].into_iter();
        let bounds = bounds.filter_map(|(key, bound)| Some((key.to_owned(), bound?)));
        Value::Object(bounds.collect())
    };
    let number = |bound: &f64| {
        // Whole numbers are written without a fraction.
        if bound.fract() == 0.0 && bound.abs() < 1e15 {
            json!(*bound as i64)
        } else {
            json!(bound)
        }
    };
    match constraint {
        Constraint::AllowedValues(values) => json!({ "allowed_values": values }),
        Constraint::AllowedPattern(pattern) => json!({ "allowed_pattern": pattern }),
        Constraint::Length { min, max } => {
            json!({ "length": bounds(min.map(Value::from), max.map(Value::from)) })
        }
        Constraint::Range { min, max } => {
            json!({ "range": bounds(min.as_ref().map(number), max.as_ref().map(number)) })
        }
        Constraint::Modulo { step, offset } => {
            json!({ "modulo": { "step": step, "offset": offset } })
        }
        Constraint::Custom(name) => json!({ "custom_constraint": name }),
    }
}

/// Name for a new parameter: the property's, with the resource's before it if it is taken. Characters that a name cannot
/// have become `_`.
pub(super) fn new_name(template: &Template, path: &[String]) -> String {
    let is_free = |name: &String| template.parameters.iter().all(|one| one.name != *name);
    let mut words = path
        .iter()
        .filter(|key| !key.is_empty() && key.parse::<usize>().is_err());
    let base = valid(words.next_back().map_or("value", String::as_str));
    let long = match owner(path) {
        Some(owner) => format!("{}_{base}", valid(owner)),
        None => format!("{base}_value"),
    };
    [base, long.clone()]
        .into_iter()
        .chain((2..).map(|number| format!("{long}_{number}")))
        .find(is_free)
        .unwrap_or(long)
}

/// A word as a part of a name.
fn valid(word: &str) -> String {
    let valid = |c: char| if is_name(&c.to_string()) { c } else { '_' };
    word.chars().take(WORD_MAX).map(valid).collect()
}

/// The resource with the path.
fn owner(path: &[String]) -> Option<&str> {
    match path {
        [section, name, ..] if section == "resources" => Some(name),
        _ => None,
    }
}

/// Description of the value at a path. `None` outside of properties.
pub fn described<'t>(
    template: &Template,
    types: &'t Registry,
    path: &[String],
) -> Option<&'t Property> {
    let [section, name, properties, first, rest @ ..] = path else {
        return None;
    };
    if section != "resources" || properties != "properties" {
        return None;
    }
    let resource_type = types.get(&template.resource(name)?.resource_type)?;
    described_below(types::find(&resource_type.properties, first)?, rest)
}

/// Description of the value at a path below a property.
pub(crate) fn described_below<'t>(
    property: &'t Property,
    path: &[impl AsRef<str>],
) -> Option<&'t Property> {
    path.iter().try_fold(property, |at, key| match &at.kind {
        PropertyKind::Map { of } => types::find(of, key.as_ref()),
        PropertyKind::List { of: Some(of) } => Some(&**of),
        _ => None,
    })
}

/// The value at a path.
pub(super) fn value_at<'t>(template: &'t Template, path: &[String]) -> Option<&'t Expr> {
    let (start, rest) = match path {
        [section, name, _, property, rest @ ..] if section == "resources" => {
            (template.resource(name)?.property(property)?, rest)
        }
        [section, name, _, rest @ ..] if section == "outputs" => {
            let mut outputs = template.outputs.iter();
            (&outputs.find(|one| one.name == *name)?.value, rest)
        }
        _ => return None,
    };
    rest.iter().try_fold(start, |at, key| child(at, key))
}

/// True if the value contains no function.
fn is_plain(value: &Expr) -> bool {
    let mut is_plain = true;
    value.walk(&mut |part| {
        is_plain &= matches!(part, Expr::Literal(_) | Expr::List(_) | Expr::Map(_));
    });
    is_plain
}

/// Value under a key of a map, at an index of a list, or of a function by its name.
fn child<'e>(value: &'e Expr, key: &str) -> Option<&'e Expr> {
    match value {
        Expr::List(items) => items.get(key.parse::<usize>().ok()?),
        Expr::Call {
            function,
            arguments,
        } => (function.name() == key).then_some(&**arguments),
        other => other.get(key),
    }
}
