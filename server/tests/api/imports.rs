//! Imports of templates in other formats as designs.

use serde_json::json;

use crate::stack::{Stack, json, problem};

#[tokio::test]
async fn a_cloud_formation_template_becomes_hot_with_a_report() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let text = "AWSTemplateFormatVersion: '2010-09-09'\nResources:\n  Net:\n    Type: AWS::EC2::VPC\n    Properties: {CidrBlock: 10.0.0.0/16}\n  User: {Type: AWS::IAM::Role}\n";
    let imported = json(
        browser.post("/api/v1/import", &json!({"text": text})).await,
        200,
    )
    .await;
    let template = imported["template"].as_str().unwrap();
    assert!(template.contains("type: OS::Neutron::Net"), "{template}");
    assert_eq!(imported["report"][0]["path"], "Resources.User");
    assert_eq!(imported["report"][0]["line"], 6);
    assert_eq!(imported["report"][0]["kind"], "left_out");

    let made = browser
        .post(
            "/api/v1/designs",
            &json!({"name": "from afar", "template": template}),
        )
        .await;
    json(made, 201).await;
}

#[tokio::test]
async fn what_is_no_template_of_others_is_refused() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    for text in ["{", "a: 1"] {
        let answer = browser.post("/api/v1/import", &json!({"text": text})).await;
        assert_eq!(problem(answer).await, (422, "invalid-request".into()));
    }
}

#[tokio::test]
async fn hot_is_given_back_as_it_is() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let hot = "heat_template_version: 2021-04-16\nresources: {} # none yet\n";
    let answer = browser.post("/api/v1/import", &json!({"text": hot})).await;
    let imported = json(answer, 200).await;
    assert_eq!(imported, json!({"template": hot, "report": []}));
}
