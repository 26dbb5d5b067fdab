//! Hooks of environments: a run waits until a person lets it go on.

use api::{RunState, Started, StepState};
use engine::{Changes, Error, NewDeployment};
use hot::bundle::Bundle;

use crate::{
    bench::{Bench, facts, steps},
    update::to,
};

const TEMPLATE: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.1.0/24}}
";

const HOOKS: &str =
    "resource_registry: {resources: {sub: {hooks: pre-create}, net: {hooks: pre-delete}}}\n";

impl Bench {
    async fn start_with_hooks(&self) -> Started {
        let bundle = Bundle::new(
            [("hooks.yaml".to_owned(), HOOKS.to_owned())],
            ["hooks.yaml".to_owned()],
        );
        let new = NewDeployment {
            name: "held".into(),
            template: TEMPLATE.into(),
            bundle,
            cloud: facts(),
            ..NewDeployment::default()
        };
        self.engine.deploy(&self.actor, new).await.unwrap()
    }

    async fn release(&self, run: &str, step: &str) -> engine::Result<()> {
        self.engine.release_hook(&self.tenant, run, step).await
    }
}

#[tokio::test]
async fn a_run_waits_at_a_hook_also_after_a_crash_and_goes_on_when_it_is_released() {
    let mut bench = Bench::new().await;
    let started = bench.start_with_hooks().await;
    let run = started.run.as_str();
    let early = bench.release(run, "net:pre-delete").await;
    assert!(matches!(early, Err(Error::NotFound { .. })), "{early:?}");
    bench
        .until_step(run, "sub:pre-create", StepState::Running)
        .await;
    bench.crash().await;
    let waiting = bench.engine.run(&bench.tenant, run).await.unwrap();
    assert_eq!(steps(&waiting)["sub:pre-create"].0, StepState::Running);
    assert!(!bench.left().iter().any(|name| name.starts_with("subnet")));

    bench.release(run, "sub:pre-create").await.unwrap();
    let ended = bench.end_of(run).await;
    assert_eq!(ended.state, RunState::Succeeded, "{ended:#?}");
    let late = bench.release(run, "sub:pre-create").await;
    assert!(matches!(late, Err(Error::NotPossibleNow(_))), "{late:?}");

    let started = bench
        .engine
        .undeploy(&bench.actor, &started.deployment, engine::Force::No)
        .await
        .unwrap();
    bench
        .until_step(&started.run, "net:pre-delete", StepState::Running)
        .await;
    assert!(!bench.left().is_empty());
    bench.release(&started.run, "net:pre-delete").await.unwrap();
    bench.end_of(&started.run).await;
    assert!(bench.left().is_empty(), "{:?}", bench.left());
}

#[tokio::test]
async fn a_run_that_waits_at_a_hook_can_be_cancelled() {
    let bench = Bench::new().await;
    let started = bench.start_with_hooks().await;
    bench
        .until_step(&started.run, "sub:pre-create", StepState::Running)
        .await;
    bench
        .engine
        .cancel(&bench.tenant, &started.run)
        .await
        .unwrap();
    let ended = bench.end_of(&started.run).await;
    assert_eq!(ended.state, RunState::Cancelled, "{ended:#?}");
}

#[tokio::test]
async fn an_update_takes_the_place_of_a_run_that_waits_at_a_hook() {
    let bench = Bench::new().await;
    let started = bench.start_with_hooks().await;
    bench
        .until_step(&started.run, "sub:pre-create", StepState::Running)
        .await;
    let changes = Changes {
        instead_of: Some(started.run.clone()),
        bundle: Some(Bundle::default()),
        ..to(TEMPLATE)
    };
    let run = bench.update(&started.deployment, changes).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let replaced = bench.end_of(&started.run).await;
    assert_eq!(replaced.state, RunState::Cancelled);
    assert_eq!(steps(&replaced)["sub:pre-create"].0, StepState::Cancelled);
}
