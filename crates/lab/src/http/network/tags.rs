//! Neutron v2.0: tags, of every kind of thing.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::{Value, json};

use super::{Answer, kind_of, owned, seen};
use crate::http::App;
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::token::Caller;
use crate::model::network::attributes::{Attributes, bare};
use crate::model::refusal::Refusal;

pub fn routes() -> Router<App> {
    Router::new()
        .route(
            "/network/v2.0/{collection}/{id}/tags",
            get(tags).put(set_tags).delete(clear_tags),
        )
        .route(
            "/network/v2.0/{collection}/{id}/tags/{tag}",
            get(has_tag).put(add_tag).delete(remove_tag),
        )
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
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = tags.iter().find(|tag| !seen.insert(tag.as_str())) {
            return Err(invalid(format_args!(
                "Duplicate items in the list: '{twice}'."
            )));
        }
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
    let said = body.get("tags");
    let said = said.ok_or_else(|| invalid("Invalid tags body."))?;
    let wanted: Vec<String> = serde_json::from_value(said.clone())
        .map_err(|_| invalid(format_args!("'{}' is not a list.", bare(said))))?;
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
    Ok(json_answer(201, Value::Null))
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
