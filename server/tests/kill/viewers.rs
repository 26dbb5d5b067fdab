//! A thousand viewers of one run of 6,400 events, for `cargo xtask bench viewers`: memory and processor time of the server,
//! and the delay until they see an event. Every viewer must receive every event once.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use futures::{StreamExt, future::join_all};
use jiff::Timestamp;
use rustix::process::{Resource, getrlimit, setrlimit};
use serde::Deserialize;
use serde_json::json;
use store::testing::Postgres;
use tokio::{
    net::TcpStream,
    sync::{OnceCell, Semaphore},
};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, tungstenite::Message};

use crate::{
    clouds_file, demo,
    program::{self, Program},
    text,
};

const VIEWERS: usize = 1000;

/// Viewers that connect at the same time.
const CONNECTING: usize = 50;

/// Ports of the run, made one after the other. Each has about five events. The long tests, which are a debug build, have a
/// tenth of them.
const PORTS: usize = if cfg!(debug_assertions) { 80 } else { 800 };

/// Time of a call that makes something, in milliseconds. The run must outlast the connecting of all viewers.
const CALL_MS: u64 = if cfg!(debug_assertions) { 500 } else { 70 };

/// Additional memory of the server that is still good, in MiB.
const MEMORY_AIM_MIB: u32 = 150;

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

/// The fields of an event that a viewer here needs.
#[derive(Deserialize)]
struct Event<'a> {
    seq: u64,
    #[serde(rename = "type")]
    kind: &'a str,
    time: &'a str,
    #[serde(borrow, default)]
    state: Option<&'a str>,
}

/// The events that a viewer has received.
#[derive(Default)]
struct View {
    /// Number of the last one.
    last: u64,
    /// Delays between storage and arrival since a moment, in milliseconds.
    delays: Vec<f64>,
    /// Times that the server closed the connection, because the viewer had fallen behind.
    resumed: usize,
}

impl View {
    /// Takes a message. True at the end of the run.
    fn take(&mut self, message: &str, since: &OnceCell<Timestamp>) -> bool {
        let now = Timestamp::now();
        let events: Vec<Event<'_>> = serde_json::from_str(message).unwrap();
        let mut is_over = false;
        for event in events {
            assert_eq!(event.seq, self.last + 1, "an event is lost or comes twice");
            self.last = event.seq;
            let time: Timestamp = event.time.parse().unwrap();
            if since.get().is_some_and(|since| time >= *since) {
                let delay = (now - time).total(jiff::Unit::Millisecond).unwrap();
                self.delays.push(delay);
            }
            is_over |= event.kind == "run" && event.state == Some("succeeded");
        }
        is_over
    }
}

async fn connect(
    program: &Program,
    run: &str,
    after: u64,
) -> WebSocketStream<MaybeTlsStream<TcpStream>> {
    let _door = DOOR.acquire().await.unwrap();
    let mut request = program.websocket();
    let server = request.uri().authority().unwrap();
    let uri = format!("ws://{server}/api/v1/runs/{run}/stream?after={after}");
    *request.uri_mut() = uri.parse().unwrap();
    tokio_tungstenite::connect_async(request).await.unwrap().0
}

/// Watches a run from its first event to its end.
async fn view(program: &Program, run: &str, since: &OnceCell<Timestamp>) -> View {
    let mut view = View::default();
    let mut socket = connect(program, run, 0).await;
    CONNECTED.fetch_add(1, Ordering::Relaxed);
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => {
                if view.take(&text, since) {
                    return view;
                }
            }
            Some(Ok(Message::Close(_)) | Err(_)) | None => {
                view.resumed += 1;
                socket = connect(program, run, view.last).await;
            }
            Some(Ok(_)) => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement of a minute and a half"]
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
    let clouds = clouds_file(&lab);
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
    first.login(&demo()).await;
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
    let worked = viewed.processor_time();
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
    let is_over = AtomicBool::new(false);
    let views = async {
        let views = join_all((0..VIEWERS).map(|_| view(viewed, &run, &since))).await;
        is_over.store(true, Ordering::Relaxed);
        views
    };
    let most = async {
        let mut most = 0;
        while !is_over.load(Ordering::Relaxed) {
            most = viewed.memory_kib().max(most);
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        most
    };
    let (views, (), most) = tokio::join!(views, all_connected, most);

    let worked = viewed.processor_time() - worked;
    let events = views[0].last;
    let live = views[0].delays.len();
    assert!(live > PORTS, "most events come after all have connected");
    assert!(views.iter().all(|view| view.last == events));
    assert!(views.iter().all(|view| view.delays.len() == live));
    let resumed: usize = views.iter().map(|view| view.resumed).sum();
    let mut delays: Vec<f64> = views.into_iter().flat_map(|view| view.delays).collect();
    delays.sort_by(f64::total_cmp);
    for (percentile, percent) in [("p50", 50), ("p99", 99)] {
        let delay_ms = delays[(delays.len() - 1) * percent / 100];
        println!(
            "{name}, {VIEWERS} viewers of a run, delay {percentile}\t{delay_ms:.0}\tms ({live} of {events} events)"
        );
    }
    println!("{name}, {VIEWERS} viewers of a run, told to resume\t{resumed}\ttimes");
    println!(
        "{name}, {VIEWERS} viewers of a run, processor time\t{:.1}\ts",
        worked.as_secs_f64()
    );
    let memory_mib = most.saturating_sub(before) as f64 / 1024.0;
    println!("{name}, {VIEWERS} viewers of a run, memory\t{memory_mib:.0}\tMiB\t{MEMORY_AIM_MIB}");
}
