//! Reading what a body says about a server, with the checks of Nova's schemas.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::compute::{Microversion, invalid};
use crate::model::refusal::Refusal;
use crate::model::server_create::{CreateServer, Interface, Networks};

/// Nova's limit.
pub const SERVER_NAME_CHARS_MAX: usize = 255;

/// What a creation may say.
const CREATE_FIELDS: &[&str] = &[
    "name",
    "imageRef",
    "flavorRef",
    "networks",
    "key_name",
    "security_groups",
    "user_data",
    "metadata",
    "tags",
    "description",
    "availability_zone",
    "min_count",
    "max_count",
    "config_drive",
    "OS-DCF:diskConfig",
    "adminPass",
    "accessIPv4",
    "accessIPv6",
    "personality",
    "return_reservation_id",
    "hostname",
    "trusted_image_certificates",
];

/// Read the body of a creation.
pub fn read_create(
    fields: &Map<String, Value>,
    version: Microversion,
) -> Result<CreateServer, Refusal> {
    let whole = Value::Object(fields.clone());
    let refuse = |reason: String| invalid("server", &whole, &reason);
    if fields.contains_key("block_device_mapping_v2") || fields.contains_key("block_device_mapping")
    {
        return Err(Refusal::bad_request(
            "Block Device Mapping is Invalid: the lab cloud boots from images only.",
        ));
    }
    let since = |minor: u16| version >= Microversion(2, minor);
    let unexpected = fields.keys().find(|name| {
        let too_early = (*name == "tags" && !since(52)) || (*name == "description" && !since(19));
        too_early || !CREATE_FIELDS.contains(&name.as_str())
    });
    if let Some(name) = unexpected {
        return Err(refuse(format!(
            "Additional properties are not allowed ('{name}' was unexpected)"
        )));
    }
    let text = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(invalid(
            name,
            other,
            &format!("{other} is not of type 'string'"),
        )),
    };
    let required =
        |name: &str| text(name)?.ok_or_else(|| refuse(format!("'{name}' is a required property")));
    let name = required("name")?;
    if name.trim().is_empty() || name.chars().count() > SERVER_NAME_CHARS_MAX {
        return Err(invalid(
            "name",
            &json!(name),
            &format!("'{name}' is too short or too long"),
        ));
    }
    let flavor = required("flavorRef")?;
    let image = text("imageRef")?.filter(|image| !image.is_empty());
    let image = image.ok_or_else(|| {
        Refusal::bad_request(
            "Block Device Mapping is Invalid: You must specify an image or a boot volume.",
        )
    })?;
    if since(37) && !fields.contains_key("networks") {
        return Err(refuse("'networks' is a required property".into()));
    }
    Ok(CreateServer {
        name,
        // Old clients send links to images and flavors.
        image: last_part(&image),
        flavor: last_part(&flavor),
        networks: read_networks(fields.get("networks"))?,
        security_groups: read_groups(fields.get("security_groups"))?,
        key_name: text("key_name")?,
        user_data: text("user_data")?,
        metadata: read_metadata(fields.get("metadata"))?,
        tags: read_tags(fields.get("tags"))?,
        description: text("description")?,
        availability_zone: text("availability_zone")?,
    })
}

fn last_part(reference: &str) -> String {
    reference.rsplit('/').next().unwrap_or(reference).to_owned()
}

fn read_networks(value: Option<&Value>) -> Result<Networks, Refusal> {
    match value {
        None | Some(Value::Null) => Ok(Networks::Auto),
        Some(Value::String(word)) if word == "auto" => Ok(Networks::Auto),
        Some(Value::String(word)) if word == "none" => Ok(Networks::Nothing),
        Some(Value::Array(items)) => {
            let read = |item: &Value| {
                let text = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
                match (text("port"), text("uuid")) {
                    (Some(port), _) => Ok(Interface::Port(port)),
                    (None, Some(network)) => Ok(Interface::Network(network, text("fixed_ip"))),
                    (None, None) => Err(invalid(
                        "networks",
                        item,
                        "neither 'uuid' nor 'port' is there",
                    )),
                }
            };
            Ok(Networks::Listed(
                items.iter().map(read).collect::<Result<_, _>>()?,
            ))
        }
        Some(other) => Err(invalid(
            "networks",
            other,
            "it is neither a list nor 'auto' nor 'none'",
        )),
    }
}

fn read_groups(value: Option<&Value>) -> Result<Vec<String>, Refusal> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(Vec::new());
    };
    let names = value.as_array().and_then(|items| {
        items
            .iter()
            .map(|item| item.get("name").and_then(Value::as_str).map(str::to_owned))
            .collect()
    });
    names.ok_or_else(|| invalid("security_groups", value, "it is not a list of {name}"))
}

/// Read key-value pairs.
pub fn read_metadata(value: Option<&Value>) -> Result<BTreeMap<String, String>, Refusal> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(BTreeMap::new());
    };
    let pairs: Option<BTreeMap<String, String>> = serde_json::from_value(value.clone()).ok();
    let pairs = pairs.ok_or_else(|| invalid("metadata", value, "values have to be strings"))?;
    let too_long = pairs
        .iter()
        .find(|(key, value)| key.is_empty() || key.len() > 255 || value.len() > 255);
    match too_long {
        None => Ok(pairs),
        Some((key, text)) => Err(invalid(
            &format!("metadata/{key}"),
            &json!(text),
            &format!("'{text}' is too long"),
        )),
    }
}

/// Read tags.
pub fn read_tags(value: Option<&Value>) -> Result<Vec<String>, Refusal> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(Vec::new());
    };
    let tags: Option<Vec<String>> = serde_json::from_value(value.clone()).ok();
    let tags = tags.ok_or_else(|| invalid("tags", value, "it is not a list of strings"))?;
    if tags.len() > 50 {
        return Err(invalid("tags", value, "it has more than 50 items"));
    }
    match tags
        .iter()
        .find(|tag| tag.is_empty() || tag.len() > 60 || tag.contains([',', '/']))
    {
        None => Ok(tags),
        Some(tag) => Err(invalid(
            "tags",
            value,
            &format!("'{tag}' does not match '^[^,/]*$' or is longer than 60"),
        )),
    }
}
