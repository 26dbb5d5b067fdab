//! What a body may say about a thing, and reading it.
//!
//! Neutron checks bodies against such a table too, so unknown, read-only, missing and ill-typed attributes are refused here once,
//! in its words.

use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::kit::ip::Cidr;
use crate::kit::refusal::Refusal;

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A string of at most 255 characters.
    Text,
    /// The same, or null.
    TextOrNull,
    /// A boolean, also as the string or number that Neutron takes.
    Bool,
    /// A whole number.
    Number,
    /// An id of something.
    Id,
    /// Anything that the kind itself looks at.
    Any,
}

/// When it may be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Must be said on creation, and never again.
    Required,
    /// Must be said on creation, and may be changed.
    Changeable,
    /// May be said on creation.
    OnCreate,
    /// May be said on creation and changed later.
    Always,
    /// Only the service says it.
    Never,
    /// Administrators may say it; the lab takes it and makes nothing of it.
    Admins,
}

/// One attribute.
#[derive(Debug)]
pub struct AttributeSpec {
    /// Its name.
    pub name: &'static str,
    /// Its form.
    pub form: Form,
    /// When it may be said.
    pub said: Said,
}

/// Short for a table's line.
pub const fn attribute(name: &'static str, form: Form, said: Said) -> AttributeSpec {
    AttributeSpec { name, form, said }
}

const OWNER: &[AttributeSpec] = &[
    attribute("tenant_id", Form::Text, Said::OnCreate),
    attribute("project_id", Form::Text, Said::OnCreate),
    attribute("description", Form::Text, Said::Always),
    attribute("id", Form::Id, Said::Never),
    attribute("tags", Form::Any, Said::Never),
    attribute("created_at", Form::Text, Said::Never),
    attribute("updated_at", Form::Text, Said::Never),
    attribute("revision_number", Form::Number, Said::Never),
    attribute("status", Form::Text, Said::Never),
];

/// A body's attributes, checked for form; whoever makes the thing takes them out one by one.
#[derive(Debug, Default)]
pub struct Attributes {
    fields: Map<String, Value>,
    by: Author,
}

/// Who says it: some attributes are administrators' to say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Author {
    /// Somebody of the project.
    #[default]
    Member,
    /// An administrator.
    Admin,
}

impl Attributes {
    /// Read the body of a creation: `{"<singular>": {...}}`.
    pub fn for_create(
        singular: &str,
        specs: &[AttributeSpec],
        body: Value,
        by: Author,
    ) -> Result<Self, Refusal> {
        let fields = Self::unwrap(singular, body)?;
        let missing = specs.iter().find(|spec| {
            matches!(spec.said, Said::Required | Said::Changeable)
                && !fields.contains_key(spec.name)
        });
        if let Some(spec) = missing {
            return Err(Refusal::bad_request(format!(
                "Failed to parse request. Required attribute '{}' not specified",
                spec.name
            )));
        }
        let not_allowed = |name: &str| match specs_of(specs, name).map(|spec| spec.said) {
            Some(Said::Never) => Some(format!("Attribute '{name}' not allowed in POST")),
            _ => None,
        };
        Self::check(specs, fields, not_allowed, by)?
            .without_admins(specs, &format!("create_{singular}"))
    }

    /// Read the body of a change.
    pub fn for_update(
        singular: &str,
        specs: &[AttributeSpec],
        body: Value,
        by: Author,
    ) -> Result<Self, Refusal> {
        let fields = Self::unwrap(singular, body)?;
        let not_allowed = |name: &str| match specs_of(specs, name).map(|spec| spec.said) {
            Some(Said::Always | Said::Changeable | Said::Admins) => None,
            _ => Some(format!("Cannot update read-only attribute {name}")),
        };
        Self::check(specs, fields, not_allowed, by)?
            .without_admins(specs, &format!("update_{singular}"))
    }

    /// Take out what administrators may say and nobody looks at; members may not say it.
    fn without_admins(mut self, specs: &[AttributeSpec], rule: &str) -> Result<Self, Refusal> {
        let theirs = specs.iter().filter(|spec| spec.said == Said::Admins);
        for spec in theirs {
            if self.fields.remove(spec.name).is_some() && self.by == Author::Member {
                let rule = format!("{rule}:{}", spec.name);
                return Err(only_admin(&rule));
            }
        }
        Ok(self)
    }

    fn unwrap(singular: &str, body: Value) -> Result<Map<String, Value>, Refusal> {
        match body {
            Value::Object(mut outer) => match outer.remove(singular) {
                Some(Value::Object(fields)) => Ok(fields),
                _ => Err(Refusal::bad_request(format!(
                    "Unable to find '{singular}' in request body"
                ))),
            },
            _ => Err(Refusal::bad_request("Body contains invalid data")),
        }
    }

    fn check(
        specs: &[AttributeSpec],
        fields: Map<String, Value>,
        not_allowed: impl Fn(&str) -> Option<String>,
        by: Author,
    ) -> Result<Self, Refusal> {
        let unknown: Vec<&str> = fields
            .keys()
            .map(String::as_str)
            .filter(|name| specs_of(specs, name).is_none())
            .collect();
        if !unknown.is_empty() {
            return Err(Refusal::bad_request(format!(
                "Unrecognized attribute(s) '{}'",
                unknown.join(", ")
            )));
        }
        for (name, value) in &fields {
            if let Some(sentence) = not_allowed(name) {
                return Err(Refusal::bad_request(sentence));
            }
            if let Some(spec) = specs_of(specs, name) {
                fits(spec, value)?;
            }
        }
        Ok(Self { fields, by })
    }

    /// Take out a boolean that only administrators may set, under the policy engine's name for that.
    pub fn admins_flag(&mut self, name: &str, rule: &str) -> Result<Option<bool>, Refusal> {
        match self.flag(name) {
            Some(true) if self.by == Author::Member => Err(only_admin(rule)),
            said => Ok(said),
        }
    }

