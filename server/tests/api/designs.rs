//! Designs: stored as typed, versioned, private to their project.

use serde_json::{Value, json};

use crate::stack::{Client, Stack, json, problem};

const TEMPLATE: &str =
    "heat_template_version: 2021-04-16\n# front\nresources:\n  front: {type: OS::Neutron::Net}\n";

async fn create(browser: &Client, name: &str) -> Value {
    let body = json!({"name": name, "template": TEMPLATE, "layout": {"nodes": {"front": {"x": 8.0, "y": 16.5}}}});
    json(browser.post("/api/v1/designs", &body).await, 201).await
}

#[tokio::test]
async fn what_was_typed_is_there_again() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let made = create(&browser, "shop").await;
    let path = format!("/api/v1/designs/{}", made["id"].as_str().unwrap());
    let stack = stack.restart().await;
    let browser = stack.with_cookie(&browser.cookie.unwrap());
    let design = json(browser.get(&path).await, 200).await;
    assert_eq!(design, made);
    assert_eq!(design["template"], TEMPLATE);
    assert_eq!(design["layout"]["nodes"]["front"]["y"], 16.5);
    let listed = json(browser.get("/api/v1/designs").await, 200).await;
    assert_eq!(listed[0]["resources"], 1);
    assert_eq!(listed[0]["author"], "demo");
}

#[tokio::test]
async fn a_save_is_a_version_and_a_save_from_an_old_one_overwrites_nothing() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let made = create(&browser, "shop").await;
    let path = format!("/api/v1/designs/{}", made["id"].as_str().unwrap());
    let mine = json!({"name": "shop", "template": "mine", "base_version": 1});
    let theirs = json!({"name": "shop", "template": "theirs", "base_version": 1});
    assert_eq!(
        json(browser.put(&path, &mine).await, 200).await["version"],
        2
    );
    assert_eq!(
        problem(browser.put(&path, &theirs).await).await,
        (409, "version-conflict".into())
    );
    assert_eq!(
        json(browser.get(&path).await, 200).await["template"],
        "mine"
    );
    let same = json!({"name": "shop", "template": "mine", "base_version": 2});
    assert_eq!(
        json(browser.put(&path, &same).await, 200).await["version"],
        2,
        "nothing differs"
    );
    let versions = json(browser.get(&format!("{path}/versions")).await, 200).await;
    assert_eq!(
        (&versions[0]["version"], &versions[1]["version"]),
        (&json!(2), &json!(1))
    );
    for (number, template) in [(2, "mine"), (1, TEMPLATE)] {
        let version = browser.get(&format!("{path}/versions/{number}")).await;
        assert_eq!(json(version, 200).await["template"], template);
    }
    let label = json!({"label": " before the rush "});
    let labelled = browser.put(&format!("{path}/versions/1"), &label).await;
    assert_eq!(labelled.status(), 204);
    let versions = json(browser.get(&format!("{path}/versions")).await, 200).await;
    assert_eq!(versions[1]["label"], "before the rush");
    let long = json!({"label": "x".repeat(101)});
    assert_eq!(
        problem(browser.put(&format!("{path}/versions/1"), &long).await).await,
        (422, "invalid-request".into())
    );
    let other = stack.login("other").await;
    for refused in [
        other.get(&format!("{path}/versions/1")).await,
        other.put(&format!("{path}/versions/1"), &label).await,
        browser.put(&format!("{path}/versions/9"), &label).await,
    ] {
        assert_eq!(problem(refused).await, (404, "not-found".into()));
    }
}

#[tokio::test]
async fn another_project_finds_nothing() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let other = stack.login("other").await;
    let made = create(&demo, "shop").await;
    let path = format!("/api/v1/designs/{}", made["id"].as_str().unwrap());
    let save = json!({"name": "mine now", "template": ""});
    assert_eq!(
        problem(other.get(&path).await).await,
        (404, "not-found".into())
    );
    assert_eq!(
        problem(other.get(&format!("{path}/versions")).await).await,
        (404, "not-found".into())
    );
    assert_eq!(
        problem(other.put(&path, &save).await).await,
        (404, "not-found".into())
    );
    assert_eq!(
        problem(other.delete(&path).await).await,
        (404, "not-found".into())
    );
    assert_eq!(
        json(other.get("/api/v1/designs").await, 200).await,
        json!([])
    );
    assert_eq!(json(demo.get(&path).await, 200).await, made);
}

