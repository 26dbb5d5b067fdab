//! Two servers on one PostgreSQL database: one is killed, or stopped for longer than its lease, in the middle of
//! deployments.
//!
//! The other one takes its runs. Each run ends well, each resource exists once, and a viewer who reconnects misses
//! nothing. A server that was thought dead and comes back does nothing more for the runs that it held.

use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};

use futures::StreamExt;
use openstack::{Clouds, Credentials, Scope, Session};
use serde_json::{Value, json};
use store::testing::Postgres;
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::Message;

use crate::{
    belongings::Belongings,
    program::{self, Program, Watched},
    text,
};

/// Ports of a deployment.
const PORTS: usize = 4;

/// Creations without an answer at the moment of the interruption, at the least.
const IN_FLIGHT: usize = 2;

/// Lease of a server, and the shorter time limit of a call, in seconds.
const LEASE: u64 = 6;
const TIMEOUT: u64 = 5;

/// The key of both servers.
const KEY: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

/// A lab that answers late, a database, and two servers.
struct Place {
    lab: lab::Lab,
    session: Session,
    servers: [Program; 2],
    before: Belongings,
    // Dropped last.
    _database: Postgres,
    _folders: [TempDir; 2],
}

impl Place {
    async fn new() -> Place {
        program::install_tls_provider();
        let lab = lab::Lab::memory().await.unwrap();
        lab.faults().add(lab::Fault::Call(lab::CallFault {
            service: Some("network".into()),
            method: Some("POST".into()),
            commits_after_ms: Some(400),
            ..Default::default()
        }));
        let clouds = format!(
            "clouds:\n  lab:\n    auth: {{auth_url: '{}'}}\n    region_name: lab\n    api_timeout: {TIMEOUT}\n",
            lab.auth_url()
        );
        let parsed = Clouds::from_yaml(&clouds).unwrap();
        let session = Session::login(
            parsed.get("lab").unwrap(),
            &Credentials::password("demo", "Default", "demo"),
            Some(&Scope::project("demo", "Default")),
        )
        .await
        .unwrap();
        let before = Belongings::of(&session).await;
        let database = Postgres::start();
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let settings = [
            ("STACKLOOM_DATABASE", database.address("postgres")),
            ("STACKLOOM_KEYS", KEY.to_owned()),
            ("STACKLOOM_LEASE", LEASE.to_string()),
        ];
        let start = async |folder: &Path| {
            let horizon = Duration::from_secs(3);
            Program::start_with(folder, &clouds, horizon, settings.to_vec()).await
        };
        let mut first = start(folders[0].path()).await;
        let mut second = start(folders[1].path()).await;
        let login = json!({"cloud": "lab", "user": "demo", "password": "demo", "project": "demo"});
        first.login(&login).await;
        second.continue_session_of(&first);
        Place {
            lab,
            session,
            servers: [first, second],
            before,
            _database: database,
            _folders: folders,
        }
    }

    /// Starts deployments, in turn at these servers. Returns ids of deployments and runs.
    async fn deploy(&self, count: usize, at: &[usize]) -> Vec<(String, String)> {
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
    async fn until_in_flight(&self, run: &str) {
        let mut watched = Watched::default();
        while watched.creating().len() < IN_FLIGHT {
            assert!(
                !watched.is_over(),
                "the run is over before requests are in flight"
            );
            self.servers[1].watch(run, &mut watched).await;
        }
    }

    /// Checks by a server that all runs ended well and that each resource exists once.
    async fn check(&self, server: &Program, started: &[(String, String)]) {
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
    async fn undeploy(&self, server: &Program, started: &[(String, String)]) {
        let mut runs = Vec::new();
        for (deployment, _) in started {
            let gone = server
                .delete(&format!("/api/v1/deployments/{deployment}"))
                .await;
            runs.push(text(&gone, "run"));
        }
        for run in runs {
            server.until_over(&run).await;
            let ended = server.get(&format!("/api/v1/runs/{run}")).await;
            assert_eq!(ended["state"], "succeeded", "{ended:#}");
        }
        assert_eq!(Belongings::of(&self.session).await, self.before);
    }

    /// Number of calls that may have changed something.
    fn changes(&self) -> usize {
        let calls = self.lab.faults().calls();
        let is_change = |call: &&lab::Call| call.method != "GET" && call.service != "identity";
        calls.iter().filter(is_change).count()
    }
}

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

/// Numbers of a run's events as a viewer gets them over a websocket, first from one server, and from the other one
/// after the first is gone.
async fn view(
    requests: [tokio_tungstenite::tungstenite::http::Request<()>; 2],
    path: String,
) -> Vec<u64> {
    let mut seen = Vec::new();
    for mut request in requests {
        let after = seen.last().copied().unwrap_or(0);
        let uri = format!(
            "ws://{}{path}?after={after}",
            request.uri().authority().unwrap()
        );
        *request.uri_mut() = uri.parse().unwrap();
        let (mut socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
        while let Some(Ok(message)) = socket.next().await {
            if let Message::Text(text) = message {
                let events: Vec<Value> = serde_json::from_str(&text).unwrap();
                seen.extend(events.iter().map(|event| event["seq"].as_u64().unwrap()));
            }
        }
    }
    seen
}

async fn one_of_two_is_killed(deployments: usize) {
    let mut place = Place::new().await;
    let started = place.deploy(deployments, &[0, 1]).await;
    // The newest one at the server that will be killed: others may be over.
    let run = &started[(deployments - 1) / 2 * 2].1;
    let path = format!("/api/v1/runs/{run}/stream");
    let requests = [0, 1].map(|server| place.servers[server].websocket());
    let viewer = tokio::spawn(view(requests, path));
    place.until_in_flight(run).await;
    place.servers[0].kill();
    let killed = Instant::now();
    let [_, survivor] = &place.servers;
    place.check(survivor, &started).await;
    eprintln!(
        "{deployments} deployments ended well {:.1} s after one of two servers was killed",
        killed.elapsed().as_secs_f32()
    );
    let seen = viewer.await.unwrap();
    let events = survivor
        .get(&format!("/api/v1/runs/{run}/events?limit=10000"))
        .await;
    let all: Vec<u64> = (1..=events.as_array().unwrap().len() as u64).collect();
    assert_eq!(seen, all, "the viewer has seen each event once");
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
    let place = Place::new().await;
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
