//! The same template, made and removed by our engine and by the cloud's own Heat: one line a figure.
//!
//! `heat <clouds.yaml> <servers>...`, optionally `--ours` or `--heat` alone. The template is flat and known
//! to both: a network behind a router, a security group, a key pair, and for every server a port, the
//! server and a floating IP. Both run on this machine, one after the other, against the same services; so
//! does Heat's engine, whose time is told apart where its processes can be seen. The command line is the
//! `openstack` of the machine, as people use it.

#[path = "../tests/real/place.rs"]
#[expect(dead_code, reason = "the tests look at more")]
mod place;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use api::RunState;
use place::Place;

const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJUeD3v1eHh8oVZVPAiTqOZkuVVCVBZqDOL8LkEAAAAA bench";

#[tokio::main]
async fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut alone = |flag: &str| {
        let before = arguments.len();
        arguments.retain(|argument| argument != flag);
        arguments.len() != before
    };
    let (only_ours, only_heat) = (alone("--ours"), alone("--heat"));
    let mut arguments = arguments.into_iter();
    let file = arguments
        .next()
        .expect("the first argument is a clouds.yaml");
    let clouds = openstack::Clouds::from_file(file.as_ref()).expect("the clouds file is good");
    let named = std::env::var("STACKLOOM_CONTRACT_CLOUD").ok();
    let name = named.unwrap_or_else(|| {
        let mut names = clouds.iter().map(|cloud| cloud.name.clone());
        names
            .find(|name| !name.contains("admin"))
            .expect("the clouds file has a cloud")
    });
    for size in arguments {
        let size: usize = size.parse().expect("sizes are numbers");
        if !only_heat {
            ours(&clouds, &name, size).await;
        }
        if !only_ours {
            heat(&file, &name, size).await;
        }
    }
}

/// What both are given.
fn template(size: usize) -> String {
    let mut text = format!(
        "heat_template_version: 2018-08-31
resources:
  net: {{type: OS::Neutron::Net}}
  subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: net}}, cidr: 10.20.0.0/22}}
  router:
    type: OS::Neutron::Router
    properties: {{external_gateway_info: {{network: public}}}}
  router_if:
    type: OS::Neutron::RouterInterface
    properties: {{router: {{get_resource: router}}, subnet: {{get_resource: subnet}}}}
  sg:
    type: OS::Neutron::SecurityGroup
    properties:
      rules:
        - {{protocol: tcp, port_range_min: 22, port_range_max: 22}}
        - {{protocol: icmp}}
  key:
    type: OS::Nova::KeyPair
    properties: {{name: bench-heat-{size}, public_key: {KEY}}}
"
    );
    for index in 0..size {
        write!(
            text,
            "  port{index}:
    type: OS::Neutron::Port
    properties: {{network: {{get_resource: net}}, fixed_ips: [{{subnet: {{get_resource: subnet}}}}], security_groups: [{{get_resource: sg}}]}}
  server{index}:
    type: OS::Nova::Server
    properties: {{image: fake-image, flavor: m1.nano, key_name: {{get_resource: key}}, networks: [{{port: {{get_resource: port{index}}}}}]}}
  fip{index}:
    type: OS::Neutron::FloatingIP
    depends_on: [router_if]
    properties: {{floating_network: public, port_id: {{get_resource: port{index}}}}}
"
        )
        .expect("text can grow");
    }
    text
}

async fn ours(clouds: &openstack::Clouds, name: &str, size: usize) {
    let place = Place::open(clouds, name).await;
    let cloud = clouds.get(name).expect("it was found before");
    for what in ["create", "delete"] {
        let calls = cloud.calls();
        let cpu = cpu_of_this_process();
        let begun = Instant::now();
        let started = if what == "create" {
            let nothing = BTreeMap::new();
            place.deploy("bench-ours", &template(size), nothing).await
        } else {
            let deployed = place.engine.deployments(&place.tenant).await;
            let id = deployed.expect("it was stored")[0].id.clone();
            place.undeploy(&id).await
        };
        let run = place.end_of(&started.run, |_| {}).await;
        if run.state != RunState::Succeeded {
            let failed = run.steps.iter().filter(|step| step.error.is_some());
            for step in failed {
                eprintln!("{}: {:?}", step.id, step.error);
            }
        }
        let mut line = Line::new(&format!("{size} servers, {what}, ours"));
        line.time("wall", begun.elapsed());
        line.time("client cpu", cpu_of_this_process() - cpu);
        line.number("calls", cloud.calls() - calls);
        line.end(run.state == RunState::Succeeded);
    }
    place.engine.shutdown().await;
}

async fn heat(file: &str, name: &str, size: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("template.yaml");
    std::fs::write(&path, template(size)).expect("a file");
    let path = path.to_string_lossy().into_owned();
    let stack = format!("bench-heat-{size}");
    let create = [
        "stack", "create", "-t", &path, "--wait", "--poll", "1", &stack,
    ];
    let delete = ["stack", "delete", "--yes", "--wait", &stack];
    for (what, arguments) in [("create", &create[..]), ("delete", &delete[..])] {
        let (client, engine) = (cpu_of_children(), cpu_of_heat());
        let begun = Instant::now();
        let done = tokio::process::Command::new("openstack")
            .args(["--os-cloud", name])
            .args(arguments)
            .env("OS_CLIENT_CONFIG_FILE", file)
            .stdout(Stdio::null())
            .status()
            .await
            .expect("the openstack command is there");
        let mut line = Line::new(&format!("{size} servers, {what}, Heat"));
        line.time("wall", begun.elapsed());
        line.time("client cpu", cpu_of_children() - client);
        line.time("Heat's own cpu", cpu_of_heat() - engine);
        line.end(done.success());
    }
}

/// One line of figures.
struct Line(String);

impl Line {
    fn new(name: &str) -> Line {
        Line(format!("{name:<28}"))
    }

    fn time(&mut self, name: &str, time: Duration) {
        write!(self.0, " {name} {:.1} s,", time.as_secs_f64()).expect("text can grow");
    }

    fn number(&mut self, name: &str, number: u64) {
        write!(self.0, " {name} {number},").expect("text can grow");
    }

    fn end(self, well: bool) {
        let ending = if well { "done" } else { "FAILED" };
        println!("{} {ending}", self.0);
    }
}

/// Of a process, in ticks: its own time, and that of its ended children.
fn ticks(process: &str) -> Option<(u64, u64)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let field = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some((field(11)? + field(12)?, field(13)? + field(14)?))
}

/// Linux counts them a hundred times a second, whatever the machine.
fn time(ticks: u64) -> Duration {
    Duration::from_millis(ticks * 10)
}

fn cpu_of_this_process() -> Duration {
    time(ticks("self").map_or(0, |ticks| ticks.0))
}

fn cpu_of_children() -> Duration {
    time(ticks("self").map_or(0, |ticks| ticks.1))
}

/// Of Heat's processes on this machine: engine and API.
fn cpu_of_heat() -> Duration {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_heat = processes.filter_map(|entry| {
        let id = entry.file_name().into_string().ok()?;
        id.parse::<u32>().ok()?;
        let line = std::fs::read_to_string(entry.path().join("cmdline")).ok()?;
        let heat = ["heat-engine", "heat-api"];
        heat.iter().any(|name| line.contains(name)).then_some(id)
    });
    time(of_heat.filter_map(|id| Some(ticks(&id)?.0)).sum())
}
