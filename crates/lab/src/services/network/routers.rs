//! Neutron v2.0: operations on routers: interfaces and extra routes.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, read_json, reply};
use crate::kit::refusal::Refusal;
use crate::services::network::body::Body;
use crate::services::network::collections::{kind_of, owned};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/network/v2.0")
        .put("/routers/{id}/add_router_interface", add_router_interface)
        .put(
            "/routers/{id}/remove_router_interface",
            remove_router_interface,
        )
        .put("/routers/{id}/add_extraroutes", add_extra_routes)
        .put("/routers/{id}/remove_extraroutes", remove_extra_routes)
}

async fn add_router_interface(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    let (member, body) = (call.member()?, read_json(&body)?);
    let answer = call
        .app
        .change_and_apply(|model| model.add_router_interface(&member.project_id, id, &body))
        .await?;
    reply(200, answer)
}

async fn remove_router_interface(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    let (member, body) = (call.member()?, read_json(&body)?);
    let answer = call
        .app
        .change_and_apply(|model| model.remove_router_interface(&member.project_id, id, &body))
        .await?;
    reply(200, answer)
}

/// Changes the extra routes in the body, and keeps the others.
async fn change_routes(
    call: &Call,
    id: &str,
    body: &Bytes,
    change: impl FnOnce(&mut Vec<Value>, &[Value]),
) -> Answer {
    let (member, kind) = (call.member()?, kind_of("routers")?);
    let body = read_json(body)?;
    let listed = body["router"]["routes"].as_array().cloned();
    let listed =
        listed.ok_or_else(|| Refusal::bad_request("Unable to find 'routes' in request body"))?;
    let router = call
        .app
        .change_and_apply(|model| {
            let router = owned(model, kind, &member, id, "update")?;
            let mut routes = router["routes"].as_array().cloned().unwrap_or_default();
            change(&mut routes, &listed);
            let mut attributes = Body::default();
            attributes.set("routes", routes);
            kind.update(model, id, attributes)?;
            kind.get(model, id).ok_or_else(|| kind.not_found(id))
        })
        .await?;
    reply(200, json!({ "router": router }))
}

async fn add_extra_routes(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    change_routes(&call, id, &body, |routes, listed| {
        for route in listed {
            if !routes.contains(route) {
                routes.push(route.clone());
            }
        }
    })
    .await
}

async fn remove_extra_routes(call: Call, body: Bytes) -> Answer {
    let id = call.part("id");
    change_routes(&call, id, &body, |routes, listed| {
        routes.retain(|route| !listed.contains(route));
    })
    .await
}
