//! Barbican: storage of secrets.

use crate::common::memory;
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn secrets_are_returned_as_stored() {
    let (_lab, client) = memory().await;
    let wanted = json!({"name": "key", "payload": "-----BEGIN", "payload_content_type": "text/plain", "secret_type": "private"});
    let made = client.post("/key-manager/v1/secrets", wanted).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let reference = made
        .at("/secret_ref")
        .as_str()
        .unwrap()
        .split_once("/key-manager")
        .unwrap()
        .1
        .to_owned();
    let path = format!("/key-manager{reference}");
    let payload = client
        .call_with(
            Method::GET,
            &format!("{path}/payload"),
            Value::Null,
            &[("accept", "text/plain")],
        )
        .await;
    assert_eq!((payload.status, payload.text.as_str()), (200, "-----BEGIN"));
    let listed = client.get("/key-manager/v1/secrets?name=key").await;
    assert_eq!(listed.at("/total"), 1);
    assert_eq!(client.delete(&path).await.status, 204);
    assert_eq!(client.get(&path).await.status, 404);
}

#[tokio::test]
async fn a_page_beyond_the_end_is_empty() {
    let (_lab, client) = memory().await;
    for list in ["secrets", "containers"] {
        let path = format!("/key-manager/v1/{list}?offset={}", usize::MAX);
        let page = client.get(&path).await;
        assert_eq!((page.status, page.at("/total")), (200, &json!(0)));
        assert_eq!(
            (page.at(&format!("/{list}")), page.at("/next")),
            (&json!([]), &Value::Null)
        );
    }
}
