//! What was reviewed is what is deployed and recorded: the version of a design, and the changes of its plan.

use lab::{CallFault, Fault};
use serde_json::{Value, json};

use crate::{
    catalog::{item, upload},
    lab::{ended, start},
    stack::{Client, json, problem},
};

const ONE: &str =
    "heat_template_version: 2021-04-16\nresources:\n  net: {type: OS::Neutron::Net}\n";

/// A network with a secret name.
const HIDDEN_NAME: &str = "\
heat_template_version: 2021-04-16
parameters:
  code: {type: string, hidden: true}
resources:
  net: {type: OS::Neutron::Net, properties: {name: {get_param: code}}}
";

/// A text with one more network.
fn with(name: &str) -> String {
    format!("{ONE}  {name}: {{type: OS::Neutron::Net}}\n")
}

fn layout(x: f64) -> Value {
    json!({"nodes": {"net": {"x": x, "y": 0.0}}})
}

/// Starts a deployment and waits for its end. The content that its run keeps.
async fn deployed(browser: &Client, request: &Value) -> Value {
    let started = json(browser.post("/api/v1/deployments", request).await, 202).await;
    assert_eq!(ended(browser, &started).await, "succeeded");
    let path = format!("/api/v1/runs/{}/content", started["run"].as_str().unwrap());
    json(browser.get(&path).await, 200).await
}

#[tokio::test]
async fn a_run_is_recorded_with_the_version_that_was_reviewed() {
    let (_lab, _stack, browser) = start().await;
    let first = json!({"name": "grows", "template": ONE, "layout": layout(8.0)});
    let design = json(browser.post("/api/v1/designs", &first).await, 201).await;
    let path = format!("/api/v1/designs/{}", design["id"].as_str().unwrap());
    // Somebody saves between plan and Deploy.
    let next = json!({"name": "grows", "template": with("more"), "layout": layout(800.0)});
    json(browser.put(&path, &next).await, 200).await;

    let reviewed = json!({
        "name": "reviewed", "design": design["id"], "design_version": 1, "template": ONE,
    });
    let content = deployed(&browser, &reviewed).await;
    assert_eq!(content["template"], ONE);
    assert_eq!(content["design"], design["id"]);
    assert_eq!(content["design_version"], 1);
    assert_eq!(content["layout"], layout(8.0));

    let by_number = json!({"name": "by-number", "design": design["id"], "design_version": 1});
    let content = deployed(&browser, &by_number).await;
    assert_eq!(content["template"], ONE);
    assert_eq!(content["design_version"], 1);

    let newest = json!({"name": "newest", "design": design["id"]});
    let content = deployed(&browser, &newest).await;
    assert_eq!(content["template"], with("more"));
    assert_eq!(content["design_version"], 2);
    assert_eq!(content["layout"], layout(800.0));
}

#[tokio::test]
async fn a_text_that_is_no_stored_version_claims_none() {
    let (_lab, _stack, browser) = start().await;
    let first = json!({"name": "grows", "template": ONE});
    let design = json(browser.post("/api/v1/designs", &first).await, 201).await;
    for (name, version) in [
        ("without", Value::Null),
        ("first", json!(1)),
        ("gone", json!(7)),
    ] {
        let edited = json!({
            "name": name, "design": design["id"], "design_version": version, "template": with(name),
        });
        let content = deployed(&browser, &edited).await;
        assert_eq!(content["template"], with(name));
        assert_eq!(content["design"], design["id"]);
        assert_eq!(content["design_version"], Value::Null, "{name}");
    }
    let missing = json!({"name": "missing", "design": design["id"], "design_version": 7});
    assert_eq!(
        problem(browser.post("/api/v1/deployments", &missing).await).await,
        (404, "not-found".into())
    );
}

