//! The state of a resource outside of a run, for checks of a deployment.

use serde_json::{Map, Value};

/// The state of a resource outside of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Inspection {
    /// The object exists and can be used. Contains its attributes.
    Usable(Map<String, Value>),
    /// The cloud is working on it. The text is shown to users.
    InTransition(String),
    /// The object exists, and cannot be used. The text is the cloud's reason.
    Broken(String),
    /// The object does not exist.
    Gone,
}

/// A property that was changed in the cloud.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The property, or `status` for the power state of a server.
    pub property: String,
    /// The value after the last step.
    pub recorded: Value,
    /// The value now.
    pub found: Value,
}

/// Differences in fields of the attributes, given as pairs of property and field. Fields that one side lacks are not
/// compared, nor is the order of lists, which services do not keep.
pub fn differing_fields<'a>(
    fields: impl IntoIterator<Item = (&'a str, &'a str)>,
    recorded: &Map<String, Value>,
    present: &Map<String, Value>,
) -> Vec<Difference> {
    let fields = fields.into_iter();
    let differing = fields.filter_map(|(property, field)| {
        let (before, now) = (recorded.get(field)?, present.get(field)?);
        (unordered(before) != unordered(now)).then(|| Difference {
            property: property.to_owned(),
            recorded: before.clone(),
            found: now.clone(),
        })
    });
    differing.collect()
}

/// The value with sorted lists.
fn unordered(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(unordered).collect();
            items.sort_by_key(Value::to_string);
            Value::Array(items)
        }
        Value::Object(map) => {
            let entries = map.iter();
            Value::Object(
                entries
                    .map(|(key, value)| (key.clone(), unordered(value)))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn differing(recorded: Value, present: Value) -> Vec<Difference> {
        let fields = [("groups", "security_groups"), ("up", "admin_state_up")];
        let (recorded, present) = (recorded.as_object(), present.as_object());
        differing_fields(fields, recorded.unwrap(), present.unwrap())
    }

    #[test]
    fn a_changed_field_is_a_difference_of_its_property() {
        let found = differing(
            json!({"security_groups": ["a"], "admin_state_up": true, "mtu": 1500}),
            json!({"security_groups": ["a", "b"], "admin_state_up": true, "mtu": 1400}),
        );
        let expected = Difference {
            property: "groups".into(),
            recorded: json!(["a"]),
            found: json!(["a", "b"]),
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn order_and_missing_fields_are_no_difference() {
        let found = differing(
            json!({"security_groups": [{"ids": [1, 2]}, {"ids": [3]}], "admin_state_up": true}),
            json!({"security_groups": [{"ids": [3]}, {"ids": [2, 1]}]}),
        );
        assert_eq!(found, []);
    }
}
