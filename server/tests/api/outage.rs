//! An outage of the database: requests are answered with 503, nobody is logged out, and no run ends.

use std::time::{Duration, Instant};

use reqwest::{Response, header};
use serde_json::json;
use store::testing::BreakingWay;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::{
    keystone,
    stack::{Stack, credentials, json, problem},
    stream::watch,
};

/// A template whose run needs no cloud and lasts as long as the outage.
const SHORT: &str = "heat_template_version: 2021-04-16\nresources:\n  short: {type: OS::Heat::Delay, properties: {min_wait: 2}}\n";

/// Time until the run of [`SHORT`] would end.
const LASTS: Duration = Duration::from_secs(3);

async fn check_unavailable(response: Response) {
    let wait = response.headers().get(header::RETRY_AFTER);
    let wait: u64 = wait.unwrap().to_str().unwrap().parse().unwrap();
    assert!((1..60).contains(&wait), "{wait}");
    assert!(!response.headers().contains_key(header::SET_COOKIE));
    let told = problem(response).await;
    assert_eq!(told, (503, "database-unavailable".to_owned()));
}

#[tokio::test]
async fn an_outage_of_the_database_logs_nobody_out_and_ends_no_run() {
    let way = BreakingWay::new().await;
    let (cloud, _) = keystone::start().await;
    let clouds = format!("clouds:\n  test:\n    auth: {{auth_url: '{cloud}/v3'}}\n");
    let stack = Stack::with_clouds(&clouds, &["--database", way.address()]).await;
    let browser = stack.login("demo").await;
    let body = json!({"name": "shop", "template": SHORT, "parameters": {}});
    let started = json(browser.post("/api/v1/deployments", &body).await, 202).await;

    way.cut();
    let begun = Instant::now();
    let token = keystone::token("demo", "demo");
    while begun.elapsed() < LASTS {
        check_unavailable(browser.get("/api/v1/me").await).await;
        let by_token = stack.stranger();
        let by_token = by_token.request(reqwest::Method::GET, "/api/v1/deployments");
        let by_token = by_token
            .header("x-auth-token", &token)
            .header("x-stackloom-cloud", "test");
        check_unavailable(by_token.send().await.unwrap()).await;
        let login = credentials("demo", "demo", "demo");
        check_unavailable(stack.stranger().post("/api/v1/login", &login).await).await;
        check_unavailable(
            browser
                .post("/api/v1/designs", &json!({"name": "a", "template": ""}))
                .await,
        )
        .await;
    }
    way.mend();

    assert_eq!(
        json(browser.get("/api/v1/me").await, 200).await["user"],
        "demo"
    );
    let (events, closed) = watch(&browser, started["run"].as_str().unwrap(), 0).await;
    assert_eq!(closed, CloseCode::Normal);
    assert_eq!(events.last().unwrap()["state"], "succeeded", "{events:?}");
}
