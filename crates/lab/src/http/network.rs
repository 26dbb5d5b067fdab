//! Neutron v2.0: one set of handlers for all kinds, driven by the table in [`crate::model::network`].

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{get, put};
use serde_json::{Value, json};

use super::answer::{NeutronError, empty_answer, json_answer, read_json};
use super::token::{Caller, Member};
use super::{App, base_url, query};
use crate::model::Model;
use crate::model::network::attributes::Attributes;
use crate::model::network::network::only_admin;
use crate::model::network::{KINDS, Kind, Look};
use crate::model::refusal::Refusal;

type Answer = Result<Response, NeutronError>;

/// The extensions that the lab behaves by.
const EXTENSIONS: &[(&str, &str)] = &[
    ("address-scope", "Address scope"),
    ("allowed-address-pairs", "Allowed Address Pairs"),
    ("availability_zone", "Availability Zone"),
    ("binding", "Port Binding"),
    (
        "ext-gw-mode",
        "Neutron L3 Configurable external gateway mode",
    ),
    ("external-net", "Neutron external network"),
    ("extra_dhcp_opt", "Neutron Extra DHCP options"),
    ("extraroute", "Neutron Extra Route"),
    ("extraroute-atomic", "Atomically add/remove extra routes"),
    ("filter-validation", "Filter parameters validation"),
    ("fip-port-details", "Add port_details to Floating IP"),
    ("net-mtu", "Network MTU"),
    ("net-mtu-writable", "Network MTU (writable)"),
    ("network_availability_zone", "Network Availability Zone"),
    ("pagination", "Pagination support"),
    ("port-security", "Port Security"),
    ("project-id", "project_id field enabled"),
    ("quota_details", "Quota details management support"),
    ("quotas", "Quota management support"),
    ("router", "Neutron L3 Router"),
    ("router_availability_zone", "Router Availability Zone"),
    ("security-group", "security-group"),
    (
        "security-groups-normalized-cidr",
        "Normalized CIDR field for security group rules",
    ),
    ("sorting", "Sorting support"),
    ("standard-attr-description", "standard-attr-description"),
    ("standard-attr-revisions", "Resource revision numbers"),
    (
        "standard-attr-tag",
        "Tag support for resources with standard attribute: port, subnet, network, router, ...",
    ),
    ("standard-attr-timestamp", "Resource timestamps"),
];

pub fn routes() -> Router<App> {
    Router::new()
        .route("/network", get(versions))
        .route("/network/", get(versions))
        .route("/network/v2.0", get(resources))
        .route("/network/v2.0/", get(resources))
        .route("/network/v2.0/extensions", get(extensions))
        .route("/network/v2.0/extensions/{alias}", get(extension))
        .route("/network/v2.0/quotas/{project}", get(quotas))
        .route(
            "/network/v2.0/quotas/{project}/details.json",
            get(quota_details),
        )
        .route("/network/v2.0/quotas/{project}/details", get(quota_details))
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
        .route("/network/v2.0/availability_zones", get(zones))
        .route("/network/v2.0/{collection}", get(list).post(create))
        .route(
            "/network/v2.0/{collection}/{id}",
            get(show).put(update).delete(delete),
        )
        .route(
            "/network/v2.0/{collection}/{id}/tags",
            get(tags).put(set_tags).delete(clear_tags),
        )
        .route(
            "/network/v2.0/{collection}/{id}/tags/{tag}",
            get(has_tag).put(add_tag).delete(remove_tag),
        )
}

async fn versions(headers: HeaderMap) -> Response {
    let link = json!({"rel": "self", "href": format!("{}/network/v2.0/", base_url(&headers))});
    json_answer(
        200,
        json!({"versions": [{"id": "v2.0", "status": "CURRENT", "links": [link]}]}),
    )
}

async fn resources(caller: Caller, headers: HeaderMap) -> Answer {
    caller.token()?;
    let base = base_url(&headers);
    let all = KINDS.iter().map(|kind| {
        let link =
            json!({"rel": "self", "href": format!("{base}/network/v2.0/{}", kind.collection)});
        json!({"name": kind.singular, "collection": kind.collection, "links": [link]})
    });
    Ok(json_answer(
        200,
        json!({"resources": all.collect::<Value>()}),
    ))
}

fn extension_document(alias: &str, name: &str) -> Value {
    json!({"alias": alias, "name": name, "description": name, "updated": "2016-01-01T00:00:00-00:00", "links": []})
}

async fn extensions(caller: Caller) -> Answer {
    caller.token()?;
    let all: Value = EXTENSIONS
        .iter()
        .map(|(alias, name)| extension_document(alias, name))
        .collect();
    Ok(json_answer(200, json!({ "extensions": all })))
}

