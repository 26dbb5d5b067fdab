//! Barbican v1: secrets.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Answer, Page, Way, guard, made, may};
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::token::{Caller, Member};
use crate::http::{App, base_url, python, query};
use crate::model::Model;
use crate::model::ids::{new_id, now};
use crate::model::refusal::Refusal;
use crate::model::secret::Secret;

/// Barbican's own limit on a payload.
const PAYLOAD_BYTES_MAX: usize = 20_000;
const TYPES: &[&str] = &[
    "symmetric",
    "public",
    "private",
    "passphrase",
    "certificate",
    "opaque",
];

pub fn routes() -> Router<App> {
    Router::new()
        .route("/key-manager/v1/secrets", get(list).post(create))
        .route("/key-manager/v1/secrets/", get(list).post(create))
        .route(
            "/key-manager/v1/secrets/{id}",
            get(show).put(put_payload).delete(delete),
        )
        .route("/key-manager/v1/secrets/{id}/payload", get(payload))
        .route(
            "/key-manager/v1/secrets/{id}/metadata",
            get(metadata).put(set_metadata).post(add_metadata),
        )
        .route(
            "/key-manager/v1/secrets/{id}/metadata/{key}",
            get(metadata_item)
                .put(set_metadata_item)
                .delete(remove_metadata_item),
        )
}

pub fn not_found() -> Refusal {
    Refusal::not_found(
        "NotFound",
        "Not Found. Sorry but your secret is in another castle.",
    )
}

/// The secret, to read it; `what` is the attempt in Barbican's words.
fn readable<'a>(
    model: &'a Model,
    member: &Member,
    id: &str,
    what: &str,
) -> Result<&'a Secret, Refusal> {
    let row = model.secrets.get(id).ok_or_else(not_found)?;
    may(&row.guard, member, Way::Read, what).map(|()| row)
}

/// The secret, to change it.
fn owned<'a>(
    model: &'a mut Model,
    member: &Member,
    id: &str,
    what: &str,
) -> Result<&'a mut Secret, Refusal> {
    let row = model.secrets.get_mut(id).ok_or_else(not_found)?;
    may(&row.guard, member, Way::Change, what).map(|()| row)
}

fn document(row: &Secret, base: &str) -> Value {
    let mut document = json!({
        "name": row.name,
        "status": "ACTIVE",
        "secret_type": row.secret_type,
        "algorithm": row.algorithm,
        "bit_length": row.bit_length,
        "mode": row.mode,
        "expiration": row.expiration,
        "creator_id": row.guard.creator_id,
        "created": row.created.trim_end_matches('Z'),
        "updated": row.updated.trim_end_matches('Z'),
        "secret_ref": reference(&row.id, base),
    });
    if let Some(content_type) = &row.content_type {
        document["content_types"] = json!({"default": content_type});
    }
    document
}

/// The URL of a secret.
pub fn reference(id: &str, base: &str) -> String {
    format!("{base}/key-manager/v1/secrets/{id}")
}

async fn create(State(app): State<App>, caller: Caller, headers: HeaderMap, body: Bytes) -> Answer {
    let member = caller.member()?;
    let body = read_json(&body)?;
    let base = base_url(&headers);
    let secret = read_create(&member, &body)?;
    let place = reference(&secret.id, &base);
    app.change(|model| model.secrets.insert(secret));
    Ok(made("secret_ref", place))
}

fn read_create(member: &Member, body: &Value) -> Result<Secret, Refusal> {
    let schema = |reason: String| {
        Refusal::bad_request(format!(
            "Provided object does not match schema 'Secret': {reason}."
        ))
    };
    let of = |name: &str, reason: String| {
        Refusal::bad_request(format!(
            "Provided object does not match schema 'Secret': {reason}. Invalid property: '{name}'"
        ))
    };
    let text = |name: &str| match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.chars().count() > 255 && name == "name" => {
            Err(of(name, format!("'{text}' is too long")))
        }
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(schema(format!(
            "{other} is not of type 'string'. Invalid property: '{name}'"
        ))),
    };
    let secret_type = text("secret_type")?.unwrap_or_else(|| "opaque".into());
    if !TYPES.contains(&secret_type.as_str()) {
        return Err(schema(format!(
            "'{secret_type}' is not one of {TYPES:?}. Invalid property: 'secret_type'"
        )));
    }
    let content_type = text("payload_content_type")?;
    let payload = match text("payload")? {
        None => None,
        Some(payload) => {
            let content_type = content_type.as_deref().ok_or_else(|| {
                schema(
                    "If 'payload' is supplied, 'payload_content_type' must also be supplied".into(),
                )
            })?;
            Some(encoded(
                payload.as_bytes(),
                content_type,
                text("payload_content_encoding")?.as_deref(),
            )?)
        }
    };
    if content_type.is_some() && payload.is_none() {
        return Err(of(
            "payload",
            "payload must be provided when payload_content_type is specified".into(),
        ));
    }
    let bit_length = match body.get("bit_length") {
        None | Some(Value::Null) => None,
        Some(value) => Some(bits(value).map_err(|reason| of("bit_length", reason))?),
    };
    let expiration = text("expiration")?.filter(|text| !text.trim().is_empty());
    if let Some(end) = &expiration {
        let zoned = end.parse().or_else(|_| format!("{end}Z").parse());
        let end: jiff::Timestamp =
            zoned.map_err(|_| of("expiration", "Invalid date for 'expiration'".into()))?;
        if end < jiff::Timestamp::now() {
            return Err(of(
                "expiration",
                "'expiration' is before current time".into(),
            ));
        }
    }
    Ok(Secret {
        id: new_id(),
        name: text("name")?,
        guard: guard(member),
        secret_type,
        algorithm: text("algorithm")?,
        bit_length,
        mode: text("mode")?,
        expiration,
        content_type: payload.as_ref().and(content_type),
        payload,
        metadata: serde_json::Map::new(),
        created: now(),
        updated: now(),
    })
}

