//! The parts of snapshots: which resources a new one contains, what a restoration restores, and what it leaves alone.

use std::collections::{BTreeMap, BTreeSet};

use api::{LeftAlone, ResourceState, Snapshot, SnapshotPart, SnapshotScope};
use hot::expr::Expr;
use planner::workflow::{Origin, copy_of};
use serde_json::Value;
use store::{ResourceRow, SnapshotPartRow, SnapshotRow};
use types::{SERVER, VOLUME, VOLUME_ATTACHMENT};

use crate::run::restoration_of;

/// Ids in the cloud of resources with parts in newer snapshots.
pub(super) type Newer = BTreeSet<String>;

/// Adds the resources of a snapshot to those of newer ones.
pub(super) fn add_to(newer: &mut Newer, row: &SnapshotRow) {
    let ids = row.parts.iter().map(|part| part.physical_id.clone());
    newer.extend(ids);
}

/// The resources that a new snapshot contains.
pub(super) fn kept(there: &[ResourceRow]) -> impl Iterator<Item = &ResourceRow> {
    let boot_disks = boot_disks(there);
    let all = there.iter().filter(|one| has_data(one));
    all.filter(move |one| obstacle(one, &boot_disks).is_none())
}

/// Content of a snapshot that would be taken now.
pub(super) fn scope(there: &[ResourceRow]) -> SnapshotScope {
    SnapshotScope {
        kept: kept(there).map(|one| one.name.clone()).collect(),
        left_alone: left_alone(&[], there, &Newer::new()),
    }
}

/// A snapshot for the API. `newer` has the parts of newer snapshots.
pub(super) fn shown(mut row: SnapshotRow, there: &[ResourceRow], newer: &Newer) -> Snapshot {
    if row.is_deleting {
        // What is left of it can only be deleted.
        for part in &mut row.parts {
            part.snapshot_id = None;
        }
    }
    let left_alone = left_alone(&row.parts, there, newer);
    let parts = row.parts.into_iter().map(|part| SnapshotPart {
        is_restorable: hindrance(&part, there, newer).is_none(),
        resource: part.resource,
        physical_id: part.physical_id,
        snapshot_id: part.snapshot_id,
        bytes: part.bytes,
    });
    Snapshot {
        id: row.run,
        name: row.name,
        author: row.author,
        created: row.created,
        is_being_taken: !row.has_ended,
        parts: parts.collect(),
        left_alone,
    }
}

/// The reason why a part cannot be restored. `None` if it can: it is complete, and its resource is still the same one.
pub(super) fn hindrance(
    part: &SnapshotPartRow,
    there: &[ResourceRow],
    newer: &Newer,
) -> Option<&'static str> {
    let Some(same) = there.iter().find(|one| one.name == part.resource) else {
        return Some("it is gone");
    };
    if part.snapshot_id.is_none() {
        return Some("its part of the snapshot is incomplete");
    }
    if same.physical_id.as_ref() != Some(&part.physical_id) {
        return Some("it was replaced since");
    }
    let restores = restoration_of(&part.resource_type)?;
    if !restores.restores_newest_only() {
        return None;
    }
    if newer.contains(&part.physical_id) {
        return Some("a newer snapshot contains it, which must be deleted first");
    }
    let gib = same.attributes.get("size").and_then(Value::as_str);
    let gib: Option<u64> = gib.and_then(|size| size.parse().ok());
    let has_grown = gib
        .zip(part.bytes)
        .is_some_and(|(gib, bytes)| gib != bytes >> 30);
    has_grown.then_some("its size has changed since")
}