async fn extension(caller: Caller, Path(alias): Path<String>) -> Answer {
    caller.token()?;
    let alias = alias.trim_end_matches(".json");
    let found = EXTENSIONS.iter().find(|(name, _)| *name == alias);
    let (alias, name) = found
        .ok_or_else(|| Refusal::not_found("HTTPNotFound", "The resource could not be found."))?;
    Ok(json_answer(
        200,
        json!({"extension": extension_document(alias, name)}),
    ))
}

async fn quotas(State(app): State<App>, caller: Caller, Path(project): Path<String>) -> Answer {
    own_project(&caller.member()?, project.trim_end_matches(".json"))?;
    Ok(json_answer(
        200,
        json!({"quota": app.read(|model| model.quotas.network_body())}),
    ))
}

async fn quota_details(
    State(app): State<App>,
    caller: Caller,
    Path(project): Path<String>,
) -> Answer {
    let member = caller.member()?;
    own_project(&member, &project)?;
    let details = app.read(|model| {
        let mut details = model.quotas.network_body();
        for (name, limit) in details.as_object_mut().into_iter().flatten() {
            let kind = KINDS.iter().find(|kind| kind.singular == name);
            let rows = kind
                .map(|kind| (kind.list)(model, &Look::default()))
                .unwrap_or_default();
            let used = rows
                .iter()
                .filter(|row| row["project_id"] == member.project_id.as_str())
                .count();
            *limit = json!({"limit": limit, "used": used, "reserved": 0});
        }
        details
    });
    Ok(json_answer(200, json!({ "quota": details })))
}

fn own_project(member: &Member, project: &str) -> Result<(), Refusal> {
    match member.may_touch(project) || project == "tenant" {
        true => Ok(()),
        false => Err(only_admin("get_quota")),
    }
}

fn kind_of(collection: &str) -> Result<&'static Kind, Refusal> {
    let collection = collection.trim_end_matches(".json");
    let found = KINDS
        .iter()
        .find(|kind| kind.collection == collection)
        .copied();
    found.ok_or_else(|| Refusal::not_found("HTTPNotFound", "The resource could not be found."))
}

fn visible(model: &Model, kind: &Kind, member: &Member, thing: &Value) -> bool {
    let owner = thing["project_id"].as_str().unwrap_or_default();
    member.may_touch(owner) || (kind.shared)(model, thing)
}

/// The thing, if the caller may see it.
fn seen(model: &Model, kind: &Kind, member: &Member, id: &str) -> Result<Value, Refusal> {
    let thing = (kind.get)(model, id).filter(|thing| visible(model, kind, member, thing));
    thing.ok_or_else(|| (kind.not_found)(id))
}

/// The thing, if it is the caller's own. One that can only be seen is forbidden.
fn owned(
    model: &Model,
    kind: &Kind,
    member: &Member,
    id: &str,
    verb: &str,
) -> Result<Value, Refusal> {
    let thing = seen(model, kind, member, id)?;
    match member.may_touch(thing["project_id"].as_str().unwrap_or_default()) {
        true => Ok(thing),
        false => Err(only_admin(&format!("{verb}_{}", kind.singular))),
    }
}

fn with_fields(mut thing: Value, asked: &[(String, String)]) -> Value {
    let wanted: Vec<&str> = asked
        .iter()
        .filter(|(name, _)| name == "fields")
        .flat_map(|(_, value)| value.split(','))
        .collect();
    if let (Some(fields), false) = (thing.as_object_mut(), wanted.is_empty()) {
        fields.retain(|name, _| wanted.contains(&name.as_str()));
    }
    thing
}

/// Query words that are not filters.
const NOT_FILTERS: &[&str] = &[
    "fields",
    "limit",
    "marker",
    "page_reverse",
    "sort_key",
    "sort_dir",
    "tags",
    "tags-any",
    "not-tags",
    "not-tags-any",
];

