//! Calls to services: URLs, retries, counts, and unexpected responses.

use crate::support::{Answer, Canned, Request, UnusedAddress, answer, keystone, page};
use openstack::network::{Network, Port};
use openstack::object_store::Headers;
use openstack::{CloudConfig, ConnectionFailure, Credentials, Error, Scope, Session};
use serde_json::json;

async fn cloud(
    answers: impl Fn(&str, &Request) -> Answer + Send + Sync + 'static,
) -> (Canned, Session) {
    let canned = Canned::start(move |url, request| {
        keystone(url, request).unwrap_or_else(|| answers(url, request))
    })
    .await;
    let mut config = CloudConfig::new("lab", &format!("{}/identity/v3", canned.url));
    config.connection.parallel_calls = 2;
    let credentials = Credentials::password("demo", "Default", "demo");
    let scope = Scope::project("demo", "Default");
    let session = Session::login(&config, &credentials, Some(&scope))
        .await
        .unwrap();
    (canned, session)
}

#[tokio::test]
async fn the_path_prefix_of_a_service_is_kept() {
    let (canned, session) = cloud(|_, request| match request.path.as_str() {
        "/image/" => answer(300, json!({"versions": [
            {"id": "v2.16", "status": "CURRENT", "links": [{"rel": "self", "href": "http://inside:9292/v2/"}]}]})),
        "/image/v2/images?name=debian-12" => answer(200, json!({"images": [{"id": "i1", "name": "debian-12", "status": "active"}]})),
        // A service without version discovery gets the default path.
        "/network/v2.0/networks" => answer(200, json!({"networks": []})),
        _ => answer(404, json!({"message": "no such page"})),
    })
    .await;
    assert_eq!(
        session.image().image_find("debian-12").await.unwrap().id,
        "i1"
    );
    session.network().list::<Network>(&[]).await.unwrap();
    // The second call uses the cached endpoint.
    session.network().list::<Network>(&[]).await.unwrap();
    let roots = canned
        .requests()
        .iter()
        .filter(|request| request.path == "/network/")
        .count();
    assert_eq!(roots, 1);
}

#[tokio::test]
async fn compute_calls_use_a_supported_microversion() {
    let (canned, session) = cloud(|_, request| match request.path.as_str() {
        "/compute/v2.1/" => answer(200, json!({"version": {"id": "v2.1", "status": "CURRENT", "min_version": "2.1", "version": "2.38"}})),
        _ => answer(200, json!({"flavors": [{"id": "1", "name": "m1.tiny", "vcpus": 1, "ram": 64, "disk": 1}]})),
    })
    .await;
    assert_eq!(
        session.compute().flavor_find("m1.tiny").await.unwrap().id,
        "1"
    );
    let last = canned.requests().pop().unwrap();
    assert_eq!(last.path, "/compute/v2.1/flavors/detail");
    assert_eq!(last.headers["openstack-api-version"], "compute 2.38");
}

