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
use crate::http::{App, base_url, query};
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
            get(metadata).put(set_metadata),
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
    let text = |name: &str| match body.get(name) {
        None | Some(Value::Null) => Ok(None),
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
    Ok(Secret {
        id: new_id(),
        name: text("name")?,
        guard: guard(member),
        secret_type,
        algorithm: text("algorithm")?,
        bit_length: body["bit_length"]
            .as_u64()
            .and_then(|bits| u32::try_from(bits).ok()),
        mode: text("mode")?,
        expiration: text("expiration")?,
        content_type: payload.as_ref().and(content_type),
        payload,
        metadata: serde_json::Map::new(),
        created: now(),
        updated: now(),
    })
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
    let kind = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .to_owned();
    let fits = accepted
        .split(',')
        .map(|one| one.split(';').next().unwrap_or_default().trim())
        .any(|one| one == "*/*" || one == kind);
    if !fits {
        return Err(Refusal::new(406, "NotAcceptable", "Not Acceptable").into());
    }
    let bytes = STANDARD
        .decode(payload)
        .map_err(|error| Refusal::new(500, "Damaged", error.to_string()))?;
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
