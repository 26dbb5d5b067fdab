//! Response bodies of Octavia: resources with the ids of their children, and the status tree of a load balancer.

use serde_json::{Value, json};

use crate::kit::record::Attributes;
use crate::services::Model;
use crate::services::load_balancer::{Provisioning, Resource, ResourceType};

/// A resource as JSON.
pub fn document(model: &Model, piece: &Resource) -> Value {
    let mut shown = Value::Object(piece.fields.clone());
    let time = |text: &str| text.trim_end_matches('Z').to_owned();
    shown["id"] = piece.id.clone().into();
    shown["project_id"] = piece.project_id.clone().into();
    shown["tenant_id"] = piece.project_id.clone().into();
    shown["provisioning_status"] = json!(piece.status);
    shown["operating_status"] = operating(model, piece).into();
    shown["created_at"] = time(&piece.created_at).into();
    shown["updated_at"] = json!(piece.updated_at.as_deref().map(time));
    let on = |part: ResourceType| -> Value {
        let all = model.hanging_on(&piece.id, part);
        all.map(|one| json!({"id": one.id})).collect()
    };
    match piece.part {
        ResourceType::LoadBalancer => {
            shown["listeners"] = on(ResourceType::Listener);
            shown["pools"] = on(ResourceType::Pool);
        }
        ResourceType::Listener => {
            shown["loadbalancers"] = json!([{"id": piece.parent}]);
            shown["l7policies"] = on(ResourceType::L7Policy);
        }
        ResourceType::Pool => {
            shown["loadbalancers"] = json!([{"id": piece.parent}]);
            let using = model.hanging_on(&piece.parent, ResourceType::Listener);
            shown["listeners"] = using
                .filter(|listener| listener.text("default_pool_id") == piece.id)
                .map(|listener| json!({"id": listener.id}))
                .collect();
            shown["members"] = on(ResourceType::Member);
            let monitor = model
                .hanging_on(&piece.id, ResourceType::HealthMonitor)
                .next();
            if let Some(monitor) = monitor {
                shown["healthmonitor_id"] = monitor.id.clone().into();
            }
        }
        ResourceType::HealthMonitor => shown["pools"] = json!([{"id": piece.parent}]),
        ResourceType::L7Policy => {
            shown["listener_id"] = piece.parent.clone().into();
            shown["rules"] = on(ResourceType::L7Rule);
        }
        ResourceType::Member | ResourceType::L7Rule => {}
    }
    shown
}

/// The operating status. Members of a pool without a monitor are not checked.
fn operating(model: &Model, piece: &Resource) -> &'static str {
    let made = piece.status != Provisioning::PendingCreate;
    if !made || !piece.is_on("admin_state_up") {
        return "OFFLINE";
    }
    if piece.status == Provisioning::Error {
        return "ERROR";
    }
    let watched = model
        .hanging_on(&piece.parent, ResourceType::HealthMonitor)
        .any(|monitor| monitor.is_on("admin_state_up"));
    match piece.part {
        ResourceType::Member if !watched => "NO_MONITOR",
        _ => "ONLINE",
    }
}

/// The status tree of a resource.
pub fn status_tree(model: &Model, piece: &Resource) -> Value {
    let mut shown = json!({
        "id": piece.id,
        "name": piece.text("name"),
        "provisioning_status": piece.status,
        "operating_status": operating(model, piece),
    });
    let on = |part: ResourceType| -> Value {
        let all = model.hanging_on(&piece.id, part);
        all.map(|one| status_tree(model, one)).collect()
    };
    let pool = |id: &str| model.piece(ResourceType::Pool, id).ok();
    match piece.part {
        ResourceType::LoadBalancer => shown["listeners"] = on(ResourceType::Listener),
        ResourceType::Listener => {
            let policies = model.hanging_on(&piece.id, ResourceType::L7Policy);
            let led_to = policies.map(|policy| policy.text("redirect_pool_id"));
            let mut ids = vec![piece.text("default_pool_id")];
            ids.extend(led_to);
            ids.sort_unstable();
            ids.dedup();
            shown["pools"] = ids
                .into_iter()
                .filter_map(pool)
                .map(|pool| status_tree(model, pool))
                .collect();
            shown["l7policies"] = on(ResourceType::L7Policy);
        }
        ResourceType::Pool => {
            shown["members"] = on(ResourceType::Member);
            let monitor = model
                .hanging_on(&piece.id, ResourceType::HealthMonitor)
                .next();
            shown["health_monitor"] =
                monitor.map_or_else(|| json!({}), |monitor| status_tree(model, monitor));
        }
        ResourceType::Member => {
            shown["address"] = piece.text("address").into();
            shown["protocol_port"] = json!(piece.number("protocol_port"));
        }
        ResourceType::HealthMonitor => shown["type"] = piece.text("type").into(),
        ResourceType::L7Policy => {
            shown["action"] = piece.text("action").into();
            shown["rules"] = on(ResourceType::L7Rule);
        }
        ResourceType::L7Rule => shown["type"] = piece.text("type").into(),
    }
    shown
}