/// A number of bits, or why it is none.
fn bits(value: &Value) -> Result<u32, String> {
    let number = value.as_i64();
    let number =
        number.ok_or_else(|| format!("{} is not of type 'integer'", python::repr(value)))?;
    match u32::try_from(number) {
        Ok(bits @ 1..=32767) => Ok(bits),
        Ok(0) | Err(_) => Err(format!("{number} is less than the minimum of 1")),
        Ok(_) => Err(format!("{number} is greater than the maximum of 32767")),
    }
}

/// The payload in base64, whatever it came in.
fn encoded(payload: &[u8], content_type: &str, encoding: Option<&str>) -> Result<String, Refusal> {
    if payload.is_empty() {
        return Err(Refusal::bad_request(
            "Provided object does not match schema 'Secret': '' is too short. Invalid property: 'payload'.",
        ));
    }
    let text = match (content_type, encoding) {
        (_, Some("base64")) => {
            let text: String = String::from_utf8_lossy(payload)
                .split_whitespace()
                .collect();
            STANDARD
                .decode(&text)
                .map_err(|_| Refusal::bad_request("Problem decoding payload"))?;
            text
        }
        (kind, None) if kind.starts_with("text/plain") => STANDARD.encode(payload),
        ("application/octet-stream", None) => {
            return Err(Refusal::bad_request(
                "Provided object does not match schema 'Secret': payload_content_encoding must be specified when payload_content_type \
                 is application/octet-stream. Invalid property: 'payload_content_encoding'.",
            ));
        }
        (kind, _) => {
            return Err(Refusal::bad_request(format!(
                "Provided object does not match schema 'Secret': payload_content_type {kind} not supported."
            )));
        }
    };
    if payload.len() > PAYLOAD_BYTES_MAX {
        return Err(Refusal::new(
            413,
            "PayloadTooLarge",
            "Problem with data in certificate request. Payload is too large.",
        ));
    }
    Ok(text)
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(asked): query::Query,
    headers: HeaderMap,
) -> Answer {
    let member = caller.member()?;
    let base = base_url(&headers);
    let rows: Vec<Value> = app.read(|model| {
        let mine = model
            .secrets
            .iter()
            .filter(|row| row.guard.project_id == member.project_id);
        let fitting = mine.map(|row| document(row, &base)).filter(|row| {
            ["name", "secret_type", "algorithm", "mode"]
                .iter()
                .all(|name| {
                    query::value(&asked, name)
                        .is_none_or(|wanted| query::attribute_is(row, name, wanted))
                })
        });
        fitting.collect()
    });
    Ok(Page::of("secrets", &asked).answer(rows, &base))
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    let member = caller.member()?;
    let shown = app.read(|model| {
        let row = readable(model, &member, &id, "Secret retrieval")?;
        Ok::<_, Refusal>(document(row, &base_url(&headers)))
    })?;
    Ok(json_answer(200, shown))
}

async fn payload(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    let member = caller.member()?;
    let row =
        app.read(|model| readable(model, &member, &id, "Secret payload retrieval").cloned())?;
    let payload = row.payload.ok_or_else(not_found)?;
    let content_type = row.content_type.unwrap_or_else(|| "text/plain".into());
    let accepted = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("*/*");
    let bytes = STANDARD
        .decode(payload)
        .map_err(|error| Refusal::new(500, "Damaged", error.to_string()))?;
    // As Barbican gives it: anything as bytes, and as text what reads as such, however it came in.
    let asked = accepted.split([',', ';']).next().unwrap_or_default().trim();
    let content_type = match asked {
        "*/*" | "" => content_type,
        "application/octet-stream" => asked.to_owned(),
        "text/plain" if std::str::from_utf8(&bytes).is_ok() => asked.to_owned(),
        _ => return Err(Refusal::new(406, "NotAcceptable", "Not Acceptable").into()),
    };
    let content_type =
        HeaderValue::try_from(content_type).unwrap_or(HeaderValue::from_static("text/plain"));
    Ok((
        StatusCode::OK,
        [(header::CONTENT_TYPE, content_type)],
        bytes,
    )
        .into_response())
}

