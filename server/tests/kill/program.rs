//! The server as a process, and a client of its API.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::Duration;

use reqwest::{Method, RequestBuilder, StatusCode, header};
use serde_json::Value;
use store::SealedKind;
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest};

/// Time limit for a run's end or for a start, on any machine.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Pause between two checks of the program.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Pause between two checks for the next entry of a journal, which can follow within milliseconds.
const NEXT_ENTRY: Duration = Duration::from_millis(5);

/// The TLS library's cryptography, once per process.
pub fn install_tls_provider() {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
}

/// The program, its state on disk, and a session in it.
pub struct Program {
    child: Child,
    folder: PathBuf,
    address: String,
    horizon: Duration,
    /// More settings.
    settings: Vec<(&'static str, String)>,
    http: reqwest::Client,
    cookie: Option<String>,
}

impl Program {
    /// Starts it with state in `folder` and this `clouds.yaml`, and waits until it is ready.
    pub async fn start(folder: &Path, clouds: &str, horizon: Duration) -> Program {
        Program::start_with(folder, clouds, horizon, Vec::new()).await
    }

    /// Starts the program with more settings.
    pub async fn start_with(
        folder: &Path,
        clouds: &str,
        horizon: Duration,
        settings: Vec<(&'static str, String)>,
    ) -> Program {
        std::fs::create_dir_all(folder.join("site/pkg")).unwrap();
        std::fs::create_dir_all(folder.join("catalog")).unwrap();
        std::fs::write(folder.join("clouds.yaml"), clouds).unwrap();
        // The same port after a restart, as with a service manager.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        drop(free);
        let mut program = Program {
            child: spawn(folder, &address, horizon, &settings),
            settings,
            folder: folder.to_owned(),
            address,
            horizon,
            // A connection for each request: a stopped server closes idle ones when it goes on.
            http: reqwest::Client::builder()
                .no_proxy()
                .pool_max_idle_per_host(0)
                .build()
                .unwrap(),
            cookie: None,
        };
        program.until_ready().await;
        program
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address.parse().unwrap()
    }

    /// SIGKILL, like from the kernel's out-of-memory killer.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again on the same state.
    pub async fn restart(&mut self) {
        self.child = spawn(&self.folder, &self.address, self.horizon, &self.settings);
        self.until_ready().await;
    }

    /// Copies database and key into a folder while the program runs, as docs/production.md says.
    pub fn back_up(&self, folder: &Path) {
        let data = self.folder.join("data");
        let copy = folder.join("stackloom.db");
        let done = Command::new("sqlite3")
            .arg(data.join("stackloom.db"))
            .arg(format!(".backup '{}'", copy.display()))
            .status();
        assert!(done.unwrap().success());
        std::fs::copy(data.join("engine.key"), folder.join("engine.key")).unwrap();
    }

    /// Waits until it is ready for requests.
    pub async fn until_ready(&mut self) {
        let ready = async {
            loop {
                let request = self.http.get(format!("http://{}/readyz", self.address));
                if request
                    .send()
                    .await
                    .is_ok_and(|answer| answer.status().is_success())
                {
                    return;
                }
                if let Some(status) = self.child.try_wait().unwrap() {
                    panic!("the program has ended with {status}:\n{}", self.log());
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(PATIENCE, ready)
            .await
            .expect("the program starts");
    }

    /// Logs in and stores the session's cookie.
    pub async fn login(&mut self, credentials: &Value) {
        let request = self
            .request(Method::POST, "/api/v1/login")
            .json(credentials);
        let answer = request.send().await.unwrap();
        assert!(
            answer.status().is_success(),
            "{}",
            answer.text().await.unwrap()
        );
        let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap();
        self.cookie = cookie.split(';').next().map(str::to_owned);
    }

    /// Uses the session of another server's client.
    pub fn continue_session_of(&mut self, other: &Program) {
        self.cookie.clone_from(&other.cookie);
    }

    /// A websocket request in the session.
    pub fn websocket(&self) -> tungstenite::http::Request<()> {
        let url = format!("ws://{}/", self.address);
        let mut request = url.into_client_request().unwrap();
        let cookie = self.cookie.as_ref().unwrap().parse().unwrap();
        request.headers_mut().insert("cookie", cookie);
        request
    }

    /// Sends the process a signal.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Resident memory of the process, in KiB.
    pub fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
        kib.unwrap()
    }

    /// Processor time of the process, of all its threads.
    pub fn processor_time(&self) -> Duration {
        /// The kernel's unit for programs.
        const TICKS_PER_SECOND: u64 = 100;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        // The name in parentheses can contain spaces. User and system time are the 12th and 13th field after it.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let times = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = times.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
    }

    /// True if the log has this text.
    pub fn has_logged(&self, text: &str) -> bool {
        self.log().contains(text)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap()
    }

    /// Waits until the log has this text.
    pub async fn until_logged(&self, text: &str) {
        let logged = async {
            while !self.has_logged(text) {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(PATIENCE, logged)
            .await
            .expect("it is logged");
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self
            .http
            .request(method, format!("http://{}{path}", self.address));
        match &self.cookie {
            Some(cookie) => request.header(header::COOKIE, cookie),
            None => request,
        }
    }

    async fn answer(&self, request: RequestBuilder) -> Value {
        let answer = request.send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{status}: {text}\n{}", self.log());
        serde_json::from_str(&text).unwrap()
    }

    /// The JSON response to a GET.
    pub async fn get(&self, path: &str) -> Value {
        self.answer(self.request(Method::GET, path)).await
    }

    /// The JSON response to a POST.
    pub async fn post(&self, path: &str, body: &Value) -> Value {
        self.answer(self.request(Method::POST, path).json(body))
            .await
    }

    /// The JSON response to a PUT.
    pub async fn put(&self, path: &str, body: &Value) -> Value {
        self.answer(self.request(Method::PUT, path).json(body))
            .await
    }

    /// The status of the response to a POST.
    pub async fn status(&self, path: &str, body: &Value) -> StatusCode {
        let request = self.request(Method::POST, path).json(body);
        request.send().await.unwrap().status()
    }

    /// The JSON response to a POST. `None` if the server cannot take it now, or does not answer for a while.
    pub async fn try_post(&self, path: &str, body: &Value) -> Option<Value> {
        let request = self.request(Method::POST, path).json(body);
        let answer = request.timeout(Duration::from_secs(5)).send().await.ok()?;
        if !answer.status().is_success() {
            assert_eq!(
                answer.status(),
                StatusCode::SERVICE_UNAVAILABLE,
                "{:?}",
                answer.text().await
            );
            return None;
        }
        answer.json().await.ok()
    }

    /// The JSON response to a DELETE.
    pub async fn delete(&self, path: &str) -> Value {
        self.answer(self.request(Method::DELETE, path)).await
    }

    /// Cancels a run.
    pub async fn cancel(&self, run: &str) {
        let request = self.request(Method::POST, &format!("/api/v1/runs/{run}/cancel"));
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
    }

    /// Undeploys a deployment. The run succeeds.
    pub async fn undeploy(&self, deployment: &str) {
        let path = format!("/api/v1/deployments/{deployment}");
        let run = self.delete(&path).await["run"].as_str().unwrap().to_owned();
        self.until_over(&run).await;
        let ended = self.get(&format!("/api/v1/runs/{run}")).await;
        assert_eq!(ended["state"], "succeeded", "{ended:#}");
    }

    /// Reads the events since the last call. Pauses if there are none.
    pub async fn watch(&self, run: &str, watched: &mut Watched) {
        let path = format!(
            "/api/v1/runs/{run}/events?after={}&limit=1000",
            watched.last
        );
        let events = self.get(&path).await;
        let events = events.as_array().unwrap();
        events.iter().for_each(|event| watched.take(event));
        if events.is_empty() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Waits until this many creations have no response. Fails the test if the run ends first.
    pub async fn until_in_flight(&self, run: &str, creations: usize) {
        let mut watched = Watched::default();
        while watched.creating().len() < creations {
            assert!(
                !watched.is_over(),
                "the run is over before requests are in flight"
            );
            self.watch(run, &mut watched).await;
        }
    }

    /// Waits until the journal of a run has this many entries that are no log lines, or the run is over.
    pub async fn until_stored(&self, run: &str, entries: usize) -> Stored {
        let stored = async {
            let (mut watched, mut count) = (Watched::default(), 0);
            while count < entries && !watched.is_over() {
                let last = watched.last;
                let path = format!("/api/v1/runs/{run}/events?after={last}&limit=1000&moves=true");
                let events = self.get(&path).await;
                let events = events.as_array().unwrap();
                events.iter().for_each(|event| watched.take(event));
                count += events.len();
                if events.is_empty() {
                    tokio::time::sleep(NEXT_ENTRY).await;
                }
            }
            Stored {
                entries: count,
                is_over: watched.is_over(),
            }
        };
        tokio::time::timeout(PATIENCE, stored)
            .await
            .expect("the journal has the entries in time")
    }

    /// Number of sealed rows of a kind in the database.
    pub async fn sealed(&self, kind: SealedKind) -> i64 {
        let file = self.folder.join("data/stackloom.db");
        let database = store::open(&file).await.unwrap();
        store::testing::sealed_count(database.store(), kind).await
    }

    /// Waits until a step of a kind has begun, or the run is over.
    pub async fn until_begun(&self, run: &str, kind: &str) {
        let begun = async {
            loop {
                let shown = self.get(&format!("/api/v1/runs/{run}")).await;
                let mut steps = shown["steps"].as_array().unwrap().iter();
                let has_begun = |step: &Value| step["kind"] == kind && step["attempts"] != 0;
                if steps.any(has_begun) || !shown["ended"].is_null() {
                    return;
                }
                tokio::time::sleep(NEXT_ENTRY).await;
            }
        };
        tokio::time::timeout(PATIENCE, begun)
            .await
            .expect("the step begins in time")
    }

    /// Resumes a run.
    pub async fn resume(&self, run: &str) {
        let request = self.request(Method::POST, &format!("/api/v1/runs/{run}/resume"));
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
    }

    /// Waits for the end of a run.
    pub async fn until_over(&self, run: &str) {
        let over = async {
            let mut watched = Watched::default();
            while !watched.is_over() {
                self.watch(run, &mut watched).await;
            }
        };
        tokio::time::timeout(PATIENCE, over)
            .await
            .expect("the run ends in time");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The process can be killed already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn spawn(
    folder: &Path,
    address: &str,
    horizon: Duration,
    settings: &[(&'static str, String)],
) -> Child {
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .unwrap();
    Command::new(env!("CARGO_BIN_EXE_stackloom"))
        .env("STACKLOOM_ADDR", address)
        .env("STACKLOOM_CLOUDS", folder.join("clouds.yaml"))
        .env("STACKLOOM_DATA", folder.join("data"))
        .env("STACKLOOM_SITE", folder.join("site"))
        .env("STACKLOOM_CATALOG", folder.join("catalog"))
        .env("STACKLOOM_COMMIT_HORIZON", horizon.as_secs().to_string())
        .envs(settings.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap()
}

/// The journal of a run at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// Number of entries that are no log lines.
    pub entries: usize,
    /// True if the run has ended.
    pub is_over: bool,
}

/// The state of a run, from its events.
#[derive(Default)]
pub struct Watched {
    last: u64,
    /// Resources that are being created, by step.
    running: BTreeMap<String, String>,
    with_id: BTreeSet<String>,
    state: String,
}

impl Watched {
    fn take(&mut self, event: &Value) {
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        self.last = event["seq"].as_u64().unwrap();
        match event["type"].as_str().unwrap() {
            "run" => self.state = text("state"),
            "step" => {
                let step = text("step");
                match (step.strip_suffix(":create"), event["state"].as_str()) {
                    (Some(name), Some("running")) => {
                        self.running.insert(step.clone(), name.to_owned());
                    }
                    _ => drop(self.running.remove(&step)),
                }
            }
            "resource" if event["physical_id"].is_string() => {
                self.with_id.insert(text("name"));
            }
            _ => {}
        }
    }

    /// Resources whose creation has begun and whose id is still unknown.
    pub fn creating(&self) -> Vec<&str> {
        let names = self.running.values().map(String::as_str);
        names.filter(|name| !self.with_id.contains(*name)).collect()
    }

    /// True if the run has ended.
    pub fn is_over(&self) -> bool {
        ["succeeded", "failed", "cancelled"].contains(&self.state.as_str())
    }
}
