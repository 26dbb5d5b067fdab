//! Successful and failed logins.

use crate::support::{Canned, UnusedAddress, answer, keystone, page};
use openstack::{CloudConfig, Credentials, Error, Scope, Service, Session};
use serde_json::json;

async fn good_cloud() -> (Canned, CloudConfig) {
    let canned = Canned::start(|url, request| {
        keystone(url, request).unwrap_or_else(|| answer(404, json!({"message": "no such page"})))
    })
    .await;
    let config = CloudConfig::new("lab", &format!("{}/identity/v3", canned.url));
    (canned, config)
}

async fn login(config: &CloudConfig, password: &str, project: &str) -> Result<Session, Error> {
    let credentials = Credentials::password("demo", "Default", password);
    Session::login(
        config,
        &credentials,
        Some(&Scope::project(project, "Default")),
    )
    .await
}

#[tokio::test]
async fn a_session_knows_user_project_and_catalogue() {
    let (canned, config) = good_cloud().await;
    let session = login(&config, "demo", "demo").await.unwrap();
    assert_eq!(session.user().name, "demo");
    assert_eq!(session.project().unwrap().id, "p1");
    assert!(session.has_role("Member"));
    assert!(session.has_service(Service::Network));
    assert!(!session.has_service(Service::KeyManager));
    assert_eq!(session.token().expose(), "scoped-token");
    assert!(!format!("{session:?}").contains("scoped-token"));

    session.revoke().await.unwrap();
    let last = canned.requests().pop().unwrap();
    assert_eq!(
        (
            last.method.as_str(),
            last.headers["x-subject-token"].as_str()
        ),
        ("DELETE", "scoped-token")
    );
}

#[tokio::test]
async fn wrong_password() {
    let (canned, config) = good_cloud().await;
    let error = login(&config, "wrong", "demo").await.unwrap_err();
    let requests = canned.requests().into_iter();
    let attempts = requests.filter(|one| one.method == "POST").count();
    assert_eq!(attempts, 1, "clouds lock users out after a few");
    assert!(matches!(error, Error::WrongCredentials { .. }), "{error}");
    assert_eq!(error.request_id(), Some("req-401"));
    assert!(!error.to_string().contains("wrong"), "{error}");
}

/// Keystone issues a receipt instead of a token if a user's rules require both methods.
#[tokio::test]
async fn a_second_factor_is_asked_for_and_given() {
    let canned = Canned::start(|url, request| {
        let methods = &request.body["auth"]["identity"]["methods"];
        if request.method == "POST" && *methods == json!(["password"]) {
            let body = json!({"receipt": {"methods": ["password"]}, "required_auth_methods": [["password", "totp"]]});
            return answer(401, body).with("openstack-auth-receipt", "gAAA");
        }
        keystone(url, request).unwrap_or_else(|| answer(404, json!({"message": "no such page"})))
    })
    .await;
    let config = CloudConfig::new("lab", &format!("{}/identity/v3", canned.url));
    let error = login(&config, "demo", "demo").await.unwrap_err();
    assert!(matches!(error, Error::SecondFactor { .. }), "{error}");

    let mut credentials = Credentials::password("demo", "Default", "demo");
    if let Credentials::Password { passcode, .. } = &mut credentials {
        *passcode = Some("123456".into());
    }
    let scope = Scope::project("demo", "Default");
    let session = Session::login(&config, &credentials, Some(&scope)).await;
    assert_eq!(session.unwrap().user().name, "demo");
    let mut requests = canned.requests().into_iter();
    let code = json!("123456");
    assert!(requests.any(|one| one.body["auth"]["identity"]["totp"]["user"]["passcode"] == code));
}

#[tokio::test]
async fn an_unknown_project_names_the_available_ones() {
    let (canned, config) = good_cloud().await;
    let error = login(&config, "demo", "nowhere").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "project `nowhere` is not known in cloud `lab`, or you have no role in it; you can use demo"
    );
    let last = canned.requests().pop().unwrap();
    assert_eq!(
        (
            last.method.as_str(),
            last.headers["x-subject-token"].as_str()
        ),
        ("DELETE", "unscoped-token")
    );
}

#[tokio::test]
async fn a_login_without_a_server_fails() {
    let (canned, _config) = good_cloud().await;
    let unused = UnusedAddress::new();
    let config = CloudConfig::new("lab", &format!("http://{}/v3", unused.address));
    let error = login(&config, "demo", "demo").await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    assert!(error.is_transient());
    assert!(canned.requests().is_empty());
}