#[tokio::test]
async fn pages_are_followed_by_their_query_alone() {
    let (_canned, session) = cloud(|_, request| match request.path.as_str() {
        "/network/v2.0/ports" => answer(200, json!({"ports": [{"id": "1"}, {"id": "2"}],
            "ports_links": [{"rel": "next", "href": "http://elsewhere.example/v2.0/ports?marker=2"}]})),
        "/network/v2.0/ports?marker=2" => answer(200, json!({"ports": [{"id": "3"}]})),
        _ => answer(404, json!({})),
    })
    .await;
    let ports: Vec<Port> = session.network().list(&[]).await.unwrap();
    let ids: Vec<&str> = ports.iter().map(|port| port.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3"]);
}

#[tokio::test]
async fn a_redirect_is_refused_and_the_token_is_not_sent() {
    let elsewhere = Canned::start(|_, _| answer(200, json!({"networks": []}))).await;
    let target = elsewhere.url.clone();
    let (_canned, session) = cloud(move |_, request| match request.path.as_str() {
        "/network/" => answer(404, json!({})),
        _ => answer(302, json!({})).with("location", &target),
    })
    .await;
    let error = session.network().list::<Network>(&[]).await.unwrap_err();
    assert_eq!(error.status(), Some(302));
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn errors_keep_the_services_message_and_request_id() {
    let (_canned, session) = cloud(|_, request| match request.path.as_str() {
        "/network/" => answer(404, json!({})),
        _ => answer(409, json!({"NeutronError": {"type": "SecurityGroupInUse", "message": "Security Group x in use.", "detail": ""}}))
            .with("x-openstack-request-id", "req-7"),
    })
    .await;
    let error = session
        .network()
        .delete::<openstack::network::SecurityGroup>("x")
        .await
        .unwrap_err();
    assert!(error.is_conflict() && !error.is_transient());
    assert_eq!(
        error.to_string(),
        "network service: DELETE /network/v2.0/security-groups/x was answered with 409: Security Group x in use (request req-7)"
    );
    assert_eq!(
        error.api().unwrap().kind.as_deref(),
        Some("SecurityGroupInUse")
    );
}

#[tokio::test]
async fn an_endless_response_is_cut() {
    let (_canned, session) = cloud(|_, request| match request.path.as_str() {
        "/network/" => answer(404, json!({})),
        _ => Answer {
            status: 200,
            headers: vec![],
            body: vec![b' '; 33 << 20],
        },
    })
    .await;
    let error = session.network().list::<Network>(&[]).await.unwrap_err();
    assert!(
        error.to_string().contains("it is larger than 32 MiB"),
        "{error}"
    );
}

#[tokio::test]
async fn wrong_json_is_an_error_with_its_place() {
    let (_canned, session) = cloud(|_, request| match request.path.as_str() {
        "/network/" => answer(404, json!({})),
        _ => answer(200, json!({"networks": [{"id": 5}]})),
    })
    .await;
    let error = session.network().list::<Network>(&[]).await.unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }));
    assert!(
        error.to_string().contains("GET /network/v2.0/networks"),
        "{error}"
    );
}

#[tokio::test]
async fn no_more_calls_at_once_than_allowed() {
    let (canned, session) = cloud(|_, request| match request.path.as_str() {
        "/network/" => answer(404, json!({})),
        _ => answer(200, json!({"ports": []})),
    })
    .await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let session = session.clone();
        calls.spawn(async move { session.network().list::<Port>(&[]).await.map(drop) });
    }
    for result in calls.join_all().await {
        result.unwrap();
    }
    assert!(canned.most_at_once() <= 2, "{}", canned.most_at_once());
}

#[tokio::test]
async fn a_refused_connection_is_transient() {
    let (_canned, session) = cloud(|_, _| answer(404, json!({}))).await;
    let unused = UnusedAddress::new();
    let mut config = session.cloud().clone();
    config.endpoint_overrides.insert(
        openstack::Service::Network,
        format!("http://{}/v2.0", unused.address),
    );
    let session = Session::from_token(&config, session.token().clone())
        .await
        .unwrap();
    let error = session.network().list::<Port>(&[]).await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::Connection {
                wire: ConnectionFailure::Refused,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.is_transient());
}

#[tokio::test]
async fn reads_are_retried_and_changes_are_not() {
    let (canned, session) = cloud(|_, request| match request.path.as_str() {
        "/network/" => answer(404, json!({})),
        _ => answer(503, json!({"message": "busy"})).with("retry-after", "0"),
    })
    .await;
    let count = |method: &str| {
        let requests = canned.requests();
        let of_it =
            |request: &&Request| request.method == method && request.path.ends_with("/ports");
        requests.iter().filter(of_it).count()
    };
    let error = session.network().list::<Port>(&[]).await.unwrap_err();
    assert!(error.is_transient());
    assert_eq!(count("GET"), 3);
    let made = session.network().create::<Port>(&json!({})).await;
    assert!(made.unwrap_err().is_transient());
    assert_eq!(count("POST"), 1);
}

