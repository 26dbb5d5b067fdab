//! The fields of an image that a body may set.

use serde_json::{Value, json};

use crate::kit::refusal::Refusal;
use crate::kit::token::Member;
use crate::services::image::record::Image;

/// Attributes that only Glance sets.
pub(crate) const READ_ONLY: &[&str] = &[
    "status",
    "size",
    "virtual_size",
    "checksum",
    "os_hash_algo",
    "os_hash_value",
    "created_at",
    "updated_at",
    "self",
    "file",
    "schema",
    "direct_url",
];

pub(crate) const DISK_FORMATS: &[&str] = &[
    "ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "iso", "ploop",
];

pub(crate) const CONTAINER_FORMATS: &[&str] =
    &["ami", "ari", "aki", "bare", "ovf", "ova", "docker"];

/// Set one attribute, as a creation and a change do; null takes it away.
pub(crate) fn set(
    row: &mut Image,
    member: &Member,
    name: &str,
    value: &Value,
) -> Result<(), Refusal> {
    if READ_ONLY.contains(&name) {
        return Err(Refusal::forbidden(format!(
            "Attribute '{name}' is read-only."
        )));
    }
    let text = || match value {
        Value::Null => Ok(None),
        Value::String(text) if text.chars().count() <= 255 || name.starts_with("os_") => {
            Ok(Some(text.clone()))
        }
        _ => Err(invalid(name, value, "is not a text that fits.")),
    };
    let number = || {
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| invalid(name, value, "is not a number that fits."))
    };
    let flag = || {
        let flag = value.as_bool();
        flag.ok_or_else(|| invalid(name, value, "is not of type 'boolean'."))
    };
    let one_of = |all: &[&str]| match text()? {
        Some(word) if !all.contains(&word.as_str()) => {
            Err(invalid(name, value, &format!("is not one of {all:?}.")))
        }
        word => Ok(word),
    };
    match name {
        "id" => return Err(Refusal::forbidden("Attribute 'id' is reserved.")),
        "name" => row.name = text()?,
        "owner" if !member.admin && value != &json!(member.project_id) => {
            return Err(Refusal::forbidden(
                "You are not permitted to create images owned by others.",
            ));
        }
        "owner" => row.owner = text()?.unwrap_or_default(),
        "visibility" => {
            let word = one_of(&["public", "private", "shared", "community"])?;
            if word.as_deref() == Some("public") && !member.admin {
                return Err(Refusal::forbidden(
                    "You are not authorized to complete publicize_image action.",
                ));
            }
            row.visibility = word.unwrap_or_else(|| "shared".into());
        }
        "disk_format" => row.disk_format = one_of(DISK_FORMATS)?,
        "container_format" => row.container_format = one_of(CONTAINER_FORMATS)?,
        "min_disk" => row.min_disk = number()?,
        "min_ram" => row.min_ram = number()?,
        "protected" => row.protected = flag()?,
        "os_hidden" => row.os_hidden = flag()?,
        "tags" => {
            let tags: Option<Vec<String>> = serde_json::from_value(value.clone()).ok();
            row.tags = tags.ok_or_else(|| invalid(name, value, "is not of type 'array'."))?;
            row.tags.sort();
            row.tags.dedup();
        }
        _ => match text()? {
            Some(text) => {
                row.properties.insert(name.into(), text);
            }
            None => {
                row.properties.remove(name);
            }
        },
    }
    Ok(())
}

pub(crate) fn invalid(name: &str, value: &Value, reason: &str) -> Refusal {
    Refusal::bad_request(format!(
        "Provided object does not match schema 'image': {value} {reason} Failed validating {value} for attribute '{name}'."
    ))
}
