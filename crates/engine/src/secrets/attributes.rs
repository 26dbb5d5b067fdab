//! Secret attributes in the journal: sealed with the server's own key, and bound to their resource.

use serde_json::{Map, Value, json};

use super::SealingKey;
use store::ResourceRow;

/// The only key of a map with a sealed value.
const SEALED: &str = "Stackloom::Sealed";

fn purpose(deployment: &str, resource: &str, attribute: &str) -> String {
    format!("attribute/{deployment}/{resource}/{attribute}")
}

/// The stored form of a secret value.
pub(crate) fn seal(
    key: &SealingKey,
    deployment: &str,
    resource: &str,
    attribute: &str,
    value: &Value,
) -> Value {
    let purpose = purpose(deployment, resource, attribute);
    json!({ SEALED: key.seal(&purpose, &value.to_string()) })
}

/// The stored form of attributes: the named ones are sealed.
pub(crate) fn seal_all(
    key: &SealingKey,
    deployment: &str,
    resource: &str,
    secrets: &[&str],
    attributes: &Map<String, Value>,
) -> Map<String, Value> {
    let stored = attributes.iter().map(|(name, value)| {
        let value = if secrets.contains(&name.as_str()) {
            seal(key, deployment, resource, name, value)
        } else {
            value.clone()
        };
        (name.clone(), value)
    });
    stored.collect()
}

/// Rows with all sealed values opened. Values that were sealed with another key count as unknown.
pub(crate) fn open(
    key: &SealingKey,
    deployment: &str,
    mut rows: Vec<ResourceRow>,
) -> Vec<ResourceRow> {
    for row in &mut rows {
        // An older copy was sealed under its original name.
        let name = planner::workflow::copy_of(&row.name).unwrap_or(&row.name);
        let name = name.to_owned();
        let reference = row.reference.take();
        row.reference = reference.and_then(|value| open_one(key, deployment, &name, "", value));
        let attributes = std::mem::take(&mut row.attributes);
        row.attributes = attributes
            .into_iter()
            .filter_map(|(attribute, value)| {
                let value = open_one(key, deployment, &name, &attribute, value)?;
                Some((attribute, value))
            })
            .collect();
    }
    rows
}

fn open_one(
    key: &SealingKey,
    deployment: &str,
    resource: &str,
    attribute: &str,
    value: Value,
) -> Option<Value> {
    let sealed = match &value {
        Value::Object(map) if map.len() == 1 => map.get(SEALED).and_then(Value::as_str),
        _ => None,
    };
    let Some(sealed) = sealed else {
        return Some(value);
    };
    let opened = key
        .open(&purpose(deployment, resource, attribute), sealed)
        .ok()?;
    serde_json::from_str(&opened).ok()
}

/// A digest that shows if a hidden parameter of a deployment has the same value at two times.
pub fn digest(key: &SealingKey, deployment: &str, parameter: &str, value: &Value) -> String {
    key.digest(
        &format!("hidden {deployment} {parameter}"),
        &value.to_string(),
    )
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;

    #[test]
    fn a_sealed_attribute_opens_for_its_own_resource_only() {
        let key = SealingKey::new(Zeroizing::new([7; 32]));
        let attributes = json!({"value": "s3cret", "plain": 1})
            .as_object()
            .unwrap()
            .clone();
        let stored = seal_all(&key, "d1", "password", &["value"], &attributes);
        assert!(!json!(stored).to_string().contains("s3cret"));
        assert_eq!(stored["plain"], 1);
        let row = |name: &str| ResourceRow {
            read_at: None,
            name: name.into(),
            spec: crate::testing::resource("OS::Heat::RandomString", []),
            physical_id: None,
            reference: Some(seal(&key, "d1", "password", "", &json!("s3cret"))),
            attributes: stored.clone(),
            incarnation: 0,
            made_from: Default::default(),
            made_with: None,
            tried: Map::new(),
            state: api::ResourceState::Ready,
        };
        let rows = open(&key, "d1", vec![row("password"), row("other")]);
        assert_eq!(rows[0].attributes, attributes);
        assert_eq!(rows[0].reference, Some(json!("s3cret")));
        assert_eq!(json!(rows[1].attributes), json!({"plain": 1}));
        assert_eq!(rows[1].reference, None);
    }
}
