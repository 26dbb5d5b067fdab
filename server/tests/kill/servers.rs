//! Two servers on one PostgreSQL database: one is killed, stopped for longer than its lease, or cut off from the database,
//! in the middle of deployments.
//!
//! The other one takes its runs. Each run ends well, each resource exists once, and a viewer who reconnects misses
//! nothing. A server that was thought dead and comes back does nothing more for the runs that it held.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use futures::{StreamExt, future::join_all};
use openstack::Session;
use serde_json::{Value, json};
use store::testing::Postgres;
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::Message;

use crate::{
    belongings::Belongings,
    clouds_file, demo, demo_session,
    packet_filter::Rule,
    program::{self, Program},
    text,
};

/// Ports of a deployment.
const PORTS: usize = 4;

/// Creations without an answer at the moment of the interruption, at the least.
const IN_FLIGHT: usize = 2;

/// Lease of a server, and the shorter time limit of a call, in seconds.
const LEASE: u64 = 6;
const TIMEOUT: u64 = 5;

/// Pause of a viewer who finds no server.
const RECONNECT: Duration = Duration::from_millis(100);

/// The key of both servers.
pub const KEY: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

/// A lab that answers late, and two servers on a database.
pub struct Place {
    pub lab: lab::Lab,
    session: Session,
    pub servers: [Program; 2],
    before: Belongings,
    // Dropped last.
    _folders: [TempDir; 2],
}

impl Place {
    /// Servers with a lease of that many seconds, each with its address of the database.
    pub async fn new(databases: [String; 2], lease: u64) -> Place {
        program::install_tls_provider();
        let lab = lab::Lab::memory().await.unwrap();
        lab.faults().add(lab::Fault::Call(lab::CallFault {
            service: Some("network".into()),
            method: Some("POST".into()),
            commits_after_ms: Some(400),
            ..Default::default()
        }));
        let clouds = clouds_file(&lab) + &format!("    api_timeout: {TIMEOUT}\n");
        let session = demo_session(&clouds).await;
        let before = Belongings::of(&session).await;
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let start = async |number: usize| {
            let settings = vec![
                ("STACKLOOM_DATABASE", databases[number].clone()),
                ("STACKLOOM_KEYS", KEY.to_owned()),
                ("STACKLOOM_LEASE", lease.to_string()),
            ];
            let horizon = Duration::from_secs(3);
            Program::start_with(folders[number].path(), &clouds, horizon, settings).await
        };
        let mut first = start(0).await;
        let mut second = start(1).await;
        first.login(&demo()).await;
        second.continue_session_of(&first);
        Place {
            lab,
            session,
            servers: [first, second],
            before,
            _folders: folders,
        }
    }

    /// Starts deployments, in turn at these servers. Returns ids of deployments and runs.
    pub async fn deploy(&self, count: usize, at: &[usize]) -> Vec<(String, String)> {
        let mut started = Vec::new();
        for number in 0..count {
            let server = &self.servers[at[number % at.len()]];
            let deployment = json!({"name": format!("many-{number}"), "template": template(number), "parameters": {}});
            let answer = server.post("/api/v1/deployments", &deployment).await;
            started.push((text(&answer, "deployment"), text(&answer, "run")));
        }
        started
    }

    /// Waits until a run has requests in flight.
    pub async fn until_in_flight(&self, run: &str) {
        self.servers[1].until_in_flight(run, IN_FLIGHT).await;
    }

    /// Checks by a server that all runs ended well and that each resource exists once.
    pub async fn check(&self, server: &Program, started: &[(String, String)]) {
        let mut recorded = BTreeSet::new();
        for (deployment, run) in started {
            server.until_over(run).await;
            let ended = server.get(&format!("/api/v1/runs/{run}")).await;
            assert_eq!(ended["state"], "succeeded", "{ended:#}");
            let shown = server
                .get(&format!("/api/v1/deployments/{deployment}"))
                .await;
            let resources = shown["resources"].as_array().unwrap();
            assert_eq!(resources.len(), PORTS + 2);
            let ids = resources
                .iter()
                .map(|one| one["physical_id"].as_str().unwrap());
            recorded.extend(ids.map(str::to_owned));
        }
        assert_eq!(recorded.len(), started.len() * (PORTS + 2));
        let there = Belongings::of(&self.session).await;
        let unrecorded = there.without(&self.before).not_in(&recorded);
        assert!(
            unrecorded.is_empty(),
            "exist without a record: {unrecorded:?}"
        );
    }

