//! Builds a field from a property and its value: the control and its content.

use hot::{
    expr::{Expr, Function},
    template::Template,
};
use planner::cloud::CloudFacts;
use serde_json::Value;
use types::{Property, PropertyKind, Registry, Rule, of_kind};

use super::{Choice, Control, Field, Link, Tick, label};
use crate::drawing::plain_reference;

/// The input for a form.
pub(super) struct Maker<'a> {
    pub template: &'a Template,
    pub types: &'a Registry,
    pub cloud: &'a CloudFacts,
    /// Resource of the form, which cannot refer to itself. Empty in other forms.
    pub own: &'a str,
}

/// Values of a map, and its place in the template.
#[derive(Clone)]
pub(super) struct Values<'e> {
    pub entries: Vec<(&'e str, &'e Expr)>,
    /// Path of the map.
    pub path: Vec<String>,
    /// Start of the names of fields, such as `rules.0.`.
    pub prefix: String,
}

impl<'e> Values<'e> {
    fn get(&self, name: &str) -> Option<&'e Expr> {
        let mut entries = self.entries.iter();
        entries
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }

    pub fn below(&self, name: &str) -> Vec<String> {
        self.path.iter().cloned().chain([name.to_owned()]).collect()
    }

    /// Name under which a property is written, and its value. A deprecated name stays until the user changes it.
    fn given<'p>(&self, property: &'p Property) -> (&'p str, Option<&'e Expr>) {
        match (self.get(&property.name), &property.formerly) {
            (None, Some(former)) if self.get(former).is_some() => (former, self.get(former)),
            (value, _) => (&property.name, value),
        }
    }
}

