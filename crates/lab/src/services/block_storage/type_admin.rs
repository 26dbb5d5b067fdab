//! Cinder v3: administration of volume types: access, extra specs, encryption.

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::new_id;
use crate::kit::python;
use crate::kit::refusal::Refusal;
use crate::services::block_storage::PREFIXES;
use crate::services::block_storage::body::{object, pairs, text};
use crate::services::block_storage::types::not_found;
use crate::services::block_storage::view::type_document;
use crate::services::block_storage::volume_type::{DEFAULT_TYPE, VolumeType};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below_each(PREFIXES)
        .post("/types", create)
        .put("/types/{id}", update)
        .delete("/types/{id}", remove)
        .post("/types/{id}/action", act)
        .get("/types/{id}/os-volume-type-access", access)
        .post("/types/{id}/extra_specs", set_specs)
        .delete("/types/{id}/extra_specs/{key}", unset_spec)
        .get("/types/{id}/encryption", encryption)
        .post("/types/{id}/encryption", encrypt)
        .put("/types/{id}/encryption/{which}", update_encryption)
        .delete("/types/{id}/encryption/{which}", delete_encryption)
}

impl Call {
    /// Requires an administrator, else 403.
    pub(crate) fn admin(&self, rule: &str) -> Result<(), Refusal> {
        if self.member()?.admin {
            Ok(())
        } else {
            Err(Refusal::forbidden(format!(
                "Policy doesn't allow volume_extension:{rule} to be performed."
            )))
        }
    }
}

fn of<'a>(model: &'a mut Model, id: &str) -> Result<&'a mut VolumeType, Refusal> {
    let found = model.block_storage.types.get_mut(id);
    found.ok_or_else(|| not_found(id))
}

fn name_is_free(model: &Model, id: &str, name: &str) -> Result<(), Refusal> {
    let mut rows = model.block_storage.types.iter();
    if rows.any(|row| row.name == name && row.id != id) {
        Err(Refusal::conflict(
            "VolumeTypeExists",
            format!("Volume Type {name} already exists."),
        ))
    } else {
        Ok(())
    }
}

/// Whether a type has volumes.
fn is_in_use(model: &Model, id: &str) -> bool {
    let kind = model.block_storage.types.get(id);
    let mut volumes = model.block_storage.volumes.iter();
    kind.is_some_and(|kind| volumes.any(|volume| volume.volume_type == kind.name))
}

fn truth(fields: &Map<String, Value>, name: &str) -> Option<bool> {
    python::boolean(fields.get(name)?, &[])
}

async fn create(call: Call, body: Bytes) -> Answer {
    call.admin("type_create")?;
    let body = read_json(&body)?;
    let wanted = object(&body, "volume_type")?;
    let name = text(wanted, "name")?.filter(|name| !name.trim().is_empty());
    let row = VolumeType {
        id: new_id(),
        name: name.ok_or_else(|| Refusal::bad_request("'name' is a required property"))?,
        description: text(wanted, "description")?,
        is_public: truth(wanted, "os-volume-type-access:is_public").unwrap_or(true),
        extra_specs: pairs(wanted.get("extra_specs"))?,
        projects: Vec::new(),
        encryption: None,
        qos_specs: None,
    };
    let shown = type_document(&row);
    call.app.change(|model| {
        name_is_free(model, "", &row.name)?;
        model.block_storage.types.insert(row);
        Ok::<_, Refusal>(())
    })?;
    reply(200, json!({ "volume_type": shown }))
}

async fn update(call: Call, body: Bytes) -> Answer {
    call.admin("type_update")?;
    let body = read_json(&body)?;
    let wanted = object(&body, "volume_type")?;
    if wanted.is_empty() {
        return Err(Refusal::bad_request(
            "Specify volume type name, description, is_public or a combination thereof.",
        ));
    }
    let (name, description) = (text(wanted, "name")?, text(wanted, "description")?);
    let shown = call.app.change(|model| {
        if let Some(name) = &name {
            name_is_free(model, call.id(), name)?;
        }
        let row = of(model, call.id())?;
        let name = name.unwrap_or_else(|| row.name.clone());
        let old = std::mem::replace(&mut row.name, name.clone());
        row.description = description.or_else(|| row.description.take());
        row.is_public = truth(wanted, "is_public").unwrap_or(row.is_public);
        let shown = type_document(row);
        // Volumes store the name of their type.
        for volume in model.block_storage.volumes.iter_mut() {
            if volume.volume_type == old {
                volume.volume_type.clone_from(&name);
            }
        }
        Ok::<_, Refusal>(shown)
    })?;
    reply(200, json!({ "volume_type": shown }))
}

async fn remove(call: Call) -> Answer {
    call.admin("type_delete")?;
    call.app.change(|model| {
        let row = of(model, call.id())?;
        if row.name == DEFAULT_TYPE {
            return Err(Refusal::bad_request(format!(
                "The volume type {} is the default volume type and cannot be deleted.",
                row.id
            )));
        }
        if is_in_use(model, call.id()) {
            return Err(Refusal::bad_request("Target volume type is still in use."));
        }
        model.block_storage.types.remove(call.id());
        Ok(())
    })?;
    empty(202)
}

