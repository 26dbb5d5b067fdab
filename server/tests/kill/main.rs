//! The program is killed with `kill -9` while it creates resources, and started again.
//!
//! The cloud can still carry out requests in flight, seconds after the program was killed. So the restarted program can
//! create a second floating IP before the first one appears. These tests kill the real program at moments chosen by a
//! seed, while at least [`IN_FLIGHT`] creations have no response. Each run must succeed, each resource must exist once,
//! and an undeployment must leave the project as it was before, compared by id.
//!
//! The lab delays its responses ([`lab::CallFault`]). With `STACKLOOM_CONTRACT_CLOUDS` (set by `cargo xtask contract
//! --cloud real --clouds FILE`), the same test runs with a real cloud. `STACKLOOM_KILL_ROUNDS` is the number of rounds,
//! and `STACKLOOM_KILL_SEED` selects the moments.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod backup;
mod belongings;
mod containers;
mod database;
mod entries;
mod failover;
mod listing;
mod packet_filter;
mod program;
mod proxy;
mod servers;
mod services;
mod stand_in;
mod viewers;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use belongings::Belongings;
use openstack::{Clouds, Credentials, Identifier, Scope, Session};
use program::{Program, Watched};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

/// Minimum number of creations without a response at the moment of the kill.
const IN_FLIGHT: usize = 4;

/// Servers, each with a port and a floating IP.
const SERVERS: usize = 6;

/// Pause between two checks of a condition.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Time limit until a condition is met, on any machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// A cloud, a login to it, and names for the template.
struct Target {
    clouds: String,
    cloud: String,
    user: String,
    password: String,
    project: String,
    session: Session,
    parameters: Value,
    /// Time for which a request can still be carried out after its connection broke.
    horizon: Duration,
    /// Shortest and longest pause between the kill and the restart.
    pauses: [Duration; 2],
}

impl Target {
    /// The body of a login.
    fn login(&self) -> Value {
        json!({"cloud": self.cloud, "user": self.user, "password": self.password, "project": self.project})
    }

    /// The body of a new deployment.
    fn deployment(&self, name: &str) -> Value {
        json!({"name": name, "template": template(), "parameters": self.parameters})
    }
}

/// The template: a network behind a router, and [`SERVERS`] servers with a port and a floating IP each.
fn template() -> String {
    let mut text = "heat_template_version: 2021-04-16
parameters:
  image: {type: string}
  flavor: {type: string}
  outside: {type: string}
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.77.0.0/24}}
  gate: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: {get_param: outside}}}}
  leg: {type: OS::Neutron::RouterInterface, properties: {router: {get_resource: gate}, subnet: {get_resource: sub}}}
  rules: {type: OS::Neutron::SecurityGroup, properties: {rules: [{protocol: tcp, port_range_min: 22, port_range_max: 22}]}}
"
    .to_owned();
    for n in 0..SERVERS {
        write!(
            text,
            "  port{n}:
    type: OS::Neutron::Port
    depends_on: sub
    properties: {{network: {{get_resource: net}}, security_groups: [{{get_resource: rules}}]}}
  fip{n}:
    type: OS::Neutron::FloatingIP
    depends_on: leg
    properties: {{floating_network: {{get_param: outside}}, port_id: {{get_resource: port{n}}}}}
  web{n}:
    type: OS::Nova::Server
    properties:
      image: {{get_param: image}}
      flavor: {{get_param: flavor}}
      networks: [{{port: {{get_resource: port{n}}}}}]
"
        )
        .unwrap();
    }
    text
}

