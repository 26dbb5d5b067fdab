//! Warnings of logins, checks, plans and deployments before a failure: regions, services, quotas, unreachable clouds.

use std::time::Instant;

use lab::{Lab, LabConfig, services::quota::Quotas};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    lab::ended,
    stack::{Client, Stack, credentials, json},
};

/// The problem details of a refusal.
async fn refused(client: &Client, path: &str, body: &Value, status: u16) -> Value {
    json(client.post(path, body).await, status).await
}

#[tokio::test]
async fn a_login_names_the_regions_that_there_are() {
    let lab = Lab::memory().await.unwrap();
    let clouds = format!(
        "clouds:\n  test: {{auth: {{auth_url: '{}'}}, region_name: Nowhere}}\n",
        lab.auth_url()
    );
    let stack = Stack::with_clouds(&clouds, &[]).await;
    let body = credentials("demo", "demo", "demo");
    let problem = refused(&stack.stranger(), "/api/v1/login", &body, 422).await;
    assert_eq!(problem["code"], "unknown-region");
    assert_eq!(problem["path"], "cloud");
    assert_eq!(
        problem["detail"],
        "The catalogue of cloud `test` has no region `Nowhere`; it has `lab`. Correct `region_name` in clouds.yaml."
    );
}

#[tokio::test]
async fn a_service_that_the_cloud_lacks_is_missed_before_a_deployment_is_accepted() {
    let lab = Lab::memory().await.unwrap();
    let clouds = format!(
        "clouds:\n  test: {{auth: {{auth_url: '{}'}}, region_name: lab, block_storage_interface: nowhere}}\n",
        lab.auth_url()
    );
    let stack = Stack::with_clouds(&clouds, &[]).await;
    let browser = stack.login("demo").await;
    let template = "heat_template_version: 2021-04-16\nresources:\n  disk: {type: OS::Cinder::Volume, properties: {size: 1}}\n";
    let request = json!({"name": "shop", "template": template});
    let message = "`disk` needs the block-storage service, which the cloud does not offer in region `lab`; remove what needs it, or ask the \
                cloud's administrator for the service";
    let checked = json(browser.post("/api/v1/validate", &request).await, 200).await;
    assert_eq!(checked["diagnostics"][0]["message"], message);
    let plan = json(browser.post("/api/v1/plan", &request).await, 200).await;
    assert_eq!(plan["diagnostics"][0]["message"], message);
    let problem = refused(&browser, "/api/v1/deployments", &request, 422).await;
    assert_eq!(problem["code"], "template-refused");
    assert_eq!(problem["diagnostics"][0]["code"], "service-missing");
    let all = json(browser.get("/api/v1/deployments").await, 200).await;
    assert_eq!(all, json!([]));
}

const FOUR_SERVERS: &str = "\
heat_template_version: 2021-04-16
resources:
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: 4
      resource_def:
        type: OS::Nova::Server
        properties: {image: debian-12, flavor: m1.small, networks: [{allocate_network: none}]}
";

#[tokio::test]
async fn a_quota_that_is_too_small_is_told_and_a_person_may_go_on_all_the_same() {
    let mut quotas = Quotas::default();
    quotas.set("instances", 2);
    let config = LabConfig {
        quotas,
        ..LabConfig::memory()
    };
    let lab = Lab::start(config).await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let browser = stack.login("demo").await;
    let mut request = json!({"name": "shop", "template": FOUR_SERVERS});
    let message = "not enough quota for servers: 4 are needed and 2 are left (`instances`: limit 2, in use 0). Needed by `group/0`, \
                `group/1`, `group/2` and `group/3`. Remove some of these, free what the project no longer uses, or ask the cloud's \
                administrator for a higher quota";

    let checked = json(browser.post("/api/v1/validate", &request).await, 200).await;
    assert_eq!(checked["diagnostics"][0]["message"], message, "{checked}");
    let plan = json(browser.post("/api/v1/plan", &request).await, 200).await;
    assert_eq!(plan["diagnostics"][0]["code"], "quota-exceeded");
    assert_eq!(plan["diagnostics"][0]["severity"], "warning");
    let used = plan["quotas"].as_array().unwrap();
    let of = |name: &str| used.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(of("instances")["peak"], 4);
    assert_eq!(of("cores")["limit"], 40);

    let problem = refused(&browser, "/api/v1/deployments", &request, 409).await;
    assert_eq!(problem["code"], "quota-exceeded");
    assert_eq!(problem["diagnostics"][0]["message"], message);

    request["despite_quota"] = json!(true);
    let started = json(browser.post("/api/v1/deployments", &request).await, 202).await;
    assert_eq!(ended(&browser, &started).await, "failed");
    let path = format!(
        "/api/v1/deployments/{}",
        started["deployment"].as_str().unwrap()
    );
    let removing = json(browser.delete(&path).await, 202).await;
    assert_eq!(ended(&browser, &removing).await, "succeeded");
}

#[tokio::test]
async fn an_environment_that_overrides_a_given_value_is_named() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let browser = stack.login("demo").await;
    let request = json!({
        "template": "heat_template_version: 2021-04-16\nparameters: {word: {type: string}}\nresources:\n  \
                     said: {type: OS::Heat::Value, properties: {value: {get_param: word}}}\n",
        "files": {"env.yaml": "parameters: {word: fromenv}\n"},
        "environments": ["env.yaml"],
        "parameters": {"word": "fromform"},
    });
    let plan = json(browser.post("/api/v1/plan", &request).await, 200).await;
    let one = &plan["diagnostics"][0];
    assert_eq!(one["code"], "environment-overrides");
    assert_eq!(
        (&one["file"], &one["line"]),
        (&json!("env.yaml"), &json!(1))
    );
    let value = &plan["workflow"]["resources"]["said"]["properties"]["value"];
    assert_eq!(value, "fromenv");
}

#[tokio::test]
async fn a_silent_cloud_is_given_up_and_strangers_do_not_learn_its_address() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v3", silent.local_addr().unwrap());
    let clouds = format!("clouds: {{test: {{auth: {{auth_url: '{url}'}}}}}}\n");
    let stack = Stack::with_clouds(&clouds, &["--login-timeout", "0.3"]).await;
    let begun = Instant::now();
    let body = credentials("demo", "demo", "demo");
    let problem = refused(&stack.stranger(), "/api/v1/login", &body, 502).await;
    assert_eq!(problem["code"], "cloud-unreachable");
    let detail = "Cloud `test` cannot be reached from this server.";
    assert_eq!(problem["detail"], detail);
    let hint = "Try again later, or ask the server's operator. The server's log has the cause.";
    assert_eq!(problem["hint"], hint);
    // Without the time limit, each call would take 60 s.
    assert!(begun.elapsed().as_secs() < 30);
}

#[tokio::test]
async fn each_way_to_log_in_has_its_own_hint() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    for (body, path, hint) in [
        (
            credentials("demo", "wrong", "demo"),
            "password",
            "Check user, password and domain.",
        ),
        (
            json!({"cloud": "test", "application_credential_id": "none", "application_credential_secret": "none"}),
            "application_credential_secret",
            "Check its id and secret, and whether it has expired or was deleted.",
        ),
        (
            json!({"cloud": "test", "token": "none"}),
            "token",
            "It has expired or was revoked, or another cloud issued it: get a new one.",
        ),
    ] {
        let problem = refused(&stack.stranger(), "/api/v1/login", &body, 401).await;
        assert_eq!(problem["code"], "wrong-credentials");
        assert_eq!(problem["path"], path);
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.ends_with(hint), "{detail}");
    }
}
