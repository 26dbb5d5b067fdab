//! The server behind HAProxy with the configuration in `deploy/`: TLS, live runs, terminals, uploads, clients' addresses.
//!
//! Clients connect from several addresses of loopback, as if they were different machines.

use std::{
    net::{IpAddr, SocketAddr, TcpListener},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use flate2::{Compression, write::GzEncoder};
use futures::StreamExt;
use jiff::Timestamp;
use rcgen::{CertifiedKey, KeyPair};
use reqwest::{ClientBuilder, Method, RequestBuilder, Response, header};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, handshake::client::generate_key, protocol::Role},
};

use crate::{
    LOOK_EVERY, PATIENCE, clouds_file, demo,
    program::{self, Program},
    text,
};

const CONFIGURATION: &str = include_str!("../../../deploy/haproxy.cfg");

/// The public name of the server.
const HOST: &str = "stackloom.example.org";

/// Longer than HAProxy keeps a websocket without traffic: `timeout tunnel` in its configuration.
const LONG_PAUSE: Duration = Duration::from_secs(90);

/// Delay of a live event that a user does not notice.
const SOON_MS: f64 = 1000.0;

/// Wrong passwords within which the server begins to refuse them. Fewer than an account may have over all addresses.
const GUESSES: u8 = 40;

const TEMPLATE: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.7.0.0/24}}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: front}}]}
";

/// The step at which the run of [`deploy`] waits for a user.
const HOOK: &str = "front:pre-create";

/// A running HAProxy.
struct HaProxy {
    child: Child,
    address: SocketAddr,
}

impl HaProxy {
    /// Starts it with the configuration in `deploy/`. Only addresses and the path of the certificate differ.
    fn start(folder: &Path, server: SocketAddr, identity: &CertifiedKey<KeyPair>) -> HaProxy {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let pem = folder.join("stackloom.pem");
        let (certificate, key) = (identity.cert.pem(), identity.signing_key.serialize_pem());
        std::fs::write(&pem, certificate + &key).unwrap();
        let mut configuration = CONFIGURATION.to_owned();
        for (example, own) in [
            (":443", address.to_string()),
            ("/etc/haproxy/stackloom.pem", pem.display().to_string()),
            ("192.0.2.11:8080", server.to_string()),
            ("192.0.2.12:8080", server.to_string()),
        ] {
            assert_eq!(configuration.matches(example).count(), 1, "{example}");
            configuration = configuration.replace(example, &own);
        }
        let file = folder.join("haproxy.cfg");
        std::fs::write(&file, configuration).unwrap();
        let child = Command::new("/usr/sbin/haproxy")
            .args(["-db", "-f"])
            .arg(file)
            .stdin(Stdio::null())
            .spawn()
            .expect("HAProxy is installed");
        HaProxy { child, address }
    }
}

impl Drop for HaProxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A server behind HAProxy, and a lab.
struct Place {
    proxy: HaProxy,
    server: Program,
    certificate: reqwest::Certificate,
    _lab: lab::Lab,
    // Dropped last.
    _folder: TempDir,
}

