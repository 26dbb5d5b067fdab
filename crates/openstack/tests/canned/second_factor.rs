//! Logins with more than one authentication method.

use openstack::{CloudConfig, Credentials, Domain, Error, Identifier, Scope, Session};
use serde_json::json;

use crate::support::{Answer, Canned, Request, answer, keystone};

/// A Keystone that requires a one-time code of `demo` and issues receipts.
fn strict(url: &str, request: &Request) -> Answer {
    let identity = &request.body["auth"]["identity"];
    let methods = identity["methods"].as_array().cloned().unwrap_or_default();
    let has = |method: &str| methods.contains(&json!(method));
    let receipt = request.headers.get("openstack-auth-receipt");
    let known = has("password") || receipt.is_some_and(|receipt| receipt == "half-way");
    let code = identity["totp"]["user"]["passcode"] == "123456";
    if request.path != "/identity/v3/auth/tokens" || has("token") || (known && code) {
        let mut request = request.clone();
        if receipt.is_some() {
            request.body["auth"]["identity"]["password"]["user"]["password"] = json!("demo");
        }
        return keystone(url, &request).unwrap_or_else(|| answer(404, json!(null)));
    }
    if has("totp") {
        return answer(
            401,
            json!({"error": {"code": 401, "title": "Unauthorized", "message": "Invalid passcode."}}),
        );
    }
    let body = json!({
        "receipt": {"methods": ["password"], "expires_at": "2126-01-01T00:00:00.000000Z"},
        "required_auth_methods": [["totp", "password"]],
    });
    answer(401, body).with("openstack-auth-receipt", "half-way")
}

fn user() -> Identifier {
    Identifier::Name {
        name: "demo".into(),
        domain: Domain::Name("Default".into()),
    }
}

fn password(passcode: Option<&str>) -> Credentials {
    Credentials::Password {
        user: user(),
        password: "demo".into(),
        passcode: passcode.map(Into::into),
    }
}

async fn login(config: &CloudConfig, credentials: &Credentials) -> Result<Session, Error> {
    Session::login(
        config,
        credentials,
        Some(&Scope::project("demo", "Default")),
    )
    .await
}

#[tokio::test]
async fn a_second_factor_is_sent_with_the_password() {
    let canned = Canned::start(strict).await;
    let config = CloudConfig::new("lab", &format!("{}/identity/v3", canned.url));
    let session = login(&config, &password(Some("123456"))).await.unwrap();
    assert_eq!(session.user().name, "demo");
    let error = login(&config, &password(Some("999999"))).await.unwrap_err();
    assert!(matches!(error, Error::WrongCredentials { .. }), "{error}");
}

#[tokio::test]
async fn a_second_factor_is_sent_on_request() {
    let canned = Canned::start(strict).await;
    let config = CloudConfig::new("lab", &format!("{}/identity/v3", canned.url));
    let error = login(&config, &password(None)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cloud `lab` wants a second factor of this user: give the code that the authenticator shows now"
    );
    assert!(
        !format!("{error:?}").contains("half-way"),
        "a receipt is a secret"
    );
    let Error::SecondFactor {
        receipt, missing, ..
    } = error
    else {
        panic!("a second factor is wanted");
    };
    assert_eq!(missing, [["totp"]]);
    let code = Credentials::Passcode {
        user: user(),
        passcode: "123456".into(),
        receipt,
    };
    let session = login(&config, &code).await.unwrap();
    assert_eq!(session.project().unwrap().name, "demo");
    // The password was not sent again.
    let mut requests = canned.requests().into_iter();
    let is_code = |one: &Request| one.body["auth"]["identity"]["methods"] == json!(["totp"]);
    let last = requests.rfind(is_code).unwrap();
    assert!(
        !last.body.to_string().contains("password\":"),
        "{}",
        last.body
    );
}