/// The resources with data that a restoration of these parts leaves alone.
fn left_alone(parts: &[SnapshotPartRow], there: &[ResourceRow], newer: &Newer) -> Vec<LeftAlone> {
    let boot_disks = boot_disks(there);
    let present = there.iter().filter(|one| has_data(one)).filter_map(|one| {
        let why = match parts.iter().find(|part| part.resource == one.name) {
            Some(part) => hindrance(part, there, newer)?,
            None => match obstacle(one, &boot_disks) {
                Some(why) => why,
                // It would be part of a new snapshot.
                None if parts.is_empty() => return None,
                None => "it is not part of the snapshot",
            },
        };
        Some((one.name.as_str(), why))
    });
    let gone = parts.iter().filter(|part| {
        let is_there = |one: &ResourceRow| one.name == part.resource && has_data(one);
        !there.iter().any(is_there)
    });
    let gone = gone.map(|part| (part.resource.as_str(), "it is gone"));
    let all = present.chain(gone).map(|(name, why)| LeftAlone {
        resource: name.to_owned(),
        why: why.to_owned(),
    });
    all.collect()
}

/// True for a resource of the deployment with data in the cloud. Servers that a pass has added, such as the bastion, have
/// none.
fn has_data(one: &ResourceRow) -> bool {
    let driver = drivers::driver_for(&one.spec.resource_type);
    driver.is_some_and(|driver| driver.abilities().snapshots.is_some())
        && one.physical_id.is_some()
        && one.spec.external_id.is_none()
        && one.spec.origin == Origin::Drawn
        && copy_of(&one.name).is_none()
}

/// The reason why a resource cannot be part of a snapshot, as far as its record tells.
fn obstacle(one: &ResourceRow, boot_disks: &BTreeSet<&str>) -> Option<&'static str> {
    let spec = &one.spec;
    if restoration_of(&spec.resource_type).is_none() {
        return Some("resources of its type are not part of snapshots");
    }
    let boots_from_volume = spec.resource_type == SERVER && !spec.properties.contains_key("image");
    if boots_from_volume {
        return Some("it boots from a volume");
    }
    if spec.resource_type == VOLUME && boot_disks.contains(one.name.as_str()) {
        return Some("a server boots from it");
    }
    (one.state != ResourceState::Ready).then_some("it is not ready")
}

/// Names of the resources from which servers boot.
fn boot_disks(there: &[ResourceRow]) -> BTreeSet<&str> {
    let servers = there.iter().map(|one| &one.spec);
    let servers = servers.filter(|spec| spec.resource_type == SERVER);
    let devices = servers.flat_map(|spec| {
        let has_image = spec.properties.contains_key("image");
        spec.devices()
            .filter(move |device| is_boot_disk(device, has_image))
    });
    devices.flat_map(Expr::resources).collect()
}

/// True if a server boots from a device. Without an index, it is the first disk of a server that has no image.
fn is_boot_disk(device: &Expr, has_image: bool) -> bool {
    if let Some(index) = device.get("boot_index") {
        let index = index.to_json();
        return index == 0 || index == "0";
    }
    let name = device.get("device_name").and_then(Expr::as_str);
    !has_image && name.is_none_or(|name| name.ends_with('a'))
}

