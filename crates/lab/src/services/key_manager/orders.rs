//! Barbican v1: orders, for secrets that the service makes by itself.
//!
//! The lab creates keys from random bits. For a key pair, it creates a container with two secrets that look like keys but
//! cannot be used as such. An order for a certificate waits forever, as the lab has no certificate authority. Only
//! administrators can delete orders.

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, read_json};
use crate::kit::ids::{new_id, now};
use crate::kit::refusal::Refusal;
use crate::kit::table::Table;
use crate::kit::token::Member;
use crate::services::key_manager::collection::{self, Resource};
use crate::services::key_manager::secret::{Held, Order, Outcome, Owner, Secret, SecretContainer};
use crate::services::key_manager::{check_access, made, not_allowed, owner, schema};
use crate::services::{Call, Model, Routes};

/// The algorithms of keys, as in Barbican's own plugin.
const ALGORITHMS: &[&str] = &[
    "aes",
    "des",
    "desede",
    "hmacsha1",
    "hmacsha256",
    "hmacsha384",
    "hmacsha512",
];

/// The algorithms of key pairs.
const PAIRS: &[&str] = &["rsa", "dsa"];

pub fn routes() -> Routes {
    collection::routes::<Order>().and(
        Routes::below("/key-manager/v1")
            .post("/orders", create)
            .post("/orders/", create),
    )
}

