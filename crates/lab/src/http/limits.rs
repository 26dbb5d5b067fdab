//! Nova v2.1: how much a project may have, and has.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::{Value, json};

use super::App;
use super::answer::{NovaError, empty_answer, json_answer, read_json};
use super::compute::{Answer, invalid, policy};
use super::microversion::Microversion;
use super::token::{Caller, Member};
use crate::model::Model;
use crate::model::network::quota::{COMPUTE, COMPUTE_ONCE, Limits, Quotas};

pub fn routes() -> Router<App> {
    Router::new()
        .route("/compute/v2.1/limits", get(limits))
        .route(
            "/compute/v2.1/os-quota-sets/{project}",
            get(quota_set).put(change_quota_set).delete(reset_quota_set),
        )
        .route(
            "/compute/v2.1/os-quota-sets/{project}/detail",
            get(quota_details),
        )
        .route(
            "/compute/v2.1/os-quota-sets/{project}/defaults",
            get(usual_quota_set),
        )
}

async fn limits(State(app): State<App>, caller: Caller) -> Answer {
    let member = caller.member()?;
    let absolute = app.read(|model| {
        let usage = model.server_usage(&member.project_id);
        let limit = |name: &str| model.quotas.limit(&member.project_id, name);
        let groups = used(model, &member.project_id, "server_groups");
        json!({
            "maxTotalInstances": limit("instances"),
            "maxTotalCores": limit("cores"),
            "maxTotalRAMSize": limit("ram"),
            "maxTotalKeypairs": limit("key_pairs"),
            "maxServerMeta": limit("metadata_items"),
            "maxServerGroups": limit("server_groups"),
            "maxServerGroupMembers": limit("server_group_members"),
            "totalInstancesUsed": usage.instances,
            "totalCoresUsed": usage.cores,
            "totalRAMUsed": usage.ram,
            "totalServerGroupsUsed": groups,
        })
    });
    Ok(json_answer(
        200,
        json!({"limits": {"rate": [], "absolute": absolute}}),
    ))
}

/// What a project has of what Nova limits.
fn used(model: &Model, project: &str, name: &str) -> i64 {
    let usage = model.server_usage(project);
    match name {
        "instances" => usage.instances,
        "cores" => usage.cores,
        "ram" => usage.ram,
        "server_groups" => {
            let groups = model.server_groups.iter();
            groups.filter(|row| row.project_id == project).count() as i64
        }
        _ => 0,
    }
}

/// A member's own project, or any for an administrator.
fn looked_at(member: &Member, project: &str) -> Result<(), NovaError> {
    match member.may_touch(project) {
        true => Ok(()),
        false => Err(policy("os-quota-sets:show").into()),
    }
}

/// What is limited, as far back as the caller speaks.
fn names(version: Microversion) -> Limits {
    match version < Microversion(2, 36) {
        true => COMPUTE_ONCE,
        false => COMPUTE,
    }
}

async fn quota_set(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(project): Path<String>,
) -> Answer {
    looked_at(&caller.member()?, &project)?;
    let mut set = app.read(|model| model.quotas.body(names(version), &project));
    set["id"] = project.into();
    Ok(json_answer(200, json!({ "quota_set": set })))
}

async fn usual_quota_set(
    State(app): State<App>,
    caller: Caller,
    Path(project): Path<String>,
) -> Answer {
    looked_at(&caller.member()?, &project)?;
    let mut set = app.read(|model| model.quotas.body(COMPUTE, ""));
    set["id"] = project.into();
    Ok(json_answer(200, json!({ "quota_set": set })))
}

async fn change_quota_set(
    State(app): State<App>,
    caller: Caller,
    version: Microversion,
    Path(project): Path<String>,
    body: Bytes,
) -> Answer {
    if !caller.member()?.admin {
        return Err(policy("os-quota-sets:update").into());
    }
    let body = read_json(&body)?;
    let said = &body["quota_set"];
    let limits = match said
        .as_object()
        .map(|said| Quotas::read(names(version), said))
    {
        Some(Ok(limits)) => limits,
        Some(Err(name)) => {
            let reason = format!("Additional properties are not allowed ('{name}' was unexpected)");
            return Err(invalid("quota_set", said, &reason).into());
        }
        None => {
            return Err(invalid("quota_set", &body, "'quota_set' is a required property").into());
        }
    };
    let set = app.change(|model| {
        model.quotas.set_for(&project, limits);
        model.quotas.body(names(version), &project)
    });
    Ok(json_answer(200, json!({ "quota_set": set })))
}

async fn reset_quota_set(
    State(app): State<App>,
    caller: Caller,
    Path(project): Path<String>,
) -> Answer {
    if !caller.member()?.admin {
        return Err(policy("os-quota-sets:delete").into());
    }
    app.change(|model| model.quotas.reset_for(COMPUTE_ONCE, &project));
    Ok(empty_answer(202))
}

async fn quota_details(
    State(app): State<App>,
    caller: Caller,
    Path(project): Path<String>,
) -> Answer {
    looked_at(&caller.member()?, &project)?;
    let mut set: Value = app.read(|model| {
        let mut set = model.quotas.body(COMPUTE, &project);
        for (name, limit) in set.as_object_mut().into_iter().flatten() {
            let used = used(model, &project, name);
            *limit = json!({"limit": limit, "in_use": used, "reserved": 0});
        }
        set
    });
    set["id"] = project.into();
    Ok(json_answer(200, json!({ "quota_set": set })))
}
