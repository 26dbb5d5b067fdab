//! Neutron v2.0: one set of handlers for all resource types, driven by the table in [`crate::services::network`].
//! Operations of single types are in files of their own.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::query;
use crate::kit::refusal::Refusal;
use crate::kit::token::Member;
use crate::services::network::body::only_admin;
use crate::services::network::body::{Body, Caller, is_known};
use crate::services::network::provider::hide;
use crate::services::network::{COLLECTIONS, Collection, Creators, ListQuery};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below_each(&[
        "/network/v2.0",
        "/network/v2.0/qos",
        "/network/v2.0/metering",
    ])
    .get("/{collection}", list)
    .post("/{collection}", create)
    .get("/{collection}/{id}", show)
    .put("/{collection}/{id}", update)
    .delete("/{collection}/{id}", delete)
}

pub(crate) fn kind_of(collection: &str) -> Result<&'static Collection, Refusal> {
    let collection = collection.trim_end_matches(".json");
    let found = COLLECTIONS
        .iter()
        .find(|kind| kind.collection == collection)
        .copied();
    found.ok_or_else(|| Refusal::not_found("HTTPNotFound", "The resource could not be found."))
}

fn visible(model: &Model, kind: &Collection, member: &Member, document: &Value) -> bool {
    let owner = document["project_id"].as_str().unwrap_or_default();
    member.can_access(owner) || (kind.shared)(model, document, &member.project_id)
}

/// The resource, if it is visible to the caller.
pub(crate) fn visible_resource(
    model: &Model,
    kind: &Collection,
    member: &Member,
    id: &str,
) -> Result<Value, Refusal> {
    let document = kind
        .get(model, id)
        .filter(|document| visible(model, kind, member, document));
    document.ok_or_else(|| kind.not_found(id))
}

/// The resource, if it belongs to the caller. A resource that is only visible is forbidden.
pub(crate) fn owned(
    model: &Model,
    kind: &Collection,
    member: &Member,
    id: &str,
    verb: &str,
) -> Result<Value, Refusal> {
    let document = visible_resource(model, kind, member, id)?;
    check_creators(kind, member, verb)?;
    if member.can_access(document["project_id"].as_str().unwrap_or_default()) {
        Ok(document)
    } else {
        Err(only_admin(&format!("{verb}_{}", kind.singular)))
    }
}

/// Requires an administrator for some resource types.
fn check_creators(kind: &Collection, member: &Member, verb: &str) -> Result<(), Refusal> {
    if kind.creators == Creators::Members || member.admin {
        Ok(())
    } else {
        Err(only_admin(&format!("{verb}_{}", kind.singular)))
    }
}

/// The document without the fields that are for administrators.
fn visible_fields(member: &Member, mut document: Value) -> Value {
    if !member.admin {
        hide(&mut document);
    }
    document
}

fn with_fields(mut document: Value, asked: &[(String, String)]) -> Value {
    let wanted: Vec<&str> = asked
        .iter()
        .filter(|(name, _)| name == "fields")
        .flat_map(|(_, value)| value.split(','))
        .collect();
    if let (Some(fields), false) = (document.as_object_mut(), wanted.is_empty()) {
        fields.retain(|name, _| wanted.contains(&name.as_str()));
    }
    document
}

/// Query parameters that are not filters.
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

/// Fields of responses that are in no request table.
const RESPONSE_FIELDS: &[&str] = &["shared", "rules", "rule_ids", "port_forwardings"];

