//! Scaling of a group by hand, over the API.

use lab::Lab;
use serde_json::json;

use crate::{
    lab::ended,
    stack::{Stack, json, problem},
};

const GROUP: &str = "\
heat_template_version: 2021-04-16
resources:
  web:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 4
      resource: {type: OS::Neutron::Net}
  up:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: web}, adjustment_type: change_in_capacity, scaling_adjustment: 1, cooldown: 3600}
outputs:
  size: {value: {get_attr: [web, current_size]}}
";

#[tokio::test]
async fn a_group_is_planned_and_scaled_by_a_size_or_a_policy() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let request = json!({"name": "shop", "template": GROUP});
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");
    let id = started["deployment"].as_str().unwrap();
    let path = format!("/api/v1/deployments/{id}");
    let scale = format!("{path}/groups/web/scale");

    let plan = json!({"template": GROUP, "deployment": id, "groups": {"web": 3}});
    let plan = json(demo.post("/api/v1/plan", &plan).await, 200).await;
    let changes = plan["changes"].as_array().unwrap();
    let created = changes.iter().filter(|one| one["action"] == "create");
    assert_eq!(created.count(), 2, "{plan}");

    let other_plan = json!({"size": 3, "base_run": plan["base_run"], "plan_digest": "other"});
    assert_eq!(
        problem(demo.post(&scale, &other_plan).await).await,
        (409, "plan-changed".to_owned())
    );
    let request = json!({"size": 3, "base_run": plan["base_run"], "plan_digest": plan["digest"]});
    let started = json(demo.post(&scale, &request).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");
    let run = format!("/api/v1/runs/{}", started["run"].as_str().unwrap());
    let run = json(demo.get(&run).await, 200).await;
    assert_eq!(run["kind"], "update");
    assert_eq!(
        run["scaling"],
        json!({"group": "web", "from": 1, "to": 3, "cooldown_seconds": 0})
    );
    let shown = json(demo.get(&path).await, 200).await;
    let group = json!({
        "name": "web", "size": 3, "min_size": 1, "max_size": 4, "policies": [{"name": "up", "new_size": 4}],
    });
    assert_eq!(shown["groups"], json!([group]));
    assert_eq!(shown["outputs"]["size"]["value"], 3);

    let policy = json!({"policy": "up"});
    let started = json(demo.post(&scale, &policy).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");

    let refused = async |body: serde_json::Value| problem(demo.post(&scale, &body).await).await;
    let is = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(
        refused(json!({"policy": "up", "force": true})).await,
        is(409, "not-possible-now")
    );
    assert_eq!(refused(json!({"size": 5})).await, is(422, "group-size"));
    assert_eq!(refused(json!({})).await, is(422, "invalid-request"));
    assert_eq!(
        refused(json!({"size": 2, "policy": "up"})).await,
        is(422, "invalid-request")
    );
    assert_eq!(
        refused(json!({"policy": "down"})).await,
        is(404, "not-found")
    );
    let smaller = json!({"size": 2});
    let started = json(demo.post(&scale, &smaller).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");
    let stale = json!({"size": 1, "base_run": plan["base_run"]});
    assert_eq!(refused(stale).await, is(409, "deployment-changed"));

    assert_eq!(
        problem(other.post(&scale, &smaller).await).await,
        is(404, "not-found")
    );
    let missing = format!("{path}/groups/net/scale");
    assert_eq!(
        problem(demo.post(&missing, &smaller).await).await,
        is(404, "not-found")
    );
    let removal = json(demo.delete(&path).await, 202).await;
    assert_eq!(ended(&demo, &removal).await, "succeeded");
    assert_eq!(
        problem(demo.post(&scale, &smaller).await).await,
        is(409, "not-possible-now")
    );
}

#[tokio::test]
async fn a_policy_waits_for_the_end_of_its_cooldown() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let demo = stack.login("demo").await;
    let request = json!({"name": "shop", "template": GROUP});
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");
    let path = format!(
        "/api/v1/deployments/{}",
        started["deployment"].as_str().unwrap()
    );
    let scale = format!("{path}/groups/web/scale");
    let started = json(demo.post(&scale, &json!({"policy": "up"})).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");
    let group = json(demo.get(&path).await, 200).await["groups"][0].clone();
    let until = group["cooldown_until"].as_str().unwrap();
    let early = json(demo.post(&scale, &json!({"policy": "up"})).await, 409).await;
    assert_eq!(early["code"], "group-cooldown");
    assert!(early["detail"].as_str().unwrap().contains(until), "{early}");
    let forced = json!({"policy": "up", "force": true});
    let started = json(demo.post(&scale, &forced).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");
}
