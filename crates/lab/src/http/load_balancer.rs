//! Octavia v2: one set of handlers for all pieces of load balancers, driven by [`crate::model::load_balancing`].
//!
//! Clients write the version as `v2` or `v2.0`; both are served.

use std::collections::HashMap;
use std::convert::Infallible;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{FromRequestParts, Path, Query, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::{get, put};
use serde_json::{Map, Value, json};

use super::answer::{OctaviaError, empty_answer, json_answer, read_json};
use super::token::{Caller, Member};
use super::{App, base_url, load_balancer_quotas, query};
use crate::cloud::balancers::BalancerAction;
use crate::model::Model;
use crate::model::load_balancing::change::Children;
use crate::model::load_balancing::show::{document, status_tree};
use crate::model::load_balancing::{Part, Piece};
use crate::model::refusal::Refusal;

type Answer = Result<Response, OctaviaError>;

pub fn routes() -> Router<App> {
    let mut router = Router::new()
        .route("/load-balancer", get(versions))
        .route("/load-balancer/", get(versions));
    for prefix in ["/load-balancer/v2/lbaas", "/load-balancer/v2.0/lbaas"] {
        let at = |path: &str| format!("{prefix}{path}");
        router = router
            .route(&at("/providers"), get(providers))
            .route(&at("/flavors"), get(no_flavors))
            .route(&at("/availabilityzones"), get(no_zones))
            .route(&at("/loadbalancers/{id}/status"), get(status))
            .route(&at("/loadbalancers/{id}/statuses"), get(status))
            .route(&at("/loadbalancers/{id}/stats"), get(stats))
            .route(&at("/loadbalancers/{id}/failover"), put(failover))
            .route(&at("/listeners/{id}/stats"), get(stats));
        router = router.merge(load_balancer_quotas::routes(prefix));
        for below in ["/{kind}", "/{upper}/{parent}/{kind}"] {
            router = router.route(&at(below), get(list).post(create)).route(
                &at(&format!("{below}/{{id}}")),
                get(show).put(update).delete(delete),
            );
        }
    }
    router
}

/// The caller, and what the path names.
struct Asked {
    member: Result<Member, Refusal>,
    parts: HashMap<String, String>,
    base: String,
}

impl Asked {
    fn member(&self) -> Result<Member, Refusal> {
        self.member.clone()
    }

    fn id(&self) -> &str {
        self.part("id")
    }

    fn part(&self, name: &str) -> &str {
        self.parts.get(name).map_or("", String::as_str)
    }

    /// Members and rules live below another piece, all others on their own.
    fn kind(&self) -> Result<Part, Refusal> {
        let kind = Part::of_collection(self.part("kind"));
        let fits = match (self.part("upper"), kind) {
            ("", Some(Part::Member | Part::L7Rule)) => false,
            ("", Some(_)) | ("pools", Some(Part::Member)) | ("l7policies", Some(Part::L7Rule)) => {
                true
            }
            _ => false,
        };
        kind.filter(|_| fits)
            .ok_or_else(|| Refusal::not_found("NotFound", "The resource could not be found."))
    }

    fn parent(&self) -> Option<&str> {
        Some(self.part("parent")).filter(|parent| !parent.is_empty())
    }

    /// The piece, if it is the caller's and lives where the path says.
    fn seen<'a>(&self, model: &'a Model, kind: Part) -> Result<&'a Piece, Refusal> {
        let member = self.member()?;
        let piece = model.piece(kind, self.id())?;
        let here = self.parent().is_none_or(|parent| parent == piece.parent);
        match here && member.may_touch(&piece.project_id) {
            true => Ok(piece),
            false => Err(kind.not_found(self.id())),
        }
    }
}

impl FromRequestParts<App> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let Ok(caller) = Caller::from_request_parts(parts, app).await;
        let found = Path::<HashMap<String, String>>::from_request_parts(parts, app).await;
        Ok(Self {
            member: caller.member(),
            parts: found.map(|Path(found)| found).unwrap_or_default(),
            base: base_url(&parts.headers),
        })
    }
}