    /// The same of a change, in which a member may not say even what is so already.
    pub fn admins_change(&mut self, name: &str, rule: &str) -> Result<Option<bool>, Refusal> {
        match self.says(name) && self.by == Author::Member {
            true => Err(only_admin(rule)),
            false => Ok(self.flag(name)),
        }
    }

    /// Whether an administrator says them.
    pub fn are_admins(&self) -> bool {
        self.by == Author::Admin
    }

    /// Whether the body says it.
    pub fn says(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// Whether the body says it, and not that there is none.
    pub fn says_something(&self, name: &str) -> bool {
        self.fields.get(name).is_some_and(|value| !value.is_null())
    }

    /// Take a value out; a null counts as not said.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name).filter(|value| !value.is_null())
    }

    /// Put a value in (a default, or one brought into its right form).
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.fields.insert(name.into(), value.into());
    }

    /// Take a string out.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Refusal::invalid_input(
                name,
                format!("'{}' is not a valid string", bare(&other)),
            )),
        }
    }

    /// Take a boolean out.
    pub fn flag(&mut self, name: &str) -> Option<bool> {
        self.take(name).as_ref().and_then(as_bool)
    }

    /// Take a number out.
    pub fn number(&mut self, name: &str) -> Option<i64> {
        self.take(name).as_ref().and_then(as_number)
    }

    /// Take an address of either family out.
    pub fn any_address(&mut self, name: &str) -> Result<Option<IpAddr>, Refusal> {
        self.parsed_address(name)
    }

    /// Take an IPv4 address out.
    pub fn address(&mut self, name: &str) -> Result<Option<Ipv4Addr>, Refusal> {
        self.parsed_address(name)
    }

    fn parsed_address<A: FromStr>(&mut self, name: &str) -> Result<Option<A>, Refusal> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let parsed = text.parse();
        parsed.map(Some).map_err(|_| {
            Refusal::invalid_input(name, format!("'{text}' is not a valid IP address"))
        })
    }

    /// Take an address range out.
    pub fn cidr(&mut self, name: &str) -> Result<Option<Cidr>, Refusal> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        let parsed = text.parse();
        parsed.map(Some).map_err(|_| {
            Refusal::new(
                400,
                "InvalidInput",
                format!("Invalid input for operation: {text} is not in a CIDR format."),
            )
        })
    }

    /// Take a list of strings out.
    pub fn texts(&mut self, name: &str) -> Result<Option<Vec<String>>, Refusal> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let items = value.as_array().and_then(|items| {
            items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect()
        });
        match items {
            Some(items) => Ok(Some(items)),
            None => Err(Refusal::invalid_input(
                name,
                format!("'{}' is not a list", bare(&value)),
            )),
        }
    }

    /// What is left.
    pub fn into_inner(self) -> Map<String, Value> {
        self.fields
    }
}

/// What is known of an attribute.
fn specs_of<'a>(specs: &'a [AttributeSpec], name: &str) -> Option<&'a AttributeSpec> {
    specs.iter().chain(OWNER).find(|spec| spec.name == name)
}

/// Whether a list may be asked by this name.
pub fn is_filter(specs: &[AttributeSpec], name: &str) -> bool {
    specs_of(specs, name).is_some()
}

/// Whether a value has the form of its attribute. What Neutron converts before it looks at it is refused in other words.
fn fits(spec: &AttributeSpec, value: &Value) -> Result<(), Refusal> {
    let said = if value.is_null() {
        "None".to_owned()
    } else {
        bare(value)
    };
    let converted = |reason: &str| {
        Err(Refusal::new(
            400,
            "InvalidInput",
            format!("Invalid input for operation: '{said}' {reason}."),
        ))
    };
    let wrong = |reason: &str| {
        Err(Refusal::invalid_input(
            spec.name,
            format!("'{said}' {reason}"),
        ))
    };
    match (spec.form, value) {
        (Form::Any, _) | (Form::TextOrNull | Form::Number | Form::Id, Value::Null) => Ok(()),
        (Form::Text | Form::TextOrNull, Value::String(text)) if text.chars().count() > 255 => {
            wrong("exceeds maximum length of 255")
        }
        (Form::Text | Form::TextOrNull, Value::String(_)) => Ok(()),
        (Form::Text | Form::TextOrNull, _) => wrong("is not a valid string"),
        (Form::Bool, _) if as_bool(value).is_none() => converted("cannot be converted to boolean"),
        (Form::Number, _) if as_number(value).is_none() => converted("is not an integer"),
        (Form::Id, Value::String(text)) if is_uuid(text) => Ok(()),
        (Form::Id, _) => wrong("is not a valid UUID"),
        (Form::Bool | Form::Number, _) => Ok(()),
    }
}

/// Whether a text reads as a UUID, with dashes or without.
pub fn is_uuid(text: &str) -> bool {
    uuid::Uuid::try_parse(text).is_ok()
}

fn as_bool(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => number
            .as_i64()
            .filter(|n| (0..=1).contains(n))
            .map(|n| n == 1),
        Value::String(text) => match text.to_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// A whole number, also as text.
pub fn as_number(value: &Value) -> Option<i64> {
    value
        .as_i64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
}

/// A value as a message shows it: strings without quotes.
pub fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What the policy engine says to a member.
pub fn only_admin(rule: &str) -> Refusal {
    // A rule about an attribute stands beside the one about the whole.
    Refusal::forbidden(match rule.split_once(':') {
        Some((whole, _)) => format!("(rule:{whole} and rule:{rule}) is disallowed by policy"),
        None => format!("rule:{rule} is disallowed by policy"),
    })
}
