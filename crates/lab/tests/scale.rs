//! Scale test in memory: the cost of creating, finding and listing a server is independent of the number of servers.
//!
//! `cargo test -p lab --release --test scale -- --include-ignored --nocapture` prints the figures for ten thousand, as
//! `cargo xtask bench lab` does; `cargo xtask test unit --full` also runs it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod common;

use std::path::Path;
use std::time::Duration;

use common::Client;
use common::measure::{Clock, Took, memory_mib};
use futures::StreamExt as _;
use lab::services::Status;
use lab::{Lab, LabConfig};
use serde_json::{Value, json};

/// Maximum number of concurrent calls.
const PARALLEL: usize = 16;
/// Number of measurements of short operations. The shortest one is the least disturbed.
const TRIES: u32 = 4;

/// The figures of one round.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// Creation of all servers, each with an existing port, until the last is ACTIVE.
    create: Took,
    /// Lookup of servers by name, and of their ports by server id.
    find: Took,
    /// Reading all servers, and all ports, in pages of 100: the best of several tries each.
    walk: Took,
    walk_ports: Took,
    /// Time per page in these reads.
    page: Duration,
    page_ports: Duration,
    /// Writing the state at shutdown.
    save: Took,
    /// Reading the state, until the response to the first call.
    restart: Took,
    /// Deletion of all servers.
    delete: Took,
    /// Memory of the process, which includes the client, with all servers and before, in MiB.
    memory_mib: (u64, u64),
}

fn config(state: &Path) -> LabConfig {
    LabConfig {
        state: Some(state.into()),
        ..LabConfig::memory()
    }
}

async fn round(servers: usize) -> Times {
    let directory = tempfile::tempdir().unwrap();
    let before = memory_mib();
    let lab = Lab::start(config(directory.path())).await.unwrap();
    let mut client = Client::login(&lab, "demo").await;
    let network = client.network("networks", json!({"name": "net"})).await;
    let subnet = json!({"network_id": network, "cidr": "10.0.0.0/16", "ip_version": 4});
    client.network("subnets", subnet).await;
    let image = client.image().await;

    let clock = Clock::start();
    let ids: Vec<String> = each(servers, |nth| {
        let (client, network, image) = (&client, &network, &image);
        async move {
            let port = json!({"network_id": network, "name": format!("p{nth}")});
            let port = client.network("ports", port).await;
            let body = json!({"server": {"name": format!("s{nth}"), "imageRef": image, "flavorRef": "1", "networks": [{"port": port}]}});
            let made = client.post("/compute/v2.1/servers", body).await;
            assert_eq!(made.status, 202, "{}", made.text);
            made.at("/server/id").as_str().unwrap().to_owned()
        }
    })
    .await;
    until(&lab, |model| {
        let mut all = model.servers.iter();
        all.all(|server| server.status == Status::Active)
    })
    .await;
    let create = clock.took();
    let memory_mib = (memory_mib(), before);

    let clock = Clock::start();
    each(servers.min(1_000), |nth| {
        let (client, ids) = (&client, &ids);
        async move {
            let name = format!("/compute/v2.1/servers?name=%5Es{nth}%24");
            let found = client.get(&name).await;
            assert_eq!(found.at("/servers").as_array().unwrap().len(), 1);
            let ports = format!("/network/v2.0/ports?device_id={}", ids[nth]);
            let ports = client.get(&ports).await;
            assert_eq!(ports.at("/ports").as_array().unwrap().len(), 1);
        }
    })
    .await;
    let find = clock.took();

    let (walk, page) = walk(&client, "/compute/v2.1", "servers/detail", servers).await;
    let (walk_ports, page_ports) = self::walk(&client, "/network/v2.0", "ports", servers).await;

    let clock = Clock::start();
    lab.stop().await;
    let save = clock.took();
    let clock = Clock::start();
    let lab = Lab::start(config(directory.path())).await.unwrap();
    client.move_to(&lab);
    assert_eq!(client.server_status(&ids[servers - 1]).await, "ACTIVE");
    let restart = clock.took();

    let clock = Clock::start();
    each(servers, |nth| {
        let (client, ids) = (&client, &ids);
        async move {
            let path = format!("/compute/v2.1/servers/{}", ids[nth]);
            assert_eq!(client.delete(&path).await.status, 204);
        }
    })
    .await;
    until(&lab, |model| model.servers.is_empty()).await;
    let delete = clock.took();
    // The ports were created before their servers, so they remain.
    assert_eq!(lab.model(|model| model.ports.len()), servers);
    Times {
        create,
        find,
        walk,
        walk_ports,
        page,
        page_ports,
        save,
        restart,
        delete,
        memory_mib,
    }
}

