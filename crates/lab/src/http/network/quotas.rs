//! Neutron v2.0: how much a project may have, and has.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::{Value, json};

use super::Answer;
use crate::http::App;
use crate::http::answer::{empty_answer, json_answer, read_json};
use crate::http::token::{Caller, Member};
use crate::model::network::network::only_admin;
use crate::model::network::quota::{NETWORK, Quotas};
use crate::model::network::{KINDS, Look};
use crate::model::refusal::Refusal;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/network/v2.0/quotas", get(all))
        .route(
            "/network/v2.0/quotas/{project}",
            get(show).put(update).delete(reset),
        )
        .route("/network/v2.0/quotas/{project}/default", get(defaults))
        .route("/network/v2.0/quotas/{project}/details.json", get(details))
        .route("/network/v2.0/quotas/{project}/details", get(details))
}

/// Of the projects that have limits of their own.
async fn all(State(app): State<App>, caller: Caller) -> Answer {
    if !caller.member()?.admin {
        return Err(only_admin("get_quota").into());
    }
    let bodies = app.read(|model| model.quotas.bodies(NETWORK));
    Ok(json_answer(200, json!({ "quotas": bodies })))
}

async fn show(State(app): State<App>, caller: Caller, Path(project): Path<String>) -> Answer {
    let project = project.trim_end_matches(".json");
    own_project(&caller.member()?, project)?;
    let body = app.read(|model| model.quotas.body(NETWORK, project));
    Ok(json_answer(200, json!({ "quota": body })))
}

async fn defaults(State(app): State<App>, caller: Caller, Path(project): Path<String>) -> Answer {
    own_project(&caller.member()?, &project)?;
    let body = app.read(|model| model.quotas.body(NETWORK, ""));
    Ok(json_answer(200, json!({ "quota": body })))
}

async fn update(
    State(app): State<App>,
    caller: Caller,
    Path(project): Path<String>,
    body: Bytes,
) -> Answer {
    if !caller.member()?.admin {
        return Err(only_admin("update_quota").into());
    }
    let project = project.trim_end_matches(".json");
    let body = read_json(&body)?;
    let said = body["quota"].as_object();
    let said =
        said.ok_or_else(|| Refusal::bad_request("Unable to find 'quota' in request body"))?;
    let limits = Quotas::read(NETWORK, said)
        .map_err(|name| Refusal::bad_request(format!("Unrecognized attribute(s) '{name}'")))?;
    let body = app.change(|model| {
        model.quotas.set_for(project, limits);
        model.quotas.body(NETWORK, project)
    });
    Ok(json_answer(200, json!({ "quota": body })))
}

async fn reset(State(app): State<App>, caller: Caller, Path(project): Path<String>) -> Answer {
    if !caller.member()?.admin {
        return Err(only_admin("delete_quota").into());
    }
    let project = project.trim_end_matches(".json");
    if !app.change(|model| model.quotas.reset_for(NETWORK, project)) {
        let message = format!("Quota for tenant {project} could not be found.");
        return Err(Refusal::not_found("TenantQuotaNotFound", message).into());
    }
    Ok(empty_answer(204))
}

async fn details(State(app): State<App>, caller: Caller, Path(project): Path<String>) -> Answer {
    own_project(&caller.member()?, &project)?;
    let details = app.read(|model| {
        let mut details: Value = model.quotas.body(NETWORK, &project);
        for (name, limit) in details.as_object_mut().into_iter().flatten() {
            let kind = KINDS.iter().find(|kind| kind.singular == name);
            let rows = kind
                .map(|kind| (kind.list)(model, &Look::default()))
                .unwrap_or_default();
            let mine = rows
                .iter()
                .filter(|row| row["project_id"] == project.as_str());
            *limit = json!({"limit": limit, "used": mine.count(), "reserved": 0});
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
