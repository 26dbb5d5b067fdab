//! Software on a private server behind a bastion, on the lab as it really is. Needs Docker, the lab's
//! images and `stackloom-sandbox`: `cargo test -p engine --test software -- --ignored`.

#![expect(clippy::unwrap_used, reason = "a helper's panic is its test's failure")]

#[path = "lab/bench.rs"]
#[expect(
    dead_code,
    reason = "shared with the tests in memory, which use more of it"
)]
mod bench;

use api::{EventBody, LogStream, RunState};
use bench::Bench;
use lab::{Lab, LabConfig};
use serde_json::Value;

const PAGE: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.44.1.0/24}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  nginx:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: web}, page_text: woven on a private server}
  proxy:
    type: Stackloom::Catalog::haproxy
    properties: {host: {get_resource: gate}, backends: [{get_resource: nginx}]}
outputs:
  url: {value: {get_attr: [proxy, url]}}
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_page_from_a_private_server_behind_a_proxy() {
    let lab = Lab::start(LabConfig::docker(
        "engine-test",
        "172.31.44.0/24".parse().unwrap(),
    ))
    .await
    .unwrap();
    let catalog = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog");
    let bench =
        Bench::with_catalog(lab, catalog.as_ref(), std::time::Duration::from_secs(900)).await;
    let started = bench.start(PAGE).await;
    let run = bench.end_of(&started.run).await;
    let events = bench
        .engine
        .events(&bench.tenant, &started.run, 0, 10_000)
        .await
        .unwrap();
    for event in &events {
        println!("{} {:?}", event.time, event.body);
    }
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let told = |text: &str| {
        events.iter().any(|event| matches!(&event.body, EventBody::Log { stream: LogStream::Ansible, text: line, .. } if line.contains(text)))
    };
    assert!(told("TASK [") && told("RECAP web"), "Ansible is heard");
    assert!(
        !events
            .iter()
            .any(|event| format!("{event:?}").contains("PRIVATE KEY"))
    );

    let deployment = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    let url = deployment.outputs["url"]
        .value
        .as_ref()
        .and_then(Value::as_str)
        .unwrap()
        .to_owned();
    let page = fetch(&url).await;
    assert!(page.contains("woven on a private server"), "{page}");
    let open = bench.lab.model(|model| {
        model
            .security_group_rules
            .iter()
            .filter(|rule| format!("{rule:?}").contains("ssh for the run"))
            .count()
    });
    assert_eq!(open, 0, "the bastion is closed");

    let gone = bench
        .engine
        .undeploy(&bench.actor, &started.deployment, engine::Force::No)
        .await
        .unwrap();
    assert_eq!(bench.end_of(&gone.run).await.state, RunState::Succeeded);
    assert_eq!(bench.left(), Vec::<String>::new());
    bench.lab.stop().await;
}

/// The body of a page; plain HTTP, one request.
async fn fetch(url: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let host = url
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .trim_end_matches(":80");
    let address = if host.contains(':') {
        host.to_owned()
    } else {
        format!("{host}:80")
    };
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    stream
        .write_all(format!("GET / HTTP/1.0\r\nHost: {host}\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}