#[tokio::test]
async fn a_plan_that_was_reviewed_is_deployed_or_refused() {
    let (_lab, _stack, browser) = start().await;
    let plan = async |request: &Value| {
        json(browser.post("/api/v1/plan", request).await, 200).await["digest"].clone()
    };
    let reviewed = plan(&json!({"template": ONE})).await;
    assert!(reviewed.is_string());
    assert_eq!(reviewed, plan(&json!({"template": ONE})).await);
    let refused = (409, "plan-changed".to_owned());

    let mut request = json!({"name": "shop", "template": with("more"), "plan_digest": reviewed});
    let answer = browser.post("/api/v1/deployments", &request).await;
    assert_eq!(problem(answer).await, refused);
    let listed = json(browser.get("/api/v1/deployments").await, 200).await;
    assert_eq!(listed, json!([]), "nothing was started");
    request["template"] = json!(ONE);
    let started = json(browser.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&browser, &started).await, "succeeded");

    let path = format!(
        "/api/v1/deployments/{}",
        started["deployment"].as_str().unwrap()
    );
    let update = json!({"template": with("more"), "deployment": started["deployment"]});
    let reviewed = plan(&update).await;
    let mut request = json!({"name": "shop", "template": with("other"), "plan_digest": reviewed});
    assert_eq!(problem(browser.put(&path, &request).await).await, refused);
    request["template"] = json!(with("more"));
    let updating = json(browser.put(&path, &request).await, 202).await;
    assert_eq!(ended(&browser, &updating).await, "succeeded");

    // Back to the content of the first run.
    let back = json!({"template": ONE, "files": {}, "environments": [], "deployment": started["deployment"]});
    let reviewed = plan(&back).await;
    let mut request = json!({"name": "shop", "run": started["run"], "plan_digest": "other"});
    assert_eq!(problem(browser.put(&path, &request).await).await, refused);
    request["plan_digest"] = reviewed;
    let returning = json(browser.put(&path, &request).await, 202).await;
    assert_eq!(ended(&browser, &returning).await, "succeeded");
    let run = format!("/api/v1/runs/{}", returning["run"].as_str().unwrap());
    let run = json(browser.get(&run).await, 200).await;
    assert_eq!(
        (&run["kind"], &run["rolls_back"]),
        (&json!("update"), &json!(true))
    );
}

#[tokio::test]
async fn a_run_keeps_its_plan_whatever_comes_after_it() {
    let (_lab, _stack, browser) = start().await;
    let request =
        json!({"name": "shop", "template": HIDDEN_NAME, "parameters": {"code": "s3cr3t-1"}});
    let started = json(browser.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&browser, &started).await, "succeeded");
    let path = format!(
        "/api/v1/deployments/{}",
        started["deployment"].as_str().unwrap()
    );
    let request = json!({"name": "", "template": HIDDEN_NAME, "parameters": {"code": "s3cr3t-2"}});
    let updating = json(browser.put(&path, &request).await, 202).await;
    assert_eq!(ended(&browser, &updating).await, "succeeded");
    let removing = json(browser.delete(&path).await, 202).await;
    assert_eq!(ended(&browser, &removing).await, "succeeded");

    for (run, action) in [
        (&started, "create"),
        (&updating, "update"),
        (&removing, "delete"),
    ] {
        let path = format!("/api/v1/runs/{}/plan", run["run"].as_str().unwrap());
        let plan = json(browser.get(&path).await, 200).await;
        let changes = plan["changes"].as_array().unwrap();
        assert_eq!(changes.len(), 1, "{plan}");
        assert_eq!(
            (&changes[0]["resource"], &changes[0]["action"]),
            (&json!("net"), &json!(action))
        );
        assert!(!plan["workflow"]["steps"].as_array().unwrap().is_empty());
        assert!(!plan.to_string().contains("s3cr3t"), "{plan}");
        if action == "update" {
            assert!(changes[0]["because"].is_string(), "{plan}");
        }
    }
}

