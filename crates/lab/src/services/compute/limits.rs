//! Nova v2.1: how much a project may have, and has.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::microversion::Microversion;
use crate::kit::refusal::Refusal;
use crate::kit::token::Member;
use crate::services::compute::{invalid, policy};
use crate::services::quota::{COMPUTE, COMPUTE_LEGACY, Limits, Quotas};
use crate::services::{Call, Model, Routes};

pub fn routes() -> Routes {
    Routes::below("/compute/v2.1")
        .get("/limits", limits)
        .get("/os-quota-sets/{project}", quota_set)
        .put("/os-quota-sets/{project}", change_quota_set)
        .delete("/os-quota-sets/{project}", reset_quota_set)
        .get("/os-quota-sets/{project}/detail", quota_details)
        .get("/os-quota-sets/{project}/defaults", usual_quota_set)
}

async fn limits(call: Call) -> Answer {
    let member = call.member()?;
    let absolute = call.app.read(|model| {
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
    reply(200, json!({"limits": {"rate": [], "absolute": absolute}}))
}

/// A project's usage of a limited resource.
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
fn looked_at(member: &Member, project: &str) -> Result<(), Refusal> {
    if member.can_access(project) {
        Ok(())
    } else {
        Err(policy("os-quota-sets:show"))
    }
}

/// The limited resources in the caller's microversion.
fn names(version: Microversion) -> Limits {
    if version < Microversion(2, 36) {
        COMPUTE_LEGACY
    } else {
        COMPUTE
    }
}

async fn quota_set(call: Call) -> Answer {
    let project = call.part("project");
    looked_at(&call.member()?, project)?;
    let mut set = call
        .app
        .read(|model| model.quotas.body(names(call.version), project));
    set["id"] = project.into();
    reply(200, json!({ "quota_set": set }))
}

async fn usual_quota_set(call: Call) -> Answer {
    let project = call.part("project");
    looked_at(&call.member()?, project)?;
    let mut set = call.app.read(|model| model.quotas.body(COMPUTE, ""));
    set["id"] = project.into();
    reply(200, json!({ "quota_set": set }))
}

async fn change_quota_set(call: Call, body: Bytes) -> Answer {
    let project = call.part("project");
    if !call.member()?.admin {
        return Err(policy("os-quota-sets:update"));
    }
    let body = read_json(&body)?;
    let quota_set = &body["quota_set"];
    let limits = match quota_set
        .as_object()
        .map(|fields| Quotas::read(names(call.version), fields))
    {
        Some(Ok(limits)) => limits,
        Some(Err(name)) => {
            let reason = format!("Additional properties are not allowed ('{name}' was unexpected)");
            return Err(invalid("quota_set", quota_set, &reason));
        }
        None => {
            return Err(invalid(
                "quota_set",
                &body,
                "'quota_set' is a required property",
            ));
        }
    };
    let set = call.app.change(|model| {
        model.quotas.set_for(project, limits);
        model.quotas.body(names(call.version), project)
    });
    reply(200, json!({ "quota_set": set }))
}

async fn reset_quota_set(call: Call) -> Answer {
    let project = call.part("project");
    if !call.member()?.admin {
        return Err(policy("os-quota-sets:delete"));
    }
    call.app
        .change(|model| model.quotas.reset_for(COMPUTE_LEGACY, project));
    empty(202)
}

async fn quota_details(call: Call) -> Answer {
    let project = call.part("project");
    looked_at(&call.member()?, project)?;
    let mut set: Value = call.app.read(|model| {
        let mut set = model.quotas.body(COMPUTE, project);
        for (name, limit) in set.as_object_mut().into_iter().flatten() {
            let used = used(model, project, name);
            *limit = json!({"limit": limit, "in_use": used, "reserved": 0});
        }
        set
    });
    set["id"] = project.into();
    reply(200, json!({ "quota_set": set }))
}