/// One round: a deployment, one kill, an undeployment. True if enough creations were in flight at the kill.
async fn round(target: &Target, number: u64, random: &mut StdRng) -> bool {
    let before = Belongings::of(&target.session).await;
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::start(folder.path(), &target.clouds, target.horizon).await;
    program.login(&target.login()).await;
    let started = program
        .post(
            "/api/v1/deployments",
            &target.deployment(&format!("kill-{number}")),
        )
        .await;
    let run = text(&started, "run");

    // The kind of resources in creation at the kill, and the number of earlier checks with enough of them.
    let kind = ["port", "fip", "web"][random.random_range(0..3)];
    let looks = random.random_range(0..6_u32);
    let [shortest, longest] = target.pauses;
    let pause = shortest + (longest - shortest).mul_f32(random.random::<f32>().powi(2));
    let mut watched = Watched::default();
    let mut seen = 0;
    let in_flight = loop {
        program.watch(&run, &mut watched).await;
        let creating = watched.creating();
        let of_kind = creating.iter().filter(|name| name.starts_with(kind));
        if of_kind.count() >= IN_FLIGHT {
            seen += 1;
        }
        if watched.is_over() || seen > looks {
            break creating;
        }
    };
    program.kill();
    eprintln!(
        "round {number}: killed with {} creations in flight ({}), restarted after {:.1} s",
        in_flight.len(),
        in_flight.join(" "),
        pause.as_secs_f32()
    );
    // The time until the restart is a part of the test case, not a wait for a condition.
    tokio::time::sleep(pause).await;
    program.restart().await;
    ends_well(
        &program,
        target,
        &before,
        &started,
        &format!("round {number}"),
    )
    .await;
    in_flight.len() >= IN_FLIGHT
}

/// The end of a deployment after an interruption: the run succeeds, each resource exists once, and an undeployment leaves the
/// project as it was before.
async fn ends_well(
    program: &Program,
    target: &Target,
    before: &Belongings,
    started: &Value,
    label: &str,
) {
    let (deployment, run) = (text(started, "deployment"), text(started, "run"));
    let begun = Instant::now();
    program.until_over(&run).await;
    let ended = program.get(&format!("/api/v1/runs/{run}")).await;
    assert_eq!(ended["state"], "succeeded", "{label}: {ended:#}");

    let shown = program
        .get(&format!("/api/v1/deployments/{deployment}"))
        .await;
    let recorded: BTreeSet<String> = shown["resources"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["physical_id"].as_str().map(str::to_owned))
        .collect();
    let there = Belongings::of(&target.session).await;
    let unrecorded = there.without(before).not_in(&recorded);
    assert!(
        unrecorded.is_empty(),
        "{label}: exist although no resource of the deployment: {unrecorded:?}"
    );
    eprintln!(
        "{label}: the run succeeded {:.1} s after the restart",
        begun.elapsed().as_secs_f32()
    );

    let begun = Instant::now();
    program.undeploy(&deployment).await;
    assert_eq!(
        Belongings::of(&target.session).await,
        *before,
        "{label}: the project is as it was"
    );
    eprintln!(
        "{label}: undeployed in {:.1} s, the project is as it was",
        begun.elapsed().as_secs_f32()
    );
}

fn text(value: &Value, name: &str) -> String {
    let text = value[name].as_str();
    text.unwrap_or_else(|| panic!("no `{name}` in {value}"))
        .to_owned()
}

/// A number from the environment, or a default.
fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().unwrap())
}

/// A command of root.
fn privileged(command: &str) -> Command {
    if rustix::process::geteuid().is_root() {
        return Command::new(command);
    }
    let mut sudo = Command::new("sudo");
    sudo.arg(command).stdin(Stdio::null());
    sudo
}

/// Waits until a condition is met.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let search = async {
        while !is_so() {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    tokio::time::timeout(PATIENCE, search).await.expect(what);
}

/// Repeats rounds until enough kills came in time. Too many late kills fail the test.
async fn rounds(target: &Target, default_rounds: u64) {
    let wanted = setting("STACKLOOM_KILL_ROUNDS", default_rounds);
    let seed = setting("STACKLOOM_KILL_SEED", 1);
    let mut random = StdRng::seed_from_u64(seed);
    let (mut done, mut number) = (0, 0);
    while done < wanted {
        assert!(number < 3 * wanted, "the kill comes too late too often");
        done += u64::from(round(target, number, &mut random).await);
        number += 1;
    }
    eprintln!(
        "{done} rounds with seed {seed}: every run ended well, each resource existed once, nothing was left"
    );
}

