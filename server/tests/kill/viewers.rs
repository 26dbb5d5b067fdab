//! A thousand viewers of one run, for `cargo xtask bench viewers`: memory of the server, and the delay until they see an
//! event.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use futures::{StreamExt, future::join_all};
use jiff::Timestamp;
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};
use store::testing::Postgres;
use tokio::sync::{OnceCell, Semaphore};
use tokio_tungstenite::tungstenite::Message;

use crate::{
    program::{self, Program},
    text,
};

const VIEWERS: usize = 1000;

/// Viewers that connect at the same time.
const CONNECTING: usize = 50;

/// Ports of the run, made one after the other.
const PORTS: usize = 80;

/// Time of a call that makes something, in milliseconds.
const CALL_MS: u64 = 500;

/// Viewers with a connection.
static CONNECTED: AtomicUsize = AtomicUsize::new(0);

static DOOR: Semaphore = Semaphore::const_new(CONNECTING);

/// Raises the limit of open files as far as this user may.
fn allow_many_files() {
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).unwrap();
}

fn template() -> String {
    let mut text = String::from(
        "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/16}}
",
    );
    for port in 0..PORTS {
        let _ = writeln!(
            text,
            "  port{port}: {{type: OS::Neutron::Port, depends_on: sub, properties: {{network: {{get_resource: net}}}}}}"
        );
    }
    text
}

/// The delays of a viewer's events since a moment, between storage and arrival, in milliseconds.
async fn view(program: &Program, run: &str, since: &OnceCell<Timestamp>) -> Vec<f64> {
    let mut request = program.websocket();
    let server = request.uri().authority().unwrap();
    let uri = format!("ws://{server}/api/v1/runs/{run}/stream?after=0");
    *request.uri_mut() = uri.parse().unwrap();
    let entered = DOOR.acquire().await.unwrap();
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
    drop(entered);
    CONNECTED.fetch_add(1, Ordering::Relaxed);
    let mut delays = Vec::new();
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else {
            continue;
        };
        let now = Timestamp::now();
        let events: Vec<Value> = serde_json::from_str(&text).unwrap();
        for event in events {
            let time: Timestamp = event["time"].as_str().unwrap().parse().unwrap();
            if since.get().is_some_and(|since| time >= *since) {
                delays.push((now - time).total(jiff::Unit::Millisecond).unwrap());
            }
            if event["type"] == "run" && event["state"] == "succeeded" {
                return delays;
            }
        }
    }
    panic!("the connection broke");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement of half a minute"]
async fn a_thousand_viewers_see_a_run() {
    allow_many_files();
    program::install_tls_provider();
    let lab = lab::Lab::memory().await.unwrap();
    lab.faults().add(lab::Fault::Call(lab::CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        delay_ms: CALL_MS,
        ..Default::default()
    }));
    let clouds = format!(
        "clouds:\n  lab:\n    auth: {{auth_url: '{}'}}\n    region_name: lab\n",
        lab.auth_url()
    );
    let database = Postgres::measured();
    let mut settings = vec![
        ("STACKLOOM_CONNECTIONS", "3000".to_owned()),
        ("STACKLOOM_ADDRESS_CONNECTIONS", "3000".into()),
        ("STACKLOOM_PROJECT_SOCKETS", "3000".into()),
        ("STACKLOOM_PARALLEL_STEPS", "1".into()),
        ("STACKLOOM_KEYS", crate::servers::KEY.into()),
    ];
    settings.extend(
        database
            .iter()
            .map(|database| ("STACKLOOM_DATABASE", database.address("postgres"))),
    );
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let horizon = Duration::from_secs(3);
    let mut first =
        Program::start_with(folders[0].path(), &clouds, horizon, settings.clone()).await;
    first
        .login(&json!({"cloud": "lab", "user": "demo", "password": "demo", "project": "demo"}))
        .await;
    // With a shared database, the viewers are at a server that does not carry out the run.
    let mut second = None;
    if database.is_some() {
        let mut other = Program::start_with(folders[1].path(), &clouds, horizon, settings).await;
        other.continue_session_of(&first);
        second = Some(other);
    }
    let viewed = second.as_ref().unwrap_or(&first);
    let name = match second {
        None => "server",
        Some(_) => "server, PostgreSQL, at another server",
    };

    let before = viewed.memory_kib();
    let deployment = json!({"name": "viewed", "template": template(), "parameters": {}});
    let started = first.post("/api/v1/deployments", &deployment).await;
    let run = text(&started, "run");
    let since = OnceCell::new();
    let began = Instant::now();
    let all_connected = async {
        while CONNECTED.load(Ordering::Relaxed) < VIEWERS {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        since.set(Timestamp::now()).unwrap();
        println!(
            "{name}, {VIEWERS} viewers connect\t{:.1}\ts",
            began.elapsed().as_secs_f64()
        );
    };
    let views = join_all((0..VIEWERS).map(|_| view(viewed, &run, &since)));
    let most = async {
        let mut most = 0;
        loop {
            most = viewed.memory_kib().max(most);
            let ended = viewed.get(&format!("/api/v1/runs/{run}")).await["state"] == "succeeded";
            if ended {
                return most;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    let (views, (), most) = tokio::join!(views, all_connected, most);

    let events = views[0].len();
    assert!(events > PORTS, "most events come after all have connected");
    assert!(views.iter().all(|view| view.len() == events));
    let mut delays: Vec<f64> = views.into_iter().flatten().collect();
    delays.sort_by(f64::total_cmp);
    for (percentile, percent) in [("p50", 50), ("p99", 99)] {
        let delay_ms = delays[(delays.len() - 1) * percent / 100];
        println!(
            "{name}, {VIEWERS} viewers of a run, delay {percentile}\t{delay_ms:.0}\tms ({events} events)"
        );
    }
    let memory_mib = most.saturating_sub(before) as f64 / 1024.0;
    println!("{name}, {VIEWERS} viewers of a run, memory\t{memory_mib:.0}\tMiB");
}
