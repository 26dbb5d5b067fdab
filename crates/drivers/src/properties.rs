//! Access to resolved properties with type checks. Errors contain the name of the property.
//!
//! HOT is lenient: a string parameter is valid for a number or a boolean (`"80"`, `"true"`), so these methods accept it
//! too. Null always counts as absent.

use openstack::Session;
use openstack::network::Entity;
use serde_json::{Map, Value};

use crate::driver::DriverError;

/// The properties of a resource, or a nested map.
#[derive(Clone, Copy)]
pub(super) struct Properties<'a> {
    map: &'a Map<String, Value>,
    /// Prefix for error messages, such as `networks.0.` for a nested map.
    prefix: &'a str,
}

/// Values of properties. `None` if one of them is missing or wrong: then nothing was created with them.
pub(super) fn if_valid<T>(named: Result<T, DriverError>) -> Result<Option<T>, DriverError> {
    match named {
        Err(DriverError::Property { .. }) => Ok(None),
        named => named.map(Some),
    }
}

impl<'a> Properties<'a> {
    pub(super) fn of(map: &'a Map<String, Value>) -> Properties<'a> {
        Properties { map, prefix: "" }
    }

    /// A nested map; `prefix` is for error messages.
    pub(super) fn within(value: &'a Value, prefix: &'a str) -> Result<Properties<'a>, DriverError> {
        match value {
            Value::Object(map) => Ok(Properties { map, prefix }),
            other => Err(wrong(
                prefix.trim_end_matches('.'),
                format!("it must be a map, not {}", kind(other)),
            )),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>, DriverError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(Value::Bool(on)) => Ok(Some(on.to_string())),
            Some(other) => Err(self.wrong(name, format!("it must be text, not {}", kind(other)))),
        }
    }

    /// Text; empty text counts as absent.
    pub(super) fn filled(&self, name: &str) -> Result<Option<String>, DriverError> {
        Ok(self.text(name)?.filter(|text| !text.is_empty()))
    }

    pub(super) fn required(&self, name: &str) -> Result<String, DriverError> {
        self.filled(name)?
            .ok_or_else(|| self.wrong(name, "it must be given".into()))
    }

    pub(super) fn integer(&self, name: &str) -> Result<Option<i64>, DriverError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let number = match value {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        number
            .map(Some)
            .ok_or_else(|| self.wrong(name, format!("it must be a whole number, not {value}")))
    }

    pub(super) fn boolean(&self, name: &str) -> Result<Option<bool>, DriverError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let on = match value {
            Value::Bool(on) => Some(*on),
            Value::Number(number) => number.as_i64().map(|number| number != 0),
            Value::String(text) => match text.to_lowercase().as_str() {
                "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
                "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
                _ => None,
            },
            _ => None,
        };
        on.map(Some)
            .ok_or_else(|| self.wrong(name, format!("it must be true or false, not {value}")))
    }

    /// A list; empty if absent. A single value counts as a list with one item, as in HOT.
    pub(super) fn list(&self, name: &str) -> &'a [Value] {
        match self.get(name) {
            None => &[],
            Some(Value::Array(all)) => all,
            Some(one) => std::slice::from_ref(one),
        }
    }

    /// A list of texts.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, DriverError> {
        let text = |value: &Value| match value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            other => Err(self.wrong(
                name,
                format!("it must be a list of texts, but holds {}", kind(other)),
            )),
        };
        self.list(name).iter().map(text).collect()
    }

    pub(super) fn wrong(&self, name: &str, message: String) -> DriverError {
        wrong(&format!("{}{name}", self.prefix), message)
    }

    /// Copies properties with the same name in the API, unchanged.
    pub(super) fn copy(&self, names: &[&str], body: &mut Map<String, Value>) {
        for name in names {
            if let Some(value) = self.get(name) {
                body.insert((*name).to_string(), value.clone());
            }
        }
    }

    /// Copies booleans with the same name in the API.
    pub(super) fn copy_booleans(
        &self,
        names: &[&str],
        body: &mut Map<String, Value>,
    ) -> Result<(), DriverError> {
        for name in names {
            if let Some(on) = self.boolean(name)? {
                body.insert((*name).to_string(), on.into());
            }
        }
        Ok(())
    }

    /// The id of the resource in a property, which contains a name or an id.
    pub(super) async fn id_of<E: Entity>(
        &self,
        session: &Session,
        name: &str,
    ) -> Result<Option<String>, DriverError> {
        match self.filled(name)? {
            Some(given) => self.id_named::<E>(session, name, &given).await.map(Some),
            None => Ok(None),
        }
    }

    /// The id of the resource `given` by name or id in the property `name`.
    pub(super) async fn id_named<E: Entity>(
        &self,
        session: &Session,
        name: &str,
        given: &str,
    ) -> Result<String, DriverError> {
        // Text in the form of an id mostly comes from `get_resource`. A look-up would be an unnecessary call, as the
        // service reports a missing resource itself.
        if openstack::looks_like_id(given) {
            return Ok(given.to_string());
        }
        let found = session.network().find::<E>(given).await;
        Ok(found
            .map_err(|error| self.looked_up(name, error))?
            .id()
            .to_string())
    }

    /// The error of a failed look-up. It contains the property if the resource is missing or ambiguous.
    pub(super) fn looked_up(&self, name: &str, error: openstack::Error) -> DriverError {
        match error {
            openstack::Error::Unknown { .. } | openstack::Error::Ambiguous { .. } => {
                self.wrong(name, error.to_string())
            }
            other => other.into(),
        }
    }
}

fn wrong(property: &str, message: String) -> DriverError {
    DriverError::Property {
        property: property.to_string(),
        message,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_that_mean_numbers_and_switches() {
        let map = json!({"port": "80", "on": "yes", "off": false, "none": null, "odd": "maybe", "one": "x"});
        let properties = Properties::of(map.as_object().unwrap());
        assert_eq!(properties.integer("port").unwrap(), Some(80));
        assert_eq!(properties.boolean("on").unwrap(), Some(true));
        assert_eq!(properties.boolean("off").unwrap(), Some(false));
        assert_eq!(properties.boolean("none").unwrap(), None);
        assert_eq!(properties.texts("one").unwrap(), ["x"]);
        assert_eq!(
            properties.boolean("odd").unwrap_err().to_string(),
            "property `odd`: it must be true or false, not \"maybe\""
        );
        assert_eq!(
            properties.required("none").unwrap_err().to_string(),
            "property `none`: it must be given"
        );
    }

    #[test]
    fn errors_inside_name_the_place() {
        let value = json!({"port_range_min": []});
        let inside = Properties::within(&value, "rules.2.").unwrap();
        assert_eq!(
            inside.integer("port_range_min").unwrap_err().to_string(),
            "property `rules.2.port_range_min`: it must be a whole number, not []"
        );
        let list = json!([]);
        let error = Properties::within(&list, "rules.2.").err().unwrap();
        assert_eq!(
            error.to_string(),
            "property `rules.2`: it must be a map, not a list"
        );
    }
}