impl Place {
    async fn new() -> Place {
        program::install_tls_provider();
        let lab = lab::Lab::memory().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let settings = vec![
            ("STACKLOOM_PUBLIC_URL", format!("https://{HOST}")),
            ("STACKLOOM_PROXIES", "127.0.0.1".to_owned()),
        ];
        let horizon = Duration::from_secs(3);
        let clouds = clouds_file(&lab);
        let server = Program::start_with(folder.path(), &clouds, horizon, settings).await;
        let identity = rcgen::generate_simple_self_signed([HOST.to_owned()]).unwrap();
        let place = Place {
            proxy: HaProxy::start(folder.path(), server.address(), &identity),
            server,
            certificate: reqwest::Certificate::from_pem(identity.cert.pem().as_bytes()).unwrap(),
            _lab: lab,
            _folder: folder,
        };
        let anybody = place.browser(1);
        let ready = async {
            loop {
                let answer = anybody.request(Method::GET, "/readyz").send().await;
                if answer.is_ok_and(|answer| answer.status().is_success()) {
                    return;
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        timeout(PATIENCE, ready).await.expect("HAProxy starts");
        place
    }

    /// A browser at the address 127.0.0.`machine`, in front of the proxy.
    fn browser(&self, machine: u8) -> Browser {
        let client = || self.client(machine, self.proxy.address);
        Browser {
            url: format!("https://{HOST}"),
            http: client().build().unwrap(),
            sockets: client().http1_only().build().unwrap(),
            cookie: None,
        }
    }

    /// A program at the address 127.0.0.`machine` that goes past the proxy.
    fn intruder(&self, machine: u8) -> Browser {
        let client = || self.client(machine, self.server.address());
        Browser {
            url: format!("http://{HOST}"),
            http: client().build().unwrap(),
            sockets: client().build().unwrap(),
            cookie: None,
        }
    }

    fn client(&self, machine: u8, to: SocketAddr) -> ClientBuilder {
        reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([self.certificate.clone()])
            .resolve(HOST, to)
            .local_address(IpAddr::from([127, 0, 0, machine]))
    }
}

type Socket = WebSocketStream<reqwest::Upgraded>;

struct Browser {
    url: String,
    http: reqwest::Client,
    /// For websockets, which begin with HTTP/1.1.
    sockets: reqwest::Client,
    cookie: Option<String>,
}

impl Browser {
    fn with_cookie(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.cookie {
            Some(cookie) => request.header(header::COOKIE, cookie),
            None => request,
        }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.with_cookie(self.http.request(method, format!("{}{path}", self.url)))
    }

    /// A login of the demo user.
    fn login(&self, password: &str) -> RequestBuilder {
        let mut body = demo();
        body["password"] = password.into();
        self.request(Method::POST, "/api/v1/login").json(&body)
    }

    /// Logs in and stores the session's cookie. Returns it with its attributes.
    async fn logged_in(&mut self) -> String {
        let answer = accepted(self.login("demo")).await;
        let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap();
        self.cookie = cookie.split(';').next().map(str::to_owned);
        cookie.to_owned()
    }

    /// Opens a websocket like one of the server's own pages.
    async fn socket(&self, path: &str) -> Socket {
        let request = self.sockets.get(format!("{}{path}", self.url));
        let request = self
            .with_cookie(request)
            .header(header::ORIGIN, &self.url)
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, generate_key());
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 101, "{path}");
        let stream = answer.upgrade().await.unwrap();
        WebSocketStream::from_raw_socket(stream, Role::Client, None).await
    }
}

/// The response to a request, which succeeds.
async fn accepted(request: RequestBuilder) -> Response {
    let answer = request.send().await.unwrap();
    let status = answer.status();
    if !status.is_success() {
        panic!("{status}: {}", answer.text().await.unwrap());
    }
    answer
}

/// A deployment whose run waits at [`HOOK`]. Returns the ids of both.
async fn deploy(browser: &Browser) -> (String, String) {
    let body = json!({
        "name": "behind-a-proxy",
        "template": TEMPLATE,
        "files": {"hooks.yaml": "resource_registry: {resources: {front: {hooks: pre-create}}}\n"},
        "environments": ["hooks.yaml"],
    });
    let request = browser
        .request(Method::POST, "/api/v1/deployments")
        .json(&body);
    let started: Value = accepted(request).await.json().await.unwrap();
    (text(&started, "deployment"), text(&started, "run"))
}

async fn release(browser: &Browser, run: &str) {
    let request = browser.request(Method::POST, &format!("/api/v1/runs/{run}/release"));
    accepted(request.json(&json!({"step": HOOK}))).await;
}

/// A run as a page sees it live.
struct View {
    socket: Socket,
    /// Number of the last event.
    last: u64,
    /// Delays between storage and arrival, in milliseconds.
    delays: Vec<f64>,
}

impl View {
    async fn open(browser: &Browser, run: &str) -> View {
        View {
            socket: browser
                .socket(&format!("/api/v1/runs/{run}/stream?after=0"))
                .await,
            last: 0,
            delays: Vec::new(),
        }
    }

    /// The next events, which follow the earlier ones without a gap.
    async fn next(&mut self) -> Vec<Value> {
        loop {
            match self.socket.next().await.unwrap().unwrap() {
                Message::Text(text) => {
                    let events: Vec<Value> = serde_json::from_str(&text).unwrap();
                    for event in &events {
                        self.last += 1;
                        assert_eq!(event["seq"], self.last);
                        let time: Timestamp = event["time"].as_str().unwrap().parse().unwrap();
                        let delay = Timestamp::now() - time;
                        self.delays
                            .push(delay.total(jiff::Unit::Millisecond).unwrap());
                    }
                    return events;
                }
                Message::Ping(_) => {}
                other => panic!("after event {}: {other:?}", self.last),
            }
        }
    }