async fn act(call: Call, body: Bytes) -> Answer {
    let body = read_json(&body)?;
    let only = body.as_object().and_then(|fields| fields.iter().next());
    let (action, details) = only.ok_or_else(|| Refusal::bad_request("There is no such action"))?;
    let adds = match action.as_str() {
        "addProjectAccess" => true,
        "removeProjectAccess" => false,
        other => {
            return Err(Refusal::bad_request(format!(
                "There is no such action: {other}"
            )));
        }
    };
    call.admin(&format!("volume_type_access:{action}"))?;
    let project = details["project"].as_str().unwrap_or_default().to_owned();
    if uuid::Uuid::parse_str(&project).is_err() {
        return Err(Refusal::bad_request(format!(
            "Invalid input for field/attribute project. Value: {project}. '{project}' is not a 'uuid'"
        )));
    }
    call.app.change(|model| {
        let row = of(model, call.id())?;
        let id = row.id.clone();
        if row.is_public {
            return Err(Refusal::bad_request(
                "Invalid volume type: Type access modification is not applicable to public volume type.",
            ));
        }
        match (adds, row.projects.contains(&project)) {
            (true, false) => row.projects.push(project),
            (false, true) => row.projects.retain(|one| *one != project),
            (true, true) => {
                return Err(Refusal::conflict(
                    "VolumeTypeAccessExists",
                    format!("Volume type access for {id} / {project} combination already exists."),
                ));
            }
            (false, false) => {
                return Err(Refusal::not_found(
                    "VolumeTypeAccessNotFound",
                    format!("Volume type access not found for {id} / {project} combination."),
                ));
            }
        }
        Ok(())
    })?;
    empty(202)
}

async fn access(call: Call) -> Answer {
    call.admin("volume_type_access:get_all_for_type")?;
    let rows: Vec<Value> = call.app.change(|model| {
        let row = of(model, call.id())?;
        if row.is_public {
            return Err(Refusal::not_found(
                "VolumeTypeAccessNotFound",
                "Access list not available for public volume types.",
            ));
        }
        let one = |project: &String| json!({"volume_type_id": row.id, "project_id": project});
        Ok(row.projects.iter().map(one).collect())
    })?;
    reply(200, json!({ "volume_type_access": rows }))
}

async fn set_specs(call: Call, body: Bytes) -> Answer {
    call.admin("types_extra_specs:create")?;
    let body = read_json(&body)?;
    let specs = pairs(body.get("extra_specs"))?;
    call.app.change(|model| {
        let in_use = is_in_use(model, call.id());
        let row = of(model, call.id())?;
        if in_use {
            return Err(Refusal::bad_request("Volume Type is currently in use."));
        }
        row.extra_specs.extend(specs.clone());
        Ok(())
    })?;
    reply(200, json!({ "extra_specs": specs }))
}

async fn unset_spec(call: Call) -> Answer {
    call.admin("types_extra_specs:delete")?;
    let key = call.part("key");
    call.app.change(|model| {
        let row = of(model, call.id())?;
        let gone = row.extra_specs.remove(key);
        gone.ok_or_else(|| {
            Refusal::not_found(
                "VolumeTypeExtraSpecsNotFound",
                format!("Volume Type {} has no extra specs with key {key}.", row.id),
            )
        })
    })?;
    empty(202)
}

async fn encryption(call: Call) -> Answer {
    call.admin("volume_type_encryption:get")?;
    let shown = call.app.change(|model| {
        let row = of(model, call.id())?;
        Ok::<_, Refusal>(match &row.encryption {
            Some(fields) => Value::Object(fields.clone()),
            None => json!({}),
        })
    })?;
    reply(200, shown)
}

async fn encrypt(call: Call, body: Bytes) -> Answer {
    call.admin("volume_type_encryption:create")?;
    let body = read_json(&body)?;
    let mut fields = object(&body, "encryption")?.clone();
    for name in ["provider", "control_location"] {
        if !fields.contains_key(name) {
            return Err(Refusal::bad_request(format!(
                "'{name}' is a required property"
            )));
        }
    }
    for name in ["cipher", "key_size"] {
        fields.entry(name).or_insert(Value::Null);
    }
    fields.insert("encryption_id".into(), new_id().into());
    fields.insert("volume_type_id".into(), call.id().into());
    let shown = json!({ "encryption": fields });
    call.app.change(|model| {
        let in_use = is_in_use(model, call.id());
        let row = of(model, call.id())?;
        if in_use {
            let why = "Cannot create encryption specs. Volume type in use.";
            return Err(Refusal::bad_request(why));
        }
        if row.encryption.is_some() {
            return Err(Refusal::bad_request(format!(
                "Volume type encryption for type {} already exists.",
                row.id
            )));
        }
        row.encryption = Some(fields);
        Ok(())
    })?;
    reply(200, shown)
}

/// Changes the encryption of a type without volumes.
fn changed<R>(
    call: &Call,
    how: &str,
    change: impl FnOnce(&mut Option<Map<String, Value>>) -> R,
) -> Result<R, Refusal> {
    call.admin(&format!("volume_type_encryption:{how}"))?;
    call.app.change(|model| {
        let in_use = is_in_use(model, call.id());
        let row = of(model, call.id())?;
        if in_use {
            return Err(Refusal::bad_request(format!(
                "Cannot {how} encryption specs. Volume type in use."
            )));
        }
        match row.encryption {
            Some(_) => Ok(change(&mut row.encryption)),
            None => Err(Refusal::not_found(
                "VolumeTypeEncryptionNotFound",
                format!("Volume type encryption for type {} does not exist.", row.id),
            )),
        }
    })
}

async fn update_encryption(call: Call, body: Bytes) -> Answer {
    let body = read_json(&body)?;
    let fields = object(&body, "encryption")?.clone();
    changed(&call, "update", |there| {
        there.get_or_insert_default().extend(fields);
    })?;
    reply(200, body)
}

async fn delete_encryption(call: Call) -> Answer {
    changed(&call, "delete", |there| *there = None)?;
    empty(202)
}
