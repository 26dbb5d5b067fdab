//! Nova v2.1: the actions that add a security group to a server and remove one.

use axum::response::Response;
use serde_json::Value;

use crate::kit::answer::empty;
use crate::kit::refusal::Refusal;
use crate::services::Call;
use crate::services::compute::on_server::owned;
use crate::services::compute::server_changes::Membership;

/// The actions `addSecurityGroup` and `removeSecurityGroup`: all ports of a server change.
pub async fn regroup(
    call: &Call,
    details: &Value,
    membership: Membership,
) -> Result<Response, Refusal> {
    let member = call.member()?;
    let name = details["name"]
        .as_str()
        .filter(|name| !name.trim().is_empty());
    let name = name.ok_or_else(|| Refusal::bad_request("Missing parameter dict"))?;
    call.app
        .change_and_apply(|model| {
            let server = owned(model, &member, call.id())?.clone();
            model.change_server_groups(&server, name, membership)
        })
        .await?;
    empty(202)
}
