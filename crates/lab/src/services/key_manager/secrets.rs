//! Barbican v1: secrets.

use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json};
use crate::kit::ids::{new_id, now};
use crate::kit::python;
use crate::kit::refusal::Refusal;
use crate::kit::table::Table;
use crate::kit::token::Member;
use crate::services::key_manager::collection::{self, Resource};
use crate::services::key_manager::secret::{Owner, Secret};
use crate::services::key_manager::{made, owner};
use crate::services::{Call, Model, Routes};

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

pub fn routes() -> Routes {
    collection::routes::<Secret>().and(
        Routes::below("/key-manager/v1")
            .post("/secrets", create)
            .post("/secrets/", create)
            .put("/secrets/{id}", put_payload)
            .get("/secrets/{id}/payload", payload),
    )
}

impl Resource for Secret {
    const COLLECTION: &'static str = "secrets";
    const WORD: &'static str = "Secret";
    const MISSING: &'static str = "Not Found. Sorry but your secret is in another castle.";
    const FILTERS: &'static [&'static str] = &["name", "secret_type", "algorithm", "mode"];

    fn table(model: &Model) -> &Table<Self> {
        &model.secrets
    }

    fn table_mut(model: &mut Model) -> &mut Table<Self> {
        &mut model.secrets
    }

    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn document(&self, base: &str) -> Value {
        let mut document = json!({
            "name": self.name,
            "status": "ACTIVE",
            "secret_type": self.secret_type,
            "algorithm": self.algorithm,
            "bit_length": self.bit_length,
            "mode": self.mode,
            "expiration": self.expiration,
            "creator_id": self.owner.creator_id,
            "created": self.created.trim_end_matches('Z'),
            "updated": self.updated.trim_end_matches('Z'),
            "secret_ref": Self::reference(&self.id, base),
        });
        if let Some(content_type) = &self.content_type {
            document["content_types"] = json!({"default": content_type});
        }
        document
    }
}

async fn create(call: Call, body: Bytes) -> Answer {
    let member = call.member()?;
    let body = read_json(&body)?;
    let base = &call.base;
    let secret = read_create(&member, &body)?;
    let place = Secret::reference(&secret.id, base);
    call.app.change(|model| model.secrets.insert(secret));
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
        owner: owner(member),
        secret_type,
        algorithm: text("algorithm")?,
        bit_length,
        mode: text("mode")?,
        expiration,
        content_type: payload.as_ref().and(content_type),
        payload,
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

async fn payload(call: Call) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    let row = call
        .app
        .read(|model| Secret::find(model, &member, id, "payload retrieval").cloned())?;
    let payload = row.payload.ok_or_else(Secret::not_found)?;
    let content_type = row.content_type.unwrap_or_else(|| "text/plain".into());
    let accepted = call
        .headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("*/*");
    let bytes = STANDARD
        .decode(payload)
        .map_err(|error| Refusal::new(500, "Damaged", error.to_string()))?;
    // As Barbican gives it: anything as bytes, and as text what reads as such, however it came in.
    let requested = accepted.split([',', ';']).next().unwrap_or_default().trim();
    let content_type = match requested {
        "*/*" | "" => content_type,
        "application/octet-stream" => requested.to_owned(),
        "text/plain" if std::str::from_utf8(&bytes).is_ok() => requested.to_owned(),
        _ => return Err(Refusal::new(406, "NotAcceptable", "Not Acceptable")),
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

async fn put_payload(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    let member = call.member()?;
    let text = |name: &str| {
        call.headers
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
    call.app.change(|model| {
        let row = Secret::find_mut(model, &member, id, "update")?;
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
    empty(204)
}
