//! Disks of a server at boot, converted from Heat's format to Nova's.
//!
//! Heat has a property per source (`volume_id`, `image`, `swap_size` ...); Nova requires a source type, a destination
//! type and a `uuid`. Nova also requires the boot disk in the list: the server's image, if no device has boot index 0.
//! Sources: Compute API, "Create server", `block_device_mapping_v2`; novaclient's `_boot` and Heat's
//! `_build_block_device_mapping_v2`.

use serde_json::{Map, Value, json};

use super::super::properties::Properties;
use crate::driver::DriverError;

/// `block_device_mapping_v2` of a server with devices. `server_image` is the id of the server's image; `images`
/// contains an id for each device with an image.
///
/// A device without a `boot_index` is the boot disk, as in Heat, unless the server has an image.
pub(super) fn mapping_v2(
    server_image: Option<&str>,
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
            &[
                "device_name",
                "device_type",
                "disk_bus",
                "tag",
                "volume_type",
            ],
            &mut body,
        );
        let is_blank = body["source_type"] == "blank";
        let boots = !is_blank && server_image.is_none();
        body.entry("boot_index")
            .or_insert_with(|| if boots { 0.into() } else { (-1).into() });
        body.entry("delete_on_termination")
            .or_insert(is_blank.into());
        mapping.push(Value::Object(body));
    }
    if let Some(image) = server_image
        && !mapping.iter().any(|device| device["boot_index"] == 0)
    {
        let root = json!({"source_type": "image", "destination_type": "local", "uuid": image, "boot_index": 0,
                          "delete_on_termination": true});
        mapping.insert(0, root);
    }
    Ok(mapping)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn boot_indexes(server_image: Option<&str>, devices: Value) -> Vec<Value> {
        let devices = devices.as_array().unwrap();
        let images = vec![None; devices.len()];
        let mapping = mapping_v2(server_image, devices, &images).unwrap();
        mapping
            .iter()
            .map(|device| device["boot_index"].clone())
            .collect()
    }

    #[test]
    fn disks_of_all_kinds() {
        let devices = [
            json!({"image": "debian", "volume_size": "20", "boot_index": 0, "delete_on_termination": true}),
            json!({"volume_id": "v1", "device_name": "vdb", "boot_index": -1}),
            json!({"swap_size": 512}),
        ];
        let mapping = mapping_v2(None, &devices, &[Some("img-1".into()), None, None]).unwrap();
        assert_eq!(
            json!(mapping),
            json!([
                {"source_type": "image", "destination_type": "volume", "uuid": "img-1", "volume_size": 20,
                 "boot_index": 0, "delete_on_termination": true},
                {"source_type": "volume", "destination_type": "volume", "uuid": "v1", "device_name": "vdb",
                 "boot_index": -1, "delete_on_termination": false},
                {"source_type": "blank", "destination_type": "local", "guest_format": "swap", "volume_size": 512,
                 "boot_index": -1, "delete_on_termination": true},
            ])
        );
    }

    #[test]
    fn an_image_boots_before_further_volumes() {
        let devices = [json!({"volume_id": "v1", "boot_index": -1})];
        let mapping = mapping_v2(Some("img-1"), &devices, &[None]).unwrap();
        assert_eq!(
            mapping[0],
            json!({"source_type": "image", "destination_type": "local", "uuid": "img-1", "boot_index": 0,
                   "delete_on_termination": true})
        );
        assert_eq!(mapping.len(), 2);
        // A device without an index comes after the image, and is the boot disk without one.
        assert_eq!(
            boot_indexes(Some("img-1"), json!([{"volume_id": "v1"}])),
            [0, -1]
        );
        assert_eq!(boot_indexes(None, json!([{"volume_id": "v1"}])), [0]);
        // A device with boot index 0 replaces the image as boot disk.
        assert_eq!(
            boot_indexes(Some("img-1"), json!([{"volume_id": "v1", "boot_index": 0}])),
            [0]
        );
    }

    #[test]
    fn a_disk_comes_from_somewhere() {
        let error = mapping_v2(None, &[json!({"device_name": "vdb"})], &[None]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("block_device_mapping_v2.0.volume_id"),
            "{error}"
        );
    }
}