#[tokio::test]
async fn a_call_without_a_response_has_a_request_id() {
    let (canned, session) = cloud(|_, request| match request.path.as_str() {
        "/network/" => answer(404, json!({})),
        _ => answer(409, json!({"message": "no"})),
    })
    .await;
    let error = session
        .network()
        .create::<Port>(&json!({}))
        .await
        .unwrap_err();
    let sent = canned.requests().pop().unwrap().headers["x-openstack-request-id"].clone();
    assert!(sent.starts_with("req-"), "{sent}");
    assert_eq!(error.request_id(), Some(sent.as_str()));
}

#[tokio::test]
async fn volumes_are_found_behind_alias_project_and_microversion() {
    let (canned, session) = cloud(|_, request| match request.path.as_str() {
        "/volume/v3/" => answer(300, json!({"versions": [
            {"id": "v3.0", "status": "CURRENT", "version": "3.40", "min_version": "3.0", "links": []}]})),
        _ => answer(202, json!({})),
    })
    .await;
    session
        .block_storage()
        .volume_extend("v1", 3)
        .await
        .unwrap();
    let last = canned.requests().pop().unwrap();
    assert_eq!(last.path, "/volume/v3/p1/volumes/v1/action");
    assert_eq!(last.headers["openstack-api-version"], "volume 3.40");
}

/// Aodh's records have no key around them.
#[tokio::test]
async fn alarms_are_created_listed_replaced_and_deleted() {
    let record = json!({"alarm_id": "a1", "name": "busy"});
    let answered = record.clone();
    let (canned, session) =
        cloud(
            move |_, request| match (request.method.as_str(), request.path.as_str()) {
                ("POST", "/alarm/v2/alarms") => answer(201, answered.clone()),
                ("GET", "/alarm/v2/alarms") => answer(200, json!([answered])),
                ("GET" | "PUT", "/alarm/v2/alarms/a1") => answer(200, answered.clone()),
                ("DELETE", "/alarm/v2/alarms/a1") => answer(204, json!(null)),
                _ => answer(404, json!({"error_message": "no such page"})),
            },
        )
        .await;
    let alarms = session.alarming();
    let fields = json!({"name": "busy"});
    assert_eq!(alarms.create(&fields).await.unwrap(), record);
    assert_eq!(alarms.list().await.unwrap(), std::slice::from_ref(&record));
    assert_eq!(alarms.get("a1").await.unwrap(), record);
    alarms.put("a1", &fields).await.unwrap();
    let last = canned.requests().pop().unwrap();
    assert_eq!((last.method.as_str(), last.body), ("PUT", fields));
    alarms.delete("a1").await.unwrap();
    assert!(alarms.get("a2").await.unwrap_err().is_not_found());
}

