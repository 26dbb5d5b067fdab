//! `OS::Cinder::Volume`: a disk that outlives servers. Source: Block Storage API v3, "Volumes".
//!
//! The marker is in the metadata of the request for the new volume, so the volume always has it. A volume can grow and
//! change its type in place. It cannot shrink, and its source is fixed. `deletion_policy: Snapshot` creates a backup;
//! snapshots of the deployment are snapshots in Cinder. A volume in state `error` is found like any other, and the engine
//! decides about it.

use async_trait::async_trait;
use openstack::block_storage::{Backup, Volume as Found};
use serde_json::{Map, Value, json};

use super::marker::MarkerIndex;
use super::properties::Properties;
use super::{marker, record};
use restoration::Blocking;

use crate::driver::{
    Abilities, Context, Driver, DriverError, Duplicates, Earlier, Inspect, ListMarked, Marked,
    Marker, Progress, Proof, Ready, Search, Snapshot, Update,
};

/// The metadata key of the marker.
const MARK: &str = "stackloom";

mod effect;
mod restoration;

pub(super) struct Volume;

#[async_trait]
impl Driver for Volume {
    fn duplicates(&self) -> Duplicates<'_> {
        Duplicates::Listed(self)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities {
            inspection: Some(self),
            update: Some(self),
            snapshots: Some(self),
            restoration: Some(self),
            // Cinder refuses while it deletes the volume's snapshots.
            repeats_deletion: true,
            ..Abilities::default()
        }
    }

    async fn create(&self, context: &Context<'_>) -> Result<String, DriverError> {
        let storage = context.session.block_storage();
        if context.earlier == Earlier::Possible
            && let Some(found) = find(context).await?
        {
            return Ok(found.id);
        }
        let properties = Properties::of(context.properties);
        let image = match properties.filled("image")? {
            Some(image) => {
                let found = context.session.image().image_find(&image).await;
                Some(
                    found
                        .map_err(|error| properties.looked_up("image", error))?
                        .id,
                )
            }
            None => None,
        };
        let source = match properties.filled("source_volid")? {
            Some(source) => {
                let found = storage.volume_find(&source).await;
                let found = found.map_err(|error| properties.looked_up("source_volid", error))?;
                Some(found.id)
            }
            None => None,
        };
        let fields = body(context.marker, context.properties, image, source)?;
        let hints = properties
            .get("scheduler_hints")
            .filter(|hints| hints.is_object());
        let made = storage.volume_create(&Value::Object(fields), hints).await?;
        Ok(made.id)
    }

    async fn progress(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Progress, DriverError> {
        let Some(volume) = context.session.poller().volume(physical_id).await? else {
            return Ok(Progress::Failed("the volume is gone".into()));
        };
        Ok(match progress_of(&volume) {
            Progress::Failed(why) => {
                let reason = effect::reason(context, physical_id, None).await?;
                Progress::Failed(reason.map_or(why.clone(), |reason| format!("{why}: {reason}")))
            }
            Progress::Ready(ready) => {
                let missing = effect::missing(context, &volume).await?;
                missing.unwrap_or(Progress::Ready(ready))
            }
            other => other,
        })
    }

    async fn delete(
        &self,
        context: &Context<'_>,
        physical_id: Option<&str>,
    ) -> Result<(), DriverError> {
        let id = match physical_id {
            Some(id) => id.to_string(),
            None => match find(context).await? {
                Some(found) => found.id,
                None => return Ok(()),
            },
        };
        if context.accepted.newest(effect::DELETE, &id).is_some() {
            return Ok(());
        }
        let storage = context.session.block_storage();
        let mut answer = storage.volume_delete(&id).await;
        if answer
            .as_ref()
            .is_err_and(|error| error.status() == Some(400))
        {
            match restoration::blocking(context.session, &id).await? {
                Blocking::Going => return Ok(()),
                // The last one can have gone in between.
                Blocking::None => answer = storage.volume_delete(&id).await,
                Blocking::Staying => {}
            }
        }
        context
            .accepted
            .note_unless_gone(effect::DELETE, &id, answer)
    }

    async fn is_gone(&self, context: &Context<'_>, physical_id: &str) -> Result<bool, DriverError> {
        let Some(volume) = context.session.poller().volume(physical_id).await? else {
            return Ok(true);
        };
        match effect::deletion_failure(context, &volume).await? {
            Some(why) => Err(DriverError::Other(why)),
            None => Ok(false),
        }
    }
}

