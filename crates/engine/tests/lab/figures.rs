//! Figures for `cargo xtask bench engine`, with the lab in memory in the same process.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    time::{Duration, Instant},
};

use api::RunState;
use futures::future::join_all;
use lab::{CallFault, Fault, Lab, ServerFault, ServerTrouble};

use crate::{
    bench::Bench,
    measure::{Clock, memory_mib},
    scale::template,
};

const HOUR: Duration = Duration::from_secs(3600);

/// A bench whose cloud answers each call after a delay, with the polls of the real program.
async fn bench(delay: Duration, parallel_steps: usize) -> Bench {
    let lab = Lab::memory().await.unwrap();
    let bench = Bench::with_config(lab, "no-catalog".as_ref(), HOUR, HOUR, |config| {
        config.poll_first = Duration::from_millis(300);
        config.poll_longest = Duration::from_secs(2);
        config.parallel_steps = parallel_steps;
    })
    .await;
    bench.lab.faults().add(Fault::Call(CallFault {
        delay_ms: u64::try_from(delay.as_millis()).unwrap(),
        ..CallFault::default()
    }));
    bench
}

/// Elapsed time of a deployment of servers in a network, which is removed again. The session is new, so that each deployment
/// looks image and flavor up: the session of the last one remembers them for 30 s, which would end before some of them.
async fn makespan(bench: &mut Bench, servers: usize) -> f64 {
    bench.actor = bench.log_in("demo").await;
    let began = Instant::now();
    let (started, run) = bench.deploy(&template(servers)).await;
    let took = began.elapsed();
    assert_eq!(run.state, RunState::Succeeded);
    bench.undeploy(&started.deployment).await;
    took.as_secs_f64()
}

/// The critical path is the deployment of one server: its network, subnet, port and server, one after the other, with the
/// look-up of its image and flavor and the polls that find it ready. For many servers, the client's limit of changes at one
/// service makes it longer: see `openstack::wire::concurrency`. Ports and servers are changes of two services, so only one of
/// the two counts. A first deployment lets this limit grow, as it has in a server that has been running for a while.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures for two minutes"]
async fn makespan_over_the_critical_path() {
    const CHANGES_AT_ONCE: u16 = 16;
    const DELAY: Duration = Duration::from_millis(500);
    let mut bench = bench(DELAY, 1000).await;
    let name = bench.figure();
    makespan(&mut bench, 100).await;
    let path = makespan(&mut bench, 1).await;
    for servers in [10_u16, 100, 500] {
        let took = makespan(&mut bench, servers.into()).await;
        // The last change begins when this many others have ended before it in its place.
        let limit = f64::from((servers - 1) / CHANGES_AT_ONCE) * DELAY.as_secs_f64();
        println!(
            "{name}, makespan over critical path, {servers} servers\t{:.2}\t({took:.1} s with 0.5 s a call: {path:.1} s of one server, {limit:.1} s of the limit of changes at once)\t1.05",
            took / (path + limit)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures for seconds"]
async fn memory_of_waiting_steps() {
    const STEPS: usize = 1000;
    let bench = bench(Duration::ZERO, 2 * STEPS).await;
    bench.lab.faults().add(Fault::Server(ServerFault {
        name: "*".into(),
        fault: ServerTrouble::NeverActive,
        times: None,
    }));
    let before = memory_mib();
    let started = bench.start(&template(STEPS)).await;
    bench
        .eventually("all servers are being built", async || {
            bench.lab.model(|model| model.servers.len()) == STEPS
        })
        .await;
    let memory = memory_mib().saturating_sub(before);
    println!(
        "{}, {STEPS} steps that wait for servers: memory with the lab\t{memory}\tMiB",
        bench.figure()
    );
    let run = bench.engine.run(&bench.tenant, &started.run).await.unwrap();
    assert_eq!(run.state, RunState::Running);
}

/// A network with four ports and a server.
fn small(nth: usize) -> String {
    let mut text = format!(
        "heat_template_version: 2021-04-16
resources:
  net: {{type: OS::Neutron::Net}}
  subnet: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net}}, cidr: 10.{nth}.0.0/24}}}}
  server: {{type: OS::Nova::Server, properties: {{image: debian-12, flavor: m1.tiny, networks: [{{port: {{get_resource: port0}}}}]}}}}
"
    );
    for port in 0..4 {
        let _ = writeln!(
            text,
            "  port{port}: {{type: OS::Neutron::Port, depends_on: subnet, properties: {{network: {{get_resource: net}}}}}}"
        );
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures for half a minute"]
async fn many_deployments_at_once() {
    const DEPLOYMENTS: usize = 100;
    const DELAY: Duration = Duration::from_millis(100);
    let bench = bench(DELAY, 50).await;
    let alone = Instant::now();
    let first = bench.try_deploy("alone", &small(0), BTreeMap::new()).await;
    bench.end_of(&first.unwrap().run).await;
    let alone = alone.elapsed().as_secs_f64();

    let clock = Clock::start();
    let runs = join_all((1..=DEPLOYMENTS).map(async |nth| {
        let name = format!("many-{nth}");
        let started = bench.try_deploy(&name, &small(nth), BTreeMap::new()).await;
        bench.end_of(&started.unwrap().run).await
    }));
    let runs = runs.await;
    let took = clock.took();
    assert!(runs.iter().all(|run| run.state == RunState::Succeeded));
    let steps: usize = runs.iter().map(|run| run.steps.len()).sum();
    let name = bench.figure();
    println!(
        "{name}, {DEPLOYMENTS} deployments at once\t{:.1}\ts (one alone {alone:.1} s, with 0.1 s a call)",
        took.time.as_secs_f64()
    );
    println!(
        "{name}, {DEPLOYMENTS} deployments at once: processors for a step\t{:.2}\tms",
        took.work.as_secs_f64() * 1e3 / steps as f64
    );
}