async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(collection): Path<String>,
    Query(asked): query::Query,
    headers: HeaderMap,
) -> Answer {
    let member = caller.member()?;
    let kind = kind_of(&collection)?;
    // Neutron makes a project's default group when the project first looks.
    if kind.singular == "security_group" {
        app.change(|model| model.default_security_group(&member.project_id));
    }
    let mut things = app.read(|model| {
        let look = Look {
            project: (!member.admin).then_some(member.project_id.as_str()),
            filters: &asked,
        };
        let mut things = (kind.list)(model, &look);
        things.retain(|thing| visible(model, kind, &member, thing));
        things
    });
    let mut names: Vec<&str> = asked
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| !NOT_FILTERS.contains(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    if let Some(unknown) = names.iter().find(|name| {
        things
            .first()
            .is_some_and(|thing| thing.get(**name).is_none())
    }) {
        return Err(Refusal::bad_request(format!(
            "['{unknown}'] is invalid attribute for filtering"
        ))
        .into());
    }
    // The same name twice means either value.
    things.retain(|thing| {
        names.iter().all(|name| {
            let mut values = asked.iter().filter(|(key, _)| key == name);
            values.any(|(_, value)| query::attribute_is(thing, name, value))
        }) && query::tags_fit(thing, &asked)
    });
    query::sort(&mut things, &asked);
    let page = query::page(things, &asked, 5_000).ok_or_else(|| {
        Refusal::new(
            400,
            "HTTPBadRequest",
            "Invalid input for marker. Reason: the marker was not found.",
        )
    })?;
    let items: Vec<Value> = page
        .items
        .into_iter()
        .map(|thing| with_fields(thing, &asked))
        .collect();
    let name = kind.collection.replace('-', "_");
    let mut body = json!({ name.clone(): items });
    if let Some(next) = page.next {
        let href = format!(
            "{}/network/v2.0/{}?{}",
            base_url(&headers),
            kind.collection,
            query::with_marker(&asked, &next)
        );
        body[format!("{name}_links")] = json!([{"rel": "next", "href": href}]);
    }
    Ok(json_answer(200, body))
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Path((collection, id)): Path<(String, String)>,
    Query(asked): query::Query,
) -> Answer {
    let member = caller.member()?;
    let kind = kind_of(&collection)?;
    let thing = app.read(|model| seen(model, kind, &member, &id))?;
    Ok(json_answer(
        200,
        json!({kind.singular: with_fields(thing, &asked)}),
    ))
}

/// The bodies of a creation: one, or many under the collection's name.
fn bodies(kind: &Kind, body: Value) -> Result<(Vec<Value>, Amount), Refusal> {
    let plural = kind.collection.replace('-', "_");
    match body.get(&plural) {
        None => Ok((vec![body], Amount::One)),
        Some(Value::Array(items)) if !items.is_empty() => {
            let each = items.iter().map(|item| json!({ kind.singular: item }));
            Ok((each.collect(), Amount::Many(plural)))
        }
        Some(_) => Err(Refusal::bad_request("Resources required")),
    }
}

/// How an answer is worded.
enum Amount {
    One,
    Many(String),
}

async fn create(
    State(app): State<App>,
    caller: Caller,
    Path(collection): Path<String>,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    let kind = kind_of(&collection)?;
    let (bodies, amount) = bodies(kind, read_json(&body)?)?;
    let mut wanted = Vec::new();
    for body in bodies {
        let owner = owner(kind, &member, &body)?;
        let attributes = Attributes::for_create(kind.singular, kind.attributes, body)?;
        wanted.push((owner, attributes));
    }
    let mut things = app
        .rewire(|model| {
            // All or none of them.
            let mut made: Vec<String> = Vec::new();
            for (owner, attributes) in wanted {
                match (kind.create)(model, &owner, attributes) {
                    Ok(id) => made.push(id),
                    Err(refusal) => {
                        for id in made.iter().rev() {
                            (kind.delete)(model, id)?;
                        }
                        return Err(refusal);
                    }
                }
            }
            let shown = made.iter().filter_map(|id| (kind.get)(model, id));
            Ok(shown.collect::<Vec<Value>>())
        })
        .await?;
    let body = match amount {
        Amount::Many(plural) => json!({ plural: things }),
        Amount::One => json!({kind.singular: things.pop()}),
    };
    Ok(json_answer(201, body))
}

/// The project that a new thing is for: the caller's own, or any if an administrator says so.
fn owner(kind: &Kind, member: &Member, body: &Value) -> Result<String, Refusal> {
    for name in ["project_id", "tenant_id"] {
        let said = body[kind.singular].get(name).and_then(Value::as_str);
        match said {
            Some(id) if !member.may_touch(id) => {
                return Err(only_admin(&format!("create_{}:{name}", kind.singular)));
            }
            Some(id) => return Ok(id.to_owned()),
            None => {}
        }
    }
    Ok(member.project_id.clone())
}

async fn update(
    State(app): State<App>,
    caller: Caller,
    Path((collection, id)): Path<(String, String)>,
    body: Bytes,
) -> Answer {
    let member = caller.member()?;
    let kind = kind_of(&collection)?;
    let attributes = Attributes::for_update(kind.singular, kind.attributes, read_json(&body)?)?;
    let thing = app
        .rewire(|model| {
            owned(model, kind, &member, &id, "update")?;
            (kind.update)(model, &id, attributes)?;
            (kind.get)(model, &id).ok_or_else(|| (kind.not_found)(&id))
        })
        .await?;
    Ok(json_answer(200, json!({kind.singular: thing})))
}

async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path((collection, id)): Path<(String, String)>,
) -> Answer {
    let member = caller.member()?;
    let kind = kind_of(&collection)?;
    app.rewire(|model| {
        owned(model, kind, &member, &id, "delete")?;
        (kind.delete)(model, &id)
    })
    .await?;
    Ok(empty_answer(204))
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

async fn zones(caller: Caller) -> Answer {
    caller.member()?;
    let zone = |resource: &str| json!({"name": "nova", "resource": resource, "state": "available"});
    Ok(json_answer(
        200,
        json!({"availability_zones": [zone("network"), zone("router")]}),
    ))
}

fn tags_of(thing: &Value) -> Vec<String> {
    thing["tags"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Change a thing's tags; answers the new ones.
fn retag(
    app: &App,
    caller: &Caller,
    (collection, id): (&str, &str),
    change: impl FnOnce(&mut Vec<String>) -> Result<(), Refusal>,
) -> Result<Vec<String>, Refusal> {
    let member = caller.member()?;
    let kind = kind_of(collection)?;
    app.change(|model| {
        let mut tags = tags_of(&owned(model, kind, &member, id, "update")?);
        change(&mut tags)?;
        if let Some(tag) = tags
            .iter()
            .find(|tag| tag.is_empty() || tag.chars().count() > 255)
        {
            return Err(Refusal::invalid_input(
                "tags",
                format!("'{tag}' is not a valid tag"),
            ));
        }
        tags.dedup();
        let mut attributes = Attributes::default();
        attributes.set("tags", tags.clone());
        (kind.update)(model, id, attributes)?;
        Ok(tags)
    })
}

async fn tags(
    State(app): State<App>,
    caller: Caller,
    Path((collection, id)): Path<(String, String)>,
) -> Answer {
    let (member, kind) = (caller.member()?, kind_of(&collection)?);
    let thing = app.read(|model| seen(model, kind, &member, &id))?;
    Ok(json_answer(200, json!({"tags": tags_of(&thing)})))
}

async fn set_tags(
    State(app): State<App>,
    caller: Caller,
    Path((collection, id)): Path<(String, String)>,
    body: Bytes,
) -> Answer {
    let body = read_json(&body)?;
    let wanted: Option<Vec<String>> = serde_json::from_value(body["tags"].clone()).ok();
    let wanted = wanted.ok_or_else(|| Refusal::bad_request("Invalid tags body"))?;
    let tags = retag(&app, &caller, (&collection, &id), |tags| {
        *tags = wanted;
        Ok(())
    })?;
    Ok(json_answer(200, json!({ "tags": tags })))
}

async fn clear_tags(
    State(app): State<App>,
    caller: Caller,
    Path((collection, id)): Path<(String, String)>,
) -> Answer {
    retag(&app, &caller, (&collection, &id), |tags| {
        tags.clear();
        Ok(())
    })?;
    Ok(empty_answer(204))
}

fn tag_not_found(tag: &str) -> Refusal {
    Refusal::not_found("TagNotFound", format!("Tag {tag} could not be found."))
}

async fn has_tag(
    State(app): State<App>,
    caller: Caller,
    Path((collection, id, tag)): Path<(String, String, String)>,
) -> Answer {
    let (member, kind) = (caller.member()?, kind_of(&collection)?);
    let thing = app.read(|model| seen(model, kind, &member, &id))?;
    match tags_of(&thing).contains(&tag) {
        true => Ok(empty_answer(204)),
        false => Err(tag_not_found(&tag).into()),
    }
}

async fn add_tag(
    State(app): State<App>,
    caller: Caller,
    Path((collection, id, tag)): Path<(String, String, String)>,
) -> Answer {
    retag(&app, &caller, (&collection, &id), |tags| {
        if !tags.contains(&tag) {
            tags.push(tag.clone());
        }
        Ok(())
    })?;
    Ok(empty_answer(201))
}

async fn remove_tag(
    State(app): State<App>,
    caller: Caller,
    Path((collection, id, tag)): Path<(String, String, String)>,
) -> Answer {
    retag(&app, &caller, (&collection, &id), |tags| {
        let before = tags.len();
        tags.retain(|other| other != &tag);
        if tags.len() == before {
            Err(tag_not_found(&tag))
        } else {
            Ok(())
        }
    })?;
    Ok(empty_answer(204))
}
