//! Items that are made from a form.

use crate::stack::{Stack, problem};

use super::*;

#[tokio::test]
async fn an_item_is_made_from_a_form_and_its_next_version_too() {
    let stack = Stack::start().await;
    let (demo, other) = (stack.login("demo").await, stack.login("other").await);
    let made = json(demo.post("/api/v1/recipes", &recipe("1.0.0")).await, 201).await;
    assert_eq!(made["provides"][0]["name"], "http");
    assert_eq!(made["removes"], true);
    assert_eq!(made["uploaded"]["author"], "demo");
    let again = demo.post("/api/v1/recipes", &recipe("1.0.0")).await;
    assert_eq!(again.status(), 200);

    let path = "/api/v1/catalog/pages/recipe";
    let mut next = json(demo.get(path).await, 200).await;
    next["packages"] = json!(["lighttpd", "lighttpd-mod-deflate"]);
    let taken = demo.post("/api/v1/recipes", &next).await;
    assert_eq!(problem(taken).await, (409, "item-version-taken".into()));
    next["version"] = json!("1.1.0");
    let made = json(demo.post("/api/v1/recipes", &next).await, 201).await;
    assert_eq!(made["uploaded"]["versions"], json!(["1.1.0", "1.0.0"]));

    let hidden = (404, "not-found".to_owned());
    assert_eq!(problem(other.get(path).await).await, hidden);
    let not_made = demo.get("/api/v1/catalog/nginx/recipe").await;
    assert_eq!(problem(not_made).await, hidden);
}

#[tokio::test]
async fn problems_of_a_form_have_the_paths_of_their_values() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let mut wrong = recipe("1");
    wrong["files"][0]["path"] = json!("port.conf");
    let answer = json(demo.post("/api/v1/recipes", &wrong).await, 422).await;
    assert_eq!(answer["code"], "item-refused");
    let paths: Vec<&str> = answer["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["version", "files.0.path"]);
    let reader = stack.login("ada").await;
    let refused = reader.post("/api/v1/recipes", &recipe("1.0.0")).await;
    assert_eq!(problem(refused).await, (403, "reader-cannot-change".into()));
}
