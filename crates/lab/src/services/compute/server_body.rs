//! Parsing of request bodies about servers, with the checks of Nova's schemas.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::kit::field::as_number;
use crate::kit::microversion::Microversion;
use crate::kit::python;
use crate::kit::refusal::Refusal;
use crate::services::compute::invalid;
use crate::services::compute::server_create::{CreateServer, Interface, Networks};
use crate::services::compute::server_disks::{BlockDevice, Source};
use crate::services::compute::volume_plug::Plug;

/// Nova's limit.
pub const SERVER_NAME_CHARS_MAX: usize = 255;

/// The fields that a creation may set.
const CREATE_FIELDS: &[&str] = &[
    "name",
    "imageRef",
    "flavorRef",
    "networks",
    "key_name",
    "security_groups",
    "user_data",
    "block_device_mapping",
    "block_device_mapping_v2",
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
    let since = |minor: u16| version >= Microversion(2, minor);
    let unexpected = fields.keys().find(|name| {
        let too_early = (*name == "tags" && !since(52))
            || (*name == "description" && !since(19))
            || (*name == "hostname" && !since(90));
        // Files that are put into a server went with 2.57.
        let too_late = *name == "personality" && since(57);
        too_early || too_late || !CREATE_FIELDS.contains(&name.as_str())
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
            &format!("{} is not of type 'string'", python::repr(other)),
        )),
    };
    let required =
        |name: &str| text(name)?.ok_or_else(|| refuse(format!("'{name}' is a required property")));
    let name = required("name")?;
    let reason = match name.chars().count() {
        0 => Some("too short"),
        length if length > SERVER_NAME_CHARS_MAX => Some("too long"),
        _ => None,
    };
    if let Some(reason) = reason {
        let reason = format!("'{name}' is {reason}");
        return Err(invalid("name", &json!(name), &reason));
    }
    if name.trim() != name {
        return Err(Refusal::bad_request(
            "An invalid 'name' value was provided. The name must be: printable characters. Can not start or end with whitespace.",
        ));
    }
    if let Some(drive) = fields.get("config_drive").filter(|drive| !drive.is_null())
        && python::boolean(drive, &[]).is_none()
    {
        return Err(invalid(
            "config_drive",
            drive,
            &python::not_boolean(drive, false),
        ));
    }
    let number = |name: &str| fields.get(name).and_then(as_number);
    if let (Some(least), Some(most)) = (number("min_count"), number("max_count"))
        && least > most
    {
        return Err(Refusal::bad_request("min_count must be <= max_count"));
    }
    let flavor = required("flavorRef")?;
    let image = text("imageRef")?.filter(|image| !image.is_empty());
    if since(37) && !fields.contains_key("networks") {
        return Err(refuse("'networks' is a required property".into()));
    }
    Ok(CreateServer {
        name,
        // Old clients send links to images and flavors.
        image: image.as_deref().map(last_part),
        disks: read_disks(fields, since(67))?,
        flavor: last_part(&flavor),
        networks: read_networks(fields.get("networks"))?,
        security_groups: read_groups(fields.get("security_groups"))?,
        key_name: text("key_name")?,
        user_data: text("user_data")?,
        metadata: read_metadata(fields.get("metadata"))?,
        tags: read_tags(fields.get("tags"))?,
        description: text("description")?,
        availability_zone: text("availability_zone")?,
        group: None,
    })
}

fn last_part(reference: &str) -> String {
    reference.rsplit('/').next().unwrap_or(reference).to_owned()
}

