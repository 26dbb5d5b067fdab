//! Neutron's extensions that drivers use: trunks, QoS policies, subnet pools; bulk creation.

use openstack::{Method, Service};
use serde_json::{Value, json};

use crate::network::{NET, network};
use crate::world::{World, case, ids};

const GONE: &str = "00000000-0000-4000-8000-000000000000";

/// Whether the cloud has an extension. Cases without it are skipped.
pub async fn has_extension(w: &World, alias: &str) -> bool {
    let response = w.get(NET, &format!("extensions/{alias}")).await;
    if response.status != 200 {
        eprintln!("{}: skipped, the cloud has no extension {alias}", w.name);
    }
    response.status == 200
}

fn id_of(made: &Value) -> String {
    made["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn trunks() {
    case("trunks", &[], async |w| {
        if !has_extension(w, "trunk").await {
            return;
        }
        let (net, _) = network(w, "10.65.0.0/24").await;
        let port = json!({"port": {"network_id": net, "name": w.name}});
        let parent = id_of(&w.make(NET, "ports", port.clone()).await);
        let child = id_of(&w.make(NET, "ports", port).await);
        let body = json!({"trunk": {"name": w.name, "port_id": parent, "description": w.name}});
        let made = w.make(NET, "trunks", body.clone()).await;
        let id = id_of(&made);
        w.has(
            "a trunk",
            &made,
            &[
                "id", "name", "description", "port_id", "sub_ports", "status", "admin_state_up", "project_id", "tags",
                "created_at", "updated_at", "revision_number",
            ],
        );
        let response = w.post(NET, "trunks", body).await;
        w.refused("a second trunk on the port", &response, 409, "ParentPortInUse");
        let sub = json!({"sub_ports": [{"port_id": child, "segmentation_type": "vlan", "segmentation_id": 101}]});
        let response = w.put(NET, &format!("trunks/{id}/add_subports"), sub.clone()).await;
        w.status("a port in the trunk", &response, 200);
        w.is("its tag", response.at("/sub_ports/0/segmentation_id"), 101);
        let response = w.put(NET, &format!("trunks/{id}/add_subports"), sub).await;
        w.status("the same port twice", &response, 409);
        let response = w.delete(NET, &format!("ports/{child}")).await;
        w.refused("a port in a trunk goes not", &response, 409, "PortInUseAsSubPort");
        let response = w.delete(NET, &format!("ports/{parent}")).await;
        w.refused("a trunk's own port goes not", &response, 409, "PortInUseAsTrunkParent");
        let response = w.get(NET, &format!("trunks?description={}", w.name)).await;
        w.is("the filter by description", ids(&response.list("trunks")), json!([id]));
        let gone = json!({"sub_ports": [{"port_id": child}]});
        let response = w.put(NET, &format!("trunks/{id}/remove_subports"), gone.clone()).await;
        w.status("out of the trunk", &response, 200);
        let response = w.put(NET, &format!("trunks/{id}/remove_subports"), gone).await;
        w.refused("out of it twice", &response, 404, "SubPortNotFound");
        let response = w.delete(NET, &format!("trunks/{id}")).await;
        w.status("DELETE of a trunk", &response, 204);
        let response = w.delete(NET, &format!("trunks/{id}")).await;
        w.refused("a trunk that is gone", &response, 404, "TrunkNotFound");
    })
    .await;
}

#[tokio::test]
async fn shared_qos_policies_are_visible_to_all() {
    case("qos", &[], async |w| {
        if !has_extension(w, "qos").await {
            return;
        }
        let response = w.get(NET, "qos/policies").await;
        w.status("GET qos/policies", &response, 200);
        w.is("a list", response.body["policies"].is_array(), true);
        let response = w.get(NET, &format!("qos/policies/{GONE}")).await;
        w.refused(
            "a policy that is not there",
            &response,
            404,
            "QosPolicyNotFound",
        );
        let (net, _) = network(w, "10.66.0.0/24").await;
        let body = json!({"port": {"network_id": net, "qos_policy_id": GONE}});
        let response = w.post(NET, "ports", body).await;
        w.refused(
            "a port with a policy that is not there",
            &response,
            404,
            "QosPolicyNotFound",
        );
    })
    .await;
}

#[tokio::test]
async fn subnet_pools() {
    case("pools", &[], async |w| {
        let body = json!({"subnetpool": {"name": w.name, "prefixes": ["10.140.0.0/20"], "default_prefixlen": 24,
            "description": w.name}});
        let made = w.make(NET, "subnetpools", body).await;
        let id = id_of(&made);
        w.has(
            "a subnet pool",
            &made,
            &[
                "id", "name", "description", "prefixes", "default_prefixlen", "min_prefixlen", "max_prefixlen",
                "ip_version", "shared", "is_default", "address_scope_id", "default_quota", "project_id", "tags",
                "created_at", "updated_at", "revision_number",
            ],
        );
        let net = w.make(NET, "networks", json!({"network": {"name": w.name}})).await;
        let body = json!({"subnet": {"network_id": net["id"], "subnetpool_id": id, "ip_version": 4}});
        let subnet = w.make(NET, "subnets", body).await;
        let cidr = subnet["cidr"].as_str().unwrap_or_default();
        w.is("a subnet is cut from it", cidr.starts_with("10.140.") && cidr.ends_with("/24"), true);
        w.is("and says so", subnet["subnetpool_id"].clone(), id.clone());
        let body = json!({"subnet": {"network_id": net["id"], "subnetpool_id": id, "ip_version": 4, "prefixlen": 19}});
        let response = w.post(NET, "subnets", body).await;
        w.refused("more than it has", &response, 500, "SubnetAllocationError");
        let response = w.delete(NET, &format!("subnetpools/{id}")).await;
        w.status("a pool in use goes not", &response, 400);
        let response = w.get(NET, &format!("subnetpools?description={}", w.name)).await;
        w.is("the filter by description", ids(&response.list("subnetpools")), json!([id]));
        let response = w.put(NET, &format!("subnetpools/{id}"), json!({"subnetpool": {"prefixes": ["10.141.0.0/24"]}})).await;
        w.status("less than it had", &response, 400);
    })
    .await;
}

#[tokio::test]
async fn many_at_once() {
    case("bulk", &[], async |w| {
        let (net, _) = network(w, "10.67.0.0/24").await;
        let port = |name: String| json!({"network_id": net, "name": name});
        let names = [format!("{}-a", w.name), format!("{}-b", w.name)];
        let body = json!({"ports": names.clone().map(port)});
        let response = w.post(NET, "ports", body).await;
        w.status("POST of two ports", &response, 201);
        let ports = response.list("ports");
        w.is("two", ports.len(), 2);
        for port in &ports {
            w.remember(NET, &format!("ports/{}", id_of(port)));
        }
        // Bulk creation is atomic.
        let body = json!({"ports": [port(w.name.clone()), {"network_id": GONE}]});
        let response = w.post(NET, "ports", body).await;
        w.refused("one of them cannot be", &response, 404, "NetworkNotFound");
        let response = w
            .get(NET, &format!("ports?network_id={net}&name={}", w.name))
            .await;
        w.is("then none is", response.list("ports").len(), 0);
        let query: Vec<String> = ports
            .iter()
            .map(|port| format!("id={}", id_of(port)))
            .collect();
        let response = w
            .get(
                NET,
                &format!("ports?{}&fields=id&fields=status", query.join("&")),
            )
            .await;
        let found = response.list("ports");
        w.is("looked at together", found.len(), 2);
        w.is(
            "with these fields alone",
            found[0].as_object().map(|one| one.len()),
            2,
        );
    })
    .await;
}

#[tokio::test]
async fn errors_have_a_body() {
    case("errors", &[], async |w| {
        let response = w
            .ask(
                NET,
                Method::POST,
                "networks",
                Some(json!({"network": {"nonsense": 1}})),
                None,
            )
            .await;
        w.refused(
            "a field that there is not",
            &response,
            400,
            "HTTPBadRequest",
        );
        let response = w
            .ask(NET, Method::POST, "networks", Some(json!({})), None)
            .await;
        w.status("no body to speak of", &response, 400);
        let response = w.get(Service::Network, "nonsense").await;
        w.status("a collection that there is not", &response, 404);
    })
    .await;
}
