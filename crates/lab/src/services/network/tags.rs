//! Neutron v2.0: tags of all resource types.

use axum::body::Bytes;
use serde_json::json;

use crate::kit::answer::{Answer, read_json, reply};
use crate::kit::refusal::Refusal;
use crate::services::network::body::{Body, bare};
use crate::services::network::collections::{kind_of, owned};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/network/v2.0").put("/{collection}/{id}/tags", set_tags)
}

/// Replaces the tags of a resource.
async fn set_tags(call: Call, body: Bytes) -> Answer {
    let (member, id) = (call.member()?, call.part("id"));
    let kind = kind_of(call.part("collection"))?;
    let body = read_json(&body)?;
    let tags = body.get("tags");
    let tags = tags.ok_or_else(|| invalid("Invalid tags body."))?;
    let wanted: Vec<String> = serde_json::from_value(tags.clone())
        .map_err(|_| invalid(format_args!("'{}' is not a list.", bare(tags))))?;
    call.app.change(|model| {
        owned(model, kind, &member, id, "update")?;
        check(&wanted)?;
        let mut attributes = Body::default();
        attributes.set("tags", wanted.clone());
        kind.update(model, id, attributes)
    })?;
    reply(200, json!({ "tags": wanted }))
}

/// Refuses empty, long and repeated tags.
fn check(tags: &[String]) -> Result<(), Refusal> {
    let is_invalid = |tag: &&String| tag.is_empty() || tag.chars().count() > 255;
    if let Some(tag) = tags.iter().find(is_invalid) {
        return Err(Refusal::invalid_input(
            "tags",
            format!("'{tag}' is not a valid tag"),
        ));
    }
    let mut seen = std::collections::HashSet::new();
    match tags.iter().find(|tag| !seen.insert(tag.as_str())) {
        Some(twice) => Err(invalid(format_args!(
            "Duplicate items in the list: '{twice}'."
        ))),
        None => Ok(()),
    }
}

fn invalid(reason: impl std::fmt::Display) -> Refusal {
    Refusal::new(
        400,
        "InvalidInput",
        format!("Invalid input for operation: {reason}"),
    )
}
