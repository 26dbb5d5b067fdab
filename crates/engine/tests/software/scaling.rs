//! A group of web servers that grows and shrinks behind a proxy, while clients ask the proxy all the time.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use api::{AllServers, CommandRequest, CommandServers, ScaleRequest, Started, StepState};
use hot::bundle::Bundle;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::*;

pub const SITE: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.35.1.0/24}
  gate:
    type: OS::Nova::Server
    depends_on: subnet
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  web:
    type: OS::Heat::AutoScalingGroup
    depends_on: subnet
    properties:
      min_size: 1
      max_size: 5
      desired_capacity: 2
      resource: {type: web.yaml, properties: {net: {get_resource: net}}}
  proxy:
    type: Stackloom::Catalog::haproxy
    properties: {host: {get_resource: gate}, backends: {get_attr: [web, outputs_list, site]}}
outputs:
  url: {value: {get_attr: [proxy, url]}}
";

/// A member of the group. Its page is its address.
const WEB: &str = "heat_template_version: 2021-04-16
parameters:
  net: {type: string}
resources:
  server:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_param: net}}]}
  nginx:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: server}, page_text: {get_attr: [server, first_address]}}
outputs:
  site: {value: {get_resource: nginx}}
";

/// Clients that ask a proxy until they are told to stop.
struct Clients {
    seen: Arc<Seen>,
    tasks: JoinSet<()>,
}

#[derive(Default)]
struct Seen {
    /// Number of requests that were answered with a page.
    answered: AtomicU64,
    /// Addresses of the members that answered since the last look.
    members: Mutex<BTreeSet<String>>,
    failures: Mutex<Vec<String>>,
}

impl Clients {
    /// Clients with a connection for each request, with one for many, and with one that is idle most of the time.
    fn start(address: &str) -> Clients {
        let pauses = [
            (20, 0),
            (20, 0),
            (20, 0),
            (20, 1000),
            (20, 1000),
            (3000, 1000),
        ];
        Clients::with_pauses(address, &pauses)
    }

    /// A client for each pair: its pause between two requests, in milliseconds, and the number of requests on a connection
    /// after the first.
    fn with_pauses(address: &str, pauses: &[(u64, u32)]) -> Clients {
        let seen = Arc::new(Seen::default());
        let mut tasks = JoinSet::new();
        for &(milliseconds, requests_per_connection) in pauses {
            let (seen, address) = (seen.clone(), address.to_owned());
            let pause = Duration::from_millis(milliseconds);
            tasks.spawn(async move {
                loop {
                    let asked = converse(&seen, &address, pause, requests_per_connection);
                    if let Err(error) = asked.await {
                        seen.failures.lock().unwrap().push(error);
                    }
                    sleep(pause).await;
                }
            });
        }
        Clients { seen, tasks }
    }

    /// The members that answer from now on, after this number of requests.
    async fn members_after(&self, requests: u64) -> BTreeSet<String> {
        self.seen.members.lock().unwrap().clear();
        let until = self.seen.answered.load(Ordering::Relaxed) + requests;
        while self.seen.answered.load(Ordering::Relaxed) < until {
            sleep(Duration::from_millis(20)).await;
        }
        self.seen.members.lock().unwrap().clone()
    }

    /// Fails the test if one request has failed.
    fn assert_none_failed(&self, when: &str) {
        let failures = self.seen.failures.lock().unwrap();
        let answered = self.seen.answered.load(Ordering::Relaxed);
        println!("{when}: {answered} answers");
        assert!(failures.is_empty(), "{when}, of {answered}: {failures:?}");
    }
}

/// Asks over one connection until the proxy announces its end.
async fn converse(seen: &Seen, address: &str, pause: Duration, more: u32) -> Result<(), String> {
    let broken = |error: std::io::Error| error.to_string();
    let late = |_| "no answer in 10 s".to_owned();
    let limit = Duration::from_secs(10);
    let stream = timeout(limit, TcpStream::connect(address)).await;
    let mut stream = BufReader::new(stream.map_err(late)?.map_err(broken)?);
    for left in (0..=more).rev() {
        let kind = if left == 0 { "close" } else { "keep-alive" };
        let request = format!("GET / HTTP/1.1\r\nHost: site\r\nConnection: {kind}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.map_err(broken)?;
        let is_last = timeout(limit, answer(seen, &mut stream)).await;
        if is_last.map_err(late)?? {
            break;
        }
        sleep(pause).await;
    }
    Ok(())
}

/// Reads one answer. True if the connection ends with it.
async fn answer(seen: &Seen, stream: &mut BufReader<TcpStream>) -> Result<bool, String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let read = stream.read_line(&mut head).await;
        if read.map_err(|error| error.to_string())? == 0 {
            return Err(format!("the connection ended after {head:?}"));
        }
    }
    let head = head.to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut page = vec![0; length.and_then(|length| length.parse().ok()).unwrap_or(0)];
    let read = stream.read_exact(&mut page).await;
    read.map_err(|error| error.to_string())?;
    let page = String::from_utf8_lossy(&page);
    let text = page
        .split_once("<p>")
        .and_then(|(_, rest)| rest.split_once("</p>"));
    let Some((member, _)) = text.filter(|_| head.starts_with("http/1.1 200 ")) else {
        return Err(format!("{head}{page}"));
    };
    seen.members.lock().unwrap().insert(member.to_owned());
    seen.answered.fetch_add(1, Ordering::Relaxed);
    Ok(head.contains("connection: close"))
}

