//! Octavia: a load balancer with all its parts, on clouds with the service.

use openstack::Service;
use serde_json::json;

use crate::network::network;
use crate::world::{World, case};

const LB: Service = Service::LoadBalancer;

async fn settled(w: &World, id: &str) {
    w.until(LB, &format!("lbaas/loadbalancers/{id}"), |response| {
        response.text("/loadbalancer/provisioning_status") == "ACTIVE"
    })
    .await;
}

#[tokio::test]
async fn a_load_balancer() {
    case("balance", &[LB], async |w| {
        let (_, subnet) = network(w, "10.81.0.0/24").await;
        let body = json!({"loadbalancer": {"name": w.name, "vip_subnet_id": subnet, "description": w.name}});
        let made = w.make(LB, "lbaas/loadbalancers", body).await;
        let id = made["id"].as_str().unwrap();
        w.is("it is being made", made["provisioning_status"].clone(), "PENDING_CREATE");
        w.has("a load balancer", &made, &["id", "name", "description", "provisioning_status", "operating_status", "vip_address", "vip_port_id", "vip_subnet_id", "vip_network_id", "project_id", "tags", "listeners", "pools"]);
        settled(w, id).await;
        let body = json!({"listener": {"name": w.name, "loadbalancer_id": id, "protocol": "HTTP", "protocol_port": 80}});
        let listener = w.make(LB, "lbaas/listeners", body.clone()).await;
        settled(w, id).await;
        let response = w.post(LB, "lbaas/listeners", body).await;
        w.status("a second on the same port", &response, 409);
        let body = json!({"pool": {"name": w.name, "listener_id": listener["id"], "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}});
        let pool = w.make(LB, "lbaas/pools", body).await;
        settled(w, id).await;
        let members = format!("lbaas/pools/{}/members", pool["id"].as_str().unwrap());
        w.make(LB, &members, json!({"member": {"address": "10.81.0.50", "protocol_port": 80}})).await;
        settled(w, id).await;
        let body = json!({"healthmonitor": {"pool_id": pool["id"], "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 3}});
        w.make(LB, "lbaas/healthmonitors", body).await;
        settled(w, id).await;
        let response = w.delete(LB, &format!("lbaas/loadbalancers/{id}")).await;
        w.refused("one with a listener goes not", &response, 400, "Client");
        let response = w.get(LB, &format!("lbaas/loadbalancers?description={}", w.name)).await;
        w.is("the filter by description", response.list("loadbalancers").len(), 1);
    })
    .await;
}
