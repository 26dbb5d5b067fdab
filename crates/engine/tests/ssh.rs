//! SSH against OpenSSH in containers: `cargo test -p engine --test ssh -- --ignored` needs Docker and the lab's server
//! image.

#![expect(clippy::unwrap_used, reason = "a helper's panic is its test's failure")]

#[path = "common/sshd.rs"]
mod sshd;

use std::{sync::Arc, time::Duration};

use drivers::keys::{self, Pair};
use engine::health::{self, Subject, Unhealthy};
use engine::ssh::{Client, Gateway, Host, Output, Route, SshError, Wait, WaitProgress, dial};
use serde_json::{Value, json};
use sshd::{Sshd, USER, sshd};
use tokio::{
    io::AsyncReadExt,
    net::TcpListener,
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, timeout},
};
use types::catalog::{CatalogItem, HealthCheck};

const PATIENCE: Duration = Duration::from_secs(60);

fn pair() -> Pair {
    keys::make("test").unwrap()
}

fn slots(number: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(number))
}

/// Waits until a server lets us in.
async fn up(server: &Sshd, bastion: Option<&Sshd>, pair: &Pair) {
    let gateway = Gateway::default();
    let mut wait = Wait::new(
        server.behind(bastion),
        pair.private.clone(),
        &gateway,
        slots(1),
        PATIENCE,
    );
    loop {
        match wait.news().await {
            WaitProgress::LoggedIn => return,
            WaitProgress::NotYet(_) => {}
            other => panic!("{other:?}\n{}", server.log().await),
        }
    }
}

/// Values of this process: threads, and resident memory in KiB.
fn process() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.and_then(|number| number.parse().ok()).unwrap()
    };
    (value("Threads:"), value("VmRSS:"))
}

#[tokio::test]
async fn a_thousand_servers_that_boot_cost_a_few_kilobytes_each_and_no_thread() {
    const SERVERS: usize = 1000;
    // The kernel accepts the connection and sshd never responds, as on a server without enough entropy.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let pair = pair();
    let mut host = Host::new("web", "127.0.0.1", pair.public.as_str());
    host.port = port;
    let (threads, memory) = process();
    let gateway = Arc::new(Gateway::default());
    let mut waiting = JoinSet::new();
    for _ in 0..SERVERS {
        let (gateway, private) = (gateway.clone(), pair.private.clone());
        let route = Route {
            host: host.clone(),
            bastion: None,
            user: USER.into(),
        };
        waiting.spawn(async move {
            Wait::new(route, private, &gateway, slots(1), Duration::from_secs(600))
                .news()
                .await
        });
    }
    let mut connected = Vec::new();
    while connected.len() < SERVERS {
        connected.push(timeout(PATIENCE, silent.accept()).await.unwrap().unwrap());
    }
    let (threads_now, memory_now) = process();
    let each = memory_now.saturating_sub(memory) / SERVERS as u64;
    println!(
        "{SERVERS} waiting servers: {} KiB, {each} KiB each, {threads} then {threads_now} threads",
        memory_now - memory
    );
    assert!(each < 64, "{each} KiB for each waiting server");
    assert!(
        threads_now <= threads + 4,
        "{threads} then {threads_now} threads"
    );
    assert_eq!(waiting.len(), SERVERS);
}

#[tokio::test]
async fn an_attempt_waits_for_a_slot_of_its_project() {
    // The kernel answers at once and sshd never does.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let pair = pair();
    let mut host = Host::new("web", "127.0.0.1", pair.public.as_str());
    host.port = silent.local_addr().unwrap().port();
    let route = Route {
        host,
        bastion: None,
        user: USER.into(),
    };
    let slots = slots(1);
    let taken = slots.clone().acquire_owned().await.unwrap();
    let (gateway, patience) = (Gateway::default(), Duration::from_secs(1));
    let mut wait = Wait::new(
        route,
        pair.private.clone(),
        &gateway,
        slots.clone(),
        patience,
    );
    let queue = timeout(2 * patience, wait.news()).await;
    assert!(queue.is_err(), "no attempt without a slot: {queue:?}");
    drop(taken);
    let (news, accepted) = tokio::join!(wait.news(), silent.accept());
    assert!(accepted.is_ok(), "an attempt was made");
    assert!(matches!(news, WaitProgress::TimeIsUp(_)), "{news:?}");
    assert_eq!(slots.available_permits(), 1);
}

