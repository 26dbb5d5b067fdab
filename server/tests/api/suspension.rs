//! Suspension and resumption of a deployment, over the API.

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
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
";

#[tokio::test]
async fn a_deployment_is_suspended_resumed_and_undeployed_while_suspended() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let request = json!({"name": "shop", "template": TEMPLATE});
    let started = json(demo.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&demo, &started).await, "succeeded");
    let path = format!(
        "/api/v1/deployments/{}",
        started["deployment"].as_str().unwrap()
    );
    let (suspend, resume) = (format!("{path}/suspend"), format!("{path}/resume"));
    let nothing = json!({});
    let not_found = (404, "not-found".to_owned());
    assert_eq!(
        problem(other.post(&suspend, &nothing).await).await,
        not_found
    );
    let refused = (409, "not-possible-now".to_owned());
    assert_eq!(problem(demo.post(&resume, &nothing).await).await, refused);

    let run = started["run"].as_str().unwrap();
    let seen = format!("{suspend}?base_run={run}");
    let suspended = demo.post(&seen, &nothing);
    let suspended = json(suspended.await, 202).await;
    assert_eq!(ended(&demo, &suspended).await, "succeeded");
    let run = format!("/api/v1/runs/{}", suspended["run"].as_str().unwrap());
    assert_eq!(json(demo.get(&run).await, 200).await["kind"], "suspend");
    let shown = json(demo.get(&path).await, 200).await;
    assert_eq!(shown["state"], "suspended");
    let states = shown["resources"].as_array().unwrap().iter();
    let suspended: Vec<&Value> = states.filter(|one| one["state"] == "suspended").collect();
    assert_eq!(suspended.len(), 1);
    assert_eq!(suspended[0]["name"], "web");
    let servers = json(demo.get(&format!("{path}/servers")).await, 200).await;
    assert_eq!(servers[0]["status"], "SUSPENDED");

    // What is seen before counts for nothing any more, and changes wait for the resumption.
    let stale = format!("{resume}?{}", seen.split_once('?').unwrap().1);
    let stale = demo.post(&stale, &nothing);
    assert_eq!(
        problem(stale.await).await,
        (409, "deployment-changed".to_owned())
    );
    assert_eq!(problem(demo.put(&path, &request).await).await, refused);
    let power = format!("{path}/servers/web/power");
    let power = demo.post(&power, &json!({"power": "start"})).await;
    assert_eq!(problem(power).await, refused);

    let resumed = json(demo.post(&resume, &nothing).await, 202).await;
    assert_eq!(ended(&demo, &resumed).await, "succeeded");
    assert_eq!(json(demo.get(&path).await, 200).await["state"], "deployed");

    let again = json(demo.post(&suspend, &nothing).await, 202).await;
    assert_eq!(ended(&demo, &again).await, "succeeded");
    let removal = json(demo.delete(&path).await, 202).await;
    assert_eq!(ended(&demo, &removal).await, "succeeded");
    assert_eq!(
        lab.leftovers().remove("demo").unwrap_or_default(),
        Vec::<String>::new()
    );
}