#[async_trait]
impl Inspect for Volume {
    async fn attributes(
        &self,
        context: &Context<'_>,
        physical_id: &str,
    ) -> Result<Option<Map<String, Value>>, DriverError> {
        let storage = context.session.block_storage();
        match storage.volume_get(physical_id).await {
            Ok(volume) => Ok(Some(attributes(&volume))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

#[async_trait]
impl Update for Volume {
    async fn update(&self, context: &Context<'_>, physical_id: &str) -> Result<(), DriverError> {
        let storage = context.session.block_storage();
        let properties = Properties::of(context.properties);
        let there = storage.volume_get(physical_id).await?;
        let fields = body(context.marker, context.properties, None, None)?;
        let named: Map<String, Value> = fields
            .into_iter()
            .filter(|(field, _)| matches!(field.as_str(), "name" | "description" | "metadata"))
            .collect();
        storage
            .volume_update(physical_id, &Value::Object(named))
            .await?;
        let kind = properties.filled("volume_type")?;
        if let Some(kind) = kind
            && !effect::has_type(context, &there, &kind).await?
        {
            let request = storage.volume_retype(physical_id, &kind).await?;
            context.accepted.note(effect::RETYPE, physical_id, request);
        }
        match size(properties)? {
            Some(size) if size > there.size => {
                let request = storage.volume_extend(physical_id, size).await?;
                context.accepted.note(effect::EXTEND, physical_id, request);
            }
            // A rollback keeps a grown volume, as this loses no data.
            Some(size) if size < there.size && !context.is_rollback => {
                let why = format!(
                    "the volume has {} GiB, and volumes cannot shrink; give the resource another name to get a new one",
                    there.size
                );
                return Err(properties.wrong("size", why));
            }
            _ => {}
        }
        Ok(())
    }
}

#[async_trait]
impl Snapshot for Volume {
    async fn snapshot(
        &self,
        context: &Context<'_>,
        physical_id: &str,
        occasion: &str,
    ) -> Result<Progress, DriverError> {
        back_up(context, physical_id, occasion).await
    }
}

#[async_trait]
impl ListMarked for Volume {
    /// Cinder copies the metadata of a volume to volumes restored from its backup.
    async fn list_marked(&self, search: &Search<'_>) -> Result<Vec<Marked>, DriverError> {
        let marks = MarkerIndex::of(search, marker::text);
        let all = search.session.block_storage().volume_list(&[]).await?;
        let marked = all.into_iter().filter(|volume| volume.status != "deleting");
        let marked = marked.filter_map(|volume| {
            let resource = marks.equal(volume.metadata.get(MARK)?)?;
            let created = volume.other.get("created_at").and_then(Value::as_str);
            Some(Marked {
                proof: Proof::MarkAndAge(created.and_then(created_at)),
                ..Marked::named(resource, volume.id, volume.name)
            })
        });
        Ok(marked.collect())
    }
}

/// Cinder's times are UTC without a zone.
fn created_at(text: &str) -> Option<jiff::Timestamp> {
    let time: jiff::civil::DateTime = text.trim_end_matches('Z').parse().ok()?;
    let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp())
}

/// Creates a backup, as in Heat: a snapshot cannot outlive its volume. Its name contains the volume's name and the
/// occasion, as an older backup lacks later changes. A failed backup is deleted, so that a retry creates another one.
async fn back_up(context: &Context<'_>, id: &str, occasion: &str) -> Result<Progress, DriverError> {
    let storage = context.session.block_storage();
    let short: String = id.chars().take(8).collect();
    let name = marker::physical_name(context.marker, context.properties);
    let name = format!("{name}-backup-{short}-{occasion}");
    let all = storage.backup_list(&[("volume_id", id)]).await?;
    let is_it = |backup: &&Backup| backup.volume_id == id && backup.name.as_deref() == Some(&name);
    let Some(backup) = all.iter().find(is_it) else {
        let volume = storage.volume_get(id).await?;
        let fields = json!({"volume_id": id, "name": name, "force": volume.status == "in-use"});
        return match storage.backup_create(&fields).await {
            Ok(_ordered) => Ok(Progress::Pending(format!("backup `{name}` is being made"))),
            Err(error) if is_without_service(&error) => Err(DriverError::Property {
                property: "deletion_policy".into(),
                message: "no backup of the volume can be made: this cloud has no backup service (cinder-backup). Use \
                          `Retain` or `Delete`"
                    .into(),
            }),
            Err(error) => Err(error.into()),
        };
    };
    match backup.status.as_str() {
        "available" | "restoring" => Ok(Progress::Ready(Ready {
            reference: json!(backup.id),
            ..Ready::default()
        })),
        status if status.starts_with("error") => {
            let why = backup.fail_reason.as_deref().unwrap_or_default();
            let failed = format!("backup `{name}` is in state {status}: {why}");
            record::done_if_gone(storage.backup_delete(&backup.id).await)?;
            Ok(Progress::Failed(failed))
        }
        status => Ok(Progress::Pending(format!(
            "backup `{name}` is in state {status}"
        ))),
    }
}

/// Recognizes the refusal `Service cinder-backup could not be found.`
fn is_without_service(error: &openstack::Error) -> bool {
    error
        .message()
        .is_some_and(|message| message.contains("cinder-backup"))
}

async fn find(context: &Context<'_>) -> Result<Option<Found>, DriverError> {
    let mark = marker::text(context.marker);
    let all = context.session.block_storage().volume_list(&[]).await?;
    Ok(all
        .into_iter()
        .find(|volume| volume.metadata.get(MARK) == Some(&mark) && volume.status != "deleting"))
}

fn size(properties: Properties<'_>) -> Result<Option<u64>, DriverError> {
    let wrong = || properties.wrong("size", "it must be at least 1 (GiB)".into());
    let size = properties.integer("size")?;
    size.map(|size| {
        u64::try_from(size)
            .ok()
            .filter(|size| *size > 0)
            .ok_or_else(wrong)
    })
    .transpose()
}

fn body(
    marker: &Marker,
    map: &Map<String, Value>,
    image: Option<String>,
    source: Option<String>,
) -> Result<Map<String, Value>, DriverError> {
    let properties = Properties::of(map);
    let mut body = Map::new();
    body.insert("name".into(), marker::physical_name(marker, map).into());
    if let Some(size) = size(properties)? {
        body.insert("size".into(), size.into());
    }
    properties.copy(
        &[
            "description",
            "availability_zone",
            "volume_type",
            "snapshot_id",
            "backup_id",
        ],
        &mut body,
    );
    for (field, value) in [("imageRef", image), ("source_volid", source)] {
        if let Some(value) = value {
            body.insert(field.into(), value.into());
        }
    }
    let mut metadata = Map::new();
    if let Some(Value::Object(own)) = properties.get("metadata") {
        for (key, value) in own {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            metadata.insert(key.clone(), text.into());
        }
    }
    metadata.insert(MARK.into(), marker::text(marker).into());
    body.insert("metadata".into(), Value::Object(metadata));
    Ok(body)
}

fn progress_of(volume: &Found) -> Progress {
    match volume.status.as_str() {
        "available" | "in-use" | "attaching" | "detaching" | "reserved" => Progress::Ready(Ready {
            reference: json!(volume.id),
            attributes: attributes(volume),
        }),
        status if status.starts_with("error") => {
            Progress::Failed(format!("the cloud put the volume in state {status}"))
        }
        status => Progress::Pending(format!("the volume is in state {status}")),
    }
}

/// Attributes as in Heat: all except lists, maps and names are text in Python's format. The metadata is without the
/// entries of restorations.
fn attributes(volume: &Found) -> Map<String, Value> {
    let mut volume = volume.clone();
    volume
        .metadata
        .retain(|key, _| !restoration::is_own_entry(key));
    let fields = match serde_json::to_value(volume) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let mut attributes = Map::new();
    for (attribute, name) in [
        ("display_name", "name"),
        ("display_description", "description"),
        ("metadata_values", "metadata"),
        ("attachments_list", "attachments"),
    ] {
        attributes.insert(attribute.into(), field(name));
    }
    attributes.insert("metadata".into(), field("metadata").to_string().into());
    for name in [
        "attachments",
        "availability_zone",
        "bootable",
        "created_at",
        "encrypted",
        "multiattach",
        "size",
        "snapshot_id",
        "source_volid",
        "status",
        "volume_type",
    ] {
        attributes.insert(name.into(), as_python(&field(name)).into());
    }
    attributes.insert("show".into(), Value::Object(fields));
    attributes
}

/// `str(value)` in Python.
fn as_python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(quoted).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| format!("'{key}': {}", quoted(value));
            let entries: Vec<String> = map.iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// `repr(value)` in Python.
fn quoted(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        other => as_python(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_of_a_volume() {
        let marker = Marker {
            deployment: "d1".into(),
            deployment_name: "shop".into(),
            resource: "data".into(),
        };
        let properties = json!({"size": "10", "metadata": {"tier": 1}, "volume_type": "fast"});
        let body = body(
            &marker,
            properties.as_object().unwrap(),
            Some("img-1".into()),
            None,
        );
        assert_eq!(
            Value::Object(body.unwrap()),
            json!({"name": "shop-data", "size": 10, "volume_type": "fast", "imageRef": "img-1",
                   "metadata": {"tier": "1", "stackloom": "stackloom:d1/data"}})
        );
    }

    #[test]
    fn states() {
        let state = |status: &str| {
            progress_of(&serde_json::from_value(json!({"id": "v", "status": status})).unwrap())
        };
        assert!(matches!(state("available"), Progress::Ready(_)));
        assert!(matches!(state("in-use"), Progress::Ready(_)));
        assert_eq!(
            state("downloading"),
            Progress::Pending("the volume is in state downloading".into())
        );
        assert_eq!(
            state("error_extending"),
            Progress::Failed("the cloud put the volume in state error_extending".into())
        );
    }

    #[test]
    fn attributes_are_texts_as_in_heat() {
        let volume = json!({"id": "v", "status": "in-use", "size": 1, "encrypted": false, "snapshot_id": null,
            "metadata": {"tier": "gold"}, "attachments": [{"server_id": "s", "host_name": null}]});
        let attributes = attributes(&serde_json::from_value(volume).unwrap());
        for (name, text) in [
            ("size", "1"),
            ("encrypted", "False"),
            ("snapshot_id", "None"),
            ("metadata", "{\"tier\":\"gold\"}"),
            ("status", "in-use"),
        ] {
            assert_eq!(attributes[name], text);
        }
        assert_eq!(attributes["metadata_values"]["tier"], "gold");
        assert_eq!(attributes["attachments_list"][0]["server_id"], "s");
        let text = attributes["attachments"].as_str().unwrap();
        assert!(
            text.contains("'server_id': 's'") && text.contains("'host_name': None"),
            "{text}"
        );
    }

    #[test]
    fn attributes_omit_the_entries_of_restorations() {
        let volume = json!({"id": "v", "metadata": {"tier": "gold", "stackloom-returned": "x", "stackloom-detached": "s /dev/vdb"}});
        let attributes = attributes(&serde_json::from_value(volume).unwrap());
        let own = json!({"tier": "gold"});
        assert_eq!(attributes["metadata"], own.to_string());
        assert_eq!(attributes["metadata_values"], own);
        assert_eq!(attributes["show"]["metadata"], own);
    }
}
