//! Octavia v2: one set of handlers for all resources, driven by [`crate::services::load_balancer`].
//!
//! The version in the path is `v2` or `v2.0`; both are served.

use axum::body::Bytes;
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::kit::answer::{Answer, empty, json_answer, read_json, reply};
use crate::kit::query;
use crate::kit::refusal::Refusal;
use crate::services::load_balancer::change::Children;
use crate::services::load_balancer::settle::BalancerAction;
use crate::services::load_balancer::show::{document, status_tree};
use crate::services::load_balancer::{PREFIXES, Resource, ResourceType, flavors, quotas};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below("/load-balancer")
        .get("", versions)
        .get("/", versions)
        .and(lbaas())
}

fn lbaas() -> Routes {
    let routes = Routes::below_each(PREFIXES)
        .get("/providers", providers)
        .get("/loadbalancers/{id}/status", status)
        .get("/loadbalancers/{id}/stats", stats)
        .and(flavors::routes())
        .and(quotas::routes());
    ["/{kind}", "/{upper}/{parent}/{kind}"]
        .iter()
        .fold(routes, |routes, many| {
            let one = format!("{many}/{{id}}");
            routes
                .get(many, list)
                .post(many, create)
                .get(&one, show)
                .put(&one, update)
                .delete(&one, delete)
        })
}

impl Call {
    /// The type in the path. Members and rules exist below a parent only, all others only without one.
    fn part_kind(&self) -> Result<ResourceType, Refusal> {
        let kind = ResourceType::of_collection(self.part("kind"));
        let fits = match (self.part("upper"), kind) {
            ("", Some(ResourceType::Member | ResourceType::L7Rule)) => false,
            ("", Some(_))
            | ("pools", Some(ResourceType::Member))
            | ("l7policies", Some(ResourceType::L7Rule)) => true,
            _ => false,
        };
        kind.filter(|_| fits)
            .ok_or_else(|| Refusal::not_found("NotFound", "The resource could not be found."))
    }

    fn parent_resource(&self) -> Option<&str> {
        Some(self.part("parent")).filter(|parent| !parent.is_empty())
    }

    /// The resource in the path, if it belongs to the caller and to the parent in the path.
    fn visible_resource<'a>(
        &self,
        model: &'a Model,
        kind: ResourceType,
    ) -> Result<&'a Resource, Refusal> {
        let member = self.member()?;
        let resource = model.resource(kind, self.id())?;
        let here = self
            .parent_resource()
            .is_none_or(|parent| parent == resource.parent);
        if here && member.can_access(&resource.project_id) {
            Ok(resource)
        } else {
            Err(kind.not_found(self.id()))
        }
    }
}

async fn versions(call: Call) -> Response {
    let href = format!("{}/load-balancer/v2", call.base);
    let version = |minor: u16, status: &str| json!({"id": format!("v2.{minor}"), "status": status, "updated": "2021-11-09T00:00:00Z", "links": [{"rel": "self", "href": href}]});
    let older = (0..26).map(|minor| version(minor, "SUPPORTED"));
    let all: Vec<Value> = older.chain([version(26, "CURRENT")]).collect();
    json_answer(200, json!({ "versions": all }))
}

/// Query parameters that are not filters.
const NOT_FILTERS: &[&str] = &[
    "fields",
    "limit",
    "marker",
    "page_reverse",
    "sort",
    "tags",
    "tags-any",
    "not-tags",
    "not-tags-any",
];

async fn list(call: Call) -> Answer {
    let (member, kind) = (call.member()?, call.part_kind()?);
    let page = call.app.read(|model| {
        if let Some(parent) = call.parent_resource() {
            let above = if kind == ResourceType::Member {
                ResourceType::Pool
            } else {
                ResourceType::L7Policy
            };
            model.resource(above, parent)?;
        }
        let here = |row: &&Resource| {
            row.part == kind
                && member.can_access(&row.project_id)
                && call
                    .parent_resource()
                    .is_none_or(|parent| row.parent == parent)
        };
        let shown = model
            .balancing
            .iter()
            .filter(here)
            .map(|row| document(model, row));
        let fitting = shown.filter(|document| {
            let filters = call
                .query
                .iter()
                .filter(|(name, _)| !NOT_FILTERS.contains(&name.as_str()));
            let mut filters = filters.map(|(name, wanted)| {
                // A parent's id is a filter too, although documents show parents as lists.
                let place = ["loadbalancer_id", "listener_id", "pool_id"].contains(&name.as_str());
                match (place, document.get(name)) {
                    (true, None) => document.to_string().contains(wanted.as_str()),
                    _ => query::attribute_is(document, name, wanted),
                }
            });
            filters.all(|fits| fits) && query::tags_fit(document, &call.query)
        });
        Ok::<_, Refusal>(query::page(fitting.collect(), &call.query, 1_000))
    })?;
    let marker = call.query_value("marker").unwrap_or_default();
    let page = page.ok_or_else(|| {
        Refusal::bad_request(format!(
            "Supplied pagination marker '{marker}' is not valid."
        ))
    })?;
    let (_, many) = kind.names();
    let mut links = Vec::new();
    if let Some(next) = page.next {
        let href = format!(
            "{}/load-balancer/v2/lbaas/{many}?{}",
            call.base,
            query::with_marker(&call.query, &next)
        );
        links.push(json!({"rel": "next", "href": href}));
    }
    reply(
        200,
        json!({many: page.items, format!("{many}_links"): links}),
    )
}

