//! Refusals because of exhausted quotas.

use lab::services::quota::Quotas;
use lab::{Lab, LabConfig};
use openstack::{Credentials, Method, Scope, Service, Session};
use serde_json::{Value, json};

use crate::compute::{NOVA, cheapest};
use crate::network::NET;
use crate::world::{Place, Real, case, configured, lab_session, real_clouds, small_case, unique};

/// A project and its user, created by an administrator.
pub struct Cleanup {
    admin: Session,
    user: String,
    project: String,
}

impl Cleanup {
    /// Deletes both.
    pub async fn undo(self) {
        for (kind, id) in [("users", &self.user), ("projects", &self.project)] {
            let call = self
                .admin
                .call(Service::Identity, Method::DELETE, &[kind, id]);
            call.send().await.unwrap();
        }
    }
}

/// A project with small quotas. In the lab, a new lab; in a real cloud, a new project, if the clouds file has an
/// administrator.
pub async fn small_project(name: &str) -> Option<Place> {
    let Some(Real {
        clouds,
        cloud,
        admin,
    }) = real_clouds()
    else {
        let limits = json!({"limits": {"network": 1, "instances": 0, "gigabytes": 2}});
        let quotas: Quotas = serde_json::from_value(limits).unwrap();
        let lab = Lab::start(LabConfig {
            quotas,
            ..LabConfig::memory()
        })
        .await
        .unwrap();
        let session = lab_session(&lab, "demo").await;
        return Some(Place {
            session,
            lab: Some(lab),
            after: None,
        });
    };
    let admin = configured(&clouds, &admin?).await;
    let name = unique(name);
    let make = async |path: &[&str], body: Value| {
        let call = admin.call(Service::Identity, Method::POST, path);
        let answer: Value = call.json(&body).send().await.unwrap().json().unwrap();
        let (_, made) = answer.as_object().unwrap().iter().next().unwrap();
        made["id"].as_str().unwrap().to_owned()
    };
    let project = make(
        &["projects"],
        json!({"project": {"name": name, "domain_id": "default"}}),
    )
    .await;
    let user = make(
        &["users"],
        json!({"user": {"name": name, "domain_id": "default", "password": name}}),
    )
    .await;
    let call = admin
        .call(Service::Identity, Method::GET, &["roles"])
        .query([("name", "member")]);
    let roles: Value = call.send().await.unwrap().json().unwrap();
    let role = roles["roles"][0]["id"].as_str().unwrap();
    let path = ["projects", &project, "users", &user, "roles", role];
    admin
        .call(Service::Identity, Method::PUT, &path)
        .send()
        .await
        .unwrap();
    let limit = async |service: Service, path: &[&str], body: Value| {
        admin
            .call(service, Method::PUT, path)
            .json(&body)
            .send()
            .await
            .unwrap();
    };
    limit(NET, &["quotas", &project], json!({"quota": {"network": 1}})).await;
    limit(
        NOVA,
        &["os-quota-sets", &project],
        json!({"quota_set": {"instances": 0}}),
    )
    .await;
    limit(
        Service::BlockStorage,
        &["os-quota-sets", &project],
        json!({"quota_set": {"gigabytes": 2}}),
    )
    .await;
    let cloud = clouds.get(&cloud).unwrap();
    let session = Session::login(
        cloud,
        &Credentials::password(&name, "Default", name.as_str()),
        Some(&Scope::project(&name, "Default")),
    )
    .await
    .unwrap();
    Some(Place {
        session,
        lab: None,
        after: Some(Cleanup {
            admin,
            user,
            project,
        }),
    })
}

#[tokio::test]
async fn a_creation_over_the_quota_is_refused() {
    small_case("quota", async |w| {
        w.make(NET, "networks", json!({"network": {"name": w.name}})).await;
        let response = w.post(NET, "networks", json!({"network": {"name": w.name}})).await;
        w.refused("a network too many", &response, 409, "OverQuota");
        let project = w.session.project().unwrap().id.clone();
        let used = async |service: Service, name: &str| {
            let usage = w.session.quota_sets(service).usage(&project).await.unwrap();
            json!([usage[name].used, usage[name].limit])
        };
        w.is("networks in use and limit", used(NET, "network").await, json!([1, 1]));
        w.is("servers in use and limit", used(NOVA, "instances").await, json!([0, 0]));
        let (image, flavor) = cheapest(w).await;
        let server = json!({"server": {"name": w.name, "imageRef": image, "flavorRef": flavor, "networks": []}});
        let response = w.post(NOVA, "servers", server).await;
        w.refused("a server too many", &response, 403, "forbidden");
        if !w.session.has_service(Service::BlockStorage) {
            return;
        }
        let response = w.post(Service::BlockStorage, "volumes", json!({"volume": {"size": 3}})).await;
        w.refused("GiB too many", &response, 413, "overLimit");
        w.is("GiB in use and limit", used(Service::BlockStorage, "gigabytes").await, json!([0, 2]));
    })
    .await;
}

/// Limit and usage of quotas, as a member of the project sees them; the plan is checked against them.
#[tokio::test]
async fn limit_and_use() {
    case("usage", &[Service::LoadBalancer], async |w| {
        let project = w.session.project().unwrap().id.clone();
        w.make(NET, "networks", json!({"network": {"name": w.name}}))
            .await;
        for (service, names) in [
            (
                NOVA,
                &["instances", "cores", "ram", "key_pairs", "server_groups"][..],
            ),
            (
                NET,
                &[
                    "network",
                    "subnet",
                    "port",
                    "router",
                    "floatingip",
                    "security_group",
                    "security_group_rule",
                ],
            ),
            (
                Service::BlockStorage,
                &["volumes", "gigabytes", "snapshots"],
            ),
            (
                Service::LoadBalancer,
                &[
                    "load_balancer",
                    "listener",
                    "pool",
                    "health_monitor",
                    "l7policy",
                ],
            ),
        ] {
            if !w.session.has_service(service) {
                continue;
            }
            let usage = w.session.quota_sets(service).usage(&project).await.unwrap();
            for name in names {
                let is_told = usage.get(*name).is_some_and(|quota| quota.limit >= -1);
                w.is(&format!("the quota `{name}`"), is_told, true);
            }
            if service == NET {
                w.is("a network is in use", usage["network"].used > 0, true);
            }
        }
    })
    .await;
}
