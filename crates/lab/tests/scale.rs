//! Many servers in memory: making, finding and listing them costs each as much with thousands as with a few.
//!
//! `cargo test -p lab --release --test scale -- --include-ignored --nocapture` prints what ten thousand take, as `cargo xtask
//! bench lab` does; `cargo xtask test unit --full` runs it, too.

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

/// Calls at a time.
const PARALLEL: usize = 16;
/// How often what is short is measured: the shortest of them is the least that the machine had to do with.
const TRIES: u32 = 4;

/// What one round took.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// Making all servers, each with a port that was made before it, until the last is ACTIVE.
    create: Took,
    /// Finding each by its name, its ports by its id.
    find: Took,
    /// Walking through all in pages of 100, and through their ports: the best of several tries each.
    walk: Took,
    walk_ports: Took,
    /// A page of either, by those walks.
    page: Duration,
    page_ports: Duration,
    /// Writing the state down, as an orderly end does.
    save: Took,
    /// Reading it again, until the first call is answered.
    restart: Took,
    /// Deleting all.
    delete: Took,
    /// What the process, which is also the client, had in memory with all of them, in MiB; and before.
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
    // They were made before their servers, and so outlive them.
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

/// Through all pages of a list by their links, several times; answers the usual work and the least time of a walk, and the
/// shortest time for a page. Work is told in hundredths of a second, so only that of all walks together says much.
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

/// Five times the servers may cost five times the work; a quadratic lab would want twenty-five. Half of that is the line.
#[tokio::test(flavor = "multi_thread")]
async fn the_cost_of_a_server_does_not_grow_with_their_number() {
    let few = round(300).await;
    let many = round(1_500).await;
    println!("300: {few:?}\n1500: {many:?}");
    // Three pages, then fifteen, are walked through several times: they need no slack that would hide a page that makes all rows.
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

/// Prints the figures that `cargo xtask bench lab` shows, a line each: what, value, unit.
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
