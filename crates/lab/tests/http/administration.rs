//! Changes by administrators: they take effect immediately, and only for their target.

use lab::Lab;
use reqwest::Method;
use serde_json::{Value, json};

use crate::common::{Client, memory, password, project_scope};
use crate::{TIMEOUT, login, network_with_subnet};

const USERS: &str = "/identity/v3/users";

/// Creates a resource. Returns its id, which is below the body's key.
async fn made(client: &Client, path: &str, body: Value) -> String {
    let key = body.as_object().unwrap().keys().next().unwrap().clone();
    let answer = client.post(path, body).await;
    assert!(answer.status < 300, "{path}: {}", answer.text);
    let id = answer.body[key]["id"].as_str();
    id.unwrap_or_else(|| panic!("{path}: {}", answer.text))
        .to_owned()
}

/// The status of a call without a body.
async fn plain(client: &Client, method: Method, path: &str) -> u16 {
    client.call(method, path, Value::Null).await.status
}

async fn role_named(admin: &Client, name: &str) -> String {
    let found = admin.get(&format!("/identity/v3/roles?name={name}")).await;
    found.at("/roles/0/id").as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_private_flavor_of_another_project_is_refused_in_a_resize() {
    let (lab, demo) = memory().await;
    let admin = Client::login(&lab, "admin").await;
    let body = json!({"flavor": {"name": "theirs", "vcpus": 1, "ram": 64, "disk": 1, "os-flavor-access:is_public": false}});
    let flavor = made(&admin, "/compute/v2.1/flavors", body).await;
    let (network, _) = network_with_subnet(&demo, "front", "10.0.0.0/24").await;
    let server = demo
        .server(json!({"name": "web", "networks": [{"uuid": network}]}))
        .await;
    demo.wait_for_server(&server, "ACTIVE", TIMEOUT).await;
    let act = format!("/compute/v2.1/servers/{server}/action");
    let resize = json!({"resize": {"flavorRef": flavor}});
    let response = demo.post(&act, resize.clone()).await;
    assert_eq!(response.status, 400, "{}", response.text);
    let access = json!({"addTenantAccess": {"tenant": demo.project_id}});
    let path = format!("/compute/v2.1/flavors/{flavor}/action");
    assert_eq!(admin.post(&path, access).await.status, 200);
    let response = demo.post(&act, resize).await;
    assert_eq!(response.status, 202, "{}", response.text);
}

#[tokio::test]
async fn a_renamed_volume_type_is_still_in_use() {
    let (lab, demo) = memory().await;
    let admin = Client::login(&lab, "admin").await;
    let volumes = |client: &Client| format!("/volume/v3/{}", client.project_id);
    let (ours, theirs) = (volumes(&demo), volumes(&admin));
    let kind = json!({"volume_type": {"name": "old"}});
    let kind = made(&admin, &format!("{theirs}/types"), kind).await;
    let volume = json!({"volume": {"size": 1, "volume_type": "old"}});
    let volume = made(&demo, &format!("{ours}/volumes"), volume).await;
    let path = format!("{theirs}/types/{kind}");
    let renamed = admin
        .put(&path, json!({"volume_type": {"name": "new"}}))
        .await;
    assert_eq!(renamed.status, 200, "{}", renamed.text);
    let shown = demo.get(&format!("{ours}/volumes/{volume}")).await;
    assert_eq!(shown.at("/volume/volume_type"), "new");
    assert_eq!(plain(&admin, Method::DELETE, &path).await, 400);
}

/// The status of a list of the caller's servers.
async fn works(client: &Client) -> u16 {
    client.get("/compute/v2.1/servers").await.status
}

#[tokio::test]
async fn a_revoked_role_is_in_no_token() {
    let (lab, demo) = memory().await;
    let admin = Client::login(&lab, "admin").await;
    let (role, member) = (
        role_named(&admin, "admin").await,
        role_named(&admin, "member").await,
    );
    let grants = format!(
        "/identity/v3/projects/{}/users/{}/roles",
        demo.project_id, demo.user_id
    );
    assert_eq!(demo.get(USERS).await.status, 403);
    let grant = format!("{grants}/{role}");
    assert_eq!(plain(&admin, Method::PUT, &grant).await, 204);
    assert_eq!(demo.get(USERS).await.status, 200);
    assert_eq!(plain(&admin, Method::DELETE, &grant).await, 204);
    assert_eq!(demo.get(USERS).await.status, 403);
    // A domain role of that name grants no permissions.
    let own = json!({"role": {"name": "admin", "domain_id": "default"}});
    let own = made(&admin, "/identity/v3/roles", own).await;
    let grant = format!("{grants}/{own}");
    assert_eq!(plain(&admin, Method::PUT, &grant).await, 204);
    assert_eq!(demo.get(USERS).await.status, 403);
    // The removal of the last role invalidates the token.
    assert_eq!(works(&demo).await, 200);
    let grant = format!("{grants}/{member}");
    assert_eq!(plain(&admin, Method::DELETE, &grant).await, 204);
    assert_eq!(works(&demo).await, 401);
}

async fn enable(admin: &Client, kind: &str, id: &str, enabled: bool) {
    let path = format!("/identity/v3/{kind}s/{id}");
    let body = json!({kind: {"enabled": enabled}});
    let response = admin.call(Method::PATCH, &path, body).await;
    assert_eq!(response.status, 200, "{}", response.text);
}

/// The status of a login with an application credential.
async fn by_credential(lab: &Lab, credential: &Value) -> u16 {
    let identity =
        json!({"methods": ["application_credential"], "application_credential": credential});
    login(lab, json!({ "identity": identity })).await.0
}

#[tokio::test]
async fn a_disabled_user_cannot_log_in() {
    let (lab, demo) = memory().await;
    let admin = Client::login(&lab, "admin").await;
    let path = format!("{USERS}/{}/application_credentials", demo.user_id);
    let body = json!({"application_credential": {"name": "ci"}});
    let credential = demo.post(&path, body).await;
    let credential = credential.at("/application_credential").clone();
    let credential = json!({"id": credential["id"], "secret": credential["secret"]});
    assert_eq!(by_credential(&lab, &credential).await, 201);
    for (kind, id) in [("project", &demo.project_id), ("user", &demo.user_id)] {
        enable(&admin, kind, id, false).await;
        assert_eq!(works(&demo).await, 401, "{kind}");
        assert_eq!(by_credential(&lab, &credential).await, 401, "{kind}");
        enable(&admin, kind, id, true).await;
        assert_eq!(by_credential(&lab, &credential).await, 201, "{kind}");
    }
    // The user's tokens are revoked; the project's tokens were only suspended.
    assert_eq!(works(&demo).await, 401);
    let auth = json!({"identity": password("demo", "demo"), "scope": project_scope("demo")});
    assert_eq!(login(&lab, auth).await.0, 201);
}

#[tokio::test]
async fn a_credential_by_name_belongs_to_the_user_in_that_domain() {
    let (lab, demo) = memory().await;
    let admin = Client::login(&lab, "admin").await;
    let domain = json!({"domain": {"name": "elsewhere"}});
    let domain = made(&admin, "/identity/v3/domains", domain).await;
    let twin = json!({"user": {"name": "twin", "domain_id": domain, "password": "pw"}});
    made(&admin, USERS, twin).await;
    let twin = json!({"user": {"name": "twin", "domain_id": "default", "password": "pw"}});
    let twin = made(&admin, USERS, twin).await;
    let member = role_named(&admin, "member").await;
    let grant = format!(
        "/identity/v3/projects/{}/users/{twin}/roles/{member}",
        demo.project_id
    );
    assert_eq!(plain(&admin, Method::PUT, &grant).await, 204);
    let by_password =
        json!({"methods": ["password"], "password": {"user": {"id": twin, "password": "pw"}}});
    let scope = json!({"project": {"id": demo.project_id}});
    let token = crate::common::http()
        .post(format!("{}/auth/tokens", lab.auth_url()))
        .json(&json!({"auth": {"identity": by_password, "scope": scope}}))
        .send()
        .await
        .unwrap();
    let token = token.headers()["x-subject-token"]
        .to_str()
        .unwrap()
        .to_owned();
    let path = format!("{USERS}/{twin}/application_credentials");
    let body = json!({"application_credential": {"name": "ci", "secret": "s"}});
    let mut client = admin;
    client.token = token;
    let response = client.post(&path, body).await;
    assert_eq!(response.status, 201, "{}", response.text);
    for (domain, expected) in [("Default", 201), ("elsewhere", 401)] {
        let user = json!({"name": "twin", "domain": {"name": domain}});
        let credential = json!({"name": "ci", "secret": "s", "user": user});
        assert_eq!(by_credential(&lab, &credential).await, expected, "{domain}");
    }
}
