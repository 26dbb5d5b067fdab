//! Benches whose servers are containers.

use std::time::Duration;

use api::{Event, EventBody, Run, RunState};
use lab::{Lab, LabConfig};

use crate::bench::{Bench, CATALOG};

/// Time limit for a server to boot on a busy machine.
pub const BOOT: Duration = Duration::from_secs(240);

/// Time limit for expected events.
pub const EVENT: Duration = Duration::from_secs(900);

/// A lab whose public network has these addresses.
pub async fn docker_lab(name: &str, public_cidr: &str) -> Lab {
    let config = LabConfig::docker(name, public_cidr.parse().unwrap());
    Lab::start(config).await.unwrap()
}

/// A bench with the catalogue's own items.
pub async fn on_docker(name: &str, public_cidr: &str, ssh_timeout: Duration) -> Bench {
    on_docker_with(CATALOG, name, public_cidr, ssh_timeout).await
}

/// A bench with the items of another folder.
pub async fn on_docker_with(
    catalog: &str,
    name: &str,
    public_cidr: &str,
    ssh_timeout: Duration,
) -> Bench {
    let lab = docker_lab(name, public_cidr).await;
    Bench::with_catalog(lab, catalog.as_ref(), EVENT, ssh_timeout).await
}

/// The run at its end, and all events. Prints the events.
pub async fn story(bench: &Bench, run: &str) -> (Run, Vec<Event>) {
    let ended = bench.end_of(run).await;
    let events = bench.engine.events(&bench.tenant, run, 0, 10_000).await;
    let events = events.unwrap();
    for event in &events {
        println!("{} {:?}", event.time, event.body);
    }
    (ended, events)
}

/// True if a log line contains the text.
pub fn is_logged(events: &[Event], text: &str) -> bool {
    let mut events = events.iter();
    events.any(|event| matches!(&event.body, EventBody::Log(line) if line.text.contains(text)))
}

/// Undeploys, and checks that the cloud is empty.
pub async fn all_goes(bench: Bench, deployment: &str) {
    assert_eq!(bench.undeploy(deployment).await.state, RunState::Succeeded);
    assert_eq!(bench.left(), Vec::<String>::new());
    bench.lab.stop().await;
}
