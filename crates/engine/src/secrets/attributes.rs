//! Secret attributes in the journal: sealed with the server's own key, and bound to their resource.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{SealingKeys, Unsealable};
use store::{ResourceRow, SealedResource};

/// The only key of a map with a sealed value.
const SEALED: &str = "Stackloom::Sealed";

fn purpose(deployment: &str, resource: &str, attribute: &str) -> String {
    format!("attribute/{deployment}/{resource}/{attribute}")
}

/// The stored form of a secret value.
pub(crate) fn seal(
    key: &SealingKeys,
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
    key: &SealingKeys,
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
    key: &SealingKeys,
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
    key: &SealingKeys,
    deployment: &str,
    resource: &str,
    attribute: &str,
    value: Value,
) -> Option<Value> {
    let Some(sealed) = sealed_in(&value) else {
        return Some(value);
    };
    let opened = key
        .open(&purpose(deployment, resource, attribute), sealed)
        .ok()?;
    serde_json::from_str(&opened).ok()
}

fn sealed_in(value: &Value) -> Option<&str> {
    match value {
        Value::Object(map) if map.len() == 1 => map.get(SEALED).and_then(Value::as_str),
        _ => None,
    }
}

/// Seals the secrets of a stored resource with the newest key. True if one has changed.
///
/// # Errors
/// If a secret was sealed with an unknown key.
pub(crate) fn reseal(key: &SealingKeys, stored: &mut SealedResource) -> Result<bool, Unsealable> {
    let deployment = &stored.deployment;
    let name = planner::workflow::copy_of(&stored.name).unwrap_or(&stored.name);
    let mut changed = false;
    let attributes = stored.attributes.iter_mut().flatten();
    let attributes = attributes.map(|(attribute, value)| (attribute.as_str(), value));
    let reference = stored.reference.iter_mut().map(|value| ("", value));
    for (attribute, value) in attributes.chain(reference) {
        if let Some(sealed) = sealed_in(value)
            && let Some(anew) = key.reseal(&purpose(deployment, name, attribute), sealed)?
        {
            *value = json!({ SEALED: anew });
            changed = true;
        }
    }
    for digest in stored.made_with.iter_mut().flat_map(BTreeMap::values_mut) {
        if let Some(named) = key.name_digest(digest) {
            *digest = named;
            changed = true;
        }
    }
    Ok(changed)
}

/// A digest that tells if a hidden parameter of a deployment has the same value at two times.
pub fn digest(key: &SealingKeys, deployment: &str, parameter: &str, value: &Value) -> String {
    key.digest(&digest_purpose(deployment, parameter), &value.to_string())
}

/// False if a digest is of another value.
pub fn may_match(
    key: &SealingKeys,
    deployment: &str,
    parameter: &str,
    value: &Value,
    digest: &str,
) -> bool {
    let purpose = digest_purpose(deployment, parameter);
    key.may_match(&purpose, &value.to_string(), digest)
}

fn digest_purpose(deployment: &str, parameter: &str) -> String {
    format!("hidden {deployment} {parameter}")
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use zeroize::Zeroizing;

    use super::*;
    use crate::{secrets::KeySource, testing};

    #[test]
    fn a_sealed_attribute_opens_for_its_own_resource_only() {
        let text = STANDARD.encode([7; 32]);
        let source = KeySource::Text(Zeroizing::new(text));
        let key = SealingKeys::read(&source, "".as_ref()).unwrap();
        let attributes = json!({"value": "s3cret", "plain": 1})
            .as_object()
            .unwrap()
            .clone();
        let stored = seal_all(&key, "d1", "password", &["value"], &attributes);
        assert!(!json!(stored).to_string().contains("s3cret"));
        assert_eq!(stored["plain"], 1);
        let row = |name: &str| ResourceRow {
            reference: Some(seal(&key, "d1", "password", "", &json!("s3cret"))),
            attributes: stored.clone(),
            ..testing::row(name, testing::resource("OS::Heat::RandomString", []))
        };
        let rows = open(&key, "d1", vec![row("password"), row("other")]);
        assert_eq!(rows[0].attributes, attributes);
        assert_eq!(rows[0].reference, Some(json!("s3cret")));
        assert_eq!(json!(rows[1].attributes), json!({"plain": 1}));
        assert_eq!(rows[1].reference, None);
    }
}
