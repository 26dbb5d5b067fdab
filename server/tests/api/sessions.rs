//! Sessions: their content, which cannot be read from the database.

use std::fs;

use serde_json::json;

use crate::{
    keystone,
    stack::{Client, Stack, credentials, json, problem, until},
    stream::LASTING,
};

#[tokio::test]
async fn neither_token_nor_cookie_is_readable_in_the_data_folder() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let cookie = browser.cookie.unwrap();
    let id = cookie.split_once('=').unwrap().1.to_owned();
    let mut files = 0;
    for entry in fs::read_dir(stack.data()).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        for secret in [keystone::token("demo", "demo"), id.clone()] {
            assert!(!text.contains(&secret), "{} holds {secret}", path.display());
        }
        files += 1;
    }
    assert!(files > 0);
}

#[tokio::test]
async fn a_session_outlives_a_restart() {
    let stack = Stack::start().await;
    let cookie = stack.login("demo").await.cookie.unwrap();
    let stack = stack.restart().await;
    assert_eq!(
        json(stack.with_cookie(&cookie).get("/api/v1/me").await, 200).await["user"],
        "demo"
    );
}

#[tokio::test]
async fn the_cookie_is_for_the_browser_only() {
    let stack = Stack::start().await;
    let response = stack
        .stranger()
        .post("/api/v1/login", &credentials("demo", "demo", "demo"))
        .await;
    let cookie = response.headers()["set-cookie"].to_str().unwrap();
    assert!(
        cookie.contains("HttpOnly")
            && cookie.contains("SameSite=Lax")
            && cookie.contains("Max-Age="),
        "{cookie}"
    );
    assert!(
        !cookie.contains("Secure"),
        "it would not come back over plain HTTP"
    );
}

#[tokio::test]
async fn a_made_up_cookie_opens_nothing() {
    let stack = Stack::start().await;
    for cookie in [
        "stackloom_session=AAAAAAAAAAAAAAAAAAAAAA",
        "stackloom_session=x",
        "stackloom_session=",
    ] {
        assert_eq!(
            problem(stack.with_cookie(cookie).get("/api/v1/me").await)
                .await
                .0,
            401
        );
    }
}

#[tokio::test]
async fn a_token_is_good_without_a_session_and_asked_about_once() {
    let stack = Stack::start().await;
    let ask = async |token: &str, cloud: Option<&str>| {
        let request = stack
            .stranger()
            .request(reqwest::Method::GET, "/api/v1/designs")
            .header("x-auth-token", token);
        let request = cloud.into_iter().fold(request, |request, cloud| {
            request.header("x-stackloom-cloud", cloud)
        });
        request.send().await.unwrap()
    };
    let token = keystone::token("demo", "demo");
    for _ in 0..3 {
        assert_eq!(ask(&token, Some("test")).await.status(), 200);
    }
    assert_eq!(stack.calls.times(), 1);
    assert_eq!(
        problem(ask("made-up", Some("test")).await).await,
        (401, "not-signed-in".into())
    );
    assert_eq!(
        problem(ask(&token, None).await).await,
        (401, "not-signed-in".into())
    );
    assert_eq!(
        problem(ask(&token, Some("atlantis")).await).await,
        (422, "unknown-cloud".into())
    );
}

#[tokio::test]
async fn a_logout_revokes_the_token_that_the_login_got() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let answer = browser.post("/api/v1/logout", &json!({})).await;
    assert_eq!(answer.status(), 204);
    assert_eq!(stack.calls.revocations(), 1);

    // A token that the user brought stays the user's.
    let token = keystone::token("demo", "demo");
    let own = json!({"cloud": "test", "token": token});
    let answer = stack.stranger().post("/api/v1/login", &own).await;
    assert_eq!(answer.status(), 200);
    let browser = stack.with_cookie(&crate::stack::cookie(&answer));
    let answer = browser.post("/api/v1/logout", &json!({})).await;
    assert_eq!(answer.status(), 204);
    assert_eq!(stack.calls.revocations(), 1);
}

#[tokio::test]
async fn a_logout_leaves_the_token_to_a_run_that_works_with_it() {
    let stack = Stack::start().await;
    let browser = stack.login("demo").await;
    let body = json!({"name": "shop", "template": LASTING});
    let started = json(browser.post("/api/v1/deployments", &body).await, 202).await;
    let log_out = async |browser: &Client| {
        let answer = browser.post("/api/v1/logout", &json!({})).await;
        assert_eq!(answer.status(), 204);
        stack.calls.revocations()
    };
    assert_eq!(log_out(&browser).await, 0);

    let browser = stack.login("demo").await;
    let run = format!("/api/v1/runs/{}", started["run"].as_str().unwrap());
    let cancel = browser.post(&format!("{run}/cancel"), &json!({})).await;
    assert!(cancel.status().is_success());
    until("the run has ended", async || {
        json(browser.get(&run).await, 200).await["state"] == "cancelled"
    })
    .await;
    assert_eq!(log_out(&browser).await, 1);
}

#[tokio::test]
async fn a_user_sees_and_ends_their_own_sessions() {
    let stack = Stack::start().await;
    let (here, there) = (stack.login("demo").await, stack.login("demo").await);
    let reader = stack.login("ada").await;
    let sessions = json(here.get("/api/v1/sessions").await, 200).await;
    let sessions = sessions.as_array().unwrap();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    assert!(sessions.iter().all(|one| one["address"] == "127.0.0.1"));
    let mut others = sessions.iter().filter(|one| one["is_current"] == false);
    let other = others.next().unwrap()["id"].as_str().unwrap();
    assert!(!there.cookie.as_deref().unwrap().contains(other));

    let path = format!("/api/v1/sessions/{other}");
    let refused = problem(reader.delete(&path).await).await;
    assert_eq!(refused, (404, "not-found".into()), "somebody else's");
    assert_eq!(there.get("/api/v1/me").await.status(), 200);
    assert_eq!(here.delete(&path).await.status(), 204);
    assert_eq!(there.get("/api/v1/me").await.status(), 401);
    assert_eq!(here.get("/api/v1/me").await.status(), 200);
}

#[tokio::test]
async fn a_login_without_requests_ends() {
    let stack = Stack::start().await;
    let stack = stack.restart_with(&["--session-idle=2"]).await;
    let (idle, busy) = (stack.login("demo").await, stack.login("demo").await);
    let ended = async {
        loop {
            let open = json(busy.get("/api/v1/sessions").await, 200).await;
            if open.as_array().unwrap().len() == 1 {
                break;
            }
        }
    };
    let patience = std::time::Duration::from_secs(30);
    tokio::time::timeout(patience, ended).await.unwrap();
    assert_eq!(idle.get("/api/v1/me").await.status(), 401);
}
