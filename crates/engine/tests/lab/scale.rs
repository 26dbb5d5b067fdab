//! Many servers at once, with the lab in memory: the engine's own time, its calls and its memory.
//!
//! `cargo xtask bench engine` prints the figures; `cargo xtask test unit --full` runs it, too.

use std::{fmt::Write as _, time::Duration};

use api::RunState;
use lab::{CallFault, Fault, Lab};

use crate::{
    bench::Bench,
    measure::{Clock, Took, memory_mib},
};

/// A network and servers on it.
pub fn template(servers: usize) -> String {
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

/// The cost of a deployment in this process: the engine and the lab.
#[derive(Debug, Clone, Copy)]
struct Cost {
    deploy: Took,
    undeploy: Took,
    /// Calls to the cloud during both.
    calls: u64,
    /// Additional memory while all resources exist, in MiB.
    memory_mib: u64,
    /// Size of the database with its write-ahead log at the end, in KiB.
    database_kib: u64,
    /// Steps of the deployment.
    steps: u32,
    /// The start of a figure's name.
    name: &'static str,
}

async fn round(servers: usize) -> Cost {
    let hour = Duration::from_secs(3600);
    let before = memory_mib();
    let lab = Lab::memory().await.unwrap();
    let bench = Bench::with_catalog(lab, "no-catalog".as_ref(), hour, hour).await;
    bench.lab.faults().clear_calls();
    let clock = Clock::start();
    let (started, run) = bench.deploy(&template(servers)).await;
    let deploy = clock.took();
    let memory_mib = memory_mib().saturating_sub(before);
    assert_eq!(run.state, RunState::Succeeded);
    assert_eq!(bench.lab.model(|model| model.servers.len()), servers);
    let steps = u32::try_from(run.steps.len()).unwrap();
    let clock = Clock::start();
    let run = bench.undeploy(&started.deployment).await;
    let undeploy = clock.took();
    assert_eq!(run.state, RunState::Succeeded);
    assert_eq!(bench.left(), Vec::<String>::new());
    let counts = bench.lab.faults().counts();
    let cost = Cost {
        deploy,
        undeploy,
        calls: counts.values().flat_map(|methods| methods.values()).sum(),
        memory_mib,
        steps,
        name: bench.figure(),
        database_kib: bench.database_bytes().await / 1024,
    };
    println!("{servers} servers: {cost:?}, {counts:?}");
    cost
}

/// One more server costs a call to create it, one to delete it, and a share of the lists that are polled.
#[tokio::test(flavor = "multi_thread")]
async fn each_further_server_costs_a_few_calls() {
    let (few, many) = (round(10).await, round(60).await);
    let per_server = (many.calls - few.calls) / 50;
    assert!(per_server <= 6, "{few:?}, then {many:?}");
}

/// The first servers of a run would else begin one answer later.
#[tokio::test]
async fn image_and_flavor_of_a_server_are_looked_up_at_the_same_time() {
    let bench = Bench::new().await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("image".into()),
        path: Some("*/images*".into()),
        delay_ms: 3_600_000,
        ..CallFault::default()
    }));
    bench.start(&template(1)).await;
    let is_asked = |path: &str| {
        let calls = bench.lab.faults().calls();
        calls.iter().any(|call| call.path.contains(path))
    };
    bench
        .eventually("both are looked up", async || {
            is_asked("/images") && is_asked("/flavors")
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes without optimisation"]
async fn thousands_of_servers_are_deployed_in_linear_time() {
    // A template with more servers would exceed the size limit.
    let rounds = [1_000, 4_000];
    let mut costs = Vec::new();
    for servers in rounds {
        let cost = round(servers).await;
        let seconds = |time: Duration| format!("{:.1}\ts", time.as_secs_f64());
        for (what, figure) in [
            ("made", seconds(cost.deploy.time)),
            ("made, processors", seconds(cost.deploy.work)),
            (
                "processors for a step",
                format!(
                    "{:.2}\tms",
                    (cost.deploy.work / cost.steps).as_secs_f64() * 1e3
                ),
            ),
            ("removed", seconds(cost.undeploy.time)),
            ("removed, processors", seconds(cost.undeploy.work)),
            ("calls for both", format!("{}\t", cost.calls)),
            ("memory", format!("{}\tMiB", cost.memory_mib)),
            ("database", format!("{}\tKiB", cost.database_kib)),
        ] {
            println!("{}, {servers} servers: {what}\t{figure}", cost.name);
        }
        costs.push((servers, cost));
    }
    // Four times as many servers can take four times the time; the factor of two is for everything else.
    let (few_servers, few) = costs[0];
    for &(servers, many) in &costs[1..] {
        let most = u32::try_from(2 * servers / few_servers).unwrap();
        for (what, few, many) in [
            ("made", few.deploy.work, many.deploy.work),
            ("removed", few.undeploy.work, many.undeploy.work),
        ] {
            assert!(many < few * most, "{servers} {what}: {costs:?}");
        }
        assert!(
            many.database_kib < few.database_kib * u64::from(most),
            "{costs:?}"
        );
    }
}
