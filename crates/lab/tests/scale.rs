//! Many servers in memory: making, finding and listing them costs each as much with thousands as with a few.
//!
//! `cargo test -p lab --release --test scale -- --include-ignored --nocapture` prints what ten thousand take.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod common;

use std::time::{Duration, Instant};

use common::{Client, memory};
use futures::StreamExt as _;
use serde_json::{Value, json};

/// Calls at a time.
const PARALLEL: usize = 16;

/// What one round took.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// Making all servers, each with a port of its own on one network.
    create: Duration,
    /// Finding each by its name, its ports by its id.
    find: Duration,
    /// Walking through all in pages of 100.
    walk: Duration,
    /// Deleting all.
    delete: Duration,
}

async fn round(servers: usize) -> Times {
    let (lab, client) = memory().await;
    let network = client.network("networks", json!({"name": "net"})).await;
    let subnet = json!({"network_id": network, "cidr": "10.0.0.0/16", "ip_version": 4});
    client.network("subnets", subnet).await;
    let image = client.image().await;
    let (client, network, image) = (&client, &network, &image);

    let begin = Instant::now();
    let ids: Vec<String> = each(servers, |nth| async move {
        let body = json!({"server": {"name": format!("s{nth}"), "imageRef": image, "flavorRef": "1", "networks": [{"uuid": network}]}});
        let made = client.post("/compute/v2.1/servers", body).await;
        assert_eq!(made.status, 202, "{}", made.text);
        made.at("/server/id").as_str().unwrap().to_owned()
    })
    .await;
    let create = begin.elapsed();
    let ids = &ids;

    let begin = Instant::now();
    each(servers.min(1_000), |nth| async move {
        let name = format!("/compute/v2.1/servers?name=%5Es{nth}%24");
        let found = client.get(&name).await;
        assert_eq!(found.at("/servers").as_array().unwrap().len(), 1);
        let ports = format!("/network/v2.0/ports?device_id={}", ids[nth]);
        let ports = client.get(&ports).await;
        assert_eq!(ports.at("/ports").as_array().unwrap().len(), 1);
    })
    .await;
    let find = begin.elapsed();

    let begin = Instant::now();
    assert_eq!(walk(client).await, servers);
    let walk = begin.elapsed();

    let begin = Instant::now();
    each(servers, |nth| async move {
        let path = format!("/compute/v2.1/servers/{}", ids[nth]);
        assert_eq!(client.delete(&path).await.status, 204);
    })
    .await;
    while lab.model(|model| !model.servers.is_empty()) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let delete = begin.elapsed();
    assert_eq!(lab.model(|model| model.ports.len()), 0);
    Times {
        create,
        find,
        walk,
        delete,
    }
}

async fn each<F: Future>(count: usize, one: impl Fn(usize) -> F) -> Vec<F::Output> {
    futures::stream::iter((0..count).map(one))
        .buffered(PARALLEL)
        .collect()
        .await
}

/// Through all pages by their links; answers how many servers there are.
async fn walk(client: &Client) -> usize {
    let mut path = "/compute/v2.1/servers/detail?limit=100".to_owned();
    let mut seen = 0;
    loop {
        let page = client.get(&path).await;
        seen += page.at("/servers").as_array().unwrap().len();
        match page.at("/servers_links/0/href") {
            Value::String(next) => path = next[next.find("/compute/").unwrap()..].to_owned(),
            _ => return seen,
        }
    }
}

/// Five times the servers may take five times as long; a quadratic lab would take twenty-five. Half of that is the line, since the
/// machine has other things to do.
#[tokio::test(flavor = "multi_thread")]
async fn more_servers_cost_no_more_each() {
    let few = round(300).await;
    let many = round(1_500).await;
    println!("300: {few:?}\n1500: {many:?}");
    for (what, few, many) in [
        ("create", few.create, many.create),
        ("find", few.find, many.find),
        ("walk", few.walk, many.walk),
        ("delete", few.delete, many.delete),
    ] {
        let slack = Duration::from_millis(500);
        assert!(many < few * 12 + slack, "{what}: {few:?}, then {many:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a minute without optimisation"]
async fn ten_thousand_servers() {
    let times = round(10_000).await;
    println!("10000: {times:?}");
}
