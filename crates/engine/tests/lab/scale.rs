//! Many servers at once, against the lab in memory: the engine's own time, its calls and its memory.
//!
//! `cargo test -p engine --release --test lab scale -- --include-ignored --nocapture` prints the figures.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use api::RunState;
use lab::Lab;

use crate::bench::Bench;

/// A network and servers on it.
fn template(servers: usize) -> String {
    let mut text = String::from(
        "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/16}}
",
    );
    for nth in 0..servers {
        let _ = writeln!(
            text,
            "  s{nth}: {{type: OS::Nova::Server, properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: net}}}}]}}}}"
        );
    }
    text
}

/// What a deployment took.
#[derive(Debug, Clone, Copy)]
struct Took {
    deploy: Duration,
    undeploy: Duration,
    /// Calls to the cloud for both.
    calls: u64,
}

async fn round(servers: usize) -> Took {
    let hour = Duration::from_secs(3600);
    let lab = Lab::memory().await.unwrap();
    let bench = Bench::with_catalog(lab, "no-catalog".as_ref(), hour, hour).await;
    bench.lab.faults().clear_calls();
    let begin = Instant::now();
    let (started, run) = bench.deploy(&template(servers)).await;
    let deploy = begin.elapsed();
    assert_eq!(run.state, RunState::Succeeded);
    assert_eq!(bench.lab.model(|model| model.servers.len()), servers);
    let begin = Instant::now();
    let run = bench.undeploy(&started.deployment).await;
    let undeploy = begin.elapsed();
    assert_eq!(run.state, RunState::Succeeded);
    assert_eq!(bench.left(), Vec::<String>::new());
    let counts = bench.lab.faults().counts();
    let took = Took {
        deploy,
        undeploy,
        calls: counts.values().flat_map(|methods| methods.values()).sum(),
    };
    println!("{servers} servers: {took:?}, {counts:?}");
    took
}

/// Per server a call to make it, one to delete it, and a share of the lists that say how far they are.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_more_costs_a_few_calls_more() {
    let (few, many) = (round(10).await, round(60).await);
    let per_server = (many.calls - few.calls) / 50;
    assert!(per_server <= 6, "{few:?}, then {many:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes without optimisation"]
async fn thousands_of_servers_take_their_time_and_no_more() {
    let few = round(1_000).await;
    let many = round(4_000).await;
    for (what, few, many) in [
        ("deploy", few.deploy, many.deploy),
        ("undeploy", few.undeploy, many.undeploy),
    ] {
        assert!(many < few * 8, "{what}: {few:?}, then {many:?}");
    }
}