    /// Undeploys everything by a server, and checks that nothing is left.
    pub async fn undeploy(&self, server: &Program, started: &[(String, String)]) {
        join_all(
            started
                .iter()
                .map(|(deployment, _)| server.undeploy(deployment)),
        )
        .await;
        assert_eq!(Belongings::of(&self.session).await, self.before);
    }

    /// Number of calls of a service with a method.
    fn calls(&self, service: &str, method: &str) -> usize {
        let calls = self.lab.faults().calls();
        let is_one = |call: &&lab::Call| call.service == service && call.method == method;
        calls.iter().filter(is_one).count()
    }

    /// Number of calls that may have changed something.
    fn changes(&self) -> usize {
        let calls = self.lab.faults().calls();
        let is_change = |call: &&lab::Call| call.method != "GET" && call.service != "identity";
        calls.iter().filter(is_change).count()
    }
}

/// A server that does not become active in these tests.
const WAITING: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.99.0.0/24}}
  waits:
    type: OS::Nova::Server
    properties: {name: waits, image: debian-12, flavor: m1.tiny, networks: [{subnet: {get_resource: sub}}]}
";

fn template(number: usize) -> String {
    let mut text = format!(
        "heat_template_version: 2021-04-16
resources:
  net: {{type: OS::Neutron::Net}}
  sub: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: net}}, cidr: 10.{number}.0.0/24}}}}
"
    );
    for port in 0..PORTS {
        text += &format!(
            "  port{port}: {{type: OS::Neutron::Port, depends_on: sub, properties: {{network: {{get_resource: net}}}}}}\n"
        );
    }
    text
}

/// Numbers of a run's events as a viewer gets them over a websocket until the run ends. When a connection breaks, the
/// viewer connects to the other server.
pub async fn view(
    requests: [tokio_tungstenite::tungstenite::http::Request<()>; 2],
    run: String,
) -> Vec<u64> {
    let mut seen = Vec::new();
    for request in requests.iter().cycle() {
        let after = seen.last().copied().unwrap_or(0);
        let mut request = request.clone();
        let server = request.uri().authority().unwrap();
        let uri = format!("ws://{server}/api/v1/runs/{run}/stream?after={after}");
        *request.uri_mut() = uri.parse().unwrap();
        let Ok((mut socket, _)) = tokio_tungstenite::connect_async(request).await else {
            tokio::time::sleep(RECONNECT).await;
            continue;
        };
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else {
                continue;
            };
            let events: Vec<Value> = serde_json::from_str(&text).unwrap();
            seen.extend(events.iter().map(|event| event["seq"].as_u64().unwrap()));
            let is_end = |event: &Value| event["type"] == "run" && event["state"] == "succeeded";
            if events.iter().any(is_end) {
                return seen;
            }
        }
    }
    unreachable!("the servers are tried in turn until the end")
}

/// Checks that a viewer has seen each event of a run once.
pub async fn check_view(server: &Program, run: &str, seen: &[u64]) {
    let events = server
        .get(&format!("/api/v1/runs/{run}/events?limit=10000"))
        .await;
    let all: Vec<u64> = (1..=events.as_array().unwrap().len() as u64).collect();
    assert_eq!(seen, all, "the viewer has seen each event once");
}