#[tokio::test]
async fn a_server_that_is_not_openstack_is_refused() {
    let nonsense = [
        page(200, "<html><h1>It works!</h1></html>"),
        page(404, "<html><h1>Not Found</h1></html>"),
        answer(201, json!({"token": {}})).with("x-subject-token", "t"),
        answer(
            201,
            json!({"token": {"expires_at": "2126-01-01T00:00:00Z"}}),
        ),
        answer(201, json!([1, 2, 3])).with("x-subject-token", "t"),
        answer(302, json!({})).with("location", "http://127.0.0.1:1/"),
    ];
    for reply in nonsense {
        let (status, headers, body) = (reply.status, reply.headers, reply.body);
        let canned = Canned::start(move |_, _| crate::support::Answer {
            status,
            headers: headers.clone(),
            body: body.clone(),
        })
        .await;
        let config = CloudConfig::new("odd", &format!("{}/v3", canned.url));
        let error = login(&config, "demo", "demo").await.unwrap_err();
        assert!(
            matches!(error, Error::NotOpenStack { .. }),
            "{status}: {error}"
        );
    }
}

#[tokio::test]
async fn a_given_token_opens_a_session() {
    let (_canned, config) = good_cloud().await;
    let session = Session::from_token(&config, "scoped-token".into())
        .await
        .unwrap();
    assert_eq!(session.project().unwrap().name, "demo");
    let error = Session::from_token(&config, "stolen".into())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cloud `lab` does not accept this token: Failed to validate token. It has expired or was revoked, or another cloud issued it: \
         get a new one"
    );
}

#[tokio::test]
async fn an_application_credential_has_a_hint_of_its_own() {
    let (_canned, config) = good_cloud().await;
    let wrong = Credentials::application_credential("id", "wrong");
    let error = Session::login(&config, &wrong, None).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cloud `lab` does not accept this application credential: The request you have made requires authentication. Check its id and \
         secret, and whether it has expired or was deleted"
    );
}

#[tokio::test]
async fn a_region_that_the_catalogue_does_not_have_is_named() {
    let (_canned, mut config) = good_cloud().await;
    config.region = Some("Nowhere".into());
    let error = login(&config, "demo", "demo").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the catalogue of cloud `lab` has no region `Nowhere`; it has `lab`. Correct `region_name` in clouds.yaml"
    );
    let error = Session::from_token(&config, "scoped-token".into()).await;
    assert!(matches!(error, Err(Error::UnknownRegion { .. })));

    // A single service can have another region, which must exist too.
    config.region = Some("lab".into());
    login(&config, "demo", "demo").await.unwrap();
    config
        .service_regions
        .insert(Service::Image, "Elsewhere".into());
    let error = login(&config, "demo", "demo").await.unwrap_err();
    assert!(error.to_string().contains("no region `Elsewhere`"));
    // An endpoint override needs no region.
    config
        .endpoint_overrides
        .insert(Service::Image, "http://127.0.0.1:9/image".into());
    login(&config, "demo", "demo").await.unwrap();
}

/// The kernel accepts the connections, but no process reads from them.
#[tokio::test]
async fn a_cloud_without_a_response_times_out() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v3", silent.local_addr().unwrap());
    let mut config = CloudConfig::new("lab", &url);
    assert_eq!(config.login_timeout.as_secs(), 15);
    config.login_timeout = std::time::Duration::from_millis(200);
    let expected = format!(
        "cloud `lab` cannot be reached at {url}: no answer within 0.2 s. Check the address, the network and whether the cloud is up"
    );
    let error = login(&config, "demo", "demo").await.unwrap_err();
    assert_eq!(error.to_string(), expected);
    assert!(error.is_transient());
    let error = Session::from_token(&config, "scoped-token".into()).await;
    assert_eq!(error.unwrap_err().to_string(), expected);
}

#[tokio::test]
async fn an_address_without_version_is_discovered() {
    let canned = Canned::start(|url, request| match request.path.as_str() {
        "/identity/" => answer(300, json!({"versions": {"values": [
            {"id": "v3.14", "status": "stable", "links": [{"rel": "self", "href": "http://wrong.example/v3/"}]}]}})),
        _ => keystone(url, request).unwrap(),
    })
    .await;
    let config = CloudConfig::new("lab", &format!("{}/identity", canned.url));
    login(&config, "demo", "demo").await.unwrap();
}

#[tokio::test]
async fn a_keystone_that_is_down_is_worth_another_try() {
    let canned = Canned::start(|_, _| {
        page(
            503,
            "<html><body><h1>503</h1>The backend server is unreachable</body></html>",
        )
        .with("retry-after", "7")
    })
    .await;
    let config = CloudConfig::new("lab", &format!("{}/v3", canned.url));
    let error = login(&config, "demo", "demo").await.unwrap_err();
    assert!(error.is_transient());
    assert_eq!(error.retry_after(), Some(std::time::Duration::from_secs(7)));
    assert_eq!(error.message(), Some("The backend server is unreachable"));
}