async fn put_payload(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    let content_type = text("content-type").unwrap_or_else(|| "text/plain".into());
    // Raw bytes need no encoding here, unlike in JSON.
    let payload = match (content_type.as_str(), text("content-encoding").as_deref()) {
        ("application/octet-stream", None) => STANDARD.encode(&body),
        (kind, encoding) => encoded(&body, kind, encoding)?,
    };
    app.change(|model| {
        let row = owned(model, &member, &id, "Secret update")?;
        if row.payload.is_some() {
            return Err(Refusal::conflict(
                "SecretAlreadyHasData",
                "Secret already has data, cannot modify it.",
            ));
        }
        row.payload = Some(payload);
        row.content_type = Some(content_type);
        row.updated = now();
        Ok(())
    })?;
    Ok(empty_answer(204))
}

async fn delete(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    let member = caller.member()?;
    app.change(|model| {
        owned(model, &member, &id, "Secret deletion")?;
        model.secrets.remove(&id);
        Ok::<_, Refusal>(())
    })?;
    Ok(empty_answer(204))
}

async fn metadata(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    let member = caller.member()?;
    let pairs = app.read(|model| {
        let row = readable(model, &member, &id, "Secret metadata retrieval")?;
        Ok::<_, Refusal>(row.metadata.clone())
    })?;
    Ok(json_answer(200, json!({ "metadata": pairs })))
}

async fn set_metadata(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    let body = read_json(&body)?;
    let pairs = body.get("metadata").and_then(Value::as_object).cloned();
    let pairs = pairs.ok_or_else(|| {
        Refusal::bad_request("Provided object does not match schema 'SecretMetadata'.")
    })?;
    app.change(|model| {
        owned(model, &member, &id, "Secret metadata creation")?.metadata = pairs;
        Ok::<_, Refusal>(())
    })?;
    let place = format!("{}/metadata", reference(&id, &base_url(&headers)));
    Ok(json_answer(201, json!({ "metadata_ref": place })))
}

fn no_such_key() -> Refusal {
    Refusal::not_found("NotFound", "Not Found. Secret metadata not found.")
}

/// A pair of a body.
fn pair(body: &Bytes) -> Result<(String, Value), Refusal> {
    let body = read_json(body)?;
    match (body.get("key").and_then(Value::as_str), body.get("value")) {
        (Some(key), Some(value)) => Ok((key.to_owned(), value.clone())),
        _ => Err(Refusal::bad_request(
            "Provided object does not match schema 'SecretMetadatum'.",
        )),
    }
}

async fn add_metadata(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    let (key, value) = pair(&body)?;
    let shown = json!({"key": key, "value": value});
    app.change(|model| {
        let row = owned(model, &member, &id, "Secret metadatum creation")?;
        match row.metadata.contains_key(&key) {
            true => Err(Refusal::conflict(
                "Conflict",
                "Conflict. Key in request is already in the secret metadata",
            )),
            false => {
                row.metadata.insert(key, value);
                Ok(())
            }
        }
    })?;
    Ok(json_answer(201, shown))
}

async fn metadata_item(
    State(app): State<App>,
    caller: Caller,
    Path((id, key)): Path<(String, String)>,
) -> Answer {
    let member = caller.member()?;
    let value = app.read(|model| {
        let row = readable(model, &member, &id, "Secret metadatum retrieval")?;
        row.metadata.get(&key).cloned().ok_or_else(no_such_key)
    })?;
    Ok(json_answer(200, json!({"key": key, "value": value})))
}

async fn set_metadata_item(
    State(app): State<App>,
    caller: Caller,
    Path((id, key)): Path<(String, String)>,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    let (named, value) = pair(&body)?;
    if named != key {
        return Err(Refusal::conflict(
            "Conflict",
            "Key in request does not match key in the request url.",
        )
        .into());
    }
    let shown = json!({"key": key, "value": value});
    app.change(|model| {
        let row = owned(model, &member, &id, "Secret metadatum update")?;
        let old = row.metadata.get_mut(&key).ok_or_else(no_such_key)?;
        *old = value;
        Ok::<_, Refusal>(())
    })?;
    Ok(json_answer(200, shown))
}

async fn remove_metadata_item(
    State(app): State<App>,
    caller: Caller,
    Path((id, key)): Path<(String, String)>,
) -> Answer {
    let member = caller.member()?;
    app.change(|model| {
        let row = owned(model, &member, &id, "Secret metadatum removal")?;
        row.metadata.remove(&key).ok_or_else(no_such_key)
    })?;
    Ok(empty_answer(204))
}