async fn one_of_two_is_killed(deployments: usize) {
    let database = Postgres::start();
    let mut place = Place::new([(); 2].map(|()| database.address("postgres")), LEASE).await;
    let started = place.deploy(deployments, &[0, 1]).await;
    // The newest one at the server that will be killed: others may be over.
    let run = &started[(deployments - 1) / 2 * 2].1;
    let requests = [0, 1].map(|server| place.servers[server].websocket());
    let viewer = tokio::spawn(view(requests, run.clone()));
    place.until_in_flight(run).await;
    place.servers[0].kill();
    let killed = Instant::now();
    let [_, survivor] = &place.servers;
    place.check(survivor, &started).await;
    eprintln!(
        "{deployments} deployments ended well {:.1} s after one of two servers was killed",
        killed.elapsed().as_secs_f32()
    );
    check_view(survivor, run, &viewer.await.unwrap()).await;
    place.undeploy(survivor, &started).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_servers_is_killed() {
    one_of_two_is_killed(4).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: twenty deployments"]
async fn one_of_two_servers_is_killed_with_twenty_deployments() {
    one_of_two_is_killed(20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_stopped_beyond_its_lease_does_nothing_more() {
    let database = Postgres::start();
    let place = Place::new([(); 2].map(|()| database.address("postgres")), LEASE).await;
    let started = place.deploy(2, &[0]).await;
    for (_, run) in &started {
        place.until_in_flight(run).await;
    }
    let [stopped, other] = &place.servers;
    stopped.signal("STOP");
    place.check(other, &started).await;
    let events = async |server: &Program| {
        let mut all = Vec::new();
        for (_, run) in &started {
            all.push(
                server
                    .get(&format!("/api/v1/runs/{run}/events?limit=10000"))
                    .await,
            );
        }
        all
    };
    let (changes, before) = (place.changes(), events(other).await);
    stopped.signal("CONT");
    stopped
        .until_logged("the lease of this server is lost")
        .await;
    assert_eq!(events(stopped).await, before, "it wrote nothing");
    assert_eq!(place.changes(), changes, "it called nobody");
    place.check(stopped, &started).await;
    // It has joined again.
    place.undeploy(stopped, &started).await;
}

/// The address of the database that is cut off from one server.
const CUT: &str = "127.0.0.2";

/// A packet filter between one server and the database. It drops packets, so that no connection fails: they are silent.
fn cut(port: u16) -> Rule {
    let port = port.to_string();
    Rule::new("filter", &["-d", CUT, "--dport", &port, "-j", "DROP"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_database_is_cut_off_stops_its_work() {
    let database = Postgres::start();
    let address = database.address("postgres");
    let behind_filter = address.replace("127.0.0.1", CUT);
    let mut place = Place::new([behind_filter, address], LEASE).await;
    place.lab.faults().add(lab::Fault::Server(lab::ServerFault {
        name: "waits".into(),
        fault: lab::ServerTrouble::NeverActive,
        times: None,
    }));
    let [first, second] = &place.servers;
    // The first server asks the cloud every two seconds whether this one is active.
    let waiting = json!({"name": "waiting", "template": WAITING, "parameters": {}});
    let waiting = first.post("/api/v1/deployments", &waiting).await;
    while place.lab.model(|model| model.servers.is_empty()) {
        tokio::time::sleep(RECONNECT).await;
    }
    let started = place.deploy(2, &[0]).await;
    for (_, run) in &started {
        place.until_in_flight(run).await;
    }

    let cut = cut(database.port());
    let polls = || place.calls("compute", "GET");
    first.until_logged("the lease of this server is lost").await;
    let (changes, polls_then) = (place.changes(), polls());
    let mut until_takeover = (changes, polls_then);
    loop {
        let now = (place.changes(), polls());
        if second.has_logged("a server is gone; its runs are free") {
            break;
        }
        until_takeover = now;
        tokio::time::sleep(RECONNECT).await;
    }
    assert_eq!(until_takeover, (changes, polls_then), "it called nobody");
    let run = text(&waiting, "run");
    second.cancel(&run).await;
    second.until_over(&run).await;
    second.undeploy(&text(&waiting, "deployment")).await;
    place.check(second, &started).await;

    drop(cut);
    // It joins again.
    place.servers[0].until_ready().await;
    let [first, _] = &place.servers;
    place.check(first, &started).await;
    place.undeploy(first, &started).await;
}