#[tokio::test]
async fn a_reader_looks_and_changes_nothing() {
    let stack = Stack::start().await;
    let made = create(&stack.login("demo").await, "shop").await;
    let ada = stack.login("ada").await;
    let path = format!("/api/v1/designs/{}", made["id"].as_str().unwrap());
    assert_eq!(json(ada.get(&path).await, 200).await, made);
    let refused = (403, "reader-cannot-change".to_owned());
    let body = json!({"name": "x", "template": ""});
    assert_eq!(
        problem(ada.post("/api/v1/designs", &body).await).await,
        refused
    );
    assert_eq!(problem(ada.put(&path, &body).await).await, refused);
    assert_eq!(problem(ada.delete(&path).await).await, refused);
    assert_eq!(
        problem(ada.post("/api/v1/deployments", &body).await).await,
        refused
    );
    assert_eq!(
        problem(ada.post("/api/v1/runs/x/cancel", &body).await).await,
        refused
    );
}

#[tokio::test]
async fn names_are_any_text_and_come_back_as_json() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let name = r#"<img src=x onerror=alert(1)>"quoted" & ümläut"#;
    let made = create(&browser, name).await;
    assert_eq!(made["name"], name);
    let response = browser.get("/api/v1/designs").await;
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    for bad in ["", "   ", "two\nlines", &"x".repeat(201)] {
        let body = json!({"name": bad, "template": ""});
        assert_eq!(
            problem(browser.post("/api/v1/designs", &body).await).await,
            (422, "invalid-request".into())
        );
    }
}

#[tokio::test]
async fn a_deleted_design_is_gone() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let made = create(&browser, "shop").await;
    let path = format!("/api/v1/designs/{}", made["id"].as_str().unwrap());
    assert_eq!(browser.delete(&path).await.status(), 204);
    assert_eq!(problem(browser.get(&path).await).await.0, 404);
    assert_eq!(problem(browser.delete(&path).await).await.0, 404);
}

#[tokio::test]
async fn people_on_the_same_design_see_each_other_and_what_they_have_selected() {
    let stack = Stack::start().await;
    let (demo, reader) = (stack.login("demo").await, stack.login("ada").await);
    let made = create(&demo, "shop").await;
    let path = format!("/api/v1/designs/{}/viewers", made["id"].as_str().unwrap());
    let here = |page: &str, selected: &[&str]| json!({"page": page, "selected": selected});

    let alone = json(demo.post(&path, &here("one", &["front"])).await, 200).await;
    assert_eq!(alone, json!({"version": 1, "others": []}));
    let seen = json(reader.post(&path, &here("two", &[])).await, 200).await;
    let front = json!([{"user": "demo", "is_caller": false, "selected": ["front"]}]);
    assert_eq!(seen["others"], front);
    let second = json(demo.post(&path, &here("three", &[])).await, 200).await;
    let others = json!([
        {"user": "ada", "is_caller": false, "selected": []},
        {"user": "demo", "is_caller": true, "selected": ["front"]},
    ]);
    assert_eq!(second["others"], others);
    json(demo.post(&path, &here("one", &[])).await, 200).await;
    let seen = json(reader.post(&path, &here("two", &[])).await, 200).await;
    assert_eq!(seen["others"][0]["selected"], json!([]), "at once");

    let leaves = json!({"page": "one", "leaves": true});
    json(demo.post(&path, &leaves).await, 200).await;
    let seen = json(reader.post(&path, &here("two", &[])).await, 200).await;
    let third = json!([{"user": "demo", "is_caller": false, "selected": []}]);
    assert_eq!(seen["others"], third, "at once");

    let many: Vec<&str> = std::iter::repeat_n("front", 21).collect();
    for refused in [
        here("", &[]),
        here(&"x".repeat(65), &[]),
        here("one", &many),
    ] {
        let answer = problem(demo.post(&path, &refused).await).await;
        assert_eq!(answer, (422, "invalid-request".into()), "{refused}");
    }
}
