//! Snapshots of a deployment, over the API.

use lab::Lab;
use serde_json::{Value, json};

use crate::{
    lab::ended,
    stack::{Stack, json, problem},
};

const TEMPLATE: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.7.0.0/24}}
  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
";

#[tokio::test]
async fn a_snapshot_is_taken_restored_and_deleted_by_members_of_the_project() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let stack = stack.restart_with(&["--deployment-snapshots=1"]).await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let request = json!({"name": "shop", "template": TEMPLATE});
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");
    let path = format!(
        "/api/v1/deployments/{}",
        started["deployment"].as_str().unwrap()
    );
    let list = format!("{path}/snapshots");
    let (named, nothing) = (json!({"name": "before"}), json!({}));
    let not_found = (404, "not-found".to_owned());
    let refused = (409, "not-possible-now".to_owned());

    let scope = json(demo.get(&format!("{list}/scope")).await, 200).await;
    assert_eq!(scope, json!({"kept": ["disk", "web"], "left_alone": []}));
    for name in ["", " ", "two\nlines", &"x".repeat(81)] {
        let wrong = demo.post(&list, &json!({"name": name})).await;
        let invalid = (422, "invalid-request".to_owned());
        assert_eq!(problem(wrong).await, invalid, "{name:?}");
    }
    let taken = json(demo.post(&list, &named).await, 202).await;
    assert_eq!(ended(&demo, &taken).await, "succeeded");
    let snapshots = json(demo.get(&list).await, 200).await;
    let snapshot = &snapshots[0];
    assert_eq!(snapshot["id"], taken["run"]);
    assert_eq!(snapshot["name"], "before");
    assert_eq!(snapshot["is_being_taken"], false);
    for (index, resource) in ["disk", "web"].into_iter().enumerate() {
        let part = &snapshot["parts"][index];
        assert_eq!(part["resource"], resource);
        assert_eq!(part["is_restorable"], true);
    }
    assert_eq!(snapshot["left_alone"], json!([]));
    assert_eq!(problem(demo.post(&list, &named).await).await, refused);

    let one = format!("{list}/{}", taken["run"].as_str().unwrap());
    let restore = format!("{one}/restore");
    let foreign = other.post(&restore, &nothing).await;
    assert_eq!(problem(foreign).await, not_found);
    assert_eq!(problem(other.delete(&one).await).await, not_found);
    let missing = demo.post(&format!("{list}/none/restore"), &nothing).await;
    assert_eq!(problem(missing).await, not_found);

    let restored = json(demo.post(&restore, &nothing).await, 202).await;
    assert_eq!(ended(&demo, &restored).await, "succeeded");
    let run = format!("/api/v1/runs/{}", restored["run"].as_str().unwrap());
    assert_eq!(json(demo.get(&run).await, 200).await["kind"], "restore");
    let shown = json(demo.get(&path).await, 200).await;
    assert_eq!(
        (&shown["state"], &shown["last_run"]),
        (&json!("deployed"), &started["run"])
    );

    assert_eq!(demo.delete(&one).await.status(), 204);
    assert_eq!(problem(demo.delete(&one).await).await, not_found);
    assert_eq!(json(demo.get(&list).await, 200).await, json!([]));

    // An undeployment deletes those that are left.
    let taken = json(demo.post(&list, &named).await, 202).await;
    assert_eq!(ended(&demo, &taken).await, "succeeded");
    let removal = json(demo.delete(&path).await, 202).await;
    assert_eq!(ended(&demo, &removal).await, "succeeded");
    let left: Vec<Value> = serde_json::from_value(json(demo.get(&list).await, 200).await).unwrap();
    assert_eq!(left, Vec::<Value>::new());
    assert_eq!(
        lab.leftovers().remove("demo").unwrap_or_default(),
        Vec::<String>::new()
    );
}
