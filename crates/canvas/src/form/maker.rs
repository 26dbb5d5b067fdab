//! Builds a field from a property and its value: the control and its content.

use hot::{
    expr::Expr,
    template::{Resource, Template},
};
use planner::cloud::CloudFacts;
use serde_json::Value;
use types::{Property, PropertyKind, Registry};

use super::{Choice, Control, Field, Tick, label};
use crate::drawing::{interfaces, plain_reference};

/// The input for a form.
pub(super) struct Maker<'a> {
    pub template: &'a Template,
    pub resource: &'a Resource,
    pub types: &'a Registry,
    pub cloud: &'a CloudFacts,
}

impl Maker<'_> {
    /// The field of a property that the type does not define.
    pub fn unknown(&self, name: &str, value: &Expr) -> Field {
        let (control, text) = match value {
            Expr::Literal(Value::String(text)) if text.contains('\n') => {
                (Control::Area, text.clone())
            }
            Expr::Literal(Value::String(text)) => (Control::Text, text.clone()),
            other => (Control::Json, pretty(&other.to_json())),
        };
        Field {
            name: name.to_owned(),
            path: vec![name.to_owned()],
            label: label(name),
            control,
            text,
            required: false,
            help: String::new(),
            placeholder: String::new(),
        }
    }

    /// One field, or one for each key of a map with simple, known keys.
    pub fn fields(&self, property: &Property) -> Vec<Field> {
        let (written, value) = self.given(property);
        if let PropertyKind::Map { of } = &property.kind {
            let keys: Vec<&Property> = of.iter().filter(|key| simple(key)).collect();
            let fits = match value {
                None => true,
                Some(Expr::Map(entries)) => entries
                    .iter()
                    .all(|(name, _)| keys.iter().any(|key| key.name == *name)),
                Some(_) => false,
            };
            if fits && !keys.is_empty() {
                return keys
                    .into_iter()
                    .map(|key| {
                        let inner = value.and_then(|value| crate::drawing::entry(value, &key.name));
                        let mut field = self.field(key, inner);
                        field.name = format!("{}.{}", property.name, key.name);
                        field.path.insert(0, property.name.clone());
                        field.label =
                            format!("{}: {}", label(&property.name), key.name.replace('_', " "));
                        field.required &= value.is_some();
                        field
                    })
                    .collect();
            }
        }
        let mut field = self.field(property, value);
        field.path = vec![written.to_owned()];
        vec![field]
    }

    /// Name under which a property is written, and its value. A deprecated name stays until the user changes it.
    fn given<'p>(&'p self, property: &'p Property) -> (&'p str, Option<&'p Expr>) {
        let value = |name: &str| self.resource.property(name);
        match (value(&property.name), &property.formerly) {
            (None, Some(former)) if value(former).is_some() => (former, value(former)),
            (value, _) => (&property.name, value),
        }
    }

    fn field(&self, property: &Property, value: Option<&Expr>) -> Field {
        let (control, text) = self.control(property, value);
        Field {
            name: property.name.clone(),
            path: vec![property.name.clone()],
            label: label(&property.name),
            control,
            text,
            required: property.required,
            help: property.summary.clone(),
            placeholder: match &property.default {
                Some(default) => plain(default),
                None if self.lacks_list(property) => {
                    "a name (the cloud returned no list)".to_owned()
                }
                None => String::new(),
            },
        }
    }

    fn control(&self, property: &Property, value: Option<&Expr>) -> (Control, String) {
        if let Some(ticks) = self.ticks(property, value) {
            return (Control::Resources(ticks), String::new());
        }
        let choices = self.choices(property);
        if !choices.is_empty() {
            return with_value(choices, value);
        }
        match (&property.kind, value) {
            (_, Some(Expr::Literal(_)) | None) if simple(property) => {
                let control = match &property.kind {
                    PropertyKind::Integer | PropertyKind::Number => Control::Number,
                    PropertyKind::Boolean => Control::Checkbox,
                    _ if property.secret => Control::Secret,
                    _ if property.multiline => Control::Area,
                    _ => Control::Text,
                };
                let now = literal_of(value).or(match &property.kind {
                    PropertyKind::Boolean => property.default.as_ref(),
                    _ => None,
                });
                (control, now.map(plain).unwrap_or_default())
            }
            (PropertyKind::List { of }, _) if of.as_ref().is_none_or(|of| matches!(of.kind, PropertyKind::String)) => {
                match value {
                    None => (Control::Lines, String::new()),
                    Some(Expr::List(items)) if items.iter().all(|item| matches!(item, Expr::Literal(Value::String(text)) if !text.contains('\n'))) => {
                        let lines: Vec<String> = items.iter().map(|item| literal_of(Some(item)).map(plain).unwrap_or_default()).collect();
                        (Control::Lines, lines.join("\n"))
                    }
                    Some(other) => (Control::Json, pretty(&other.to_json())),
                }
            }
            (_, None) => (Control::Json, String::new()),
            (_, Some(other)) => (Control::Json, pretty(&other.to_json())),
        }
    }

    /// Resources that a list property can reference. `None` for other properties.
    fn ticks(&self, property: &Property, value: Option<&Expr>) -> Option<Vec<Tick>> {
        let PropertyKind::List { of } = &property.kind else {
            return None;
        };
        if !matches!(value, None | Some(Expr::List(_))) {
            return None;
        }
        if property.name == "networks" && self.resource.resource_type == types::SERVER {
            return self.networks(value);
        }
        let reference = property
            .reference
            .as_ref()
            .or_else(|| of.as_ref()?.reference.as_ref())?;
        let items: &[Expr] = match value {
            Some(Expr::List(items)) => items,
            _ => &[],
        };
        // Other items in the list would not be visible.
        if items.iter().any(|item| plain_reference(item).is_none()) {
            return None;
        }
        let at = |name: &str| {
            items
                .iter()
                .position(|item| plain_reference(item) == Some(name))
        };
        Some(
            self.fitting(&reference.to)
                .map(|name| Tick {
                    name: name.to_owned(),
                    at: at(name),
                })
                .collect(),
        )
    }

    fn networks(&self, value: Option<&Expr>) -> Option<Vec<Tick>> {
        let mine = interfaces(self.template, self.resource);
        let count = match value {
            Some(Expr::List(items)) => items.len(),
            _ => 0,
        };
        let all_drawn = mine.len() == count && mine.iter().all(|one| one.network.is_some());
        all_drawn.then(|| {
            self.fitting(&[types::NET.to_owned()])
                .map(|name| Tick {
                    name: name.to_owned(),
                    at: mine
                        .iter()
                        .find(|one| one.network.as_deref() == Some(name))
                        .map(|one| one.index),
                })
                .collect()
        })
    }

    /// Names of resources with a suitable type.
    pub fn fitting(&self, to: &[String]) -> impl Iterator<Item = &str> {
        self.template
            .resources
            .iter()
            .filter(move |other| {
                other.name != self.resource.name
                    && to.iter().any(|one| match one.strip_prefix("component:") {
                        Some(capability) => self
                            .types
                            .get(&other.resource_type)
                            .and_then(|described| described.component.as_ref())
                            .is_some_and(|item| {
                                item.provides.iter().any(|offer| offer.name == capability)
                            }),
                        None => *one == other.resource_type,
                    })
            })
            .map(|other| other.name.as_str())
    }
}