#[tokio::test]
async fn a_roll_back_is_planned_and_then_started_or_refused() {
    let (lab, stack, browser) = start().await;
    let request =
        json!({"name": "shop", "template": HIDDEN_NAME, "parameters": {"code": "s3cr3t-1"}});
    let started = json(browser.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&browser, &started).await, "succeeded");
    let path = format!(
        "/api/v1/deployments/{}",
        started["deployment"].as_str().unwrap()
    );
    let roll_back = format!("{path}/rollback");
    let refused = (409, "not-possible-now".to_owned());
    assert_eq!(problem(browser.get(&roll_back).await).await, refused);

    // The network is made, its subnet is not.
    lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        path: Some("/v2.0/subnets".into()),
        status: Some(400),
        ..CallFault::default()
    }));
    let template = format!(
        "{HIDDEN_NAME}  side: {{type: OS::Neutron::Net}}\n  back: {{type: OS::Neutron::Subnet, properties: {{network: \
         {{get_resource: side}}, cidr: 10.7.0.0/24}}}}\n"
    );
    let update = json!({"name": "", "template": template, "parameters": {"code": "s3cr3t-2"}});
    let updating = json(browser.put(&path, &update).await, 202).await;
    assert_eq!(ended(&browser, &updating).await, "failed");

    let plan = json(browser.get(&roll_back).await, 200).await;
    assert_eq!(plan["base_run"], updating["run"]);
    let mut changes = plan["changes"].as_array().unwrap().iter();
    assert!(
        changes.any(|one| one["resource"] == "side" && one["action"] == "delete"),
        "{plan}"
    );
    assert!(!plan.to_string().contains("s3cr3t"), "{plan}");
    let other = stack.login("other").await;
    let missing = (404, "not-found".to_owned());
    assert_eq!(problem(other.get(&roll_back).await).await, missing);
    let reader = stack.login("reader").await;
    assert_eq!(problem(reader.get(&roll_back).await).await.0, 403);

    let nothing = json!({});
    let changed = format!("{roll_back}?plan_digest=other");
    let answer = browser.post(&changed, &nothing).await;
    assert_eq!(problem(answer).await, (409, "plan-changed".to_owned()));
    let reviewed = format!(
        "{roll_back}?base_run={}&plan_digest={}",
        plan["base_run"].as_str().unwrap(),
        plan["digest"].as_str().unwrap()
    );
    let returning = json(browser.post(&reviewed, &nothing).await, 202).await;
    assert_eq!(ended(&browser, &returning).await, "succeeded");
}

#[tokio::test]
async fn a_hidden_parameter_does_not_change_the_digest_of_a_plan() {
    let (_lab, _stack, browser) = start().await;
    let template = HIDDEN_NAME;
    let plan = json!({"template": template, "parameters": {"code": "1234"}});
    let plan = json(browser.post("/api/v1/plan", &plan).await, 200).await;
    let request = json!({
        "name": "shop", "template": template, "parameters": {"code": "1234"}, "plan_digest": plan["digest"],
    });
    let started = json(browser.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&browser, &started).await, "succeeded");

    // An update keeps the stored value, or takes another.
    let path = format!(
        "/api/v1/deployments/{}",
        started["deployment"].as_str().unwrap()
    );
    for parameters in [json!({}), json!({"code": "9999"})] {
        let template = format!("{template}  more: {{type: OS::Neutron::Net}}\n");
        let plan = json!({
            "template": template, "parameters": parameters, "deployment": started["deployment"],
        });
        let plan = json(browser.post("/api/v1/plan", &plan).await, 200).await;
        let request = json!({
            "name": "shop", "template": template, "parameters": parameters, "plan_digest": plan["digest"],
        });
        let updating = json(browser.put(&path, &request).await, 202).await;
        assert_eq!(ended(&browser, &updating).await, "succeeded");
    }
}

#[tokio::test]
async fn another_version_of_an_item_is_another_plan() {
    let (_lab, _stack, browser) = start().await;
    let template = "\
heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.7.0.0/24}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
  greeting:
    type: Stackloom::Catalog::greeter
    properties: {host: {get_resource: web}}
";
    let publish = async |version: &str| {
        let answer = upload(&browser, item("greeter", version, "- debug:")).await;
        json(answer, 201).await;
    };
    publish("1.0.0").await;
    let request = json!({"template": template});
    let plan = json(browser.post("/api/v1/plan", &request).await, 200).await;
    publish("2.0.0").await;
    let request = json!({"name": "shop", "template": template, "plan_digest": plan["digest"]});
    let answer = json(browser.post("/api/v1/deployments", &request).await, 409).await;
    assert_eq!(answer["code"], "plan-changed");
    let detail = answer["detail"].as_str().unwrap();
    assert!(
        detail.contains("no longer the one that you reviewed"),
        "{detail}"
    );
}
