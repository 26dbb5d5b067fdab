//! Neutron v2.0: what can be done to a router beside changing its attributes: legs and single routes.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::put;
use serde_json::{Value, json};

use super::{Answer, kind_of, owned};
use crate::http::App;
use crate::http::answer::{json_answer, read_json};
use crate::http::token::Caller;
use crate::model::network::attributes::Attributes;
use crate::model::refusal::Refusal;

pub fn routes() -> Router<App> {
    Router::new()
        .route(
            "/network/v2.0/routers/{id}/add_router_interface",
            put(add_router_interface),
        )
        .route(
            "/network/v2.0/routers/{id}/remove_router_interface",
            put(remove_router_interface),
        )
        .route(
            "/network/v2.0/routers/{id}/add_extraroutes",
            put(add_extra_routes),
        )
        .route(
            "/network/v2.0/routers/{id}/remove_extraroutes",
            put(remove_extra_routes),
        )
}

async fn add_router_interface(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let (member, body) = (caller.member()?, read_json(&body)?);
    let answer = app
        .rewire(|model| model.add_router_interface(&member.project_id, &id, &body))
        .await?;
    Ok(json_answer(200, answer))
}

async fn remove_router_interface(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    let (member, body) = (caller.member()?, read_json(&body)?);
    let answer = app
        .rewire(|model| model.remove_router_interface(&member.project_id, &id, &body))
        .await?;
    Ok(json_answer(200, answer))
}

/// Change a router's routes by what a body lists, and leave the others.
async fn change_routes(
    app: &App,
    caller: &Caller,
    id: &str,
    body: &Bytes,
    change: impl FnOnce(&mut Vec<Value>, &[Value]),
) -> Answer {
    let (member, kind) = (caller.member()?, kind_of("routers")?);
    let body = read_json(body)?;
    let listed = body["router"]["routes"].as_array().cloned();
    let listed =
        listed.ok_or_else(|| Refusal::bad_request("Unable to find 'routes' in request body"))?;
    let router = app
        .rewire(|model| {
            let router = owned(model, kind, &member, id, "update")?;
            let mut routes = router["routes"].as_array().cloned().unwrap_or_default();
            change(&mut routes, &listed);
            let mut attributes = Attributes::default();
            attributes.set("routes", routes);
            (kind.update)(model, id, attributes)?;
            (kind.get)(model, id).ok_or_else(|| (kind.not_found)(id))
        })
        .await?;
    Ok(json_answer(200, json!({ "router": router })))
}

async fn add_extra_routes(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    change_routes(&app, &caller, &id, &body, |routes, listed| {
        for route in listed {
            if !routes.contains(route) {
                routes.push(route.clone());
            }
        }
    })
    .await
}

async fn remove_extra_routes(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    body: Bytes,
) -> Answer {
    change_routes(&app, &caller, &id, &body, |routes, listed| {
        routes.retain(|route| !listed.contains(route));
    })
    .await
}
