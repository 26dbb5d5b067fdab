//! Neutron v2.0: what a trunk carries.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::{get, put};
use serde_json::json;

use super::{Answer, kind_of, owned, seen};
use crate::http::App;
use crate::http::answer::{json_answer, read_json};
use crate::http::token::Caller;
use crate::model::network::trunk::sub_ports;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/network/v2.0/trunks/{id}/add_subports", put(add))
        .route("/network/v2.0/trunks/{id}/remove_subports", put(remove))
        .route("/network/v2.0/trunks/{id}/get_subports", get(list))
}

async fn list(State(app): State<App>, caller: Caller, Path(id): Path<String>) -> Answer {
    let (member, kind) = (caller.member()?, kind_of("trunks")?);
    let trunk = app.read(|model| seen(model, kind, &member, &id))?;
    Ok(json_answer(200, json!({"sub_ports": trunk["sub_ports"]})))
}

async fn add(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let (member, kind) = (caller.member()?, kind_of("trunks")?);
    let more = sub_ports(read_json(&body)?.get("sub_ports").cloned())?;
    let trunk = app.change(|model| {
        owned(model, kind, &member, &id, "add_subports")?;
        model.carry(&id, more)?;
        seen(model, kind, &member, &id)
    })?;
    Ok(json_answer(200, trunk))
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let (member, kind) = (caller.member()?, kind_of("trunks")?);
    let body = read_json(&body)?;
    let listed = body["sub_ports"].as_array().into_iter().flatten();
    let ports: Vec<String> = listed
        .filter_map(|sub| sub["port_id"].as_str())
        .map(str::to_owned)
        .collect();
    let trunk = app.change(|model| {
        owned(model, kind, &member, &id, "remove_subports")?;
        model.drop_sub_ports(&id, &ports)?;
        seen(model, kind, &member, &id)
    })?;
    Ok(json_answer(200, trunk))
}
