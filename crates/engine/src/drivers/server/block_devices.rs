//! Disks of a server at boot: Heat's words for them are not Nova's.
//!
//! Heat names what a disk comes from (`volume_id`, `image`, `swap_size` ...); Nova wants a source
//! type, a destination type and a `uuid`. Source: Compute API, "Create server",
//! `block_device_mapping_v2`.

use serde_json::{Map, Value};

use super::super::properties::Properties;
use crate::driver::DriverError;

/// `block_device_mapping_v2`; `images` holds an id for each device that has an image.
pub(super) fn mapping_v2(
    devices: &[Value],
    images: &[Option<String>],
) -> Result<Vec<Value>, DriverError> {
    let mut mapping = Vec::new();
    for (index, (device, image)) in devices.iter().zip(images).enumerate() {
        let prefix = format!("block_device_mapping_v2.{index}.");
        let device = Properties::within(device, &prefix)?;
        let mut body = Map::new();
        let mut from = |source: &str, destination: &str, uuid: Option<String>| {
            body.insert("source_type".into(), source.into());
            body.insert("destination_type".into(), destination.into());
            if let Some(uuid) = uuid {
                body.insert("uuid".into(), uuid.into());
            }
        };
        let swap = device.integer("swap_size")?;
        let ephemeral = device.integer("ephemeral_size")?;
        if let Some(volume) = device.filled("volume_id")? {
            from("volume", "volume", Some(volume));
        } else if let Some(snapshot) = device.filled("snapshot_id")? {
            from("snapshot", "volume", Some(snapshot));
        } else if let Some(image) = image {
            from("image", "volume", Some(image.clone()));
        } else if let Some(size) = swap {
            from("blank", "local", None);
            body.insert("guest_format".into(), "swap".into());
            body.insert("volume_size".into(), size.into());
        } else if ephemeral.is_some() || device.get("ephemeral_format").is_some() {
            from("blank", "local", None);
            if let Some(size) = ephemeral {
                body.insert("volume_size".into(), size.into());
            }
            if let Some(format) = device.get("ephemeral_format") {
                body.insert("guest_format".into(), format.clone());
            }
        } else {
            let why = "say what it comes from: `volume_id`, `snapshot_id`, `image`, `swap_size` or `ephemeral_size`";
            return Err(device.wrong("volume_id", why.into()));
        }
        for number in ["volume_size", "boot_index"] {
            if let Some(value) = device.integer(number)? {
                body.insert(number.into(), value.into());
            }
        }
        device.copy_booleans(&["delete_on_termination"], &mut body)?;
        device.copy(
            &["device_name", "device_type", "disk_bus", "tag"],
            &mut body,
        );
        if body["source_type"] == "blank" && !body.contains_key("boot_index") {
            body.insert("boot_index".into(), (-1).into());
        }
        mapping.push(Value::Object(body));
    }
    Ok(mapping)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn disks_of_all_kinds() {
        let devices = [
            json!({"image": "debian", "volume_size": "20", "boot_index": 0, "delete_on_termination": true}),
            json!({"volume_id": "v1", "device_name": "vdb"}),
            json!({"swap_size": 512}),
        ];
        let mapping = mapping_v2(&devices, &[Some("img-1".into()), None, None]).unwrap();
        assert_eq!(
            json!(mapping),
            json!([
                {"source_type": "image", "destination_type": "volume", "uuid": "img-1", "volume_size": 20,
                 "boot_index": 0, "delete_on_termination": true},
                {"source_type": "volume", "destination_type": "volume", "uuid": "v1", "device_name": "vdb"},
                {"source_type": "blank", "destination_type": "local", "guest_format": "swap", "volume_size": 512, "boot_index": -1},
            ])
        );
    }

    #[test]
    fn a_disk_comes_from_somewhere() {
        let error = mapping_v2(&[json!({"device_name": "vdb"})], &[None]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("block_device_mapping_v2.0.volume_id"),
            "{error}"
        );
    }
}