    /// Reads until an event satisfies a condition.
    async fn until(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) {
        let found = async { while !self.next().await.iter().any(&is_it) {} };
        timeout(PATIENCE, found).await.expect(what);
    }

    /// Reads until the run waits at its hook. No event follows its line in the log.
    async fn until_waiting(&mut self) {
        self.until("the run waits at its hook", |event| {
            let line = event["text"].as_str();
            line.is_some_and(|line| line.starts_with("Waiting at a hook"))
        })
        .await;
    }

    async fn until_succeeded(&mut self) {
        self.until("the run succeeds", |event| {
            event["type"] == "run" && event["state"] == "succeeded"
        })
        .await;
    }
}

/// An archive of an item with a file of three MiB, which is not compressed.
fn large_item() -> Vec<u8> {
    const MANIFEST: &str = "name: large\ntitle: Large\nversion: 1.0.0\nsummary: Brings a large file.\ncategory: test\n";
    const SPECS: &str = "argument_specs: {main: {options: {word: {type: str, default: hi, description: A word.}}}}\n";
    let large = "x".repeat(3 * 1024 * 1024);
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::none()));
    for (path, content) in [
        ("item.yml", MANIFEST),
        ("meta/argument_specs.yml", SPECS),
        ("tasks/main.yml", "- debug:\n"),
        ("files/large", large.as_str()),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        let path = format!("item/{path}");
        archive
            .append_data(&mut header, path, content.as_bytes())
            .unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn live_runs_terminals_and_uploads_pass_the_proxy() {
    let place = Place::new().await;
    let mut browser = place.browser(2);
    let cookie = browser.logged_in().await;
    assert!(cookie.starts_with("__Host-"), "{cookie}");
    assert!(cookie.contains("; Secure"), "{cookie}");

    let (deployment, run) = deploy(&browser).await;
    let mut view = View::open(&browser, &run).await;
    // A proxy that collects a response before it passes it on would keep this line: nothing follows it.
    view.until_waiting().await;
    view.delays.clear();
    release(&browser, &run).await;
    view.until_succeeded().await;
    view.delays.sort_by(f64::total_cmp);
    let median = view.delays[view.delays.len() / 2];
    assert!(median < SOON_MS, "{:?}", view.delays);

    let terminal = format!("/api/v1/deployments/{deployment}/servers/web/terminal");
    let mut terminal = browser.socket(&terminal).await;
    let ended = async {
        loop {
            if let Message::Text(text) = terminal.next().await.unwrap().unwrap() {
                return text;
            }
        }
    };
    let ended = timeout(PATIENCE, ended).await.expect("a message");
    assert!(
        ended.contains("The deployment has no bastion"),
        "it has no server with software: {ended}"
    );

    let archive = large_item();
    assert!(archive.len() > 3 * 1024 * 1024);
    let upload = browser
        .request(Method::POST, "/api/v1/catalog")
        .header(header::CONTENT_TYPE, "application/gzip")
        .body(archive);
    assert_eq!(accepted(upload).await.status(), 201);
}

/// Guesses passwords until the server refuses to check them. Each guess claims to come from another address.
async fn guess_until_refused(browser: &Browser) {
    for guess in 0..GUESSES {
        let login = browser.login("a guess");
        let login = login.header("x-forwarded-for", format!("203.0.113.{guess}"));
        match login.send().await.unwrap().status().as_u16() {
            401 => {}
            429 => return,
            other => panic!("{other}"),
        }
    }
    panic!("{GUESSES} guesses were free");
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_count_for_the_address_in_front_of_the_proxy() {
    let place = Place::new().await;
    guess_until_refused(&place.browser(3)).await;
    // Not the proxy's address, which both have in common.
    place.browser(4).logged_in().await;
    // From an address that is not listed as a proxy, the header has no effect.
    guess_until_refused(&place.intruder(5)).await;
    place.browser(6).logged_in().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: a pause of a minute and a half"]
async fn heartbeats_keep_the_view_of_a_waiting_run() {
    let place = Place::new().await;
    let mut browser = place.browser(2);
    browser.logged_in().await;
    let (_, run) = deploy(&browser).await;
    let mut view = View::open(&browser, &run).await;
    view.until_waiting().await;
    let event = timeout(LONG_PAUSE, view.next()).await;
    assert!(event.is_err(), "the run waits: {event:?}");
    release(&browser, &run).await;
    // Over the same websocket.
    view.until_succeeded().await;
}
