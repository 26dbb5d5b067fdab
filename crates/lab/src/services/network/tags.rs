//! Neutron v2.0: tags of all resource types.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::refusal::Refusal;
use crate::services::network::body::{Body, bare};
use crate::services::network::collections::{kind_of, owned, visible_resource};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/network/v2.0")
        .get("/{collection}/{id}/tags", tags)
        .put("/{collection}/{id}/tags", set_tags)
        .delete("/{collection}/{id}/tags", clear_tags)
        .get("/{collection}/{id}/tags/{tag}", has_tag)
        .put("/{collection}/{id}/tags/{tag}", add_tag)
        .delete("/{collection}/{id}/tags/{tag}", remove_tag)
}

fn tags_of(document: &Value) -> Vec<String> {
    document["tags"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Changes a resource's tags. Returns the new ones.
fn retag(
    call: &Call,
    (collection, id): (&str, &str),
    change: impl FnOnce(&mut Vec<String>) -> Result<(), Refusal>,
) -> Result<Vec<String>, Refusal> {
    let member = call.member()?;
    let kind = kind_of(collection)?;
    call.app.change(|model| {
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
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = tags.iter().find(|tag| !seen.insert(tag.as_str())) {
            return Err(invalid(format_args!(
                "Duplicate items in the list: '{twice}'."
            )));
        }
        let mut attributes = Body::default();
        attributes.set("tags", tags.clone());
        kind.update(model, id, attributes)?;
        Ok(tags)
    })
}

async fn tags(call: Call) -> Answer {
    let (collection, id) = (call.part("collection"), call.part("id"));
    let (member, kind) = (call.member()?, kind_of(collection)?);
    let document = call
        .app
        .read(|model| visible_resource(model, kind, &member, id))?;
    reply(200, json!({"tags": tags_of(&document)}))
}

async fn set_tags(call: Call, body: Bytes) -> Answer {
    let (collection, id) = (call.part("collection"), call.part("id"));
    let body = read_json(&body)?;
    let tags = body.get("tags");
    let tags = tags.ok_or_else(|| invalid("Invalid tags body."))?;
    let wanted: Vec<String> = serde_json::from_value(tags.clone())
        .map_err(|_| invalid(format_args!("'{}' is not a list.", bare(tags))))?;
    let tags = retag(&call, (collection, id), |tags| {
        *tags = wanted;
        Ok(())
    })?;
    reply(200, json!({ "tags": tags }))
}

async fn clear_tags(call: Call) -> Answer {
    let (collection, id) = (call.part("collection"), call.part("id"));
    retag(&call, (collection, id), |tags| {
        tags.clear();
        Ok(())
    })?;
    empty(204)
}

fn invalid(reason: impl std::fmt::Display) -> Refusal {
    Refusal::new(
        400,
        "InvalidInput",
        format!("Invalid input for operation: {reason}"),
    )
}

fn tag_not_found(tag: &str) -> Refusal {
    Refusal::not_found("TagNotFound", format!("Tag {tag} could not be found."))
}

async fn has_tag(call: Call) -> Answer {
    let (collection, id, tag) = (call.part("collection"), call.part("id"), call.part("tag"));
    let (member, kind) = (call.member()?, kind_of(collection)?);
    let document = call
        .app
        .read(|model| visible_resource(model, kind, &member, id))?;
    if tags_of(&document).iter().any(|one| one == tag) {
        empty(204)
    } else {
        Err(tag_not_found(tag))
    }
}

async fn add_tag(call: Call) -> Answer {
    let (collection, id, tag) = (call.part("collection"), call.part("id"), call.part("tag"));
    retag(&call, (collection, id), |tags| {
        if !tags.iter().any(|one| one == tag) {
            tags.push(tag.to_owned());
        }
        Ok(())
    })?;
    reply(201, Value::Null)
}

async fn remove_tag(call: Call) -> Answer {
    let (collection, id, tag) = (call.part("collection"), call.part("id"), call.part("tag"));
    retag(&call, (collection, id), |tags| {
        let before = tags.len();
        tags.retain(|other| other != tag);
        if tags.len() == before {
            Err(tag_not_found(tag))
        } else {
            Ok(())
        }
    })?;
    empty(204)
}
