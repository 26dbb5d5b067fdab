//! Cinder v3: QoS specs, for administrators. Associations with volume types are changed by GET, as in the real service.

use std::collections::BTreeMap;

use axum::body::Bytes;
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::ids::new_id;
use crate::kit::query::attribute_is;
use crate::kit::refusal::Refusal;
use crate::services::block_storage::PREFIXES;
use crate::services::block_storage::body::{object, pairs};
use crate::services::block_storage::qos_spec::QosSpecs;
use crate::services::block_storage::types::not_found as no_such_type;
use crate::services::block_storage::volume_type::VolumeType;
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below_each(PREFIXES)
        .get("/qos-specs", all)
        .post("/qos-specs", create)
        .get("/qos-specs/{id}", one)
        .put("/qos-specs/{id}", set)
        .delete("/qos-specs/{id}", delete)
        .put("/qos-specs/{id}/delete_keys", unset)
        .get("/qos-specs/{id}/associations", associations)
        .get("/qos-specs/{id}/associate", |call| {
            bind(call, Binding::Associated)
        })
        .get("/qos-specs/{id}/disassociate", |call| {
            bind(call, Binding::Separate)
        })
        .get("/qos-specs/{id}/disassociate_all", unbind_all)
}

const CONSUMER: &str = "consumer";

fn document(row: &QosSpecs) -> Value {
    json!({"id": row.id, "name": row.name, "consumer": row.consumer, "specs": row.specs})
}

fn not_found(id: &str) -> Refusal {
    Refusal::not_found("QoSSpecsNotFound", format!("No such QoS spec {id}."))
}

/// The keys of a body, with the consumer separated from the others.
fn consumer_and_specs(
    fields: &Map<String, Value>,
) -> Result<(Option<String>, BTreeMap<String, String>), Refusal> {
    let mut specs = pairs(Some(&Value::Object(fields.clone())))?;
    let consumer = specs.remove(CONSUMER);
    let known = ["front-end", "back-end", "both"];
    match &consumer {
        Some(word) if !known.contains(&word.as_str()) => Err(Refusal::bad_request(format!(
            "Invalid qos specs: Valid consumer of QoS specs are: {known:?}"
        ))),
        _ => Ok((consumer, specs)),
    }
}

async fn all(call: Call) -> Answer {
    call.admin("qos_specs_manage:get_all")?;
    let rows: Vec<Value> = call
        .app
        .read(|model| model.block_storage.qos_specs.iter().map(document).collect());
    let fits = |row: &Value| {
        ["id", "name", CONSUMER].iter().all(|name| {
            call.query_value(name)
                .is_none_or(|wanted| attribute_is(row, name, wanted))
        })
    };
    let rows: Vec<Value> = rows.into_iter().filter(fits).collect();
    reply(200, json!({ "qos_specs": rows }))
}

async fn one(call: Call) -> Answer {
    call.admin("qos_specs_manage:get")?;
    let shown = call
        .app
        .read(|model| model.block_storage.qos_specs.get(call.id()).map(document));
    let shown = shown.ok_or_else(|| not_found(call.id()))?;
    reply(200, json!({ "qos_specs": shown }))
}

async fn create(call: Call, body: Bytes) -> Answer {
    call.admin("qos_specs_manage:create")?;
    let body = read_json(&body)?;
    let mut fields = object(&body, "qos_specs")?.clone();
    let name = match fields.remove("name") {
        Some(Value::String(name)) if !name.trim().is_empty() => name,
        _ => return Err(Refusal::bad_request("'name' is a required property")),
    };
    let (consumer, specs) = consumer_and_specs(&fields)?;
    let row = QosSpecs {
        id: new_id(),
        name,
        consumer: consumer.unwrap_or_else(|| "back-end".to_owned()),
        specs,
    };
    let shown = document(&row);
    call.app.change(|model| {
        let all = &mut model.block_storage.qos_specs;
        if all.iter().any(|other| other.name == row.name) {
            return Err(Refusal::conflict(
                "QoSSpecsExists",
                format!("QoS Specs {} already exists.", row.name),
            ));
        }
        all.insert(row);
        Ok(())
    })?;
    reply(200, json!({ "qos_specs": shown }))
}