/// The `clouds.yaml` of a lab.
fn clouds_file(lab: &lab::Lab) -> String {
    format!(
        "clouds:\n  lab:\n    auth: {{auth_url: '{}'}}\n    region_name: lab\n",
        lab.auth_url()
    )
}

/// The body of a login to a lab.
fn demo() -> Value {
    json!({"cloud": "lab", "user": "demo", "password": "demo", "project": "demo"})
}

/// A session of the user whose login is [`demo`].
async fn demo_session(clouds: &str) -> Session {
    let clouds = Clouds::from_yaml(clouds).unwrap();
    let credentials = Credentials::password("demo", "Default", "demo");
    let scope = Scope::project("demo", "Default");
    let session = Session::login(clouds.get("lab").unwrap(), &credentials, Some(&scope));
    session.await.unwrap()
}

/// A lab whose creations have a delayed response, and are carried out even if their client is gone.
async fn slow_lab() -> (lab::Lab, Target) {
    program::install_tls_provider();
    let lab = lab::Lab::memory().await.unwrap();
    for service in ["network", "compute"] {
        lab.faults().add(lab::Fault::Call(lab::CallFault {
            service: Some(service.into()),
            method: Some("POST".into()),
            commits_after_ms: Some(400),
            ..Default::default()
        }));
    }
    let text = clouds_file(&lab);
    let session = demo_session(&text).await;
    let target = Target {
        clouds: text,
        cloud: "lab".into(),
        user: "demo".into(),
        password: "demo".into(),
        project: "demo".into(),
        session,
        parameters: json!({"image": "debian-12", "flavor": "m1.tiny", "outside": "public"}),
        horizon: Duration::from_secs(3),
        pauses: [Duration::from_millis(10), Duration::from_millis(300)],
    };
    (lab, target)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_creating_on_the_lab() {
    let (_lab, target) = slow_lab().await;
    rounds(&target, 4).await;
}

/// Uses the project in the clouds file. No other client can use the project during the test.
#[tokio::test(flavor = "multi_thread")]
async fn killed_while_creating_on_a_real_cloud() {
    let Ok(file) = std::env::var("STACKLOOM_CONTRACT_CLOUDS") else {
        return;
    };
    program::install_tls_provider();
    let text = std::fs::read_to_string(file).unwrap();
    let clouds = Clouds::from_yaml(&text).unwrap();
    let named = std::env::var("STACKLOOM_CONTRACT_CLOUD").ok();
    let cloud = clouds
        .iter()
        .find(|cloud| match &named {
            Some(name) => cloud.name == *name,
            None => !cloud.name.contains("admin"),
        })
        .expect("the clouds file has a cloud for the test");
    let (credentials, scope) = (cloud.credentials.clone().unwrap(), cloud.scope.clone());
    let Credentials::Password {
        user: Identifier::Name { name: user, .. },
        password,
        ..
    } = &credentials
    else {
        panic!("`{}` needs a login by name and password", cloud.name);
    };
    let session = Session::login(cloud, &credentials, scope.as_ref()).await;
    let session = session.unwrap();
    let images = session.image().image_list(&[("status", "active")]).await;
    let mut flavors = session.compute().flavor_list().await.unwrap();
    flavors.sort_by_key(|flavor| (flavor.ram, flavor.disk));
    let outside = session.network().external_networks().await.unwrap();
    let target = Target {
        clouds: text,
        cloud: cloud.name.clone(),
        user: user.clone(),
        password: password.expose().to_owned(),
        project: session.project().unwrap().name.clone(),
        parameters: json!({"image": images.unwrap()[0].id, "flavor": flavors[0].name, "outside": outside[0].id}),
        session,
        horizon: Duration::from_secs(60),
        pauses: [Duration::from_millis(300), Duration::from_secs(5)],
    };
    rounds(&target, 10).await;
}
