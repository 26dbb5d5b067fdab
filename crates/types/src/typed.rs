//! Conversion of property values to the described types.
//!
//! HOT is lenient: a string parameter is valid for a number or a boolean (`"80"`, `"true"`). Values are therefore
//! converted once, before a driver reads them.

use serde_json::{Map, Number, Value};

use crate::{Property, PropertyKind, find};

/// The values under the current names of their properties, converted to the property's type if possible. Null counts as
/// absent. Undescribed values stay unchanged.
pub fn typed(properties: &[Property], values: &Map<String, Value>) -> Map<String, Value> {
    let given = values.iter().filter(|(_, value)| !value.is_null());
    given
        .map(|(name, value)| match find(properties, name) {
            Some(property) => (property.name.clone(), convert(&property.kind, value)),
            None => (name.clone(), value.clone()),
        })
        .collect()
}

fn convert(kind: &PropertyKind, value: &Value) -> Value {
    let converted = match (kind, value) {
        (_, Value::Null) => None,
        (PropertyKind::Integer | PropertyKind::Number, Value::String(text)) => number(text),
        (PropertyKind::Boolean, value) => switch(value).map(Value::Bool),
        (PropertyKind::String, Value::Number(_) | Value::Bool(_)) => {
            Some(Value::String(value.to_string()))
        }
        (PropertyKind::List { of }, value) => {
            let items = match value {
                Value::Array(items) => items,
                // A single value counts as a list with one item, as in HOT.
                one => std::slice::from_ref(one),
            };
            let item = |value: &Value| match of {
                Some(of) => convert(&of.kind, value),
                None => value.clone(),
            };
            Some(items.iter().map(item).collect())
        }
        (PropertyKind::Map { of }, Value::Object(map)) if !of.is_empty() => {
            Some(Value::Object(typed(of, map)))
        }
        _ => None,
    };
    converted.unwrap_or_else(|| value.clone())
}

fn number(text: &str) -> Option<Value> {
    let text = text.trim();
    let whole = text.parse::<i64>().ok().map(Value::from);
    whole.or_else(|| Number::from_f64(text.parse().ok()?).map(Value::Number))
}

fn switch(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(on) => Some(*on),
        Value::Number(number) => number.as_i64().map(|number| number != 0),
        Value::String(text) => match text.to_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
            "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Registry;

    fn check(resource_type: &str, values: Value, expected: Value) {
        let described = Registry::shared().get(resource_type).unwrap();
        let typed = typed(&described.properties, values.as_object().unwrap());
        assert_eq!(Value::Object(typed), expected);
    }

    #[test]
    fn texts_become_numbers_and_booleans() {
        check(
            "OS::Neutron::Subnet",
            json!({"ip_version": "4", "enable_dhcp": "yes", "prefixlen": null, "dns_nameservers": "9.9.9.9", "name": 7}),
            json!({"ip_version": 4, "enable_dhcp": true, "dns_nameservers": ["9.9.9.9"], "name": "7"}),
        );
    }

    #[test]
    fn members_are_converted_and_former_names_replaced() {
        check(
            "OS::Neutron::SecurityGroup",
            json!({"rules": [{"port_range_min": "80", "protocol": 6}]}),
            json!({"rules": [{"port_range_min": 80, "protocol": "6"}]}),
        );
        check(
            "OS::Neutron::Port",
            json!({"network_id": "n", "fixed_ips": [{"subnet_id": "s"}]}),
            json!({"network": "n", "fixed_ips": [{"subnet": "s"}]}),
        );
    }

    #[test]
    fn maps_with_free_keys_are_unchanged() {
        let values = json!({"value_specs": {"mtu": "1400", "zone": null}});
        check("OS::Neutron::Net", values.clone(), values);
    }

    #[test]
    fn values_that_cannot_be_converted_are_unchanged() {
        check(
            "OS::Neutron::Subnet",
            json!({"ip_version": "four", "enable_dhcp": "maybe", "odd": "1"}),
            json!({"ip_version": "four", "enable_dhcp": "maybe", "odd": "1"}),
        );
    }
}
