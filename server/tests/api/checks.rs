//! Checks and repairs over the API.

use lab::Lab;
use openstack::{CloudConfig, Credentials, Scope, Session, network::Network};
use serde_json::json;

use crate::{
    lab::ended,
    stack::{Stack, json, problem},
};

const NETS: &str = "\
heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  back: {type: OS::Neutron::Net}
";

/// A session of `demo` at the cloud itself.
pub async fn session(auth_url: &str) -> Session {
    let cloud = CloudConfig::new("lab", auth_url);
    let credentials = Credentials::password("demo", "Default", "demo");
    let scope = Scope::project("demo", "Default");
    let session = Session::login(&cloud, &credentials, Some(&scope));
    session.await.unwrap()
}

#[tokio::test]
async fn a_network_that_is_gone_is_found_and_created_again_by_its_project_alone() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let request = json!({"name": "shop", "template": NETS});
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");
    let id = started["deployment"].as_str().unwrap();
    let path = format!("/api/v1/deployments/{id}");
    let (check, repair) = (format!("{path}/check"), format!("{path}/repair"));
    let nothing = json!({});

    // Nothing to repair is an answer that says what to do.
    let early = problem(demo.post(&repair, &json!({"check": "x"})).await).await;
    assert_eq!(early, (409, "not-possible-now".to_owned()));
    let whole = json(demo.post(&check, &nothing).await, 200).await;
    assert_eq!(
        (&whole["checked"], &whole["findings"]),
        (&json!(2), &json!([]))
    );

    let shown = json(demo.get(&path).await, 200).await;
    let front = shown["resources"].as_array().unwrap();
    let front = front.iter().find(|one| one["name"] == "front").unwrap();
    let front = front["physical_id"].as_str().unwrap();
    let session = session(&lab.auth_url()).await;
    session.network().delete::<Network>(front).await.unwrap();

    for path in [&check, &repair] {
        let refused = problem(other.post(path, &json!({"check": "x"})).await).await;
        assert_eq!(refused, (404, "not-found".to_owned()));
    }
    let found = json(demo.post(&check, &nothing).await, 200).await;
    let gone = json!([{"resource": "front", "type": "OS::Neutron::Net", "kind": "gone"}]);
    assert_eq!(found["findings"], gone);
    let shown = json(demo.get(&path).await, 200).await;
    assert_eq!(shown["check"], found, "it is kept with the deployment");
    let listed = json(demo.get("/api/v1/deployments").await, 200).await;
    let summary = json!({"time": found["time"], "findings": 1, "worst": "gone"});
    assert_eq!(listed[0]["summary"]["check"], summary);
    assert_eq!(listed[0].get("check"), None, "the list has no findings");

    let plan = json!({"template": NETS, "deployment": id, "repair": true});
    let plan = json(demo.post("/api/v1/plan", &plan).await, 200).await;
    let changes = plan["changes"].as_array().unwrap().iter();
    let changes: Vec<_> = changes.filter(|one| one["action"] != "none").collect();
    assert_eq!(changes.len(), 1, "{plan}");
    assert_eq!(
        changes[0]["because"],
        "it is gone from the cloud: it is created again"
    );

    let other_plan = json!({"check": found["id"], "plan_digest": "other"});
    assert_eq!(
        problem(demo.post(&repair, &other_plan).await).await,
        (409, "plan-changed".to_owned())
    );
    let request = json!({"check": found["id"], "plan_digest": plan["digest"]});
    let started = json(demo.post(&repair, &request).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");
    let listed = json(demo.get("/api/v1/deployments").await, 200).await;
    assert_eq!(listed[0]["summary"].get("check"), None, "it is outdated");
    let again = problem(demo.post(&repair, &request).await).await;
    assert_eq!(again, (409, "deployment-changed".to_owned()));
    let whole = json(demo.post(&check, &nothing).await, 200).await;
    assert_eq!(whole["findings"], json!([]));
}