async fn versions(headers: HeaderMap) -> Response {
    let href = format!("{}/load-balancer/v2", base_url(&headers));
    let version = |minor: u16, status: &str| json!({"id": format!("v2.{minor}"), "status": status, "updated": "2021-11-09T00:00:00Z", "links": [{"rel": "self", "href": href}]});
    let older = (0..26).map(|minor| version(minor, "SUPPORTED"));
    let all: Vec<Value> = older.chain([version(26, "CURRENT")]).collect();
    json_answer(200, json!({ "versions": all }))
}

/// Query words that are not filters.
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

async fn list(State(app): State<App>, asked: Asked, Query(words): query::Query) -> Answer {
    let (member, kind) = (asked.member()?, asked.kind()?);
    let page = app.read(|model| {
        if let Some(parent) = asked.parent() {
            let above = if kind == Part::Member {
                Part::Pool
            } else {
                Part::L7Policy
            };
            model.piece(above, parent)?;
        }
        let here = |row: &&Piece| {
            row.part == kind
                && member.may_touch(&row.project_id)
                && asked.parent().is_none_or(|parent| row.parent == parent)
        };
        let shown = model
            .balancing
            .iter()
            .filter(here)
            .map(|row| document(model, row));
        let fitting = shown.filter(|thing| {
            let filters = words
                .iter()
                .filter(|(name, _)| !NOT_FILTERS.contains(&name.as_str()));
            let mut filters = filters.map(|(name, wanted)| {
                // Where a piece hangs is a filter too, though it is shown as a list.
                let place = ["loadbalancer_id", "listener_id", "pool_id"].contains(&name.as_str());
                match (place, thing.get(name)) {
                    (true, None) => thing.to_string().contains(wanted.as_str()),
                    _ => query::attribute_is(thing, name, wanted),
                }
            });
            filters.all(|fits| fits) && query::tags_fit(thing, &words)
        });
        Ok::<_, Refusal>(query::page(fitting.collect(), &words, 1_000))
    })?;
    let marker = query::value(&words, "marker").unwrap_or_default();
    let page = page.ok_or_else(|| {
        Refusal::bad_request(format!(
            "Supplied pagination marker '{marker}' is not valid."
        ))
    })?;
    let (_, many) = kind.words();
    let mut links = Vec::new();
    if let Some(next) = page.next {
        let href = format!(
            "{}/load-balancer/v2/lbaas/{many}?{}",
            asked.base,
            query::with_marker(&words, &next)
        );
        links.push(json!({"rel": "next", "href": href}));
    }
    Ok(json_answer(
        200,
        json!({many: page.items, format!("{many}_links"): links}),
    ))
}

async fn show(State(app): State<App>, asked: Asked) -> Answer {
    let kind = asked.kind()?;
    let shown = app.read(|model| Ok::<_, Refusal>(document(model, asked.seen(model, kind)?)))?;
    Ok(json_answer(200, json!({kind.words().0: shown})))
}

/// What a body says of a piece.
fn said(kind: Part, body: &Bytes) -> Result<Map<String, Value>, Refusal> {
    let (one, _) = kind.words();
    match read_json(body)?.get(one) {
        Some(Value::Object(said)) => Ok(said.clone()),
        _ => Err(Refusal::bad_request(format!("Missing argument: \"{one}\""))),
    }
}

