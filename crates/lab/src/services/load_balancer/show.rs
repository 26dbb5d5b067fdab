//! Response bodies of Octavia: resources with the ids of their children, and the status tree of a load balancer.

use serde_json::{Value, json};

use crate::kit::record::Attributes;
use crate::services::Model;
use crate::services::load_balancer::{ProvisioningStatus, Resource, ResourceType};

/// A resource as JSON.
pub fn document(model: &Model, resource: &Resource) -> Value {
    let mut shown = Value::Object(resource.fields.clone());
    let time = |text: &str| text.trim_end_matches('Z').to_owned();
    shown["id"] = resource.id.clone().into();
    shown["project_id"] = resource.project_id.clone().into();
    shown["tenant_id"] = resource.project_id.clone().into();
    shown["provisioning_status"] = json!(resource.status);
    shown["operating_status"] = operating(model, resource).into();
    shown["created_at"] = time(&resource.created_at).into();
    shown["updated_at"] = json!(resource.updated_at.as_deref().map(time));
    let on = |part: ResourceType| -> Value {
        let all = model.children_of(&resource.id, part);
        all.map(|one| json!({"id": one.id})).collect()
    };
    match resource.part {
        ResourceType::LoadBalancer => {
            shown["listeners"] = on(ResourceType::Listener);
            shown["pools"] = on(ResourceType::Pool);
        }
        ResourceType::Listener => {
            shown["loadbalancers"] = json!([{"id": resource.parent}]);
            shown["l7policies"] = on(ResourceType::L7Policy);
        }
        ResourceType::Pool => {
            shown["loadbalancers"] = json!([{"id": resource.parent}]);
            let using = model.children_of(&resource.parent, ResourceType::Listener);
            shown["listeners"] = using
                .filter(|listener| listener.text("default_pool_id") == resource.id)
                .map(|listener| json!({"id": listener.id}))
                .collect();
            shown["members"] = on(ResourceType::Member);
            let monitor = model
                .children_of(&resource.id, ResourceType::HealthMonitor)
                .next();
            if let Some(monitor) = monitor {
                shown["healthmonitor_id"] = monitor.id.clone().into();
            }
        }
        ResourceType::HealthMonitor => shown["pools"] = json!([{"id": resource.parent}]),
        ResourceType::L7Policy => {
            shown["listener_id"] = resource.parent.clone().into();
            shown["rules"] = on(ResourceType::L7Rule);
        }
        ResourceType::Member | ResourceType::L7Rule => {}
    }
    shown
}

/// The operating status. Members of a pool without a monitor are not checked.
fn operating(model: &Model, resource: &Resource) -> &'static str {
    let made = resource.status != ProvisioningStatus::PendingCreate;
    if !made || !resource.is_on("admin_state_up") {
        return "OFFLINE";
    }
    if resource.status == ProvisioningStatus::Error {
        return "ERROR";
    }
    let watched = model
        .children_of(&resource.parent, ResourceType::HealthMonitor)
        .any(|monitor| monitor.is_on("admin_state_up"));
    match resource.part {
        ResourceType::Member if !watched => "NO_MONITOR",
        _ => "ONLINE",
    }
}

/// The status tree of a resource.
pub fn status_tree(model: &Model, resource: &Resource) -> Value {
    let mut shown = json!({
        "id": resource.id,
        "name": resource.text("name"),
        "provisioning_status": resource.status,
        "operating_status": operating(model, resource),
    });
    let on = |part: ResourceType| -> Value {
        let all = model.children_of(&resource.id, part);
        all.map(|one| status_tree(model, one)).collect()
    };
    let pool = |id: &str| model.resource(ResourceType::Pool, id).ok();
    match resource.part {
        ResourceType::LoadBalancer => shown["listeners"] = on(ResourceType::Listener),
        ResourceType::Listener => {
            let policies = model.children_of(&resource.id, ResourceType::L7Policy);
            let led_to = policies.map(|policy| policy.text("redirect_pool_id"));
            let mut ids = vec![resource.text("default_pool_id")];
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
                .children_of(&resource.id, ResourceType::HealthMonitor)
                .next();
            shown["health_monitor"] =
                monitor.map_or_else(|| json!({}), |monitor| status_tree(model, monitor));
        }
        ResourceType::Member => {
            shown["address"] = resource.text("address").into();
            shown["protocol_port"] = json!(resource.number("protocol_port"));
        }
        ResourceType::HealthMonitor => shown["type"] = resource.text("type").into(),
        ResourceType::L7Policy => {
            shown["action"] = resource.text("action").into();
            shown["rules"] = on(ResourceType::L7Rule);
        }
        ResourceType::L7Rule => shown["type"] = resource.text("type").into(),
    }
    shown
}
