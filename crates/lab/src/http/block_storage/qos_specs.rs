//! Cinder v3: quality of service specifications, for administrators. Which types have one is changed by GET, as in the real service.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::routing::{get, put};
use serde_json::{Map, Value, json};

use super::types::not_found as no_such_type;
use super::{Answer, Asked, object, pairs};
use crate::http::App;
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::query::{self, attribute_is};
use crate::model::block_storage::qos_specs::QosSpecs;
use crate::model::block_storage::volume_type::VolumeType;
use crate::model::ids::new_id;
use crate::model::refusal::Refusal;

pub fn routes(prefix: &str) -> Router<App> {
    let at = |path: &str| format!("{prefix}/qos-specs{path}");
    Router::new()
        .route(&at(""), get(all).post(create))
        .route(&at("/{id}"), get(one).put(set).delete(delete))
        .route(&at("/{id}/delete_keys"), put(unset))
        .route(&at("/{id}/associations"), get(associations))
        .route(
            &at("/{id}/associate"),
            get(|app, asked, query| bind(true, app, asked, query)),
        )
        .route(
            &at("/{id}/disassociate"),
            get(|app, asked, query| bind(false, app, asked, query)),
        )
        .route(&at("/{id}/disassociate_all"), get(unbind_all))
}

const CONSUMER: &str = "consumer";

fn document(row: &QosSpecs) -> Value {
    json!({"id": row.id, "name": row.name, "consumer": row.consumer, "specs": row.specs})
}

fn not_found(id: &str) -> Refusal {
    Refusal::not_found("QoSSpecsNotFound", format!("No such QoS spec {id}."))
}

/// Keys as they are said: who reads them is one of them.
fn said(
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

async fn all(State(app): State<App>, asked: Asked, Query(words): query::Query) -> Answer {
    asked.admin("qos_specs_manage:get_all")?;
    let rows: Vec<Value> =
        app.read(|model| model.block_storage.qos_specs.iter().map(document).collect());
    let fits = |row: &Value| {
        ["id", "name", CONSUMER].iter().all(|name| {
            query::value(&words, name).is_none_or(|wanted| attribute_is(row, name, wanted))
        })
    };
    let rows: Vec<Value> = rows.into_iter().filter(fits).collect();
    Ok(json_answer(200, json!({ "qos_specs": rows })))
}

async fn one(State(app): State<App>, asked: Asked) -> Answer {
    asked.admin("qos_specs_manage:get")?;
    let shown = app.read(|model| model.block_storage.qos_specs.get(asked.id()).map(document));
    let shown = shown.ok_or_else(|| not_found(asked.id()))?;
    Ok(json_answer(200, json!({ "qos_specs": shown })))
}

async fn create(State(app): State<App>, asked: Asked, body: Bytes) -> Answer {
    asked.admin("qos_specs_manage:create")?;
    let body = read_json(&body)?;
    let mut fields = object(&body, "qos_specs")?.clone();
    let name = match fields.remove("name") {
        Some(Value::String(name)) if !name.trim().is_empty() => name,
        _ => return Err(Refusal::bad_request("'name' is a required property").into()),
    };
    let (consumer, specs) = said(&fields)?;
    let row = QosSpecs {
        id: new_id(),
        name,
        consumer: consumer.unwrap_or_else(|| "back-end".to_owned()),
        specs,
    };
    let shown = document(&row);
    app.change(|model| {
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
    Ok(json_answer(200, json!({ "qos_specs": shown })))
}

async fn set(State(app): State<App>, asked: Asked, body: Bytes) -> Answer {
    asked.admin("qos_specs_manage:update")?;
    let body = read_json(&body)?;
    let (consumer, specs) = said(object(&body, "qos_specs")?)?;
    app.change(|model| {
        let row = model.block_storage.qos_specs.get_mut(asked.id());
        let row = row.ok_or_else(|| not_found(asked.id()))?;
        row.consumer = consumer.unwrap_or_else(|| row.consumer.clone());
        row.specs.extend(specs);
        Ok::<_, Refusal>(())
    })?;
    Ok(json_answer(200, body))
}

async fn unset(State(app): State<App>, asked: Asked, body: Bytes) -> Answer {
    asked.admin("qos_specs_manage:delete")?;
    let body = read_json(&body)?;
    let keys: Vec<String> = serde_json::from_value(body["keys"].clone())
        .map_err(|_| Refusal::bad_request("'keys' is a required property"))?;
    app.change(|model| {
        let row = model.block_storage.qos_specs.get_mut(asked.id());
        let row = row.ok_or_else(|| not_found(asked.id()))?;
        // Like Cinder: those before the first that is not there are gone.
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
    Ok(empty_answer(202))
}

async fn delete(State(app): State<App>, asked: Asked, Query(words): query::Query) -> Answer {
    asked.admin("qos_specs_manage:delete")?;
    let force = query::value(&words, "force").is_some_and(|word| word.eq_ignore_ascii_case("true"));
    app.change(|model| {
        let storage = &mut model.block_storage;
        let id = asked.id();
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
    Ok(empty_answer(202))
}

async fn associations(State(app): State<App>, asked: Asked) -> Answer {
    asked.admin("qos_specs_manage:get_all")?;
    let rows: Option<Vec<Value>> = app.read(|model| {
        model.block_storage.qos_specs.get(asked.id())?;
        let types = model.block_storage.types.iter();
        let mine = types.filter(|row| row.qos_specs.as_deref() == Some(asked.id()));
        let one = |row: &VolumeType| {
            json!({"association_type": "volume_type", "name": row.name, "id": row.id})
        };
        Some(mine.map(one).collect())
    });
    let rows = rows.ok_or_else(|| not_found(asked.id()))?;
    Ok(json_answer(200, json!({ "qos_associations": rows })))
}

async fn bind(
    on: bool,
    State(app): State<App>,
    asked: Asked,
    Query(words): query::Query,
) -> Answer {
    asked.admin("qos_specs_manage:update")?;
    let kind = query::value(&words, "vol_type_id");
    let kind = kind.ok_or_else(|| Refusal::bad_request("Volume Type id must not be None."))?;
    app.change(|model| {
        let storage = &mut model.block_storage;
        if storage.qos_specs.get(asked.id()).is_none() {
            return Err(not_found(asked.id()));
        }
        let row = storage.types.get_mut(kind);
        let row = row.ok_or_else(|| no_such_type(kind))?;
        let has = row.qos_specs.as_deref();
        match (on, has) {
            (true, Some(other)) if other != asked.id() => {
                return Err(Refusal::bad_request(format!(
                    "Invalid volume type: Type {} is already associated with another qos specs: {other}",
                    row.id
                )));
            }
            (true, _) => row.qos_specs = Some(asked.id().to_owned()),
            (false, Some(there)) if there == asked.id() => row.qos_specs = None,
            (false, _) => {}
        }
        Ok(())
    })?;
    Ok(empty_answer(202))
}

async fn unbind_all(State(app): State<App>, asked: Asked) -> Answer {
    asked.admin("qos_specs_manage:update")?;
    app.change(|model| {
        let storage = &mut model.block_storage;
        let found = storage.qos_specs.get(asked.id()).is_some();
        storage.unbind(asked.id());
        found.then_some(()).ok_or_else(|| not_found(asked.id()))
    })?;
    Ok(empty_answer(202))
}
