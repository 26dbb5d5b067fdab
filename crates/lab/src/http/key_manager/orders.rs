//! Barbican v1: orders, for secrets that the service makes by itself.
//!
//! The lab makes keys of so many random bits. It has no maker of key pairs, so such an order fails as it does where Barbican has no
//! plugin for it, and an order for a certificate waits for an authority that nobody has. Administrators alone delete orders.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{Answer, Page, Way, guard, made, may, schema, secrets};
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::token::{Caller, Member};
use crate::http::{App, base_url, query};
use crate::model::Model;
use crate::model::ids::{new_id, now};
use crate::model::refusal::Refusal;
use crate::model::secret::{Order, Outcome, Secret};

/// What keys can be for, as Barbican's own plugin has it.
const ALGORITHMS: &[&str] = &[
    "aes",
    "des",
    "desede",
    "hmacsha1",
    "hmacsha256",
    "hmacsha384",
    "hmacsha512",
];

pub fn routes() -> Router<App> {
    Router::new()
        .route("/key-manager/v1/orders", get(list).post(create))
        .route("/key-manager/v1/orders/", get(list).post(create))
        .route("/key-manager/v1/orders/{id}", get(show).delete(delete))
}

fn not_found() -> Refusal {
    Refusal::not_found("NotFound", "Order not found.")
}

fn reference(id: &str, base: &str) -> String {
    format!("{base}/key-manager/v1/orders/{id}")
}

fn document(row: &Order, base: &str) -> Value {
    let mut document = json!({
        "type": row.kind,
        "meta": row.meta,
        "creator_id": row.guard.creator_id,
        "created": row.created.trim_end_matches('Z'),
        "updated": row.created.trim_end_matches('Z'),
        "order_ref": reference(&row.id, base),
    });
    let more = match &row.outcome {
        Outcome::Made { secret_id } => json!({
            "status": "ACTIVE",
            "sub_status": "Unknown",
            "sub_status_message": "Unknown",
            "secret_ref": secrets::reference(secret_id, base),
        }),
        Outcome::Waiting => json!({
            "status": "PENDING",
            "sub_status": "cert_request_pending",
            "sub_status_message": "Request has been submitted to the CA.  Waiting for certificate to be generated",
        }),
        Outcome::Failed => json!({
            "status": "ERROR",
            "error_status_code": "400",
            "error_reason": "Process TypeOrder issue seen - Secret generate supported plugin not found..",
        }),
    };
    if let (Some(document), Value::Object(more)) = (document.as_object_mut(), more) {
        document.extend(more);
    }
    document
}

/// Kind and details, if Barbican takes them.
fn read_create(body: &Value) -> Result<(String, Map<String, Value>), Refusal> {
    let wrong = |name: &str, reason: &str| {
        schema("Order", &format!("{reason}. Invalid property: '{name}'"))
    };
    for name in ["type", "meta"] {
        if body.get(name).is_none() {
            return Err(wrong(name, &format!("'{name}' is a required property")));
        }
    }
    let kinds = ["key", "asymmetric", "certificate"];
    let said = body["type"].as_str().unwrap_or_default();
    if !kinds.contains(&said) {
        let reason = format!("'{said}' is not one of ['key', 'asymmetric', 'certificate']");
        return Err(wrong("type", &reason));
    }
    let meta = body["meta"].as_object();
    let meta = meta.ok_or_else(|| wrong("meta", "it is not of type 'object'"))?;
    if said != "certificate" {
        for name in ["algorithm", "bit_length"] {
            if meta.get(name).is_none_or(Value::is_null) {
                let reason = format!("'{name}' is required field for {said} type order");
                return Err(wrong("meta", &reason));
            }
        }
        let bits = meta["bit_length"].as_i64();
        bits.filter(|bits| *bits > 0 && bits % 8 == 0)
            .ok_or_else(|| wrong("meta", "'bit_length' must be a multiple of 8"))?;
    }
    let mut meta = meta.clone();
    if said != "certificate" {
        meta.entry("expiration").or_insert(Value::Null);
    }
    Ok((said.to_owned(), meta))
}

/// A key as it is ordered.
fn key(member: &Member, meta: &Map<String, Value>) -> Option<Secret> {
    let text = |name: &str| meta.get(name).and_then(Value::as_str).map(str::to_owned);
    let algorithm = text("algorithm")?;
    if !ALGORITHMS.contains(&algorithm.to_lowercase().as_str()) {
        return None;
    }
    let bits = u32::try_from(meta["bit_length"].as_i64()?).ok()?;
    let bytes: Vec<u8> = (0..bits / 8).map(|_| rand::random()).collect();
    Some(Secret {
        id: new_id(),
        name: text("name"),
        guard: guard(member),
        secret_type: "symmetric".into(),
        algorithm: Some(algorithm),
        bit_length: Some(bits),
        mode: text("mode"),
        expiration: text("expiration"),
        content_type: Some("application/octet-stream".into()),
        payload: Some(STANDARD.encode(bytes)),
        metadata: Map::new(),
        created: now(),
        updated: now(),
    })
}

async fn create(State(app): State<App>, caller: Caller, headers: HeaderMap, body: Bytes) -> Answer {
    let member = caller.member()?;
    let base = base_url(&headers);
    let (kind, meta) = read_create(&read_json(&body)?)?;
    let made_key = (kind == "key").then(|| key(&member, &meta)).flatten();
    let outcome = match (&made_key, kind.as_str()) {
        (Some(secret), _) => Outcome::Made {
            secret_id: secret.id.clone(),
        },
        (None, "certificate") => Outcome::Waiting,
        (None, _) => Outcome::Failed,
    };
    let order = Order {
        id: new_id(),
        guard: guard(&member),
        kind,
        meta,
        outcome,
        created: now(),
    };
    let place = reference(&order.id, &base);
    app.change(|model| {
        if let Some(secret) = made_key {
            model.secrets.insert(secret);
        }
        model.secret_orders.insert(order);
    });
    Ok((StatusCode::ACCEPTED, made("order_ref", place)).into_response())
}

/// The order, if it is one of the caller's project.
fn seen<'a>(model: &'a Model, member: &Member, id: &str) -> Result<&'a Order, Refusal> {
    let row = model.secret_orders.get(id).ok_or_else(not_found)?;
    may(&row.guard, member, Way::Read, "Order retrieval").map(|()| row)
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(asked): query::Query,
    headers: HeaderMap,
) -> Answer {
    let member = caller.member()?;
    let base = base_url(&headers);
    let rows = app.read(|model| {
        let mine = model.secret_orders.iter();
        let mine = mine.filter(|row| row.guard.project_id == member.project_id);
        mine.map(|row| document(row, &base)).collect()
    });
    Ok(Page::of("orders", &asked).answer(rows, &base))
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    let member = caller.member()?;
    let base = base_url(&headers);
    let shown = app.read(|model| seen(model, &member, &id).map(|row| document(row, &base)))?;
    Ok(json_answer(200, shown))
}

async fn delete(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    let member = caller.member()?;
    app.change(|model| {
        let row = seen(model, &member, &id)?;
        if !member.admin {
            return Err(Refusal::forbidden(
                "Order deletion attempt not allowed - please review your user/project privileges",
            ));
        }
        let id = row.id.clone();
        model.secret_orders.remove(&id);
        Ok(())
    })?;
    Ok(empty_answer(204))
}
