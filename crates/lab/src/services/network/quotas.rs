//! Neutron v2.0: quotas of projects, and their usage.

use axum::body::Bytes;
use serde_json::{Value, json};

use crate::kit::answer::{Answer, empty, read_json, reply};
use crate::kit::refusal::Refusal;
use crate::kit::token::Member;
use crate::services::network::body::only_admin;
use crate::services::network::{COLLECTIONS, ListQuery};
use crate::services::quota::{NETWORK, Quotas};
use crate::services::{Call, Routes};

pub fn routes() -> Routes {
    Routes::below("/network/v2.0")
        .get("/quotas", all)
        .get("/quotas/{project}", show)
        .put("/quotas/{project}", update)
        .delete("/quotas/{project}", reset)
        .get("/quotas/{project}/default", defaults)
        .get("/quotas/{project}/details.json", details)
        .get("/quotas/{project}/details", details)
}

/// The quotas of projects with their own limits.
async fn all(call: Call) -> Answer {
    if !call.member()?.admin {
        return Err(only_admin("get_quota"));
    }
    let bodies = call.app.read(|model| model.quotas.bodies(NETWORK));
    reply(200, json!({ "quotas": bodies }))
}

async fn show(call: Call) -> Answer {
    let project = call.part("project");
    let project = project.trim_end_matches(".json");
    own_project(&call.member()?, project)?;
    let body = call.app.read(|model| model.quotas.body(NETWORK, project));
    reply(200, json!({ "quota": body }))
}

async fn defaults(call: Call) -> Answer {
    let project = call.part("project");
    own_project(&call.member()?, project)?;
    let body = call.app.read(|model| model.quotas.body(NETWORK, ""));
    reply(200, json!({ "quota": body }))
}

async fn update(call: Call, body: Bytes) -> Answer {
    let project = call.part("project");
    if !call.member()?.admin {
        return Err(only_admin("update_quota"));
    }
    let project = project.trim_end_matches(".json");
    let body = read_json(&body)?;
    let quota = body["quota"].as_object();
    let quota =
        quota.ok_or_else(|| Refusal::bad_request("Unable to find 'quota' in request body"))?;
    let limits = Quotas::read(NETWORK, quota)
        .map_err(|name| Refusal::bad_request(format!("Unrecognized attribute(s) '{name}'")))?;
    let body = call.app.change(|model| {
        model.quotas.set_for(project, limits);
        model.quotas.body(NETWORK, project)
    });
    reply(200, json!({ "quota": body }))
}

async fn reset(call: Call) -> Answer {
    let project = call.part("project");
    if !call.member()?.admin {
        return Err(only_admin("delete_quota"));
    }
    let project = project.trim_end_matches(".json");
    if !call
        .app
        .change(|model| model.quotas.reset_for(NETWORK, project))
    {
        let message = format!("Quota for tenant {project} could not be found.");
        return Err(Refusal::not_found("TenantQuotaNotFound", message));
    }
    empty(204)
}

async fn details(call: Call) -> Answer {
    let project = call.part("project");
    own_project(&call.member()?, project)?;
    let details = call.app.read(|model| {
        let mut details: Value = model.quotas.body(NETWORK, project);
        for (name, limit) in details.as_object_mut().into_iter().flatten() {
            let kind = COLLECTIONS.iter().find(|kind| kind.singular == name);
            let rows = kind
                .map(|kind| kind.list(model, &ListQuery::default()))
                .unwrap_or_default();
            let mine = rows.iter().filter(|row| row["project_id"] == project);
            *limit = json!({"limit": limit, "used": mine.count(), "reserved": 0});
        }
        details
    });
    reply(200, json!({ "quota": details }))
}

fn own_project(member: &Member, project: &str) -> Result<(), Refusal> {
    if member.can_access(project) || project == "tenant" {
        Ok(())
    } else {
        Err(only_admin("get_quota"))
    }
}