impl Maker<'_> {
    /// The fields of a map: described properties that are offered or used, then the others.
    ///
    /// Required ones come first, then the usual one of several alternatives. The order does not depend on the values, so
    /// that no field moves while a user types in it.
    pub fn map(&self, properties: &[Property], rules: &[Rule], values: &Values<'_>) -> Vec<Field> {
        // Deprecated properties are displayed only if they are used.
        let offered = |property: &&Property| {
            !(property.hidden || property.unsupported) || values.given(property).1.is_some()
        };
        let usual = |name: &str| {
            let mut rules = rules.iter().filter(|rule| rule.when.is_none());
            rules.find(|rule| rule.any_of.first().is_some_and(|first| first == name))
        };
        let mut known: Vec<&Property> = properties.iter().filter(offered).collect();
        known.sort_by_key(|property| match usual(&property.name) {
            _ if property.required => 0,
            Some(_) => 1,
            None => 2,
        });
        let mut fields = Vec::new();
        for property in known {
            let start = fields.len();
            fields.extend(self.fields(property, values));
            let is_missing = usual(&property.name)
                .is_some_and(|rule| rule.any_of.iter().all(|name| values.get(name).is_none()));
            if let (true, [field]) = (is_missing, &mut fields[start..]) {
                field.required = true;
            }
        }
        for (name, value) in &values.entries {
            if types::find(properties, name).is_none() {
                fields.push(self.unknown(name, value, values));
            }
        }
        fields
    }

    /// The field of a property that the type does not define.
    pub fn unknown(&self, name: &str, value: &Expr, values: &Values<'_>) -> Field {
        let (full_name, path) = (format!("{}{name}", values.prefix), values.below(name));
        let (control, text) = match value {
            Expr::Literal(Value::String(text)) if text.contains('\n') => {
                (Control::Area, text.clone())
            }
            Expr::Literal(Value::String(text)) => (Control::Text, text.clone()),
            Expr::Literal(Value::Number(number)) => (Control::Number, number.to_string()),
            Expr::Literal(Value::Bool(on)) => (Control::Checkbox, on.to_string()),
            other => linked(other)
                .or_else(|| self.composed(other, &full_name, &path))
                .unwrap_or_else(|| (Control::Json, pretty(&other.to_json()))),
        };
        Field {
            name: full_name,
            path,
            label: label(name),
            control,
            text,
            required: false,
            is_alone: false,
            help: String::new(),
            placeholder: String::new(),
            proposals: Vec::new(),
            is_mixed: false,
        }
    }

    /// One field, or one for each key of a map with simple, known keys.
    fn fields(&self, property: &Property, values: &Values<'_>) -> Vec<Field> {
        let (written, value) = values.given(property);
        if let PropertyKind::Map { of } = &property.kind {
            let keys: Vec<&Property> = of
                .iter()
                .filter(|key| simple(key) || columns(key).is_some())
                .collect();
            let fits = match value {
                None => true,
                Some(Expr::Map(entries)) => entries
                    .iter()
                    .all(|(name, _)| keys.iter().any(|key| key.name == *name)),
                Some(_) => false,
            };
            if fits && !keys.is_empty() {
                let inner = Values {
                    entries: match value {
                        Some(Expr::Map(entries)) => pairs(entries),
                        _ => Vec::new(),
                    },
                    path: values.below(written),
                    prefix: format!("{}{}.", values.prefix, property.name),
                };
                return keys
                    .into_iter()
                    .map(|key| {
                        let mut field = self.field(key, &inner);
                        let name = key.name.replace('_', " ");
                        field.label = format!("{}: {name}", label(&property.name));
                        field.required &= value.is_some();
                        field
                    })
                    .collect();
            }
        }
        vec![self.field(property, values)]
    }

    fn field(&self, property: &Property, values: &Values<'_>) -> Field {
        let (written, value) = values.given(property);
        let path = values.below(written);
        let name = format!("{}{}", values.prefix, property.name);
        let (control, text) = self.control(property, value, &name, &path);
        Field {
            proposals: self.proposals(property, &path),
            is_mixed: false,
            name,
            path,
            label: label(&property.name),
            control,
            text,
            required: property.required,
            is_alone: false,
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

    fn control(
        &self,
        property: &Property,
        value: Option<&Expr>,
        name: &str,
        path: &[String],
    ) -> (Control, String) {
        if let Some(Expr::GetParam(..) | Expr::GetAttr(..)) = value
            && let Some(linked) = value.and_then(linked)
        {
            return linked;
        }
        if let Some(columns) = columns(property)
            && let Some(table) = self.table(property, columns, value, name, path)
        {
            let length = table.rows.len();
            let text = if length == 0 {
                String::new()
            } else {
                length.to_string()
            };
            return (Control::Table(table), text);
        }
        if let Some(ticks) = self.ticks(property, value) {
            return (Control::Resources(ticks), String::new());
        }
        let choices = self.choices(property);
        if !choices.is_empty() {
            return with_value(choices, value);
        }
        if let Some(linked) = value.and_then(linked) {
            return linked;
        }
        if let Some(composed) = value.and_then(|value| self.composed(value, name, path)) {
            return composed;
        }
        match (&property.kind, value) {
            (PropertyKind::Map { of }, None | Some(Expr::Map(_))) if of.is_empty() => {
                let pairs = self.pairs(property, value, name, path);
                let count = Some(pairs.len()).filter(|count| *count > 0);
                let text = count.map(|count| count.to_string()).unwrap_or_default();
                (Control::Pairs(pairs), text)
            }
            (_, Some(Expr::Literal(_)) | None) if simple(property) => {
                // A line of text would lose the line ends.
                let is_long = value
                    .and_then(Expr::as_str)
                    .is_some_and(|text| text.contains('\n'));
                let control = match &property.kind {
                    PropertyKind::Integer | PropertyKind::Number => Control::Number,
                    PropertyKind::Boolean => Control::Checkbox,
                    _ if property.secret && (property.multiline || is_long) => Control::SecretArea,
                    _ if property.secret => Control::Secret,
                    _ if property.multiline || is_long => Control::Area,
                    _ => Control::Text,
                };
                let now = literal_of(value).or(match &property.kind {
                    PropertyKind::Boolean => property.default.as_ref(),
                    _ => None,
                });
                (control, now.map(plain).unwrap_or_default())
            }
            (PropertyKind::List { of }, _)
                if of
                    .as_ref()
                    .is_none_or(|of| matches!(of.kind, PropertyKind::String)) =>
            {
                let is_line = |item: &Expr| matches!(item, Expr::Literal(Value::String(text)) if !text.contains('\n'));
                match value {
                    None => (Control::Lines, String::new()),
                    Some(Expr::List(items)) if items.iter().all(is_line) => {
                        let lines: Vec<&str> = items.iter().filter_map(Expr::as_str).collect();
                        (Control::Lines, lines.join("\n"))
                    }
                    Some(other) => (Control::Json, pretty(&other.to_json())),
                }
            }
            (_, None) => (Control::Json, String::new()),
            (_, Some(other)) => (Control::Json, pretty(&other.to_json())),
        }
    }

    /// The control of a text from a file, or with words that are replaced. `None` for other values.
    fn composed(&self, value: &Expr, name: &str, path: &[String]) -> Option<(Control, String)> {
        let Expr::Call {
            function,
            arguments,
        } = value
        else {
            return None;
        };
        match (function, &**arguments) {
            (Function::GetFile, Expr::Literal(Value::String(file))) => {
                Some((Control::File(file.clone()), file.clone()))
            }
            (
                Function::StrReplace | Function::StrReplaceStrict | Function::StrReplaceVstrict,
                Expr::Map(entries),
            ) => {
                let key = function.name();
                let values = Values {
                    entries: pairs(entries),
                    path: [path.to_vec(), vec![key.to_owned()]].concat(),
                    prefix: format!("{name}.{key}."),
                };
                let text = Property {
                    required: true,
                    multiline: true,
                    summary: "The text. Each word is replaced by its value.".to_owned(),
                    ..of_kind("template", PropertyKind::String)
                };
                let words = Property {
                    required: true,
                    summary: "Words of the text, and their values.".to_owned(),
                    ..of_kind("params", PropertyKind::Map { of: Vec::new() })
                };
                let fields = [text, words].map(|part| self.field(&part, &values));
                Some((Control::Replace(fields.into()), key.to_owned()))
            }
            _ => None,
        }
    }

    /// A field for each key of a map with any keys.
    fn pairs(
        &self,
        property: &Property,
        value: Option<&Expr>,
        name: &str,
        path: &[String],
    ) -> Vec<Field> {
        let Some(Expr::Map(entries)) = value else {
            return Vec::new();
        };
        let values = Values {
            entries: Vec::new(),
            path: path.to_vec(),
            prefix: format!("{name}."),
        };
        let fields = entries.iter().map(|(key, value)| {
            let mut field = self.unknown(key, value, &values);
            field.label = key.clone();
            field.is_alone = entries.len() == 1;
            field.control = match field.control {
                Control::Text if property.secret => Control::Secret,
                Control::Area if property.secret => Control::SecretArea,
                other => other,
            };
            field
        });
        fields.collect()
    }

    /// Resources that a list property can reference. `None` for other properties.
    fn ticks(&self, property: &Property, value: Option<&Expr>) -> Option<Vec<Tick>> {
        let PropertyKind::List { of } = &property.kind else {
            return None;
        };
        let items: &[Expr] = match value {
            None => &[],
            Some(Expr::List(items)) => items,
            Some(_) => return None,
        };
        let reference = property
            .reference
            .as_ref()
            .or_else(|| of.as_ref()?.reference.as_ref())?;
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

    /// Names of resources with a suitable type.
    pub fn fitting(&self, to: &[String]) -> impl Iterator<Item = &str> {
        self.template
            .resources
            .iter()
            .filter(move |other| {
                other.name != self.own
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

/// Keys of the entries, if the property is a list of described maps.
pub(super) fn columns(property: &Property) -> Option<&[Property]> {
    match &property.kind {
        PropertyKind::List { of: Some(of) } => match &of.kind {
            PropertyKind::Map { of } if !of.is_empty() => Some(of),
            _ => None,
        },
        _ => None,
    }
}

/// Marks the field of the only value in a map, so that the map stays while this value is replaced. `depth` is the length
/// of the map's path.
pub(super) fn mark_alone(fields: &mut [Field], map: &Expr, depth: usize) {
    let is_written = |field: &Field| {
        let mut keys = field.path[depth..].iter();
        keys.try_fold(map, |at, key| at.get(key)).is_some()
    };
    let mut written = fields.iter_mut().filter(|field| is_written(field));
    if let (Some(only), None) = (written.next(), written.next()) {
        only.is_alone = true;
    }
}

/// Entries of a map by reference.
pub(super) fn pairs(entries: &[(String, Expr)]) -> Vec<(&str, &Expr)> {
    let entries = entries.iter();
    entries
        .map(|(name, value)| (name.as_str(), value))
        .collect()
}

pub(super) fn simple(property: &Property) -> bool {
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

/// The control of a value that comes from a parameter or another resource.
pub(super) fn linked(value: &Expr) -> Option<(Control, String)> {
    let words = |path: &[Expr]| -> Option<Vec<String>> {
        let words = path.iter().map(|part| literal_of(Some(part)).map(plain));
        words.collect()
    };
    let link = match value {
        Expr::GetParam(name, path) => Link::Parameter {
            name: name.clone(),
            keys: words(path)?,
        },
        Expr::GetResource(name) => Link::Resource { name: name.clone() },
        Expr::GetAttr(name, path) => Link::Attribute {
            resource: name.clone(),
            keys: words(path)?,
        },
        _ => return None,
    };
    let text = link.to_string();
    Some((Control::Linked(link), text))
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
    if let Some(linked) = linked(value) {
        return linked;
    }
    let label = match value {
        Expr::Literal(literal) => plain(literal),
        _ => now.to_string(),
    };
    let key = format!("={label}");
    choices.insert(
        0,
        Choice {
            key: key.clone(),
            label,
            facts: String::new(),
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

pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