async fn create(State(app): State<App>, asked: Asked, body: Bytes) -> Answer {
    let (member, kind) = (asked.member()?, asked.kind()?);
    let said = said(kind, &body)?;
    let (shown, balancer) = app.change(|model| {
        let is_mine = |row: &&Piece| row.part == kind && row.project_id == member.project_id;
        let mine = model.balancing.iter().filter(is_mine).count() as i64;
        let limit = model.quotas.limit(&member.project_id, kind.limit());
        if limit >= 0 && mine >= limit {
            let resource = kind.title();
            return Err(Refusal::forbidden(format!(
                "Quota has been met for resources: {resource}"
            )));
        }
        let id = model.create_piece(&member.project_id, kind, asked.parent(), &said)?;
        let balancer = model.balancer_of(&id).unwrap_or_default();
        Ok::<_, Refusal>((document(model, model.piece(kind, &id)?), balancer))
    })?;
    app.spawn_balance(balancer, BalancerAction::Create);
    Ok(json_answer(201, json!({kind.words().0: shown})))
}

async fn update(State(app): State<App>, asked: Asked, body: Bytes) -> Answer {
    let kind = asked.kind()?;
    let said = said(kind, &body)?;
    let (shown, balancer) = app.change(|model| {
        asked.seen(model, kind)?;
        model.update_piece(kind, asked.id(), &said)?;
        let balancer = model.balancer_of(asked.id()).unwrap_or_default();
        Ok::<_, Refusal>((document(model, model.piece(kind, asked.id())?), balancer))
    })?;
    app.spawn_balance(balancer, BalancerAction::Update);
    Ok(json_answer(200, json!({kind.words().0: shown})))
}

async fn delete(State(app): State<App>, asked: Asked, Query(words): query::Query) -> Answer {
    let kind = asked.kind()?;
    let cascade = query::value(&words, "cascade");
    let children =
        match cascade.is_some_and(|word| ["true", "1"].contains(&word.to_lowercase().as_str())) {
            true => Children::Go,
            false => Children::KeepIt,
        };
    let balancer = app.change(|model| {
        asked.seen(model, kind)?;
        let balancer = model.balancer_of(asked.id()).unwrap_or_default();
        model.delete_piece(kind, asked.id(), children)?;
        Ok::<_, Refusal>(balancer)
    })?;
    app.spawn_balance(balancer, BalancerAction::Delete);
    Ok(empty_answer(204))
}

/// Administrators have what a load balancer runs on made anew. Here nothing changes by that.
async fn failover(State(app): State<App>, asked: Asked) -> Answer {
    let member = asked.member()?;
    app.change(|model| {
        asked.seen(model, Part::LoadBalancer)?;
        if !member.admin {
            let sentence = "Policy does not allow this request to be performed.";
            return Err(Refusal::forbidden(sentence));
        }
        model.begin_failover(asked.id())
    })?;
    app.spawn_balance(asked.id().to_owned(), BalancerAction::Failover);
    Ok(empty_answer(202))
}

async fn status(State(app): State<App>, asked: Asked) -> Answer {
    let tree = app.read(|model| {
        let piece = asked.seen(model, Part::LoadBalancer)?;
        Ok::<_, Refusal>(status_tree(model, piece))
    })?;
    Ok(json_answer(
        200,
        json!({"statuses": {"loadbalancer": tree}}),
    ))
}

/// The lab does not count.
async fn stats(State(app): State<App>, asked: Asked) -> Answer {
    let found = app.read(|model| {
        let balancer = asked.seen(model, Part::LoadBalancer).map(|_| ());
        balancer.or_else(|_| asked.seen(model, Part::Listener).map(|_| ()))
    });
    found?;
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
    Ok(json_answer(200, json!({ "stats": none })))
}

async fn providers(asked: Asked) -> Answer {
    asked.member()?;
    let all =
        json!([{"name": "octavia", "description": "HAProxy in a container, or in memory nothing"}]);
    Ok(json_answer(200, json!({ "providers": all })))
}

async fn no_flavors(asked: Asked) -> Answer {
    asked.member()?;
    Ok(json_answer(200, json!({"flavors": []})))
}

async fn no_zones(asked: Asked) -> Answer {
    asked.member()?;
    Ok(json_answer(200, json!({"availability_zones": []})))
}