/// Size of a file on each member.
const FILE_BYTES: usize = 48_000_000;
/// Time that its download takes. Less than the proxy gives to requests that are under way.
const DOWNLOAD: Duration = Duration::from_secs(25);

/// Puts the file on each member.
async fn write_files(bench: &Bench, deployment: &str) {
    let folder = "/var/www/stackloom";
    let script =
        format!("if [ -d {folder} ]; then head -c {FILE_BYTES} /dev/zero > {folder}/file; fi");
    let all = CommandServers::All(AllServers::All);
    execute(bench, deployment, all, script).await;
}

/// Runs a script on servers. Returns the run's events.
pub async fn execute(
    bench: &Bench,
    deployment: &str,
    servers: CommandServers,
    script: String,
) -> Vec<Event> {
    let request = CommandRequest {
        servers: Some(servers),
        script: Some(script),
        ..CommandRequest::default()
    };
    let command = bench.engine.command(&bench.actor, deployment, request);
    let (run, events) = story(bench, &command.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    events
}

/// Downloads the file from some member. Returns its size, and when it was complete.
async fn download(address: String) -> Result<(usize, jiff::Timestamp), std::io::Error> {
    let mut stream = BufReader::new(TcpStream::connect(&address).await?);
    let request = "GET /file HTTP/1.0\r\nHost: site\r\n\r\n";
    stream.write_all(request.as_bytes()).await?;
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).await? > 0 {}
    let mut piece = vec![0; FILE_BYTES / 1000];
    let begin = Instant::now();
    let mut bytes = 0;
    loop {
        match stream.read(&mut piece).await? {
            0 => return Ok((bytes, jiff::Timestamp::now())),
            read => bytes += read,
        }
        // The buffers of the connections are full, so a member sends until shortly before the end.
        let due = DOWNLOAD.mul_f64(bytes as f64 / FILE_BYTES as f64);
        sleep(due.saturating_sub(begin.elapsed())).await;
    }
}

