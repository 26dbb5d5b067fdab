//! Bodies of Neutron's requests: allowed fields, with Neutron's messages.

use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use serde_json::Value;

use crate::kit::field::{Field, Form, Problem, Set, always, as_bool, as_number, never, on_create};
use crate::kit::ip::Cidr;
use crate::kit::record::Fields;
use crate::kit::refusal::Refusal;

/// The fields of all resources.
const STANDARD: &[Field] = &[
    on_create("tenant_id", Form::Text),
    on_create("project_id", Form::Text),
    always("description", Form::Text),
    never("id", Form::Id),
    never("tags", Form::Any),
    never("created_at", Form::Text),
    never("updated_at", Form::Text),
    never("revision_number", Form::Number),
    never("status", Form::Text),
];

/// The fields of a body, checked against a table.
#[derive(Debug, Default)]
pub struct Body {
    fields: Fields,
    by: Caller,
}

/// The caller. Some fields are for administrators only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Caller {
    #[default]
    Member,
    Admin,
}

impl Body {
    /// Reads the body of a creation: `{"<singular>": {...}}`.
    pub fn for_create(
        singular: &str,
        table: &[Field],
        body: Value,
        by: Caller,
    ) -> Result<Self, Refusal> {
        let fields = unwrap(singular, body)?;
        let is_missing = |field: &&Field| field.is_required() && !fields.contains_key(field.name);
        if let Some(field) = table.iter().find(is_missing) {
            return Err(Refusal::bad_request(format!(
                "Failed to parse request. Required attribute '{}' not specified",
                field.name
            )));
        }
        let refused = |field: &Field| {
            let is_refused = field.set == Set::Never;
            is_refused.then(|| format!("Attribute '{}' not allowed in POST", field.name))
        };
        Self::read(&format!("create_{singular}"), table, fields, refused, by)
    }

    /// Reads the body of an update.
    pub fn for_update(
        singular: &str,
        table: &[Field],
        body: Value,
        by: Caller,
    ) -> Result<Self, Refusal> {
        let fields = unwrap(singular, body)?;
        let refused = |field: &Field| {
            let is_refused = matches!(field.set, Set::Never | Set::OnCreate);
            is_refused.then(|| format!("Cannot update read-only attribute {}", field.name))
        };
        Self::read(&format!("update_{singular}"), table, fields, refused, by)
    }

    fn read(
        rule: &str,
        table: &[Field],
        fields: Fields,
        refused: impl Fn(&Field) -> Option<String>,
        by: Caller,
    ) -> Result<Self, Refusal> {
        let names = fields.keys().map(String::as_str);
        let unknown: Vec<&str> = names.filter(|name| !is_known(table, name)).collect();
        if !unknown.is_empty() {
            return Err(Refusal::bad_request(format!(
                "Unrecognized attribute(s) '{}'",
                unknown.join(", ")
            )));
        }
        let mut read = Fields::new();
        let mut ignored = None;
        for (name, value) in &fields {
            let mut known = table.iter().chain(STANDARD);
            let Some(field) = known.find(|field| field.name == name) else {
                continue;
            };
            if let Some(sentence) = refused(field) {
                return Err(Refusal::bad_request(sentence));
            }
            let value = field
                .read(value)
                .map_err(|problem| wrong(name, value, problem))?;
            if field.set == Set::Admins {
                ignored.get_or_insert(name);
            } else {
                read.insert(name.clone(), value);
            }
        }
        match ignored {
            Some(name) if by == Caller::Member => Err(only_admin(&format!("{rule}:{name}"))),
            _ => Ok(Self { fields: read, by }),
        }
    }

    /// Takes a boolean that only administrators can set to true. `rule` is the policy rule's name.
    pub fn admin_flag(&mut self, name: &str, rule: &str) -> Result<Option<bool>, Refusal> {
        match self.flag(name) {
            Some(true) if self.by == Caller::Member => Err(only_admin(rule)),
            value => Ok(value),
        }
    }

    /// Whether the caller is an administrator.
    pub fn are_admins(&self) -> bool {
        self.by == Caller::Admin
    }

    /// Whether the body has the field.
    pub fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// Whether the body has the field with a value other than null.
    pub fn has_value(&self, name: &str) -> bool {
        self.fields.get(name).is_some_and(|value| !value.is_null())
    }

    /// Takes a value. Null counts as absent.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name).filter(|value| !value.is_null())
    }

    /// Sets a value (a default, or a normalised one).
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.fields.insert(name.into(), value.into());
    }

    /// Takes a string.
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

    /// Takes a boolean.
    pub fn flag(&mut self, name: &str) -> Option<bool> {
        self.take(name).as_ref().and_then(as_bool)
    }

    /// Takes a number.
    pub fn number(&mut self, name: &str) -> Option<i64> {
        self.take(name).as_ref().and_then(as_number)
    }

    /// Takes an IPv4 or IPv6 address.
    pub fn any_address(&mut self, name: &str) -> Result<Option<IpAddr>, Refusal> {
        self.parsed_address(name)
    }

    /// Takes an IPv4 address.
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

    /// Takes an address range.
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

    /// Takes a list of strings.
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

    /// The remaining fields.
    pub fn into_fields(self) -> Fields {
        self.fields
    }

    /// The caller.
    pub fn author(&self) -> Caller {
        self.by
    }
}

fn unwrap(singular: &str, body: Value) -> Result<Fields, Refusal> {
    let Value::Object(mut outer) = body else {
        return Err(Refusal::bad_request("Body contains invalid data"));
    };
    match outer.remove(singular) {
        Some(Value::Object(fields)) => Ok(fields),
        _ => Err(Refusal::bad_request(format!(
            "Unable to find '{singular}' in request body"
        ))),
    }
}

/// Whether the resource has a field, which lists can then filter by.
pub fn is_known(table: &[Field], name: &str) -> bool {
    table.iter().chain(STANDARD).any(|field| field.name == name)
}

/// The refusal of a value. Neutron has other messages for values that it converts.
fn wrong(name: &str, value: &Value, problem: Problem) -> Refusal {
    let value = if value.is_null() {
        "None".to_owned()
    } else {
        bare(value)
    };
    let reason = match problem {
        Problem::NotBool | Problem::NotNumber => {
            let form = match problem {
                Problem::NotBool => "cannot be converted to boolean",
                _ => "is not an integer",
            };
            return Refusal::invalid_operation(format_args!("'{value}' {form}"));
        }
        Problem::TooLong => format!("'{value}' exceeds maximum length of 255"),
        Problem::NotId => format!("'{value}' is not a valid UUID"),
        Problem::NotOneOf(_) => format!("{value} is not in valid_values"),
        _ => format!("'{value}' is not a valid string"),
    };
    Refusal::invalid_input(name, reason)
}

/// A value in the format of messages: strings without quotes.
pub fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The refusal of the policy engine for callers without the role `admin`.
pub fn only_admin(rule: &str) -> Refusal {
    // A rule for an attribute is reported together with the rule for the operation.
    Refusal::forbidden(match rule.split_once(':') {
        Some((whole, _)) => format!("(rule:{whole} and rule:{rule}) is disallowed by policy"),
        None => format!("rule:{rule} is disallowed by policy"),
    })
}
