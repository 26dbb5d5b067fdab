//! The audit trail: logins, refusals and changes of a project, for its members.

use serde_json::{Value, json};

use crate::stack::{Client, Stack, credentials, json, problem};

const TEMPLATE: &str = "heat_template_version: 2021-04-16\nresources: {}\n";

/// User, action, status and code of each event, oldest first.
async fn trail(browser: &Client) -> Vec<(String, String, u64, String)> {
    let events = json(browser.get("/api/v1/audit").await, 200).await;
    let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    let events = events.as_array().unwrap().iter().rev();
    events
        .map(|event| {
            assert_eq!(event["address"], "127.0.0.1", "{event}");
            assert!(!text(event, "request_id").is_empty(), "{event}");
            let status = event["status"].as_u64().unwrap();
            let (user, action) = (text(event, "user"), text(event, "action"));
            (user, action, status, text(event, "code"))
        })
        .collect()
}

#[tokio::test]
async fn logins_changes_and_refusals_are_recorded_for_the_project() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let reader = stack.login("ada").await;
    let body = json!({"name": "shop", "template": TEMPLATE});
    let design = json(demo.post("/api/v1/designs", &body).await, 201).await;
    let path = format!("/api/v1/designs/{}", design["id"].as_str().unwrap());
    assert_eq!(reader.delete(&path).await.status(), 403);
    json(demo.get(&path).await, 200).await;
    json(demo.post("/api/v1/validate", &body).await, 200).await;
    assert_eq!(demo.delete(&path).await.status(), 204);

    let event = |user: &str, action: &str, status: u64, code: &str| {
        (user.to_owned(), action.to_owned(), status, code.to_owned())
    };
    let design = "/api/v1/designs/{id}";
    let expected = [
        event("demo", "POST /api/v1/login", 200, ""),
        event("ada", "POST /api/v1/login", 200, ""),
        event("demo", "POST /api/v1/designs", 201, ""),
        event(
            "ada",
            &format!("DELETE {design}"),
            403,
            "reader-cannot-change",
        ),
        event("demo", &format!("DELETE {design}"), 204, ""),
    ];
    assert_eq!(trail(&demo).await, expected);
    let events = json(demo.get("/api/v1/audit").await, 200).await;
    assert_eq!(events[2]["target"], path.as_str(), "the created design");

    // Another project sees its own login only, and a reader sees nothing.
    let other = stack.login("other").await;
    let own = [event("other", "POST /api/v1/login", 200, "")];
    assert_eq!(trail(&other).await, own);
    let refused = problem(reader.get("/api/v1/audit").await).await;
    assert_eq!(refused, (403, "reader-cannot-change".into()));
}

#[tokio::test]
async fn a_failed_login_is_stored_without_its_password() {
    let stack = Stack::start().await;
    let wrong = credentials("demo", "not-my-password", "demo");
    let answer = stack.stranger().post("/api/v1/login", &wrong).await;
    assert_eq!(answer.status(), 401);
    let (data, settings) = (stack.data(), ["--audit-days=1"]);
    let stack = stack.restart_with(&settings).await;
    stack.login("demo").await;
    let file = data.join("stackloom.db");
    let read = |name: &str| std::fs::read(file.with_file_name(name)).unwrap_or_default();
    let bytes = [read("stackloom.db"), read("stackloom.db-wal")].concat();
    let has = |text: &str| {
        let mut windows = bytes.windows(text.len());
        windows.any(|window| window == text.as_bytes())
    };
    assert!(has("wrong-credentials"));
    assert!(!has("not-my-password"));
}

#[tokio::test]
async fn the_members_of_a_project_see_who_failed_to_log_in_to_it() {
    let stack = Stack::start().await;
    let fail = async |user: &str, domain: &str| {
        let mut wrong = credentials(user, "not-my-password", "demo");
        wrong["domain"] = json!(domain);
        let answer = stack.stranger().post("/api/v1/login", &wrong).await;
        assert_eq!(problem(answer).await.0, 401);
    };
    fail("other", "").await;
    // A project of the same name in another domain is another project.
    fail("demo", "Elsewhere").await;
    let login = |user: &str, status: u64, code: &str| {
        let action = "POST /api/v1/login".to_owned();
        (user.to_owned(), action, status, code.to_owned())
    };
    let demo = stack.login("demo").await;
    let expected = [
        login("other", 401, "wrong-credentials"),
        login("demo", 200, ""),
    ];
    assert_eq!(trail(&demo).await, expected);
    let other = stack.login("other").await;
    assert_eq!(trail(&other).await, [login("other", 200, "")]);
}

#[tokio::test]
async fn a_change_from_a_page_of_another_site_is_recorded_for_the_user_whose_login_it_used() {
    let stack = Stack::start().await;
    let demo = stack.login("demo").await;
    let request = demo.request(reqwest::Method::POST, "/api/v1/designs");
    let request = request.json(&json!({"name": "shop", "template": TEMPLATE}));
    let answer = request.header("sec-fetch-site", "same-site").send().await;
    let refused = (403, "cross-origin".to_owned());
    assert_eq!(problem(answer.unwrap()).await, refused);
    let (user, action, status, code) = trail(&demo).await.pop().unwrap();
    assert_eq!(
        (user.as_str(), action.as_str()),
        ("demo", "POST /api/v1/designs")
    );
    assert_eq!((status, code), (refused.0.into(), refused.1));
}