/// Designate's records have no key around them either; a zone is found by its name without the final dot.
#[tokio::test]
async fn zones_and_their_records_are_created_found_changed_and_deleted() {
    use openstack::dns::DnsCollection::{RecordSets, Zones};
    let (canned, session) = cloud(|_, request| {
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/dns/v2/zones") => answer(202, json!({"id": "z1", "status": "PENDING"})),
            ("GET", "/dns/v2/zones?name=example.org.") => answer(
                200,
                json!({"zones": [{"id": "z1", "name": "example.org."}], "links": {"self": "x"}}),
            ),
            ("GET", "/dns/v2/zones?name=none.org.") => answer(200, json!({"zones": []})),
            ("PATCH", "/dns/v2/zones/z1") => answer(202, json!({"id": "z1"})),
            ("POST", "/dns/v2/zones/z1/recordsets") => answer(202, json!({"id": "r1"})),
            ("GET", "/dns/v2/zones/z1/recordsets") => {
                answer(200, json!({"recordsets": [{"id": "r1"}]}))
            }
            ("GET" | "PUT", "/dns/v2/zones/z1/recordsets/r1") => answer(200, json!({"id": "r1"})),
            ("DELETE", "/dns/v2/zones/z1/recordsets/r1") => answer(202, json!({"id": "r1"})),
            _ => answer(404, json!({"code": 404, "type": "not_found"})),
        }
    })
    .await;
    let dns = session.dns();
    let fields = json!({"name": "example.org.", "email": "a@example.org"});
    assert_eq!(dns.create(Zones, &fields).await.unwrap()["id"], "z1");
    assert_eq!(dns.zone("example.org").await.unwrap()["id"], "z1");
    let error = dns.zone("none.org").await.unwrap_err();
    assert!(error.to_string().contains("none.org"), "{error}");
    dns.update(Zones, "z1", &json!({"ttl": 60})).await.unwrap();
    let records = RecordSets("z1");
    let fields = json!({"name": "www.example.org.", "type": "A", "records": ["192.0.2.1"]});
    assert_eq!(dns.create(records, &fields).await.unwrap()["id"], "r1");
    let sent = canned.requests().pop().unwrap();
    assert_eq!(sent.body, fields);
    assert_eq!(dns.list(records, &[]).await.unwrap().len(), 1);
    dns.update(records, "r1", &fields).await.unwrap();
    dns.delete(records, "r1").await.unwrap();
    assert!(dns.get(records, "r2").await.unwrap_err().is_not_found());
}

/// Swift describes containers by header fields, and has them below the account's path.
#[tokio::test]
async fn containers_are_created_read_emptied_and_deleted() {
    let (canned, session) =
        cloud(
            |_, request| match (request.method.as_str(), request.path.as_str()) {
                ("HEAD", "/swift/v1/AUTH_p1/pictures") => {
                    page(204, "").with("X-Container-Object-Count", "2")
                }
                ("PUT" | "POST", "/swift/v1/AUTH_p1/pictures") => page(201, ""),
                ("POST", "/swift/v1/AUTH_p1") => page(204, ""),
                ("GET", "/swift/v1/AUTH_p1/pictures?format=json&limit=5") => {
                    answer(200, json!([{"name": "2026/a.png"}, {"name": "b.png"}]))
                }
                ("GET", "/swift/v1/AUTH_p1/empty?format=json&limit=5") => page(204, ""),
                ("DELETE", "/swift/v1/AUTH_p1/pictures/2026%2Fa.png") => page(204, ""),
                ("DELETE", "/swift/v1/AUTH_p1/pictures") => page(409, "There was a conflict"),
                ("HEAD", _) => page(404, ""),
                _ => page(404, "The resource could not be found."),
            },
        )
        .await;
    let store = session.object_store();
    let account = store.account_url().await.unwrap();
    assert!(account.as_str().ends_with("/swift/v1/AUTH_p1"), "{account}");
    assert!(store.head("none").await.unwrap_err().is_not_found());
    let headers = Headers::from([("x-container-meta-tier".to_owned(), "web".to_owned())]);
    store.put("pictures", headers.clone()).await.unwrap();
    let sent = canned.requests().pop().unwrap();
    assert_eq!(
        (
            sent.method.as_str(),
            sent.headers["x-container-meta-tier"].as_str()
        ),
        ("PUT", "web")
    );
    store.post("pictures", headers.clone()).await.unwrap();
    store.post_account(headers).await.unwrap();
    let found = store.head("pictures").await.unwrap();
    assert_eq!(found["x-container-object-count"], "2");
    let objects = store.objects("pictures", 5).await.unwrap();
    assert_eq!(objects, ["2026/a.png", "b.png"]);
    assert!(store.objects("empty", 5).await.unwrap().is_empty());
    store.delete_object("pictures", &objects[0]).await.unwrap();
    assert!(store.delete("pictures").await.unwrap_err().is_conflict());
}
