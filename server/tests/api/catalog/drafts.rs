//! Drafts: tested by a project before they are published.

use crate::stack::{Stack, cookie, problem};

use super::*;

#[tokio::test]
async fn another_member_tests_a_change_of_an_item_and_its_owner_publishes_it() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let token = crate::keystone::token("max", "demo");
    let own = json!({"cloud": "test", "token": token});
    let answer = stack.stranger().post("/api/v1/login", &own).await;
    let max = stack.with_cookie(&cookie(&answer));
    let first = item("greeter", "1.0.0", "- debug:");
    assert_eq!(upload(&demo, first).await.status(), 201);
    let change = item("greeter", "1.1.0", "- debug: {msg: x}");
    let draft = max
        .request(Method::POST, "/api/v1/catalog")
        .query(&[("draft", "true")])
        .header(header::CONTENT_TYPE, "application/gzip")
        .body(change.clone());
    let draft = json(draft.send().await.unwrap(), 201).await;
    let version = draft["version"].as_str().unwrap();
    let place = format!("/api/v1/catalog/greeter/publish?version={version}");
    for refused in [
        upload(&max, change).await,
        max.post(&place, &json!({})).await,
    ] {
        let refused = json(refused, 403).await;
        assert_eq!(refused["code"], "item-owned");
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.contains("demo"), "{detail}");
    }

    // The owner publishes what the other one has tested.
    let other = stack.login("other").await;
    let hidden = (404, "not-found".to_owned());
    assert_eq!(problem(other.post(&place, &json!({})).await).await, hidden);
    let published = json(demo.post(&place, &json!({})).await, 201).await;
    assert_eq!(published["version"], "1.1.0");
    assert_eq!(published["uploaded"]["author"], "demo");
    assert_eq!(published["uploaded"]["versions"], json!(["1.1.0", "1.0.0"]));
    assert_eq!(demo.post(&place, &json!({})).await.status(), 200);
    let no_draft = "/api/v1/catalog/greeter/publish?version=1.0.0";
    assert_eq!(problem(demo.post(no_draft, &json!({})).await).await, hidden);
}

#[tokio::test]
async fn a_draft_is_planned_only_by_who_names_its_version() {
    let stack = Stack::start().await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let archive = item("greeter", "1.0.0", "- debug:");
    let store = async |browser: &Client, archive: Vec<u8>| {
        let request = browser
            .request(Method::POST, "/api/v1/catalog")
            .query(&[("draft", "true")])
            .header(header::CONTENT_TYPE, "application/gzip")
            .body(archive);
        request.send().await.unwrap()
    };
    let stored = store(&demo, archive.clone()).await;
    let place = stored.headers()[header::LOCATION]
        .to_str()
        .unwrap()
        .to_owned();
    let draft = json(stored, 201).await;
    let version = draft["version"].as_str().unwrap();
    assert!(version.starts_with("1.0.0-draft."), "{version}");
    assert_eq!(json(demo.get(&place).await, 200).await, draft);
    assert_eq!(store(&demo, archive).await.status(), 200);

    // It is in no catalogue, and in no design.
    let hidden = (404, "not-found".to_owned());
    assert_eq!(
        problem(demo.get("/api/v1/catalog/greeter").await).await,
        hidden
    );
    assert!(validate(&demo).await.contains("resource-type-unknown"));
    let plan = async |browser: &Client, versions: Value| {
        let body = json!({"template": TEMPLATE, "versions": versions});
        browser.post("/api/v1/plan", &body).await
    };
    let named = json!({"greeter": version});
    let planned = json(plan(&demo, named.clone()).await, 200).await;
    let unknown = |plan: &Value| {
        plan["diagnostics"]
            .to_string()
            .contains("resource-type-unknown")
    };
    assert!(!unknown(&planned), "{planned:#}");
    assert!(unknown(&json(plan(&demo, json!({})).await, 200).await));

    // Nobody else has it.
    assert_eq!(
        json(other.get("/api/v1/drafts").await, 200).await,
        json!([])
    );
    assert_eq!(problem(other.get(&place).await).await, hidden);
    let checked = place.replace('?', "/lint?");
    assert_eq!(problem(other.get(&checked).await).await, hidden);
    assert_eq!(problem(plan(&other, named.clone()).await).await, hidden);
    let deployment = json!({"name": "test", "template": TEMPLATE, "versions": named});
    let refused = other.post("/api/v1/deployments", &deployment).await;
    assert_eq!(problem(refused).await, hidden);

    // A draft of a form, under the rules of publishing.
    let made = demo
        .post("/api/v1/recipes?draft=true", &recipe("1.0.0"))
        .await;
    let made = json(made, 201).await;
    let version = made["version"].as_str().unwrap();
    assert!(version.starts_with("1.0.0-draft."), "{version}");
    assert_eq!(made["uploaded"]["from_form"], true);
    let published = demo.post("/api/v1/recipes", &recipe("1.0.0")).await;
    assert_eq!(json(published, 201).await["version"], "1.0.0");
}

#[tokio::test]
async fn every_member_lists_and_deletes_drafts_and_nobody_a_published_version() {
    let stack = Stack::start().await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let archive = item("greeter", "1.0.0", "- debug:");
    let request = demo
        .request(Method::POST, "/api/v1/catalog")
        .query(&[("draft", "true")])
        .header(header::CONTENT_TYPE, "application/gzip")
        .body(archive.clone());
    let stored = request.send().await.unwrap();
    let place = stored.headers()[header::LOCATION]
        .to_str()
        .unwrap()
        .to_owned();
    let draft = json(stored, 201).await;
    let listed = json(demo.get("/api/v1/drafts").await, 200).await;
    assert_eq!(listed[0]["name"], "greeter");
    assert_eq!(listed[0]["version"], draft["version"]);
    assert_eq!(listed[0]["author"], "demo");

    let delete = async |browser: &Client, path: &str| {
        let request = browser.request(Method::DELETE, path);
        request.send().await.unwrap()
    };
    let hidden = (404, "not-found".to_owned());
    assert_eq!(problem(delete(&other, &place).await).await, hidden);
    assert_eq!(delete(&demo, &place).await.status(), 204);
    assert_eq!(json(demo.get("/api/v1/drafts").await, 200).await, json!([]));
    assert_eq!(problem(demo.get(&place).await).await, hidden);

    assert_eq!(upload(&demo, archive).await.status(), 201);
    let published = "/api/v1/catalog/greeter?version=1.0.0";
    let kept = json(delete(&demo, published).await, 409).await;
    assert_eq!(kept["code"], "not-possible-now");
    assert!(kept["detail"].as_str().unwrap().contains("is published"));
    assert_eq!(demo.get(published).await.status(), 200);
}
