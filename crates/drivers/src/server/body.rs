//! The request body of a new server. Pure.

use serde_json::{Map, Value, json};

use super::super::properties::Properties;
use super::super::{cloud_init, marker};
use super::named::Named;
use super::{block_devices, host_keys::HostKeys};
use crate::driver::{DriverError, Marker};

pub(super) fn body(
    marker: &Marker,
    map: &Map<String, Value>,
    named: &Named,
    user_data: Option<&str>,
    host_keys: Option<&HostKeys>,
) -> Result<Map<String, Value>, DriverError> {
    let properties = Properties::of(map);
    let mut body = Map::new();
    body.insert("name".into(), marker::physical_name(marker, map).into());
    body.insert("flavorRef".into(), named.flavor.as_str().into());
    if let Some(image) = &named.image {
        body.insert("imageRef".into(), image.as_str().into());
    }
    body.insert("networks".into(), named.networks.clone());
    properties.copy(
        &[
            "key_name",
            "availability_zone",
            "block_device_mapping",
            "reservation_id",
        ],
        &mut body,
    );
    for (property, field) in [
        ("admin_pass", "adminPass"),
        ("diskConfig", "OS-DCF:diskConfig"),
    ] {
        if let Some(value) = properties.filled(property)? {
            body.insert(field.into(), value.into());
        }
    }
    properties.copy_booleans(&["config_drive"], &mut body)?;
    let groups = properties.texts("security_groups")?;
    if !groups.is_empty() {
        let groups: Vec<Value> = groups.iter().map(|group| json!({"name": group})).collect();
        body.insert("security_groups".into(), groups.into());
    }
    let devices = properties.list("block_device_mapping_v2");
    if !devices.is_empty() {
        let mapping =
            block_devices::mapping_v2(named.image.as_deref(), devices, &named.disk_images)?;
        body.insert("block_device_mapping_v2".into(), mapping.into());
    }
    if let Some(Value::Object(files)) = properties.get("personality") {
        let files: Vec<Value> = files
            .iter()
            .map(|(path, content)| {
                let content = content.as_str().unwrap_or_default();
                json!({"path": path, "contents": cloud_init::encode(content)})
            })
            .collect();
        if !files.is_empty() {
            body.insert("personality".into(), files.into());
        }
    }
    if let Some(user_data) = user_data {
        let encoded = cloud_init::encode(user_data);
        if encoded.len() > cloud_init::BYTES_MAX {
            let why = format!(
                "with ours it is {} bytes when encoded, and clouds take {} at most; let it fetch the rest",
                encoded.len(),
                cloud_init::BYTES_MAX
            );
            return Err(properties.wrong("user_data", why));
        }
        body.insert("user_data".into(), encoded.into());
    }
    body.insert("metadata".into(), metadata(marker, properties, host_keys)?);
    body.insert("tags".into(), tags(marker, properties)?.into());
    Ok(body)
}

/// Tags of the template and of Stackloom.
pub(super) fn tags(
    marker: &Marker,
    properties: Properties<'_>,
) -> Result<Vec<String>, DriverError> {
    let mut tags = properties.texts("tags")?;
    tags.extend(["stackloom".to_string(), marker::tag(marker)]);
    Ok(tags)
}

/// Metadata of the template and of Stackloom. Nova accepts text only; other values are written as JSON, as in Heat.
pub(super) fn metadata(
    marker: &Marker,
    properties: Properties<'_>,
    host_keys: Option<&HostKeys>,
) -> Result<Value, DriverError> {
    let mut metadata = Map::new();
    match properties.get("metadata") {
        None => {}
        Some(Value::Object(own)) => {
            for (key, value) in own {
                let text = match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                metadata.insert(key.clone(), text.into());
            }
        }
        Some(_) => return Err(properties.wrong("metadata", "it must be a map".into())),
    }
    let short = |text: &str| text.chars().take(255).collect::<String>();
    metadata.insert(
        "stackloom_deployment".into(),
        short(&marker.deployment).into(),
    );
    metadata.insert("stackloom_resource".into(), short(&marker.resource).into());
    if let Some(Value::Object(keys)) = host_keys.map(HostKeys::metadata) {
        metadata.extend(keys);
    }
    Ok(Value::Object(metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker() -> Marker {
        Marker {
            deployment: "d1".into(),
            deployment_name: "shop".into(),
            resource: "web".into(),
        }
    }

    fn named() -> Named {
        Named {
            image: Some("img-1".into()),
            flavor: "2".into(),
            networks: json!([{"port": "port-1"}]),
            disk_images: vec![],
        }
    }

    #[test]
    fn body_of_a_server() {
        let properties = json!({
            "image": "debian-12", "flavor": "m1.small", "key_name": "mine", "config_drive": "true",
            "metadata": {"role": "web", "size": 3}, "security_groups": ["web"], "tags": ["blue"]});
        let body = body(
            &marker(),
            properties.as_object().unwrap(),
            &named(),
            Some("#!/bin/sh"),
            Some(&HostKeys::given_to("ssh-ed25519 HOST shop-web")),
        )
        .unwrap();
        assert_eq!(
            Value::Object(body),
            json!({
                "name": "shop-web", "flavorRef": "2", "imageRef": "img-1", "networks": [{"port": "port-1"}],
                "key_name": "mine", "config_drive": true, "security_groups": [{"name": "web"}],
                "user_data": "IyEvYmluL3No",
                "metadata": {"role": "web", "size": "3", "stackloom_deployment": "d1", "stackloom_resource": "web",
                             "stackloom_host_key": "ssh-ed25519 HOST"},
                "tags": ["blue", "stackloom", marker::tag(&marker())]})
        );
    }

    #[test]
    fn user_data_that_no_cloud_takes() {
        let huge = "x".repeat(50_000);
        let error = body(
            &marker(),
            json!({}).as_object().unwrap(),
            &named(),
            Some(&huge),
            None,
        )
        .unwrap_err();
        assert!(
            error.to_string().starts_with("property `user_data`"),
            "{error}"
        );
    }
}
