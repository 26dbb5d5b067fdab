//! Busy services, closed connections, endless lists, and reuse of connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use openstack::network::Port;
use openstack::{CloudConfig, ConnectionFailure, Credentials, Error, Scope, Session};
use serde_json::json;

use crate::support::{Answer, Canned, Request, answer, cut, keystone, page};

/// A cloud whose responses about ports depend on the number of the request, from 0.
async fn cloud(
    ports: impl Fn(usize, &Request) -> Answer + Send + Sync + 'static,
) -> (Canned, Session) {
    let asked_so_far = Arc::new(AtomicUsize::new(0));
    let canned = Canned::start(move |url, request| match request.path.as_str() {
        "/network/" => answer(404, json!({})),
        path if path.starts_with("/network/v2.0/ports") => {
            ports(asked_so_far.fetch_add(1, Ordering::SeqCst), request)
        }
        _ => keystone(url, request).unwrap(),
    })
    .await;
    let config = CloudConfig::new("lab", &format!("{}/identity/v3", canned.url));
    let credentials = Credentials::password("demo", "Default", "demo");
    let scope = Scope::project("demo", "Default");
    let session = Session::login(&config, &credentials, Some(&scope));
    (canned, session.await.unwrap())
}

fn nothing() -> Answer {
    answer(200, json!({"ports": []}))
}

/// Number of received requests about ports.
fn request(canned: &Canned) -> usize {
    let all = canned.requests();
    all.iter().filter(|one| one.path.contains("/ports")).count()
}

#[tokio::test]
async fn a_read_on_a_closed_connection_is_retried() {
    let (canned, session) = cloud(|nth, _| if nth < 2 { cut() } else { nothing() }).await;
    session.network().list::<Port>(&[]).await.unwrap();
    assert_eq!(request(&canned), 3);
}

#[tokio::test]
async fn a_change_on_a_closed_connection_is_an_error() {
    let (canned, session) = cloud(|_, _| cut()).await;
    let network = session.network();
    let error = network.create::<Port>(&json!({})).await.unwrap_err();
    let Error::Connection { wire, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(*wire, ConnectionFailure::Reset);
    assert!(error.is_transient());
    assert!(error.request_id().is_some_and(|id| id.starts_with("req-")));
    assert_eq!(request(&canned), 1);
}

#[tokio::test]
async fn a_busy_service_is_retried_after_its_retry_after() {
    let (canned, session) = cloud(|nth, _| match nth {
        0 => page(429, "Too many").with("retry-after", "1"),
        _ => nothing(),
    })
    .await;
    let begun = std::time::Instant::now();
    session.network().list::<Port>(&[]).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(request(&canned), 2);
}

#[tokio::test]
async fn a_long_retry_after_is_returned_to_the_caller() {
    let in_an_hour = jiff::Timestamp::now() + Duration::from_secs(3600);
    let in_an_hour = in_an_hour.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    for wait in ["3600", in_an_hour.as_str()] {
        let text = wait.to_owned();
        let (canned, session) =
            cloud(move |_, _| page(503, "closed").with("retry-after", &text)).await;
        let error = session.network().list::<Port>(&[]).await.unwrap_err();
        assert!(error.is_transient());
        let asked_to_wait = error.retry_after().unwrap();
        let off = Duration::from_secs(3600).abs_diff(asked_to_wait);
        assert!(off < Duration::from_secs(60), "{wait}: {asked_to_wait:?}");
        assert_eq!(request(&canned), 1);
    }
}

#[tokio::test]
async fn one_connection_serves_one_call_after_the_other() {
    let (canned, session) = cloud(|_, _| nothing()).await;
    for _ in 0..20 {
        session.network().list::<Port>(&[]).await.unwrap();
    }
    // Another session of the same cloud reuses the connection.
    let config = session.cloud().clone();
    let again = Session::from_token(&config, session.token().clone()).await;
    again.unwrap().network().list::<Port>(&[]).await.unwrap();
    assert_eq!(request(&canned), 21);
    assert_eq!(canned.connections(), 1);
}

#[tokio::test]
async fn an_endless_list_is_an_error() {
    let (canned, session) = cloud(|nth, _| {
        let next = format!("http://h/v2.0/ports?marker={nth}");
        let links = json!([{"rel": "next", "href": next}]);
        answer(200, json!({"ports": [{"id": "1"}], "ports_links": links}))
    })
    .await;
    let error = session.network().list::<Port>(&[]).await.unwrap_err();
    assert!(error.to_string().contains("does not end"), "{error}");
    assert_eq!(request(&canned), 1000);
}

#[tokio::test]
async fn a_page_that_links_to_itself_ends_the_list() {
    let (canned, session) = cloud(|_, _| {
        let links = json!([{"rel": "next", "href": "http://h/v2.0/ports?marker=1"}]);
        answer(200, json!({"ports": [{"id": "1"}], "ports_links": links}))
    })
    .await;
    let ports = session.network().list::<Port>(&[]).await.unwrap();
    assert_eq!(ports.len(), 2);
    assert_eq!(request(&canned), 2);
}