impl Resource for Order {
    const COLLECTION: &'static str = "orders";
    const WORD: &'static str = "Order";
    const MISSING: &'static str = "Order not found.";
    const FILTERS: &'static [&'static str] = &[];

    fn table(model: &Model) -> &Table<Self> {
        &model.secret_orders
    }

    fn table_mut(model: &mut Model) -> &mut Table<Self> {
        &mut model.secret_orders
    }

    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn check_delete(&self, member: &Member, attempt: &str) -> Result<(), Refusal> {
        check_access(&self.owner, member, "Order retrieval")?;
        member
            .admin
            .then_some(())
            .ok_or_else(|| not_allowed(attempt))
    }

    fn document(&self, base: &str) -> Value {
        let mut document = json!({
            "type": self.kind,
            "meta": self.meta,
            "creator_id": self.owner.creator_id,
            "created": self.created.trim_end_matches('Z'),
            "updated": self.created.trim_end_matches('Z'),
            "order_ref": Self::reference(&self.id, base),
        });
        let more = match &self.outcome {
            Outcome::Made { secret_id } => json!({
                "status": "ACTIVE",
                "sub_status": "Unknown",
                "sub_status_message": "Unknown",
                "secret_ref": Secret::reference(secret_id, base),
            }),
            Outcome::Paired { container_id } => json!({
                "status": "ACTIVE",
                "sub_status": "Unknown",
                "sub_status_message": "Unknown",
                "container_ref": SecretContainer::reference(container_id, base),
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
    let order_type = body["type"].as_str().unwrap_or_default();
    if !kinds.contains(&order_type) {
        let reason = format!("'{order_type}' is not one of ['key', 'asymmetric', 'certificate']");
        return Err(wrong("type", &reason));
    }
    let meta = body["meta"].as_object();
    let meta = meta.ok_or_else(|| wrong("meta", "it is not of type 'object'"))?;
    if order_type != "certificate" {
        for name in ["algorithm", "bit_length"] {
            if meta.get(name).is_none_or(Value::is_null) {
                let reason = format!("'{name}' is required field for {order_type} type order");
                return Err(wrong("meta", &reason));
            }
        }
        let bits = meta["bit_length"].as_i64();
        bits.filter(|bits| *bits > 0 && bits % 8 == 0)
            .ok_or_else(|| wrong("meta", "'bit_length' must be a multiple of 8"))?;
    }
    let mut meta = meta.clone();
    if order_type != "certificate" {
        meta.entry("expiration").or_insert(Value::Null);
    }
    Ok((order_type.to_owned(), meta))
}

/// The algorithm that is ordered, if it is one of these, and the bits.
fn requested_algorithm(meta: &Map<String, Value>, algorithms: &[&str]) -> Option<(String, u32)> {
    let algorithm = meta.get("algorithm")?.as_str()?;
    let bits = u32::try_from(meta["bit_length"].as_i64()?).ok()?;
    let known = algorithms.contains(&algorithm.to_lowercase().as_str());
    known.then(|| (algorithm.to_owned(), bits))
}

fn random(bits: u32) -> Vec<u8> {
    (0..bits / 8).map(|_| rand::random()).collect()
}

/// A secret as it is ordered, of one kind and with these bytes.
fn secret(
    member: &Member,
    meta: &Map<String, Value>,
    (algorithm, bits): (&str, u32),
    kind: &str,
    bytes: &[u8],
) -> Secret {
    let text = |name: &str| meta.get(name).and_then(Value::as_str).map(str::to_owned);
    let form = text("payload_content_type");
    Secret {
        id: new_id(),
        name: text("name"),
        owner: owner(member),
        secret_type: kind.into(),
        algorithm: Some(algorithm.to_owned()),
        bit_length: Some(bits),
        mode: text("mode"),
        expiration: text("expiration"),
        content_type: Some(form.unwrap_or_else(|| "application/octet-stream".into())),
        payload: Some(STANDARD.encode(bytes)),
        created: now(),
        updated: now(),
    }
}

/// The resources that an order for a key or a key pair creates.
#[derive(Default)]
struct Things {
    secrets: Vec<Secret>,
    container: Option<SecretContainer>,
}

impl Things {
    fn of(kind: &str, member: &Member, meta: &Map<String, Value>) -> Self {
        match kind {
            "key" => Self::key(member, meta),
            "asymmetric" => Self::pair(member, meta),
            _ => None,
        }
        .unwrap_or_default()
    }

    fn key(member: &Member, meta: &Map<String, Value>) -> Option<Self> {
        let (algorithm, bits) = requested_algorithm(meta, ALGORITHMS)?;
        let key = secret(member, meta, (&algorithm, bits), "symmetric", &random(bits));
        Some(Self {
            secrets: vec![key],
            container: None,
        })
    }

    fn pair(member: &Member, meta: &Map<String, Value>) -> Option<Self> {
        let (algorithm, bits) = requested_algorithm(meta, PAIRS)?;
        let half = |kind: &str| {
            let inside = STANDARD.encode(random(bits));
            let word = kind.to_uppercase();
            let text = format!("-----BEGIN {word} KEY-----\n{inside}\n-----END {word} KEY-----\n");
            secret(member, meta, (&algorithm, bits), kind, text.as_bytes())
        };
        let secrets = vec![half("private"), half("public")];
        let held = secrets.iter().map(|half| Held {
            name: Some(format!("{}_key", half.secret_type)),
            secret_id: half.id.clone(),
        });
        let container = SecretContainer {
            id: new_id(),
            name: meta.get("name").and_then(Value::as_str).map(str::to_owned),
            owner: owner(member),
            kind: algorithm.to_lowercase(),
            secrets: held.collect(),
            created: now(),
            updated: now(),
        };
        Some(Self {
            secrets,
            container: Some(container),
        })
    }

    fn outcome(&self, kind: &str) -> Outcome {
        match (&self.container, self.secrets.first()) {
            (Some(container), _) => Outcome::Paired {
                container_id: container.id.clone(),
            },
            (None, Some(secret)) => Outcome::Made {
                secret_id: secret.id.clone(),
            },
            (None, None) if kind == "certificate" => Outcome::Waiting,
            (None, None) => Outcome::Failed,
        }
    }
}

async fn create(call: Call, body: Bytes) -> Answer {
    let member = call.member()?;
    let base = &call.base;
    let (kind, meta) = read_create(&read_json(&body)?)?;
    let things = Things::of(&kind, &member, &meta);
    let outcome = things.outcome(&kind);
    let order = Order {
        id: new_id(),
        owner: owner(&member),
        kind,
        meta,
        outcome,
        created: now(),
    };
    let place = Order::reference(&order.id, base);
    call.app.change(|model| {
        for secret in things.secrets {
            model.secrets.insert(secret);
        }
        if let Some(container) = things.container {
            model.secret_containers.insert(container);
        }
        model.secret_orders.insert(order);
    });
    Ok((StatusCode::ACCEPTED, made("order_ref", place)).into_response())
}
