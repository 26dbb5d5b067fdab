//! Logins: each failure has its own code.

use serde_json::json;

use crate::stack::{Stack, cookie, credentials, json, problem};

#[tokio::test]
async fn a_person_is_who_keystone_says() {
    let stack = Stack::start().await;
    let response = stack
        .stranger()
        .post("/api/v1/login", &credentials("demo", "demo", "demo"))
        .await;
    let cookie = cookie(&response);
    let me = json(response, 200).await;
    assert_eq!(me["project_id"], "demo-project-id");
    assert_eq!(me["can_change"], true);
    assert_eq!(
        me["member_roles"],
        json!(["member", "_member_", "manager", "admin"])
    );
    let browser = stack.with_cookie(&cookie);
    assert_eq!(
        json(browser.get("/api/v1/me").await, 200).await["user"],
        "demo"
    );
}

#[tokio::test]
async fn what_went_wrong_is_told_apart() {
    let stack = Stack::start().await;
    let attempt = async |body| problem(stack.stranger().post("/api/v1/login", &body).await).await;
    let dead = json!({"cloud": "dead", "user": "demo", "password": "demo", "project": "demo"});
    let nowhere =
        json!({"cloud": "atlantis", "user": "demo", "password": "demo", "project": "demo"});
    assert_eq!(
        attempt(credentials("demo", "wrong", "demo")).await,
        (401, "wrong-credentials".into())
    );
    assert_eq!(
        attempt(credentials("demo", "demo", "secret-project")).await,
        (403, "unknown-project".into())
    );
    let unreachable = stack.stranger().post("/api/v1/login", &dead).await;
    let unreachable = json(unreachable, 502).await;
    assert_eq!(unreachable["code"], "cloud-unreachable");
    let shown = unreachable.to_string();
    assert!(
        !shown.contains("127.0.0.1"),
        "addresses are internal: {shown}"
    );
    assert_eq!(attempt(nowhere).await, (422, "unknown-cloud".into()));
    assert_eq!(
        attempt(json!({"cloud": "test", "user": "demo"})).await,
        (422, "invalid-request".into())
    );
}

#[tokio::test]
async fn one_wrong_password_is_one_attempt_at_the_cloud() {
    let stack = Stack::start().await;
    let wrong = credentials("demo", "wrong", "demo");
    stack.stranger().post("/api/v1/login", &wrong).await;
    assert_eq!(
        stack.calls.attempts(),
        1,
        "clouds lock users out after a few"
    );
    stack.login("demo").await;
    assert_eq!(stack.calls.attempts(), 2);
}

#[tokio::test]
async fn a_second_factor_is_asked_for_and_taken() {
    let stack = Stack::start().await;
    let mut body = credentials("max", "max", "demo");
    let attempt =
        async |body: &serde_json::Value| stack.stranger().post("/api/v1/login", body).await;
    assert_eq!(
        problem(attempt(&body).await).await,
        (401, "second-factor-needed".into())
    );
    body["passcode"] = json!("000000");
    assert_eq!(
        problem(attempt(&body).await).await,
        (401, "wrong-credentials".into())
    );
    body["passcode"] = json!(" 123456 ");
    assert_eq!(json(attempt(&body).await, 200).await["user"], "max");
}

#[tokio::test]
async fn a_refused_login_repeats_no_password() {
    let stack = Stack::start().await;
    let response = stack
        .stranger()
        .post("/api/v1/login", &credentials("demo", "hunter2", "demo"))
        .await;
    assert!(response.headers().get("set-cookie").is_none());
    assert!(!response.text().await.unwrap().contains("hunter2"));
}

#[tokio::test]
async fn logging_out_ends_the_session_for_whoever_has_its_cookie() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    assert_eq!(
        browser.post("/api/v1/logout", &json!({})).await.status(),
        204
    );
    assert_eq!(
        problem(browser.get("/api/v1/me").await).await,
        (401, "not-signed-in".into())
    );
}

#[tokio::test]
async fn each_login_gets_another_cookie() {
    let stack = Stack::start().await;
    let first = stack.login("demo").await;
    let again = first
        .post("/api/v1/login", &credentials("demo", "demo", "demo"))
        .await;
    assert_ne!(Some(cookie(&again)), first.cookie);
    assert_eq!(problem(first.get("/api/v1/me").await).await.0, 401);
}