/// Deploys a site, whose proxy has a health check with this title. Returns the proxy's address, too.
pub async fn deploy(bench: &Bench, template: &str, check: &str) -> (Started, String) {
    let new = engine::NewDeployment {
        name: "shop".into(),
        template: template.into(),
        bundle: Bundle::new([("web.yaml".to_owned(), WEB.to_owned())], []),
        cloud: bench::facts(),
        ..engine::NewDeployment::default()
    };
    let started = bench.engine.deploy(&bench.actor, new).await.unwrap();
    let (run, events) = story(bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let passed = format!("Health check of `proxy` passed: {check}");
    assert!(is_logged(&events, &passed));
    let deployment = bench.engine.deployment(&bench.tenant, &started.deployment);
    let url = deployment.await.unwrap().outputs["url"]
        .value
        .clone()
        .unwrap();
    let address = url.as_str().unwrap();
    let address = address.trim_start_matches("http://").trim_end_matches('/');
    (started, address.to_owned())
}

/// Scales the group, and returns the run's events.
async fn scale(bench: &Bench, deployment: &str, size: u64) -> Vec<Event> {
    let request = ScaleRequest {
        size: Some(size),
        ..ScaleRequest::default()
    };
    let scaled = bench
        .engine
        .scale(&bench.actor, deployment, "web", request, bench::facts());
    let (run, events) = story(bench, &scaled.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    events
}

/// Position of the event in which a step gets a state.
fn position(events: &[Event], id: &str, wanted: StepState) -> usize {
    let is_it = |event: &Event| matches!(&event.body, EventBody::Step { step, state, .. } if step == id && *state == wanted);
    let found = events.iter().position(is_it);
    found.unwrap_or_else(|| panic!("`{id}` is never {wanted:?}"))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn a_group_grows_and_shrinks_behind_its_proxy_without_a_failed_request() {
    let bench = on_docker("engine-scaling", "172.31.35.0/24", BOOT).await;
    let (started, address) = deploy(&bench, SITE, "All backends are healthy").await;
    let mut clients = Clients::start(&address);
    assert_eq!(clients.members_after(100).await.len(), 2);

    for size in [4, 2] {
        scale(&bench, &started.deployment, size).await;
        clients.assert_none_failed(&format!("to {size}"));
        assert_eq!(clients.members_after(200).await.len() as u64, size);
    }

    // The members are `web/2` and `web/3` now.
    let events = scale(&bench, &started.deployment, 5).await;
    clients.assert_none_failed("from 2 to 5");
    let proxied = position(&events, "proxy:configure", StepState::Running);
    for member in 4..7 {
        let healthy = position(
            &events,
            &format!("web/{member}/nginx:configure"),
            StepState::Succeeded,
        );
        assert!(
            healthy < proxied,
            "`web/{member}` gets requests when it is healthy"
        );
    }
    assert_eq!(clients.members_after(200).await.len(), 5);

    write_files(&bench, &started.deployment).await;
    let downloads: Vec<_> = (0..5)
        .map(|_| tokio::spawn(download(address.clone())))
        .collect();
    let events = scale(&bench, &started.deployment, 1).await;
    clients.assert_none_failed("from 5 to 1");
    let reloaded = events.iter().find(|event| {
        matches!(&event.body, EventBody::Log(line) if line.task.as_deref() == Some("haproxy : Reload HAProxy"))
    });
    let reloaded: jiff::Timestamp = reloaded.unwrap().time.parse().unwrap();
    for download in downloads {
        let (bytes, complete) = download.await.unwrap().unwrap();
        assert_eq!(bytes, FILE_BYTES, "a download is cut");
        assert!(
            complete > reloaded,
            "it was under way when the proxy was changed"
        );
    }
    let drained = position(&events, "proxy:configure", StepState::Succeeded);
    for member in 2..6 {
        let goes = position(
            &events,
            &format!("web/{member}/server:delete"),
            StepState::Running,
        );
        assert!(
            drained < goes,
            "`web/{member}` goes when the proxy has no request for it"
        );
    }
    assert_eq!(clients.members_after(100).await.len(), 1);
    clients.assert_none_failed("in all");
    clients.tasks.shutdown().await;

    // The proxy itself confirms its members: with none healthy, the run fails and names them.
    let changes = engine::Changes {
        template: SITE.replace("backends:", "check_path: /missing, backends:"),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let update = bench
        .engine
        .update(&bench.actor, &started.deployment, changes);
    let (run, _) = story(&bench, &update.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "proxy:configure");
    let missing = "1 of 1 servers are not healthy: web/6/nginx at 10.35.1.";
    assert!(error.contains(missing), "{error}");
    assert!(is_bastion_closed(&bench));
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn a_group_shrinks_behind_nginx_without_a_failed_request() {
    Box::pin(shrinks_behind("nginx", 31)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn a_group_shrinks_behind_apache_without_a_failed_request() {
    Box::pin(shrinks_behind("apache", 32)).await;
}

/// Stops a member behind the proxy, which is found, and then scales the group from 2 to 1. The networks have the number.
async fn shrinks_behind(item: &str, number: u8) {
    let name = format!("engine-behind-{item}");
    let bench = on_docker(&name, &format!("172.31.{number}.0/24"), BOOT).await;
    let template = SITE
        .replace("Catalog::haproxy", &format!("Catalog::{item}"))
        .replace("10.35.", &format!("10.{number}."));
    let (started, address) = deploy(&bench, &template, "All backends answer").await;
    let deployment = started.deployment.as_str();

    // The proxy answers by its other member, and its own server misses the one that is stopped.
    let member = || CommandServers::Named(vec!["web/1/server".to_owned()]);
    execute(&bench, deployment, member(), "service nginx stop".into()).await;
    let check = bench.engine.check(&bench.actor, deployment).await.unwrap();
    let of_proxy = check.findings.iter().find(|one| one.resource == "proxy");
    let text = of_proxy.map(|finding| finding.text.as_str());
    let missing = "All backends answer: exit status 1; its output names `web/1/nginx`";
    assert_eq!(text, Some(missing));
    execute(&bench, deployment, member(), "service nginx start".into()).await;

    // These proxies close idle connections when they are reloaded.
    let mut clients = Clients::with_pauses(&address, &[(20, 0); 3]);
    let both = async { while clients.members_after(100).await.len() < 2 {} };
    let both = timeout(Duration::from_secs(60), both).await;
    both.expect("the proxy asks the member again");
    write_files(&bench, deployment).await;
    let downloads: Vec<_> = (0..2)
        .map(|_| tokio::spawn(download(address.clone())))
        .collect();
    let events = scale(&bench, deployment, 1).await;
    clients.assert_none_failed("from 2 to 1");
    let time_of = |event: &Event| event.time.parse::<jiff::Timestamp>().unwrap();
    let is_reload = |task: &str| task.contains(" : Reload ");
    let reloaded = events.iter().find(|event| {
        matches!(&event.body, EventBody::Log(line) if line.task.as_deref().is_some_and(is_reload))
    });
    let reloaded = time_of(reloaded.unwrap());
    let goes = position(&events, "web/0/server:delete", StepState::Running);
    let goes = time_of(&events[goes]);
    for download in downloads {
        let (bytes, complete) = download.await.unwrap().unwrap();
        assert_eq!(bytes, FILE_BYTES, "a download is cut");
        assert!(
            reloaded < complete && complete < goes,
            "the member goes when the proxy has no request for it: {reloaded}, {complete}, {goes}"
        );
    }
    assert_eq!(clients.members_after(100).await.len(), 1);
    clients.assert_none_failed("in all");
    clients.tasks.shutdown().await;
    all_goes(bench, deployment).await;
}