async fn show(call: Call) -> Answer {
    let kind = call.part_kind()?;
    let shown = call
        .app
        .read(|model| Ok::<_, Refusal>(document(model, call.visible_resource(model, kind)?)))?;
    reply(200, json!({kind.names().0: shown}))
}

/// The fields in a body.
fn body_fields(kind: ResourceType, body: &Bytes) -> Result<Map<String, Value>, Refusal> {
    let (one, _) = kind.names();
    match read_json(body)?.get(one) {
        Some(Value::Object(body_fields)) => Ok(body_fields.clone()),
        _ => Err(Refusal::bad_request(format!("Missing argument: \"{one}\""))),
    }
}

async fn create(call: Call, body: Bytes) -> Answer {
    let (member, kind) = (call.member()?, call.part_kind()?);
    let body_fields = body_fields(kind, &body)?;
    let (shown, balancer) = call.app.change(|model| {
        let is_mine = |row: &&Resource| row.part == kind && row.project_id == member.project_id;
        let mine = model.balancing.iter().filter(is_mine).count() as i64;
        let limit = model.quotas.limit(&member.project_id, kind.limit());
        if limit >= 0 && mine >= limit {
            let resource = kind.title();
            return Err(Refusal::forbidden(format!(
                "Quota has been met for resources: {resource}"
            )));
        }
        let id = model.create_resource(
            &member.project_id,
            kind,
            call.parent_resource(),
            &body_fields,
        )?;
        let balancer = model.balancer_of(&id).unwrap_or_default();
        Ok::<_, Refusal>((document(model, model.resource(kind, &id)?), balancer))
    })?;
    call.app.spawn_apply(balancer, BalancerAction::Create);
    reply(201, json!({kind.names().0: shown}))
}

async fn update(call: Call, body: Bytes) -> Answer {
    let kind = call.part_kind()?;
    let body_fields = body_fields(kind, &body)?;
    let (shown, balancer) = call.app.change(|model| {
        call.visible_resource(model, kind)?;
        model.update_resource(kind, call.id(), &body_fields)?;
        let balancer = model.balancer_of(call.id()).unwrap_or_default();
        Ok::<_, Refusal>((document(model, model.resource(kind, call.id())?), balancer))
    })?;
    call.app.spawn_apply(balancer, BalancerAction::Update);
    reply(200, json!({kind.names().0: shown}))
}

async fn delete(call: Call) -> Answer {
    let kind = call.part_kind()?;
    let cascade = call.query_value("cascade");
    let children =
        if cascade.is_some_and(|word| ["true", "1"].contains(&word.to_lowercase().as_str())) {
            Children::Delete
        } else {
            Children::Refuse
        };
    let balancer = call.app.change(|model| {
        call.visible_resource(model, kind)?;
        let balancer = model.balancer_of(call.id()).unwrap_or_default();
        model.delete_resource(kind, call.id(), children)?;
        Ok::<_, Refusal>(balancer)
    })?;
    call.app.spawn_apply(balancer, BalancerAction::Delete);
    empty(204)
}

async fn status(call: Call) -> Answer {
    let tree = call.app.read(|model| {
        let resource = call.visible_resource(model, ResourceType::LoadBalancer)?;
        Ok::<_, Refusal>(status_tree(model, resource))
    })?;
    reply(200, json!({"statuses": {"loadbalancer": tree}}))
}

/// The statistics. They are always zero, because the lab has no counters.
async fn stats(call: Call) -> Answer {
    call.app.read(|model| {
        call.visible_resource(model, ResourceType::LoadBalancer)
            .map(drop)
    })?;
    let names = [
        "bytes_in",
        "bytes_out",
        "active_connections",
        "total_connections",
        "request_errors",
    ];
    let none: Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), 0.into()))
        .collect();
    reply(200, json!({ "stats": none }))
}

async fn providers(call: Call) -> Answer {
    call.member()?;
    let all =
        json!([{"name": "octavia", "description": "HAProxy in a container, or in memory nothing"}]);
    reply(200, json!({ "providers": all }))
}