/// The servers that have volumes of the deployment, by volume; both by id in the cloud.
pub(super) fn servers_of_volumes(there: &[ResourceRow]) -> BTreeMap<&str, &str> {
    let id_of = |name: &str| {
        let found = there.iter().find(|one| one.name == name);
        let volume = found.filter(|one| one.spec.resource_type == VOLUME);
        volume.and_then(|one| one.physical_id.as_deref())
    };
    let mut servers = BTreeMap::new();
    for one in there {
        let Some(id) = one.physical_id.as_deref() else {
            continue;
        };
        if one.spec.resource_type == VOLUME_ATTACHMENT
            && let Some((server, volume)) = id.split_once(':')
        {
            servers.insert(volume, server);
        }
        if one.spec.resource_type == SERVER {
            let names = one.spec.devices().flat_map(Expr::resources);
            let volumes = names.filter_map(id_of);
            servers.extend(volumes.map(|volume| (volume, id)));
        }
    }
    servers
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{self, resource};

    fn row<'a>(
        (name, id): (&str, &str),
        resource_type: &str,
        properties: impl IntoIterator<Item = (&'a str, Expr)>,
    ) -> ResourceRow {
        ResourceRow {
            physical_id: Some(id.into()),
            ..testing::row(name, resource(resource_type, properties))
        }
    }

    fn server(name: &str, id: &str, property: &str) -> ResourceRow {
        let value = (property, Expr::GetResource("x".into()));
        row((name, id), SERVER, Some(value))
    }

    fn volume(name: &str, id: &str, gib: &str) -> ResourceRow {
        let mut volume = row((name, id), VOLUME, None);
        volume.attributes.insert("size".into(), json!(gib));
        volume
    }

    fn part(resource: &str, physical_id: &str, snapshot_id: Option<&str>) -> SnapshotPartRow {
        SnapshotPartRow {
            snapshot: "s".into(),
            resource: resource.into(),
            resource_type: SERVER.into(),
            physical_id: physical_id.into(),
            snapshot_id: snapshot_id.map(str::to_owned),
            bytes: None,
        }
    }

    /// The part of a volume with 2 GiB.
    fn volume_part(resource: &str, physical_id: &str) -> SnapshotPartRow {
        SnapshotPartRow {
            resource_type: VOLUME.into(),
            bytes: Some(2 << 30),
            ..part(resource, physical_id, Some("v"))
        }
    }

    /// A server's devices: name of the volume, and boot index.
    fn mapping(devices: &[(&str, i64)]) -> (&'static str, Expr) {
        let devices = devices.iter().map(|(volume, index)| {
            let volume = Expr::GetResource((*volume).into());
            let index = Expr::Literal(json!(index));
            Expr::Map(vec![
                ("volume_id".into(), volume),
                ("boot_index".into(), index),
            ])
        });
        ("block_device_mapping_v2", Expr::List(devices.collect()))
    }

    fn reasons(left: &[LeftAlone]) -> Vec<(&str, &str)> {
        let left = left.iter();
        left.map(|one| (one.resource.as_str(), one.why.as_str()))
            .collect()
    }

    #[test]
    fn what_a_restoration_leaves_alone_is_named_with_its_reason() {
        let there = [
            server("same", "1", "image"),
            server("replaced", "2", "image"),
            server("new", "3", "image"),
            server("half", "4", "image"),
            server("booted", "5", "block_device_mapping_v2"),
            volume("data", "6", "2"),
            volume("older", "7", "2"),
            volume("grown", "8", "3"),
        ];
        let parts = [
            part("same", "1", Some("i")),
            part("replaced", "0", Some("i")),
            part("half", "4", None),
            part("gone", "9", Some("i")),
            volume_part("data", "6"),
            volume_part("older", "7"),
            volume_part("grown", "8"),
        ];
        let newer = Newer::from(["1".to_owned(), "7".to_owned()]);
        let restored = parts
            .iter()
            .filter(|part| hindrance(part, &there, &newer).is_none());
        let restored: Vec<_> = restored.map(|part| part.resource.as_str()).collect();
        assert_eq!(restored, ["same", "data"]);
        assert_eq!(
            reasons(&left_alone(&parts, &there, &newer)),
            [
                ("replaced", "it was replaced since"),
                ("new", "it is not part of the snapshot"),
                ("half", "its part of the snapshot is incomplete"),
                ("booted", "it boots from a volume"),
                (
                    "older",
                    "a newer snapshot contains it, which must be deleted first"
                ),
                ("grown", "its size has changed since"),
                ("gone", "it is gone"),
            ]
        );
    }

    #[test]
    fn a_new_snapshot_contains_all_but_boot_disks_and_servers_that_boot_from_them() {
        let there = [
            server("web", "1", "image"),
            row(
                ("db", "2"),
                SERVER,
                Some(mapping(&[("root", 0), ("data", 1)])),
            ),
            volume("root", "3", "8"),
            volume("data", "4", "2"),
            row(("plug", "1:5"), VOLUME_ATTACHMENT, None),
            volume("log", "5", "1"),
        ];
        let scope = scope(&there);
        assert_eq!(scope.kept, ["web", "data", "log"]);
        assert_eq!(
            reasons(&scope.left_alone),
            [
                ("db", "it boots from a volume"),
                ("root", "a server boots from it"),
            ]
        );
        let servers = servers_of_volumes(&there);
        let servers: Vec<_> = servers.into_iter().collect();
        assert_eq!(servers, [("3", "2"), ("4", "2"), ("5", "1")]);
    }
}
