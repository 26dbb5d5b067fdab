//! Exports of designs in other formats.

use lab::Lab;
use serde_json::json;

use crate::stack::{Stack, json, problem};

const TEMPLATE: &str = "heat_template_version: 2021-04-16\nresources:\n  front: {type: OS::Neutron::Net}\n  wait: {type: OS::Heat::WaitConditionHandle}\n";

#[tokio::test]
async fn starter_designs_have_pictures() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    for starter in app::starters::STARTERS {
        let path = format!("/api/v1/starters/{}/picture", starter.slug);
        let answer = demo.get(&path).await;
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(answer.headers()["content-type"], "image/svg+xml");
        let picture = answer.text().await.unwrap();
        assert!(
            picture.contains("OS::Nova::Server") || picture.contains("debian-12"),
            "{picture}"
        );
    }
    let missing = problem(demo.get("/api/v1/starters/castle/picture").await).await;
    assert_eq!(missing, (404, "not-found".into()));
}

#[tokio::test]
async fn starter_designs_have_no_problems() {
    let lab = Lab::memory().await.unwrap();
    let stack = Stack::with_cloud(&lab.auth_url()).await;
    let demo = stack.login("demo").await;
    for starter in app::starters::STARTERS {
        let body = json!({"template": starter.template});
        let checked = json(demo.post("/api/v1/validate", &body).await, 200).await;
        assert_eq!(checked["diagnostics"], json!([]), "{}", starter.slug);
    }
}

#[tokio::test]
async fn a_design_leaves_in_four_forms_with_a_report() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let body = json!({"name": "My Shop", "template": TEMPLATE});
    let made = json(browser.post("/api/v1/designs", &body).await, 201).await;
    let path = format!("/api/v1/designs/{}/export", made["id"].as_str().unwrap());
    for (format, file, has) in [
        ("hot", "my-shop.hot.yaml", TEMPLATE),
        (
            "terraform",
            "my-shop.tf.json",
            "openstack_networking_network_v2",
        ),
        ("tosca", "my-shop.tosca.yaml", "tosca_simple_yaml_1_3"),
        ("svg", "my-shop.svg", "<svg"),
    ] {
        let exported = json(browser.get(&format!("{path}?format={format}")).await, 200).await;
        assert_eq!(exported["file_name"], file);
        assert!(
            exported["content"].as_str().unwrap().contains(has),
            "{exported}"
        );
        let posted = json!({"name": "My Shop", "template": TEMPLATE, "format": format});
        let posted = json(browser.post("/api/v1/export", &posted).await, 200).await;
        assert_eq!(posted["content"], exported["content"]);
    }
    let terraform = json(browser.get(&format!("{path}?format=terraform")).await, 200).await;
    assert_eq!(terraform["report"][0]["kind"], "left_out");
    assert_eq!(terraform["report"][0]["path"], "resources.wait");

    let file = browser
        .get(&format!("{path}?format=svg&download=true"))
        .await;
    assert_eq!(file.headers()["content-type"], "image/svg+xml");
    assert_eq!(
        file.headers()["content-disposition"],
        "attachment; filename=\"my-shop.svg\""
    );
}

#[tokio::test]
async fn a_design_with_files_leaves_as_an_archive() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let body = json!({
        "name": "site",
        "template": "heat_template_version: 2021-04-16\nresources:\n  web: {type: web.yaml}\n",
        "files": {"web.yaml": TEMPLATE, "env.yaml": "parameters: {}\n"},
        "environments": ["env.yaml"],
    });
    let made = json(browser.post("/api/v1/designs", &body).await, 201).await;
    let path = format!("/api/v1/designs/{}/export", made["id"].as_str().unwrap());
    let exported = json(browser.get(&format!("{path}?format=hot")).await, 200).await;
    assert_eq!(exported["file_name"], "site.hot.tar.gz");
    assert_eq!(exported["files"]["web.yaml"], TEMPLATE);
    let note = exported["report"][0]["message"].as_str().unwrap();
    assert!(note.contains("`-e env.yaml`"), "{note}");

    let file = browser
        .get(&format!("{path}?format=hot&download=true"))
        .await;
    assert_eq!(file.headers()["content-type"], "application/gzip");
    let terraform = browser
        .get(&format!("{path}?format=terraform&additions=drawn"))
        .await;
    let terraform = json(terraform, 200).await;
    assert_eq!(terraform["file_name"], "site.tf.json");
    assert!(
        terraform["content"]
            .as_str()
            .unwrap()
            .contains("\"web_front\"")
    );
}

#[tokio::test]
async fn what_cannot_be_exported_is_said() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let broken = json!({"template": "resources: [a\n  b: c", "format": "hot"});
    let (status, code) = problem(browser.post("/api/v1/export", &broken).await).await;
    assert_eq!((status, code.as_str()), (422, "invalid-request"));
    let other = json!({"template": TEMPLATE, "format": "docx"});
    let (status, _) = problem(browser.post("/api/v1/export", &other).await).await;
    assert_eq!(status, 422);

    let made = json(
        browser
            .post("/api/v1/designs", &json!({"name": "x", "template": ""}))
            .await,
        201,
    )
    .await;
    let path = format!(
        "/api/v1/designs/{}/export?format=hot",
        made["id"].as_str().unwrap()
    );
    let stranger = stack.login("other").await;
    assert_eq!(
        problem(stranger.get(&path).await).await,
        (404, "not-found".into())
    );
}
