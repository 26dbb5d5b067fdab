//! Fields of bodies as data: form, default, and who may set a field and when. Each service words refusals itself.

use std::net::Ipv4Addr;

use serde_json::{Value, json};
use uuid::Uuid;

/// The form of a value.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// A string of at most 255 characters.
    Text,
    /// The same, or null.
    TextOrNull,
    /// A boolean, also as a string or a number.
    Bool,
    /// A JSON boolean.
    Switch,
    /// A whole number, also as a string.
    Number,
    /// A JSON number within these bounds.
    Range(i64, i64),
    /// One of these JSON numbers.
    Numbers(&'static [i64]),
    /// One of these strings.
    Word(&'static [&'static str]),
    /// An id.
    Id,
    /// An IPv4 address.
    Address,
    /// Anything.
    Any,
}

/// The value of a field that a creation does not set.
#[derive(Debug, Clone, Copy)]
pub enum Usual {
    /// No default: a creation has to set the field.
    Required,
    Null,
    Text(&'static str),
    Switch(bool),
    Number(i64),
    /// An empty list.
    List,
    /// An empty object.
    Object,
}

/// Times at which a body may set a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// On creation only.
    OnCreate,
    /// On creation and later.
    Always,
    /// Never: the service sets it.
    Never,
    /// Always, by administrators. The lab ignores the value.
    Admins,
}

/// A field of a body.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub form: Form,
    pub usual: Usual,
    pub set: Set,
}

/// A field, for tables.
pub const fn field(name: &'static str, form: Form, usual: Usual, set: Set) -> Field {
    Field {
        name,
        form,
        usual,
        set,
    }
}

/// A field that a creation has to set, and that stays.
pub const fn required(name: &'static str, form: Form) -> Field {
    field(name, form, Usual::Required, Set::OnCreate)
}

/// A field that a creation may set, and that stays.
pub const fn on_create(name: &'static str, form: Form) -> Field {
    field(name, form, Usual::Null, Set::OnCreate)
}

/// A field that a creation may set and an update may change.
pub const fn always(name: &'static str, form: Form) -> Field {
    field(name, form, Usual::Null, Set::Always)
}

/// A field that the service sets.
pub const fn never(name: &'static str, form: Form) -> Field {
    field(name, form, Usual::Null, Set::Never)
}

/// A field that administrators may set without effect.
pub const fn admins(name: &'static str, form: Form) -> Field {
    field(name, form, Usual::Null, Set::Admins)
}

/// The reason why a value does not have the form of its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    NotText,
    TooLong,
    NotBool,
    NotNumber,
    TooSmall(i64),
    TooLarge(i64),
    NotOneOf(&'static [&'static str]),
    NotId,
    NotAddress,
}

impl Field {
    /// The field with another usual value.
    pub const fn or(mut self, usual: Usual) -> Self {
        self.usual = usual;
        self
    }

    /// The field, which an update may change.
    pub const fn changeable(mut self) -> Self {
        self.set = Set::Always;
        self
    }

    /// Whether a creation has to set the field.
    pub fn is_required(&self) -> bool {
        matches!(self.usual, Usual::Required)
    }

    /// The value where a body sets none; null for a required field.
    pub fn usual_value(&self) -> Value {
        match self.usual {
            Usual::Required | Usual::Null => Value::Null,
            Usual::Text(text) => text.into(),
            Usual::Switch(on) => on.into(),
            Usual::Number(number) => number.into(),
            Usual::List => json!([]),
            Usual::Object => json!({}),
        }
    }

    /// The value in the field's form, or the problem with it.
    pub fn read(&self, value: &Value) -> Result<Value, Problem> {
        let converted = match self.form {
            Form::TextOrNull | Form::Number | Form::Id if value.is_null() => Value::Null,
            Form::Bool => as_bool(value).ok_or(Problem::NotBool)?.into(),
            Form::Number => as_number(value).ok_or(Problem::NotNumber)?.into(),
            _ => match self.problem(value) {
                None => value.clone(),
                Some(problem) => return Err(problem),
            },
        };
        Ok(converted)
    }

    fn problem(&self, value: &Value) -> Option<Problem> {
        let (text, number) = (value.as_str(), value.as_i64());
        let unless = |is_right: bool, problem| (!is_right).then_some(problem);
        match self.form {
            Form::Text | Form::TextOrNull => match text {
                None => Some(Problem::NotText),
                Some(text) => unless(text.chars().count() <= 255, Problem::TooLong),
            },
            Form::Switch => unless(value.is_boolean(), Problem::NotBool),
            Form::Range(least, most) => match number {
                None => Some(Problem::NotNumber),
                Some(number) if number < least => Some(Problem::TooSmall(least)),
                Some(number) => unless(number <= most, Problem::TooLarge(most)),
            },
            Form::Numbers(all) => unless(
                number.is_some_and(|number| all.contains(&number)),
                Problem::NotNumber,
            ),
            Form::Word(all) => unless(
                text.is_some_and(|word| all.contains(&word)),
                Problem::NotOneOf(all),
            ),
            Form::Id => unless(text.is_some_and(is_uuid), Problem::NotId),
            Form::Address => unless(
                text.is_some_and(|text| text.parse::<Ipv4Addr>().is_ok()),
                Problem::NotAddress,
            ),
            Form::Bool | Form::Number | Form::Any => None,
        }
    }
}

/// Whether a text reads as a UUID, with dashes or without.
pub fn is_uuid(text: &str) -> bool {
    Uuid::try_parse(text).is_ok()
}

/// A boolean, also as a string or a number.
pub fn as_bool(value: &Value) -> Option<bool> {
    let word = match value {
        Value::Bool(flag) => return Some(*flag),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.to_lowercase(),
        _ => return None,
    };
    match word.as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// A whole number, also as a string.
pub fn as_number(value: &Value) -> Option<i64> {
    let text = || value.as_str().and_then(|text| text.parse().ok());
    value.as_i64().or_else(text)
}