async fn set(call: Call, body: Bytes) -> Answer {
    call.admin("qos_specs_manage:update")?;
    let body = read_json(&body)?;
    let (consumer, specs) = consumer_and_specs(object(&body, "qos_specs")?)?;
    call.app.change(|model| {
        let row = model.block_storage.qos_specs.get_mut(call.id());
        let row = row.ok_or_else(|| not_found(call.id()))?;
        row.consumer = consumer.unwrap_or_else(|| row.consumer.clone());
        row.specs.extend(specs);
        Ok::<_, Refusal>(())
    })?;
    reply(200, body)
}

async fn unset(call: Call, body: Bytes) -> Answer {
    call.admin("qos_specs_manage:delete")?;
    let body = read_json(&body)?;
    let keys: Vec<String> = serde_json::from_value(body["keys"].clone())
        .map_err(|_| Refusal::bad_request("'keys' is a required property"))?;
    call.app.change(|model| {
        let row = model.block_storage.qos_specs.get_mut(call.id());
        let row = row.ok_or_else(|| not_found(call.id()))?;
        // As in Cinder, the keys before the first missing one are already removed.
        for key in &keys {
            if row.specs.remove(key).is_none() {
                return Err(Refusal::not_found(
                    "QoSSpecsKeyNotFound",
                    format!("QoS spec {} has no spec with key {key}.", row.id),
                ));
            }
        }
        Ok(())
    })?;
    empty(202)
}

async fn delete(call: Call) -> Answer {
    call.admin("qos_specs_manage:delete")?;
    let force = call
        .query_value("force")
        .is_some_and(|word| word.eq_ignore_ascii_case("true"));
    call.app.change(|model| {
        let storage = &mut model.block_storage;
        let id = call.id();
        if storage.qos_specs.get(id).is_none() {
            return Err(not_found(id));
        }
        let is_bound = |row: &VolumeType| row.qos_specs.as_deref() == Some(id);
        if !force && storage.types.iter().any(is_bound) {
            return Err(Refusal::bad_request("Qos specs still in use."));
        }
        storage.unbind(id);
        storage.qos_specs.remove(id);
        Ok(())
    })?;
    empty(202)
}

async fn associations(call: Call) -> Answer {
    call.admin("qos_specs_manage:get_all")?;
    let rows: Option<Vec<Value>> = call.app.read(|model| {
        model.block_storage.qos_specs.get(call.id())?;
        let types = model.block_storage.types.iter();
        let mine = types.filter(|row| row.qos_specs.as_deref() == Some(call.id()));
        let one = |row: &VolumeType| {
            json!({"association_type": "volume_type", "name": row.name, "id": row.id})
        };
        Some(mine.map(one).collect())
    });
    let rows = rows.ok_or_else(|| not_found(call.id()))?;
    reply(200, json!({ "qos_associations": rows }))
}

/// The relation of a volume type and QoS specs after a request.
enum Binding {
    Associated,
    Separate,
}

async fn bind(call: Call, wanted: Binding) -> Answer {
    call.admin("qos_specs_manage:update")?;
    let kind = call.query_value("vol_type_id");
    let kind = kind.ok_or_else(|| Refusal::bad_request("Volume Type id must not be None."))?;
    call.app.change(|model| {
        let storage = &mut model.block_storage;
        if storage.qos_specs.get(call.id()).is_none() {
            return Err(not_found(call.id()));
        }
        let row = storage.types.get_mut(kind);
        let row = row.ok_or_else(|| no_such_type(kind))?;
        let has = row.qos_specs.as_deref();
        match (wanted, has) {
            (Binding::Associated, Some(other)) if other != call.id() => {
                return Err(Refusal::bad_request(format!(
                    "Invalid volume type: Type {} is already associated with another qos specs: {other}",
                    row.id
                )));
            }
            (Binding::Associated, _) => row.qos_specs = Some(call.id().to_owned()),
            (Binding::Separate, Some(there)) if there == call.id() => row.qos_specs = None,
            (Binding::Separate, _) => {}
        }
        Ok(())
    })?;
    empty(202)
}

async fn unbind_all(call: Call) -> Answer {
    call.admin("qos_specs_manage:update")?;
    call.app.change(|model| {
        let storage = &mut model.block_storage;
        let found = storage.qos_specs.get(call.id()).is_some();
        storage.unbind(call.id());
        found.then_some(()).ok_or_else(|| not_found(call.id()))
    })?;
    empty(202)
}
