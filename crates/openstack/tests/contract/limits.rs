//! Quotas of a project in four services.

use openstack::{Method, Service};
use serde_json::{Value, json};

use crate::world::admin_case;

/// Path of the quotas, their key in bodies, the error type of a refusal, and the name of one quota, by service.
const LIMITS: [(Service, &str, &str, &str, &str); 4] = [
    (
        Service::BlockStorage,
        "os-quota-sets",
        "quota_set",
        "badRequest",
        "volumes",
    ),
    (
        Service::Compute,
        "os-quota-sets",
        "quota_set",
        "badRequest",
        "cores",
    ),
    (
        Service::Network,
        "quotas",
        "quota",
        "HTTPBadRequest",
        "router",
    ),
    (
        Service::LoadBalancer,
        "lbaas/quotas",
        "quota",
        "Client",
        "pool",
    ),
];

#[tokio::test]
async fn limits_of_a_project() {
    admin_case("limits", async |w| {
        let body = json!({"project": {"name": w.name, "domain_id": "default"}});
        let project = w.make(Service::Identity, "projects", body).await;
        let member = w.member().await;
        let all = LIMITS.iter();
        for (service, path, word, kind, name) in all.filter(|row| w.session.has_service(row.0)) {
            let service = *service;
            let path = format!("{path}/{}", project["id"].as_str().unwrap());
            let at = format!("/{word}/{name}");
            let usual = w.get(service, &path).await.at(&at);
            let response = w.put(service, &path, json!({*word: {*name: 3}})).await;
            w.is(&format!("{name} set"), response.at(&at), 3);
            for (what, wrong) in [
                ("less than none", json!({*name: -2})),
                ("nonsense", json!({"nonsense": 3})),
            ] {
                let response = w.put(service, &path, json!({*word: wrong})).await;
                w.refused(&format!("{name}, {what}"), &response, 400, kind);
            }
            let response = w.other(&member, service, &path, Value::Null).await;
            w.status(&format!("{name}, another looks"), &response, 403);
            let body = Some(json!({*word: {*name: 3}}));
            let response =
                crate::world::World::ask_as(&member, service, Method::PUT, &path, body, None).await;
            w.status(&format!("{name}, another sets"), &response, 403);
            let response = w.delete(service, &path).await;
            let is_reset = (200..300).contains(&response.status);
            w.is(&format!("{name} reset"), is_reset, true);
            let response = w.get(service, &path).await;
            w.is(&format!("{name} as usual"), response.at(&at), usual);
        }
    })
    .await;
}

/// A project without quotas of its own has none to delete.
#[tokio::test]
async fn limits_that_were_never_set() {
    admin_case("nolimits", async |w| {
        let body = json!({"project": {"name": w.name, "domain_id": "default"}});
        let project = w.make(Service::Identity, "projects", body).await;
        let project = project["id"].as_str().unwrap();
        let response = w
            .delete(Service::Network, &format!("quotas/{project}"))
            .await;
        w.refused("Neutron's", &response, 404, "TenantQuotaNotFound");
        if w.session.has_service(Service::LoadBalancer) {
            let path = format!("lbaas/quotas/{project}");
            w.status(
                "Octavia's",
                &w.delete(Service::LoadBalancer, &path).await,
                404,
            );
            // Octavia returns the newer names, and accepts the older ones.
            let body = json!({"quota": {"loadbalancer": 3, "healthmonitor": 4}});
            let response = w.put(Service::LoadBalancer, &path, body).await;
            w.status("older names", &response, 202);
            let response = w.get(Service::LoadBalancer, &path).await;
            w.is("balancers", response.at("/quota/load_balancer"), 3);
            w.is("monitors", response.at("/quota/health_monitor"), 4);
            w.status(
                "its end",
                &w.delete(Service::LoadBalancer, &path).await,
                202,
            );
        }
    })
    .await;
}
