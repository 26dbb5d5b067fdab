//! Nova v2.1: how much a project may have, and has.

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use serde_json::{Value, json};

use super::App;
use super::answer::json_answer;
use super::compute::{Answer, policy};
use super::token::{Caller, Member};
use crate::model::Model;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/compute/v2.1/limits", get(limits))
        .route("/compute/v2.1/os-quota-sets/{project}", get(quota_set))
        .route(
            "/compute/v2.1/os-quota-sets/{project}/detail",
            get(quota_details),
        )
        .route(
            "/compute/v2.1/os-quota-sets/{project}/defaults",
            get(quota_set),
        )
}

async fn limits(State(app): State<App>, caller: Caller) -> Answer {
    let member = caller.member()?;
    let absolute = app.read(|model| {
        let usage = model.server_usage(&member.project_id);
        json!({
            "maxTotalInstances": model.quotas.limit("instances"),
            "maxTotalCores": model.quotas.limit("cores"),
            "maxTotalRAMSize": model.quotas.limit("ram"),
            "maxTotalKeypairs": model.quotas.limit("key_pairs"),
            "maxServerMeta": model.quotas.limit("metadata_items"),
            "maxServerGroups": model.quotas.limit("server_groups"),
            "maxServerGroupMembers": model.quotas.limit("server_group_members"),
            "totalInstancesUsed": usage.instances,
            "totalCoresUsed": usage.cores,
            "totalRAMUsed": usage.ram,
            "totalServerGroupsUsed": 0,
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
fn looked_at(member: &Member, project: &str) -> Result<(), super::answer::NovaError> {
    match member.may_touch(project) {
        true => Ok(()),
        false => Err(policy("os-quota-sets:show").into()),
    }
}

async fn quota_set(State(app): State<App>, caller: Caller, Path(project): Path<String>) -> Answer {
    looked_at(&caller.member()?, &project)?;
    let mut set = app.read(|model| model.quotas.compute_body());
    set["id"] = project.into();
    Ok(json_answer(200, json!({ "quota_set": set })))
}

async fn quota_details(
    State(app): State<App>,
    caller: Caller,
    Path(project): Path<String>,
) -> Answer {
    looked_at(&caller.member()?, &project)?;
    let mut set: Value = app.read(|model| {
        let mut set = model.quotas.compute_body();
        for (name, limit) in set.as_object_mut().into_iter().flatten() {
            let used = used(model, &project, name);
            *limit = json!({"limit": limit, "in_use": used, "reserved": 0});
        }
        set
    });
    set["id"] = project.into();
    Ok(json_answer(200, json!({ "quota_set": set })))
}
