//! Choice of endpoints by interfaces, regions, overrides and aliases of a `clouds.yaml`, and by other projects.

use openstack::compute::Flavor;
use openstack::network::Network;
use openstack::{Clouds, Scope, Service, Session};
use serde_json::{Value, json};

use crate::support::{Answer, Canned, Request, answer};

/// A cloud with three interfaces in each of two regions. The path of an endpoint contains its region and interface.
fn wide(url: &str, request: &Request) -> Answer {
    match request.path.as_str() {
        "/identity/v3/auth/tokens" => token(url, &request.body["auth"]),
        path if path.ends_with("/networks") => answer(200, json!({"networks": []})),
        path if path.ends_with("/flavors/detail") => answer(200, json!({"flavors": []})),
        path if path.ends_with("/volumes/detail") => answer(200, json!({"volumes": []})),
        _ => answer(404, json!({})),
    }
}

fn token(url: &str, auth: &Value) -> Answer {
    let domain = json!({"id": "default", "name": "Default"});
    let wanted = &auth["scope"]["project"]["name"];
    let proof = auth["identity"]["token"]["id"].as_str();
    let rescoped = proof.is_some_and(|token| token.starts_with("token-of-"));
    if !(rescoped || auth["identity"]["password"]["user"]["password"] == "demo") {
        return answer(401, json!({"error": {"message": "no"}}));
    }
    let service = |kind: &str, path: &str| {
        let mut endpoints = Vec::new();
        for region in ["near", "far"] {
            for interface in ["admin", "internal", "public"] {
                let url = format!("{url}/{region}/{interface}/{path}");
                endpoints.push(json!({"interface": interface, "region_id": region, "url": url}));
            }
        }
        json!({"type": kind, "endpoints": endpoints})
    };
    let catalog = json!([
        service("computev21", "compute/v2.1"),
        service("network", "network"),
        service("block-store", "volume/v3/p1"),
    ]);
    let mut body = json!({"token": {
        "expires_at": "2126-01-01T00:00:00.000000Z",
        "user": {"id": "u1", "name": "demo", "domain": domain},
        "project": {"id": wanted, "name": wanted, "domain": domain},
        "roles": [{"id": "r1", "name": "member"}],
        "catalog": catalog,
    }});
    if auth["scope"] == "unscoped" {
        for scoped in ["project", "roles", "catalog"] {
            body["token"].as_object_mut().unwrap().remove(scoped);
        }
    }
    let token = format!("token-of-{}", wanted.as_str().unwrap_or_default());
    answer(201, body).with("x-subject-token", &token)
}

/// Logs in with these settings in the cloud's entry.
async fn login(canned: &Canned, settings: &str) -> Session {
    let url = &canned.url;
    let settings = settings.replace("HERE", url);
    let clouds = Clouds::from_yaml(&format!(
        "clouds: {{wide: {{auth: {{auth_url: '{url}/identity/v3', username: demo, password: demo, project_name: one}}, {settings}}}}}"
    ))
    .unwrap();
    let config = clouds.get("wide").unwrap();
    let credentials = config.credentials.as_ref().unwrap();
    let session = Session::login(config, credentials, config.scope.as_ref());
    session.await.unwrap()
}

/// Paths of the last requests to the network service and the compute service.
async fn request(canned: &Canned, session: &Session) -> (String, String) {
    let none = session.network().list::<Network>(&[]).await;
    none.unwrap_or_else(|error| panic!("{:?}: {error}", session.cloud()));
    let network = canned.requests().pop().unwrap().path;
    let _none: Vec<Flavor> = session.compute().flavor_list().await.unwrap();
    (network, canned.requests().pop().unwrap().path)
}

#[tokio::test]
async fn endpoints_can_be_overridden() {
    let canned = Canned::start(wide).await;
    let cases = [
        ("region_name: near", "near/public", "near/public"),
        ("region_name: far", "far/public", "far/public"),
        (
            "region_name: far, interface: internal",
            "far/internal",
            "far/internal",
        ),
        // The first interface with an endpoint.
        (
            "region_name: near, interface: [inside, admin]",
            "near/admin",
            "near/admin",
        ),
        (
            "region_name: near, endpoint_type: internalURL",
            "near/internal",
            "near/internal",
        ),
        (
            "region_name: near, compute_interface: admin",
            "near/public",
            "near/admin",
        ),
        (
            "region_name: near, network_region_name: far",
            "far/public",
            "near/public",
        ),
        (
            "region_name: near, network_endpoint_override: 'HERE/else'",
            "else",
            "near/public",
        ),
    ];
    for (settings, network, compute) in cases {
        let session = login(&canned, settings).await;
        let network = match network {
            "else" => "/else/v2.0/networks".to_owned(),
            place => format!("/{place}/network/v2.0/networks"),
        };
        // The service is found by an alias.
        let compute = format!("/{compute}/compute/v2.1/flavors/detail");
        assert_eq!(
            request(&canned, &session).await,
            (network, compute),
            "{settings}"
        );
    }
}

#[tokio::test]
async fn one_of_several_regions_by_choice() {
    let canned = Canned::start(wide).await;
    let session = login(&canned, "regions: [near, far]").await;
    assert_eq!(session.catalog().regions(), ["far", "near"]);
    let config = session.cloud().with_region("far");
    let credentials = config.credentials.clone().unwrap();
    let far = Session::login(&config, &credentials, config.scope.as_ref());
    let request = request(&canned, &far.await.unwrap()).await;
    assert_eq!(request.0, "/far/public/network/v2.0/networks");
}

#[tokio::test]
async fn a_service_missing_in_a_region_is_reported() {
    let canned = Canned::start(wide).await;
    let session = login(&canned, "region_name: near").await;
    let error = session
        .key_manager()
        .ids_by_name(openstack::key_manager::Kind::Secret, "key")
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cloud `wide` offers no key-manager service in region `near`: ask its administrator, or check `region_name` and `interface`"
    );
    assert!(!session.has_service(Service::KeyManager));
    assert!(session.has_service(Service::Network));
}

#[tokio::test]
async fn block_storage_is_found_by_all_its_service_types() {
    let canned = Canned::start(wide).await;
    let session = login(&canned, "region_name: near").await;
    session.block_storage().volume_list(&[]).await.unwrap();
    assert_eq!(
        canned.requests().pop().unwrap().path,
        "/near/public/volume/v3/p1/volumes/detail"
    );
    for (name, service) in [
        ("block-storage", Service::BlockStorage),
        ("volumev3", Service::BlockStorage),
        ("volume", Service::BlockStorage),
        ("compute", Service::Compute),
    ] {
        assert!(service.types().contains(&name));
    }
}

#[tokio::test]
async fn another_project_without_another_password() {
    let canned = Canned::start(wide).await;
    let one = login(&canned, "region_name: near").await;
    let before = canned.requests().len();
    let two = one
        .in_scope(&Scope::project("two", "Default"))
        .await
        .unwrap();
    assert_eq!(two.project().unwrap().name, "two");
    assert_eq!(one.project().unwrap().name, "one");
    let request = &canned.requests()[before..];
    assert_eq!(request.len(), 1);
    assert_eq!(
        request[0].body["auth"]["identity"]["methods"],
        json!(["token"])
    );
    assert!(!request[0].body.to_string().contains("password"));
    two.network().list::<Network>(&[]).await.unwrap();
    assert_eq!(
        canned.requests().pop().unwrap().headers["x-auth-token"],
        "token-of-two"
    );
}
