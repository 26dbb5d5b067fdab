//! The main workflow over the API, on the lab cloud in memory: facts, a plan, a deploy, an undeploy.

use lab::Lab;
use serde_json::{Value, json};

use crate::stack::{Client, Stack, json};

const TEMPLATE: &str = "\
heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.7.0.0/24}
  web:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
outputs:
  name: {value: {get_attr: [web, name]}}
";

pub async fn start() -> (Lab, Stack, Client) {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let browser = stack.login("demo").await;
    (lab, stack, browser)
}

/// A lab, and a server with settings whose only cloud it is.
pub async fn stack_with(settings: &[&str]) -> (Lab, Stack) {
    let lab = Lab::memory().await.unwrap();
    let clouds = format!(
        "clouds:\n  test:\n    auth: {{auth_url: '{}'}}\n",
        lab.auth_url()
    );
    let stack = Stack::with_clouds(&clouds, settings).await;
    (lab, stack)
}

#[tokio::test]
async fn forms_offer_what_the_cloud_has() {
    let (_lab, _stack, browser) = start().await;
    let facts = json(browser.get("/api/v1/cloud").await, 200).await;
    let names = |list: &str| -> Vec<String> {
        let list = facts[list]
            .as_array()
            .unwrap_or_else(|| panic!("no {list} in {facts}"));
        list.iter()
            .map(|thing| thing["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(names("images").contains(&"debian-12".to_owned()));
    assert!(names("flavors").contains(&"m1.small".to_owned()));
    assert_eq!(names("external_networks"), ["public"]);
    let me = json(browser.get("/api/v1/me").await, 200).await;
    assert!(me["quotas"]["instances"]["limit"].is_i64(), "{me}");
}

#[tokio::test]
async fn the_value_of_a_secret_output_is_for_members() {
    let (_lab, stack, browser) = start().await;
    let template = "heat_template_version: 2021-04-16
resources:
  random: {type: OS::Heat::RandomString}
outputs:
  password: {value: {get_attr: [random, value]}}
  fixed: {value: no secret}
";
    let request = json!({"name": "shop", "template": template});
    let started = json(browser.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&browser, &started).await, "succeeded");
    let path = format!(
        "/api/v1/deployments/{}",
        started["deployment"].as_str().unwrap()
    );
    let shown = json(browser.get(&path).await, 200).await;
    let password = &shown["outputs"]["password"];
    assert_eq!(password["secret"], true);
    let value = password["value"].as_str().unwrap();
    assert_eq!(shown["outputs"]["fixed"].get("secret"), None);

    let reader = stack.login("reader").await;
    let seen = json(reader.get(&path).await, 200).await;
    assert!(!seen.to_string().contains(value), "{seen}");
    let password = &seen["outputs"]["password"];
    assert_eq!(password["secret"], true);
    let why = password["error"].as_str().unwrap();
    assert!(why.contains("only members"), "{why}");
    assert_eq!(seen["outputs"]["fixed"]["value"], "no secret");
}

#[tokio::test]
async fn what_a_template_names_is_looked_up() {
    let (_lab, _stack, browser) = start().await;
    let errors = async |group: &str, volume: &str| {
        let template = format!(
            "heat_template_version: 2021-04-16
parameters:
  disk: {{type: string, default: {volume}, constraints: [{{custom_constraint: cinder.volume}}]}}
resources:
  rule:
    type: OS::Neutron::SecurityGroupRule
    properties: {{security_group: {group}, protocol: tcp}}
"
        );
        let request = json!({"template": template});
        let plan = json(browser.post("/api/v1/plan", &request).await, 200).await;
        let diagnostics = plan["diagnostics"].as_array().unwrap().iter();
        let diagnostics = diagnostics.filter(|one| one["severity"] == "error");
        diagnostics
            .map(|one| {
                format!(
                    "{} {}",
                    one["code"].as_str().unwrap(),
                    one["message"].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        errors("defualt", "pictures").await,
        [
            "parameter-invalid the parameter `disk`: the cloud has no volume `pictures`",
            "unknown-in-cloud the cloud has no security group `defualt`; did you mean `default`?",
        ]
    );
    // The project's own security group exists.
    assert_eq!(errors("default", "pictures").await.len(), 1);
    // Forms do not get these lists, because they can be long.
    let facts = json(browser.get("/api/v1/cloud").await, 200).await;
    assert_eq!(facts["things"], Value::Null);
}

#[tokio::test]
async fn plan_deploy_watch_undeploy() {
    let (lab, _stack, browser) = start().await;
    let plan = json(
        browser
            .post("/api/v1/plan", &json!({"template": TEMPLATE}))
            .await,
        200,
    )
    .await;
    let steps = plan["workflow"]["steps"]
        .as_array()
        .unwrap_or_else(|| panic!("no workflow in {plan}"));
    assert!(steps.iter().any(|step| step["id"] == "web:create"));

    let design = json!({"name": "shop", "template": TEMPLATE});
    let design = json(browser.post("/api/v1/designs", &design).await, 201).await;
    let request = json!({"name": "shop", "design": design["id"]});
    let started = json(browser.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&browser, &started).await, "succeeded");

    let path = format!(
        "/api/v1/deployments/{}",
        started["deployment"].as_str().unwrap()
    );
    let deployment = json(browser.get(&path).await, 200).await;
    assert_eq!(deployment["state"], "deployed");
    assert_eq!(deployment["design_version"], 1);
    assert_eq!(deployment["outputs"]["name"]["value"], "shop-web");
    let listed = json(browser.get("/api/v1/deployments").await, 200).await;
    let summary = &listed[0]["summary"];
    assert_eq!(summary["servers"], 1, "{listed}");
    assert_eq!(summary["run"]["id"], started["run"]);
    assert_eq!(summary["run"]["state"], "succeeded");
    let metrics = browser.get("/metrics").await.text().await.unwrap();
    assert!(
        metrics.contains("stackloom_runs{state=\"succeeded\"} 1\n"),
        "{metrics}"
    );

    let removing = json(browser.delete(&path).await, 202).await;
    assert_eq!(ended(&browser, &removing).await, "succeeded");
    assert_eq!(
        json(browser.get(&path).await, 200).await["state"],
        "undeployed"
    );
    assert_eq!(
        lab.leftovers().get("demo").cloned().unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn a_run_keeps_the_content_that_it_was_started_with() {
    let (_lab, _stack, browser) = start().await;
    let one = "heat_template_version: 2021-04-16\nresources:\n  net: {type: OS::Neutron::Net}\n";
    let two = format!("{one}  more: {{type: OS::Neutron::Net}}\n");
    let design = json!({"name": "grows", "template": one});
    let design = json(browser.post("/api/v1/designs", &design).await, 201).await;
    let request = json!({"name": "grows", "design": design["id"]});
    let first = json(browser.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&browser, &first).await, "succeeded");

    let id = design["id"].as_str().unwrap();
    let save = json!({"name": "grows", "template": two, "base_version": design["version"]});
    json(
        browser.put(&format!("/api/v1/designs/{id}"), &save).await,
        200,
    )
    .await;
    let path = format!(
        "/api/v1/deployments/{}",
        first["deployment"].as_str().unwrap()
    );
    let second = json(browser.put(&path, &request).await, 202).await;
    assert_eq!(ended(&browser, &second).await, "succeeded");
    let third = json(browser.delete(&path).await, 202).await;
    assert_eq!(ended(&browser, &third).await, "succeeded");

    for (run, template, version) in [(&first, one, 1), (&second, &*two, 2), (&third, &*two, 2)] {
        let path = format!("/api/v1/runs/{}/content", run["run"].as_str().unwrap());
        let content = json(browser.get(&path).await, 200).await;
        assert_eq!(
            (&content["template"], &content["design_version"]),
            (&json!(template), &json!(version))
        );
        assert_eq!(content["design"], design["id"]);
    }
}

/// The final state of a run, once its stream has closed.
pub async fn ended(browser: &Client, started: &Value) -> String {
    let run = started["run"].as_str().unwrap();
    let (events, _) = crate::stream::watch(browser, run, 0).await;
    let last = events.last().unwrap();
    assert_eq!(last["type"], "run", "{last}");
    last["state"].as_str().unwrap().to_owned()
}
