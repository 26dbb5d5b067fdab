//! Neutron v2.0: the single ports of a floating IP.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::routing::get;
use serde_json::{Map, Value, json};

use super::{Answer, kind_of, owned, seen};
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::token::Caller;
use crate::http::{App, query};
use crate::model::network::port_forwarding::PortForwarding;
use crate::model::refusal::Refusal;

pub fn routes() -> Router<App> {
    Router::new()
        .route(
            "/network/v2.0/floatingips/{id}/port_forwardings",
            get(list).post(create),
        )
        .route(
            "/network/v2.0/floatingips/{id}/port_forwardings/{forwarding}",
            get(show).put(update).delete(delete),
        )
}

fn said(body: &Bytes) -> Result<Map<String, Value>, Refusal> {
    match read_json(body)?.get("port_forwarding") {
        Some(Value::Object(said)) => Ok(said.clone()),
        _ => Err(Refusal::bad_request(
            "Unable to find 'port_forwarding' in request body",
        )),
    }
}

async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(asked): query::Query,
) -> Answer {
    let (member, kind) = (caller.member()?, kind_of("floatingips")?);
    let rows: Vec<Value> = app.read(|model| {
        seen(model, kind, &member, &id)?;
        let row = model.floating_ips.get(&id);
        let all = row.into_iter().flat_map(|row| &row.port_forwardings);
        Ok::<_, Refusal>(all.map(PortForwarding::document).collect())
    })?;
    let fits = |row: &Value| {
        let mut filters = asked.iter().filter(|(name, _)| row.get(name).is_some());
        filters.all(|(name, value)| query::attribute_is(row, name, value))
    };
    let rows: Vec<Value> = rows.into_iter().filter(fits).collect();
    Ok(json_answer(200, json!({ "port_forwardings": rows })))
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Path((id, forwarding)): Path<(String, String)>,
) -> Answer {
    let (member, kind) = (caller.member()?, kind_of("floatingips")?);
    let shown = app.read(|model| {
        seen(model, kind, &member, &id)?;
        Ok::<_, Refusal>(model.forwarding(&id, &forwarding)?.document())
    })?;
    Ok(json_answer(200, json!({ "port_forwarding": shown })))
}

/// Make a forwarding, or change one.
async fn set(
    app: &App,
    caller: &Caller,
    (id, old): (&str, Option<&str>),
    body: &Bytes,
) -> Result<Value, Refusal> {
    let (member, kind) = (caller.member()?, kind_of("floatingips")?);
    let said = said(body)?;
    let shown = app
        .rewire(|model| {
            owned(model, kind, &member, id, "update")?;
            Ok(model.set_forwarding(id, &said, old)?.document())
        })
        .await?;
    Ok(json!({ "port_forwarding": shown }))
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    Ok(json_answer(
        201,
        set(&app, &caller, (&id, None), &body).await?,
    ))
}

async fn update(
    State(app): State<App>,
    caller: Caller,
    Path((id, forwarding)): Path<(String, String)>,
    body: Bytes,
) -> Answer {
    let changed = set(&app, &caller, (&id, Some(&forwarding)), &body).await?;
    Ok(json_answer(200, changed))
}

async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path((id, forwarding)): Path<(String, String)>,
) -> Answer {
    let (member, kind) = (caller.member()?, kind_of("floatingips")?);
    app.rewire(|model| {
        owned(model, kind, &member, &id, "update")?;
        model.remove_forwarding(&id, &forwarding)
    })
    .await?;
    Ok(empty_answer(204))
}