fn simple(property: &Property) -> bool {
    matches!(
        property.kind,
        PropertyKind::String | PropertyKind::Integer | PropertyKind::Number | PropertyKind::Boolean
    )
}

fn literal_of(value: Option<&Expr>) -> Option<&Value> {
    match value {
        Some(Expr::Literal(literal)) => Some(literal),
        _ => None,
    }
}

/// A select that contains the current value, even if it is not among the choices.
fn with_value(mut choices: Vec<Choice>, value: Option<&Expr>) -> (Control, String) {
    let Some(value) = value else {
        return (Control::Select(choices), String::new());
    };
    let now = value.to_json();
    if let Some(choice) = choices.iter().find(|choice| choice.value == now) {
        let key = choice.key.clone();
        return (Control::Select(choices), key);
    }
    let label = match value {
        Expr::Literal(literal) => plain(literal),
        Expr::GetParam(name, _) => format!("parameter {name}"),
        Expr::GetResource(name) => name.clone(),
        Expr::GetAttr(name, rest) => {
            let rest: Vec<String> = rest.iter().map(|part| plain(&part.to_json())).collect();
            format!("{} of {name}", rest.join("."))
        }
        _ => now.to_string(),
    };
    let key = format!("={label}");
    choices.insert(
        0,
        Choice {
            key: key.clone(),
            label,
            value: now,
        },
    );
    (Control::Select(choices), key)
}

/// A value as the text of a control.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