/// Disks, in the present form and in the one before it. `with_types`: whether the microversion knows their volume types.
fn read_disks(fields: &Map<String, Value>, with_types: bool) -> Result<Vec<BlockDevice>, Refusal> {
    let all = |name: &str| {
        let list = fields.get(name).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let text = |entry: &Value, name: &str| entry[name].as_str().map(str::to_owned);
    let whole = |value: &Value| {
        let number = value.as_i64();
        number.or_else(|| value.as_str().and_then(|text| text.parse().ok()))
    };
    let flag =
        |value: &Value| *value == true || *value == "True" || *value == "true" || *value == 1;
    let disk = |entry: &Value, source: Source, boot_index: Option<i64>| BlockDevice {
        source,
        size: whole(&entry["volume_size"]).and_then(|size| u32::try_from(size).ok()),
        volume_type: text(entry, "volume_type"),
        boot_index,
        plug: Plug {
            device: text(entry, "device_name").map(|name| {
                if name.starts_with("/dev/") {
                    name
                } else {
                    format!("/dev/{name}")
                }
            }),
            tag: text(entry, "tag"),
            delete_on_termination: flag(&entry["delete_on_termination"]),
        },
    };
    let mut disks = Vec::new();
    for (index, entry) in all("block_device_mapping_v2").into_iter().enumerate() {
        if !with_types && entry.get("volume_type").is_some() {
            let reason = "Additional properties are not allowed ('volume_type' was unexpected)";
            return Err(invalid(&index.to_string(), &entry, reason));
        }
        let id = || {
            text(&entry, "uuid").ok_or_else(|| {
                Refusal::bad_request("Block Device Mapping is Invalid: Missing device UUID.")
            })
        };
        let kind = text(&entry, "source_type").unwrap_or_else(|| "blank".into());
        let local = text(&entry, "destination_type").unwrap_or_else(|| match kind.as_str() {
            "volume" | "snapshot" => "volume".into(),
            _ => "local".into(),
        }) == "local";
        let source = match kind.as_str() {
            "volume" => Source::Volume(id()?),
            "snapshot" => Source::Snapshot(id()?),
            // The disk of the flavor, or a further one that goes with the server.
            "image" | "blank" if local => Source::Local,
            "image" => Source::Image(id()?),
            "blank" => Source::Blank,
            other => {
                return Err(invalid(
                    "block_device_mapping_v2",
                    &entry,
                    &format!("'{other}' is not one of ['volume', 'image', 'snapshot', 'blank']"),
                ));
            }
        };
        disks.push(disk(&entry, source, whole(&entry["boot_index"])));
    }
    for entry in all("block_device_mapping") {
        let source = match (text(&entry, "volume_id"), text(&entry, "snapshot_id")) {
            (Some(id), _) => Source::Volume(id),
            (None, Some(id)) => Source::Snapshot(id),
            (None, None) => continue,
        };
        let root = text(&entry, "device_name").is_some_and(|name| name.ends_with("vda"));
        disks.push(disk(&entry, source, root.then_some(0)));
    }
    // In the form before, Nova itself puts the image into the list.
    let image = fields.get("imageRef").and_then(Value::as_str);
    let has_image = image.is_some_and(|image| !image.is_empty());
    let boots = disks.iter().any(|disk| disk.boot_index == Some(0));
    if !all("block_device_mapping").is_empty() && has_image && !boots {
        disks.push(disk(&Value::Null, Source::Local, Some(0)));
    }
    Ok(disks)
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
                    (None, None) => Err(wrong_networks(&json!(items))),
                }
            };
            Ok(Networks::Listed(
                items.iter().map(read).collect::<Result<_, _>>()?,
            ))
        }
        Some(other) => Err(wrong_networks(other)),
    }
}

fn wrong_networks(value: &Value) -> Refusal {
    let shown = python::repr(value);
    invalid(
        "networks",
        value,
        &format!("{shown} is not valid under any of the given schemas"),
    )
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
    let not_a =
        |kind: &str, value: &Value| format!("{} is not of type '{kind}'", python::repr(value));
    let fields = value.as_object();
    let fields = fields.ok_or_else(|| invalid("metadata", value, &not_a("object", value)))?;
    let mut pairs = BTreeMap::new();
    for (key, value) in fields {
        let text = value.as_str();
        let text = text.ok_or_else(|| invalid(key, value, &not_a("string", value)))?;
        pairs.insert(key.clone(), text.to_owned());
    }
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
    let tags = tags.ok_or_else(|| {
        let reason = format!("{} is not of type 'array'", python::repr(value));
        invalid("tags", value, &reason)
    })?;
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