/// Checks the query parameters of a list.
fn check_query(kind: &Collection, asked: &[(String, String)]) -> Result<(), Refusal> {
    let known = |name: &str| is_known(kind.fields, name) || RESPONSE_FIELDS.contains(&name);
    for (name, value) in asked {
        match name.as_str() {
            "limit" if value.parse::<u32>().is_err() => {
                return Err(Refusal::new(
                    400,
                    "BadRequest",
                    format!(
                        "Bad limit request: Limit must be an integer 0 or greater and not '{value}'."
                    ),
                ));
            }
            "sort_key" if !known(value) => {
                return Err(Refusal::bad_request(format!(
                    "['{value}'] is invalid attribute for sort_keys"
                )));
            }
            "sort_dir" if !["asc", "desc"].contains(&value.as_str()) => {
                return Err(Refusal::bad_request(format!(
                    "['{value}'] is invalid value for sort_dirs, valid value is 'asc' and 'desc'"
                )));
            }
            name if !known(name) && !NOT_FILTERS.contains(&name) => {
                return Err(Refusal::bad_request(format!(
                    "['{name}'] is invalid attribute for filtering"
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

async fn list(call: Call) -> Answer {
    let collection = call.part("collection");
    let member = call.member()?;
    let kind = kind_of(collection)?;
    // Neutron creates a project's default group with the first list.
    if kind.singular == "security_group" {
        call.app
            .change(|model| model.default_security_group(&member.project_id));
    }
    check_query(kind, &call.query)?;
    let mut documents = call.app.read(|model| {
        let query = ListQuery {
            project: (!member.admin).then_some(member.project_id.as_str()),
            filters: &call.query,
        };
        let mut documents = kind.list(model, &query);
        documents.retain(|document| visible(model, kind, &member, document));
        documents
            .into_iter()
            .map(|document| visible_fields(&member, document))
            .collect::<Vec<_>>()
    });
    let mut names: Vec<&str> = call
        .query
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| !NOT_FILTERS.contains(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    // A repeated parameter means any of its values.
    documents.retain(|document| {
        names.iter().all(|name| {
            let mut values = call.query.iter().filter(|(key, _)| key == name);
            values.any(|(_, value)| query::attribute_is(document, name, value))
        }) && query::tags_fit(document, &call.query)
    });
    query::sort(&mut documents, &call.query);
    let page = query::page(documents, &call.query, 5_000);
    let marker = call.query_value("marker").unwrap_or_default();
    let page = page.ok_or_else(|| kind.not_found(marker))?;
    let items: Vec<Value> = page
        .items
        .into_iter()
        .map(|document| with_fields(document, &call.query))
        .collect();
    let name = kind.collection.replace('-', "_");
    let mut body = json!({ name.clone(): items });
    if let Some(next) = page.next {
        let href = format!(
            "{}/network/v2.0/{}?{}",
            call.base,
            kind.collection,
            query::with_marker(&call.query, &next)
        );
        body[format!("{name}_links")] = json!([{"rel": "next", "href": href}]);
    }
    reply(200, body)
}

async fn show(call: Call) -> Answer {
    let (collection, id) = (call.part("collection"), call.part("id"));
    let member = call.member()?;
    let kind = kind_of(collection)?;
    let document = call
        .app
        .read(|model| visible_resource(model, kind, &member, id))?;
    let document = visible_fields(&member, document);
    reply(
        200,
        json!({kind.singular: with_fields(document, &call.query)}),
    )
}

fn author(member: &Member) -> Caller {
    if member.admin {
        Caller::Admin
    } else {
        Caller::Member
    }
}

/// A JSON body.
fn read_body(bytes: &Bytes) -> Result<Value, Refusal> {
    read_json(bytes).map_err(|_| Refusal::bad_request("Body contains invalid data"))
}

/// The bodies of a creation: one, or several under the collection's name (bulk creation).
fn bodies(kind: &Collection, body: Value) -> Result<(Vec<Value>, ResponseFormat), Refusal> {
    let plural = kind.collection.replace('-', "_");
    match body.get(&plural) {
        None => Ok((vec![body], ResponseFormat::One)),
        Some(Value::Array(items)) if !items.is_empty() => {
            let each = items.iter().map(|item| json!({ kind.singular: item }));
            Ok((each.collect(), ResponseFormat::Many(plural)))
        }
        Some(_) => Err(Refusal::bad_request("Resources required")),
    }
}

/// The format of the response.
enum ResponseFormat {
    One,
    Many(String),
}

async fn create(call: Call, body: Bytes) -> Answer {
    let collection = call.part("collection");
    let member = call.member()?;
    let kind = kind_of(collection)?;
    check_creators(kind, &member, "create")?;
    let (bodies, format) = bodies(kind, read_body(&body)?)?;
    let mut wanted = Vec::new();
    for body in bodies {
        let owner = owner(kind, &member, &body)?;
        let by = author(&member);
        let attributes = Body::for_create(kind.singular, kind.fields, body, by)?;
        wanted.push((owner, attributes));
    }
    let mut documents = call
        .app
        .change_and_apply(|model| {
            // Bulk creation is atomic.
            let mut made: Vec<String> = Vec::new();
            for (owner, attributes) in wanted {
                match kind.create(model, &owner, attributes) {
                    Ok(id) => made.push(id),
                    Err(refusal) => {
                        for id in made.iter().rev() {
                            kind.delete(model, id)?;
                        }
                        return Err(refusal);
                    }
                }
            }
            let shown = made.iter().filter_map(|id| kind.get(model, id));
            let shown = shown.map(|document| visible_fields(&member, document));
            Ok(shown.collect::<Vec<Value>>())
        })
        .await?;
    let body = match format {
        ResponseFormat::Many(plural) => json!({ plural: documents }),
        ResponseFormat::One => json!({kind.singular: documents.pop()}),
    };
    reply(201, body)
}

/// The owner of a new resource: the caller's project, or any project for administrators.
fn owner(kind: &Collection, member: &Member, body: &Value) -> Result<String, Refusal> {
    for name in ["project_id", "tenant_id"] {
        let value = body[kind.singular].get(name).and_then(Value::as_str);
        match value {
            Some(id) if !member.can_access(id) => {
                return Err(Refusal::bad_request(
                    "Specifying 'project_id' or 'tenant_id' other than the authenticated project in request requires admin or \
                     advsvc privileges",
                ));
            }
            Some(id) => return Ok(id.to_owned()),
            None => {}
        }
    }
    Ok(member.project_id.clone())
}

async fn update(call: Call, body: Bytes) -> Answer {
    let (collection, id) = (call.part("collection"), call.part("id"));
    let member = call.member()?;
    let kind = kind_of(collection)?;
    let (body, by) = (read_body(&body)?, author(&member));
    let attributes = Body::for_update(kind.singular, kind.fields, body, by)?;
    let document = call
        .app
        .change_and_apply(|model| {
            owned(model, kind, &member, id, "update")?;
            kind.update(model, id, attributes)?;
            kind.get(model, id).ok_or_else(|| kind.not_found(id))
        })
        .await?;
    reply(
        200,
        json!({kind.singular: visible_fields(&member, document)}),
    )
}

async fn delete(call: Call) -> Answer {
    let (collection, id) = (call.part("collection"), call.part("id"));
    let member = call.member()?;
    let kind = kind_of(collection)?;
    call.app
        .change_and_apply(|model| {
            owned(model, kind, &member, id, "delete")?;
            kind.delete(model, id)
        })
        .await?;
    empty(204)
}
