//! A service that is not healthy yet holds up what requires it, and nothing else.

use api::StepState;

use super::*;

/// On one server a component that gets healthy at its thirteenth attempt, and one that requires it. On another server
/// three scripts, one after the other.
const TWO_PATHS: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.34.1.0/24}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  other:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  slow:
    type: Stackloom::Catalog::slow
    properties: {host: {get_resource: gate}, attempts: 12}
  reader:
    type: Stackloom::Catalog::reader
    properties: {host: {get_resource: gate}, source: [{get_resource: slow}]}
  work:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: sleep 6}
  first:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: work}, server: {get_resource: other}}
  second:
    type: OS::Heat::SoftwareDeployment
    depends_on: first
    properties: {config: {get_resource: work}, server: {get_resource: other}}
  third:
    type: OS::Heat::SoftwareDeployment
    depends_on: second
    properties: {config: {get_resource: work}, server: {get_resource: other}}
";

/// Time from the start of the first of these steps to the end of the last.
fn span(run: &Run, resources: &[&str]) -> Duration {
    let ids = resources.iter().map(|name| format!("{name}:configure"));
    let steps = ids.map(|id| run.steps.iter().find(|step| step.id == id).unwrap());
    let times = steps.map(|step| {
        let time = |text: &Option<String>| {
            let time: jiff::Timestamp = text.as_deref().unwrap().parse().unwrap();
            time.as_millisecond()
        };
        (time(&step.started), time(&step.ended))
    });
    let times: Vec<(i64, i64)> = times.collect();
    let start = times.iter().map(|(start, _)| *start).min().unwrap();
    let end = times.iter().map(|(_, end)| *end).max().unwrap();
    Duration::from_millis(u64::try_from(end - start).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_closed_gate_delays_only_what_needs_it() {
    let bench = on_docker_with(ITEMS, "engine-gate", "172.31.34.0/24", BOOT).await;
    let started = bench.start(TWO_PATHS).await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let at = |name: &str, wanted: StepState| {
        let id = if name.contains(':') {
            name.to_owned()
        } else {
            format!("{name}:configure")
        };
        let is_it = |event: &Event| matches!(&event.body, EventBody::Step { step, state, .. } if *step == id && *state == wanted);
        events.iter().position(is_it).unwrap()
    };
    let opens = at("slow", StepState::Succeeded);
    assert!(opens < at("reader", StepState::Running));
    assert!(
        at("reader:install", StepState::Succeeded) < opens,
        "only the configuration waits for the gate"
    );
    assert!(
        at("first", StepState::Succeeded) < opens && at("second", StepState::Running) < opens,
        "the other path goes on while the gate is closed"
    );

    let gate = span(&run, &["slow", "reader"]);
    let other = span(&run, &["first", "second", "third"]);
    let all = span(&run, &["slow", "reader", "first", "second", "third"]);
    println!("gate {gate:?}, other {other:?}, all {all:?}");
    assert!(gate > Duration::from_secs(12) && other > Duration::from_secs(18));
    // The two servers need not be ready at the same time.
    assert!(
        all < gate.max(other) + Duration::from_secs(6),
        "the longest path {gate:?} or {other:?}, not {all:?}"
    );
    all_goes(bench, &started.deployment).await;
}