#[tokio::test]
async fn a_server_that_nobody_answers_for_ends_the_wait_in_time() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let pair = pair();
    let mut host = Host::new("web", "127.0.0.1", pair.public.as_str());
    host.port = free.local_addr().unwrap().port();
    drop(free);
    let route = Route {
        host,
        bastion: None,
        user: USER.into(),
    };
    let gateway = Gateway::default();
    let begun = Instant::now();
    let mut wait = Wait::new(
        route,
        pair.private.clone(),
        &gateway,
        slots(1),
        Duration::from_secs(2),
    );
    let first = wait.news().await;
    assert!(
        matches!(&first, WaitProgress::NotYet(why) if why.contains("refused")),
        "{first:?}"
    );
    assert_eq!(wait.attempts(), 1);
    assert!(wait.left() < Duration::from_secs(2));
    let last = wait.news().await;
    assert!(
        matches!(&last, WaitProgress::TimeIsUp(why) if why.contains("refused")),
        "{last:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
#[ignore = "needs Docker and the lab's server image"]
async fn output_comes_while_the_command_runs_and_its_exit_code_after() {
    let pair = pair();
    let server = sshd("web", &pair.public).await;
    up(&server, None, &pair).await;
    let client = Client::connect(&server.host, USER, &pair.private)
        .await
        .unwrap();
    // The script continues only when a file exists, which the test creates after the first output.
    let script =
        "printf one; while ! test -e go; do sleep 0.05; done; printf two >&2; kill -0 $$; exit 3";
    let mut execution = client.execute(script).await.unwrap();
    assert_eq!(
        execution.output().await.unwrap(),
        Some(Output::Out("one".into()))
    );
    let go = client.execute("touch go").await.unwrap();
    assert_eq!(go.code().await.unwrap(), 0);
    assert_eq!(
        execution.output().await.unwrap(),
        Some(Output::Err("two".into()))
    );
    assert_eq!(execution.code().await.unwrap(), 3);
}

#[tokio::test]
#[ignore = "needs Docker and the lab's server image"]
async fn a_server_with_another_host_key_or_without_our_key_is_named() {
    let pair = pair();
    let server = sshd("web", &pair.public).await;
    up(&server, None, &pair).await;
    let mut other = server.host.clone();
    other.host_key = keys::make("other").unwrap().public;
    let refused = Client::connect(&other, USER, &pair.private).await.err();
    assert_eq!(
        refused,
        Some(SshError::HostKey {
            server: "web".into()
        })
    );
    let before = server.log().await.matches("Accepted").count();
    assert_eq!(before, 1, "only the first login was one");

    let stranger = keys::make("stranger").unwrap();
    let refused = Client::connect(&server.host, USER, &stranger.private).await;
    assert_eq!(
        refused.err(),
        Some(SshError::Denied {
            server: "web".into(),
            user: USER.into()
        })
    );
}

#[tokio::test]
#[ignore = "needs Docker and the lab's server image"]
async fn checks_behind_a_bastion_share_one_login_there() {
    let pair = pair();
    let (gate, web) = (
        sshd("gate", &pair.public).await,
        sshd("web", &pair.public).await,
    );
    up(&gate, None, &pair).await;
    up(&web, Some(&gate), &pair).await;
    let before = gate.log().await.matches("Accepted").count();
    let gateway = Arc::new(Gateway::default());
    let bastion = gateway
        .client(&gate.host, USER, &pair.private)
        .await
        .unwrap();
    // More than sshd's limit of unauthenticated connections: with a separate login at the bastion for each, some would
    // fail.
    let mut checks = JoinSet::new();
    for _ in 0..30 {
        let (gateway, route, key) = (
            gateway.clone(),
            web.behind(Some(&gate)),
            pair.private.clone(),
        );
        checks.spawn(async move {
            let mut wait = Wait::new(route, key, &gateway, slots(1), PATIENCE);
            loop {
                match wait.news().await {
                    WaitProgress::NotYet(_) => {}
                    end => return end,
                }
            }
        });
    }
    let ends = checks.join_all().await;
    assert!(
        ends.iter().all(|end| *end == WaitProgress::LoggedIn),
        "{ends:?}"
    );
    let logins = gate.log().await.matches("Accepted").count() - before;
    assert_eq!(logins, 1);
    drop(bastion);

    let mut bytes = dial(&web.behind(Some(&gate)), &pair.private).await.unwrap();
    let mut banner = [0; 8];
    bytes.read_exact(&mut banner).await.unwrap();
    assert_eq!(&banner, b"SSH-2.0-");
}

#[tokio::test]
#[ignore = "needs Docker and the lab's server image"]
async fn a_connection_ends_with_its_client() {
    let pair = pair();
    let server = sshd("web", &pair.public).await;
    up(&server, None, &pair).await;
    let client = Client::connect(&server.host, USER, &pair.private)
        .await
        .unwrap();
    let mut execution = client.execute("echo here; sleep 600").await.unwrap();
    assert_eq!(
        execution.output().await.unwrap(),
        Some(Output::Out("here\n".into()))
    );
    assert_eq!(server.sessions().await, 1);
    drop((execution, client));
    let ended = async { while server.sessions().await > 0 {} };
    timeout(PATIENCE, ended)
        .await
        .expect("sshd sees the end of the connection");
}

/// A DNS server that answers every query with one SRV record.
const NAME_SERVER: &str = r#"python3 -c 'import socketserver
class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        asked = self.request.recv(600)[2:]
        record = bytes([0xc0, 12, 0, 33, 0, 1, 0, 0, 0, 10, 0, 0])
        answer = asked[:2] + bytes([0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]) + asked[12:] + record
        self.request.sendall(len(answer).to_bytes(2, "big") + answer)
socketserver.TCPServer(("", 5353), Answer).serve_forever()' >/dev/null 2>&1 &"#;

#[tokio::test]
#[ignore = "needs Docker and the lab's server image"]
async fn health_is_tried_at_the_server_itself() {
    let pair = pair();
    let server = sshd("web", &pair.public).await;
    up(&server, None, &pair).await;
    let client = Client::connect(&server.host, USER, &pair.private);
    let client = client.await.unwrap();
    let inputs =
        json!({"sshd": 22, "page": 8080, "nobody": 8081, "names": 5353, "word": "it's here"});
    let inputs = inputs.as_object().unwrap();
    let tried = async |probe: Value| {
        let check = HealthCheck {
            title: "Works".to_owned(),
            probe: serde_json::from_value(probe).unwrap(),
            interval: 1,
            timeout: 60,
            deadline: 60,
            when: None,
        };
        match health::attempt(&client, &check, inputs).await {
            Ok(()) => "healthy".to_owned(),
            Err(Unhealthy::Ssh(error)) => error.to_string(),
            Err(Unhealthy::Answer(why)) => why,
            Err(Unhealthy::Exit(code, said)) => format!("exit status {code}; it said: {said}"),
        }
    };
    assert_eq!(tried(json!({"tcp": {"port": "sshd"}})).await, "healthy");
    let nobody = "`web` did not connect to localhost port 8081: nobody answers there yet";
    assert_eq!(tried(json!({"tcp": {"port": "nobody"}})).await, nobody);
    let get = |port: &str, path: &str, contains: &str| json!({"http": {"port": port, "path": path, "status": null, "contains": contains}});
    assert_eq!(tried(get("sshd", "/", "x")).await, "the answer is not HTTP");
    let scheme = |scheme: &str| json!({"http": {"port": "sshd", "scheme": scheme, "path": "/", "status": null, "contains": null}});
    let no_tls = tried(scheme("https")).await;
    assert!(no_tls.starts_with("no answer with TLS: "), "{no_tls}");
    let no_scheme = "`it's here` is no scheme; there are `http` and `https`";
    assert_eq!(tried(scheme("{word}")).await, no_scheme);

    let page = "mkdir www && echo welcome >www/index.html && cd www && (python3 -m http.server 8080 >/dev/null 2>&1 &)";
    let begun = client.execute(page).await.unwrap();
    assert_eq!(begun.code().await.unwrap(), 0);
    let until = Instant::now() + PATIENCE;
    while tried(json!({"tcp": {"port": "page"}})).await != "healthy" {
        assert!(Instant::now() < until, "the page is not served");
        tokio::task::yield_now().await;
    }
    assert_eq!(tried(get("page", "/", "welcome")).await, "healthy");
    let lacks = "HTTP 200, but the answer lacks `bye`";
    assert_eq!(tried(get("page", "/", "bye")).await, lacks);
    assert_eq!(tried(get("page", "/none", "404")).await, "healthy");
    assert_eq!(tried(get("page", "/", "")).await, "healthy");
    let no_path = "`/it's here` is no path of a URL such as `/health`";
    assert_eq!(tried(get("page", "/{word}", "x")).await, no_path);
    let status = |status: &str| json!({"http": {"port": "page", "path": "/", "status": status, "contains": "{unset}"}});
    let other = "HTTP 200, expected 22";
    assert_eq!(tried(status("{sshd}")).await, other);
    let no_status = "`it's here` is no HTTP status";
    assert_eq!(tried(status("{word}")).await, no_status);

    let begun = client.execute(NAME_SERVER).await.unwrap();
    assert_eq!(begun.code().await.unwrap(), 0);
    let dns = |port: &str, record: &str| json!({"dns": {"port": port, "name": "web.{sshd}.internal", "record": record}});
    let until = Instant::now() + PATIENCE;
    while tried(dns("names", "SRV")).await != "healthy" {
        assert!(Instant::now() < until, "no name is served");
        tokio::task::yield_now().await;
    }
    let lacks = "`web.22.internal` has no record of type A";
    assert_eq!(tried(dns("names", "A")).await, lacks);
    let nobody = "`web` did not connect to localhost port 8081: nobody answers there yet";
    assert_eq!(tried(dns("nobody", "A")).await, nobody);

    let command = |text: &str| json!({"command": {"command": text}});
    assert_eq!(
        tried(command("test \"$word\" = \"it's here\"")).await,
        "healthy"
    );
    let ill = "exit status 3; it said: ill";
    assert_eq!(tried(command("echo ill >&2; exit 3")).await, ill);
}

/// An item that listens on the option `port`, with health checks as in its manifest.
fn item(health: &str) -> CatalogItem {
    let manifest = format!(
        "name: page\ntitle: Page\nversion: 1.0.0\nsummary: A page.\ncategory: web\nhealth:\n{health}"
    );
    let options = "argument_specs: {main: {options: {port: {type: int, default: 8082, description: Port.}}}}\n";
    CatalogItem::parse(&manifest, options).unwrap()
}

#[tokio::test]
#[ignore = "needs Docker and the lab's server image"]
async fn a_service_that_accepts_and_never_answers_is_unhealthy_at_the_time_limit() {
    let pair = pair();
    let server = sshd("web", &pair.public).await;
    up(&server, None, &pair).await;
    let client = Client::connect(&server.host, USER, &pair.private);
    let client = client.await.unwrap();
    // The kernel accepts the connections.
    let silent = "python3 -c 'import socket,time; s=socket.socket(); s.bind((str(), 8082)); s.listen(); time.sleep(600)' >/dev/null 2>&1 &";
    let begun = client.execute(silent).await.unwrap();
    assert_eq!(begun.code().await.unwrap(), 0);
    let page = item(
        "  - {title: Accepts, tcp: port, timeout: 20}
  - {title: Answers, http: port, timeout: 1}
  - {title: Resolves, dns: port, name: web.internal, timeout: 1}
  - {title: Works, command: sleep 600, timeout: 1}
",
    );
    let [accepts, hanging @ ..] = &page.health[..] else {
        panic!("{page:#?}")
    };
    let (route, gateway) = (server.behind(None), Gateway::default());
    let given = serde_json::Map::new();
    let mut subject = Subject::new("page", &page, &given, route, pair.private.clone());
    let until = Instant::now() + PATIENCE;
    while subject.attempt(accepts, &gateway).await.is_err() {
        assert!(Instant::now() < until, "nobody listens");
        tokio::task::yield_now().await;
    }
    for check in hanging {
        let begun = Instant::now();
        let answer = subject.attempt(check, &gateway).await;
        let why = Unhealthy::Answer("no answer within 1 s".to_owned());
        assert_eq!(answer, Err(why), "{}", check.title);
        assert!(begun.elapsed() < Duration::from_secs(5), "{}", check.title);
    }
    assert_eq!(subject.attempt(accepts, &gateway).await, Ok(()));
}
