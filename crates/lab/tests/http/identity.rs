//! Keystone: issue, scope and revocation of tokens.

use crate::common::{Client, memory, password, project_scope};
use crate::login;
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn a_login_needs_the_right_password_and_a_project_of_the_user() {
    let (lab, client) = memory().await;
    let by_id = json!({"methods": ["password"], "password": {"user": {"id": client.user_id, "password": "demo"}}});
    let token = json!({"methods": ["token"], "token": {"id": client.token}});
    for (what, identity, scope, expected) in [
        (
            "name and password",
            password("demo", "demo"),
            project_scope("demo"),
            201,
        ),
        (
            "id and password",
            by_id,
            json!({"project": {"id": client.project_id}}),
            201,
        ),
        ("a token", token, project_scope("demo"), 201),
        ("no scope", password("demo", "demo"), json!("unscoped"), 201),
        (
            "a wrong password",
            password("demo", "nonsense"),
            project_scope("demo"),
            401,
        ),
        (
            "an unknown user",
            password("nobody", "demo"),
            project_scope("demo"),
            401,
        ),
        (
            "an unknown project",
            password("demo", "demo"),
            project_scope("nothing"),
            401,
        ),
        (
            "somebody else's project",
            password("demo", "demo"),
            project_scope("other"),
            401,
        ),
        (
            "no domain",
            json!({"methods": ["password"], "password": {"user": {"name": "demo", "password": "demo"}}}),
            project_scope("demo"),
            400,
        ),
    ] {
        let (status, body) = login(&lab, json!({"identity": identity, "scope": scope})).await;
        assert_eq!(status, expected, "{what}: {body}");
        if expected == 401 {
            assert_eq!(
                body["error"]["message"], "The request you have made requires authentication.",
                "{what}"
            );
        }
    }
    let (_, body) = login(
        &lab,
        json!({"identity": password("demo", "demo"), "scope": project_scope("demo")}),
    )
    .await;
    let types: Vec<&str> = body["token"]["catalog"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types,
        [
            "identity",
            "compute",
            "network",
            "image",
            "block-storage",
            "key-manager",
            "load-balancer",
            "volumev3"
        ]
    );
    assert_eq!(body["token"]["catalog"][1]["endpoints"][0]["region"], "lab");
}

#[tokio::test]
async fn a_revoked_token_ends() {
    let (_lab, client) = memory().await;
    let subject = [("x-subject-token", client.token.as_str())];
    assert_eq!(
        client
            .call_with(
                Method::GET,
                "/identity/v3/auth/tokens",
                Value::Null,
                &subject
            )
            .await
            .status,
        200
    );
    assert_eq!(
        client
            .call_with(
                Method::DELETE,
                "/identity/v3/auth/tokens",
                Value::Null,
                &subject
            )
            .await
            .status,
        204
    );
    for path in [
        "/compute/v2.1/servers",
        "/network/v2.0/networks",
        "/image/v2/images",
        "/key-manager/v1/secrets",
    ] {
        let answer = client.get(path).await;
        assert_eq!(
            (answer.status, answer.at("/error/code").as_u64()),
            (401, Some(401)),
            "{path}"
        );
        assert!(answer.headers.contains_key("www-authenticate"), "{path}");
    }
}

#[tokio::test]
async fn an_application_credential_is_bound_to_its_project() {
    let (lab, client) = memory().await;
    let path = format!(
        "/identity/v3/users/{}/application_credentials",
        client.user_id
    );
    let made = client
        .post(&path, json!({"application_credential": {"name": "ci"}}))
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    let credential = json!({"id": made.at("/application_credential/id"), "secret": made.at("/application_credential/secret")});
    let identity =
        json!({"methods": ["application_credential"], "application_credential": credential});
    let (status, body) = login(&lab, json!({ "identity": identity })).await;
    assert_eq!(
        (status, body["token"]["project"]["name"].as_str()),
        (201, Some("demo")),
        "{body}"
    );
}

#[tokio::test]
async fn an_application_credential_makes_the_calls_of_its_rules_only() {
    let (lab, client) = memory().await;
    let path = format!(
        "/identity/v3/users/{}/application_credentials",
        client.user_id
    );
    let rule = json!({"service": "network", "method": "GET", "path": "/v2.0/**"});
    let wanted = json!({"name": "reads", "access_rules": [rule]});
    let made = client
        .post(&path, json!({ "application_credential": wanted }))
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(
        made.at("/application_credential/access_rules"),
        &json!([rule])
    );
    let id = made.at("/application_credential/id").clone();
    let credential = json!({"id": id, "secret": made.at("/application_credential/secret")});
    let identity =
        json!({"methods": ["application_credential"], "application_credential": credential});
    let program = client.with_login(json!({ "identity": identity })).await;
    assert_eq!(program.get("/network/v2.0/networks").await.status, 200);
    let network = json!({"network": {"name": "n"}});
    let refused = program.post("/network/v2.0/networks", network).await;
    assert_eq!(refused.status, 401);
    for elsewhere in ["/compute/v2.1/servers", path.as_str()] {
        assert_eq!(program.get(elsewhere).await.status, 401, "{elsewhere}");
    }
    // Its tokens end with it.
    let there = format!("{path}/{}", id.as_str().unwrap());
    assert_eq!(client.delete(&there).await.status, 204);
    assert_eq!(program.get("/network/v2.0/networks").await.status, 401);
    drop(lab);
}

#[tokio::test]
async fn a_credential_of_another_user_is_not_found() {
    let (lab, demo) = memory().await;
    let seed = json!({"user_id": demo.user_id, "type": "totp", "blob": "GEZDGNBVGY3TQOJQ"});
    let path = "/identity/v3/credentials";
    let made = demo.post(path, json!({ "credential": seed })).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let there = format!("{path}/{}", made.at("/credential/id").as_str().unwrap());
    let nowhere = format!("{path}/nowhere");
    for (user, expected) in [
        ("demo", [200, 403]),
        ("other", [403, 403]),
        ("admin", [200, 404]),
    ] {
        let client = Client::login(&lab, user).await;
        let seen = [
            client.get(&there).await.status,
            client.get(&nowhere).await.status,
        ];
        assert_eq!(seen, expected, "{user}");
    }
}