async fn each<F: Future>(count: usize, one: impl Fn(usize) -> F) -> Vec<F::Output> {
    futures::stream::iter((0..count).map(one))
        .buffered(PARALLEL)
        .collect()
        .await
}

async fn until(lab: &Lab, is_so: impl Fn(&lab::services::Model) -> bool) {
    let so = async {
        while !lab.model(&is_so) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let bound = tokio::time::timeout(Duration::from_secs(600), so).await;
    bound.expect("what was ordered is done");
}

/// Reads all pages of a list by their links, several times. Returns the average processor time and the minimum time of
/// a read, and the minimum time per page. Processor time has a resolution of 10 ms, so only the sum over all reads is
/// precise.
async fn walk(client: &Client, service: &str, list: &str, all: usize) -> (Took, Duration) {
    let collection = list.split('/').next().unwrap();
    let (rows, links) = (
        format!("/{collection}"),
        format!("/{collection}_links/0/href"),
    );
    let mut best = Took {
        work: Duration::ZERO,
        time: Duration::MAX,
    };
    let mut pages = 0;
    for _ in 0..TRIES {
        let clock = Clock::start();
        let mut path = format!("{service}/{list}?limit=100");
        let mut seen = 0;
        pages = 0;
        loop {
            let page = client.get(&path).await;
            seen += page.at(&rows).as_array().unwrap().len();
            pages += 1;
            match page.at(&links) {
                Value::String(next) => path = next[next.find(service).unwrap()..].to_owned(),
                _ => break,
            }
        }
        let took = clock.took();
        assert_eq!(seen, all);
        best.work += took.work / TRIES;
        best.time = best.time.min(took.time);
    }
    (best, best.time / pages)
}

/// Five times the servers cost five times the processor time, or 25 times if the lab is quadratic. The limit is about
/// half of that.
#[tokio::test(flavor = "multi_thread")]
async fn the_cost_of_a_server_does_not_grow_with_their_number() {
    let few = round(300).await;
    let many = round(1_500).await;
    println!("300: {few:?}\n1500: {many:?}");
    // Three and fifteen pages are read several times. Slack would hide a page that renders all rows.
    let (slack, none) = (Duration::from_millis(500), Duration::ZERO);
    for (what, few, many, slack) in [
        ("create", few.create, many.create, slack),
        ("find", few.find, many.find, slack),
        ("save", few.save, many.save, slack),
        ("restart", few.restart, many.restart, slack),
        ("delete", few.delete, many.delete, slack),
        ("walk through servers", few.walk, many.walk, none),
        ("walk through ports", few.walk_ports, many.walk_ports, none),
    ] {
        let most = few.work * 12 + slack;
        assert!(many.work < most, "{what}: {few:?}, then {many:?}");
    }
}

/// Prints the figures that `cargo xtask bench lab` shows, one per line: name, value, unit.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a minute without optimisation"]
async fn ten_thousand_servers() {
    let times = round(10_000).await;
    let seconds = |took: Took| (format!("{:.2}", took.time.as_secs_f64()), "s");
    let millis = |time: Duration| (format!("{:.1}", time.as_secs_f64() * 1000.0), "ms");
    let (memory, before) = times.memory_mib;
    for (what, (value, unit)) in [
        ("made with ports, until ACTIVE", seconds(times.create)),
        ("1000 found by name and port", seconds(times.find)),
        ("walked in pages of 100", seconds(times.walk)),
        ("a page of 100 servers", millis(times.page)),
        ("a page of 100 ports", millis(times.page_ports)),
        ("state written", seconds(times.save)),
        ("restarted", seconds(times.restart)),
        ("deleted", seconds(times.delete)),
        ("memory", (memory.saturating_sub(before).to_string(), "MiB")),
    ] {
        println!("lab, 10000 servers: {what}\t{value}\t{unit}");
    }
}
