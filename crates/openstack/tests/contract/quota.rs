//! What a project may not have any more.

use lab::model::network::quota::Quotas;
use lab::{Lab, LabConfig};
use openstack::{Credentials, Method, Scope, Service, Session};
use serde_json::{Value, json};

use crate::compute::{NOVA, cheapest};
use crate::network::NET;
use crate::world::{Place, Real, configured, lab_session, real_clouds, small_case, unique};

/// A project of an administrator's making.
pub struct Undo {
    admin: Session,
    user: String,
    project: String,
}

impl Undo {
    /// Both go.
    pub async fn undo(self) {
        for (kind, id) in [("users", &self.user), ("projects", &self.project)] {
            let call = self
                .admin
                .call(Service::Identity, Method::DELETE, &[kind, id]);
            call.send().await.unwrap();
        }
    }
}

/// In the lab a lab with limits; in a real cloud a new project with limits, if the clouds file has an
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
        after: Some(Undo {
            admin,
            user,
            project,
        }),
    })
}

#[tokio::test]
async fn one_more_than_allowed() {
    small_case("quota", async |w| {
        w.make(NET, "networks", json!({"network": {"name": w.name}})).await;
        let told = w.post(NET, "networks", json!({"network": {"name": w.name}})).await;
        w.refused("a network too many", &told, 409, "OverQuota");
        let project = w.session.project().unwrap().id.clone();
        let quotas = w.session.network().quotas(&project).await.unwrap();
        let networks = quotas.iter().find(|(name, _)| name == "network").unwrap().1;
        w.is("what it has of what it may", json!([networks.used, networks.limit]), json!([1, 1]));
        let (image, flavor) = cheapest(w).await;
        let server = json!({"server": {"name": w.name, "imageRef": image, "flavorRef": flavor, "networks": []}});
        let told = w.post(NOVA, "servers", server).await;
        w.refused("a server too many", &told, 403, "forbidden");
        if !w.session.has_service(Service::BlockStorage) {
            return;
        }
        let told = w.post(Service::BlockStorage, "volumes", json!({"volume": {"size": 3}})).await;
        w.refused("GiB too many", &told, 413, "overLimit");
    })
    .await;
}
