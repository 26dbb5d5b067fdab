//! Health checks after a role.

use api::{
    AllServers, CommandRequest, CommandServers, EventBody, FindingKind, LogLine, RepairRequest,
    RunState, ServiceState, StepState,
};

use super::*;

/// A component that fails this many attempts, and one that requires it.
fn template(attempts: u32) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  front: {{type: OS::Neutron::Net}}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: front}}, cidr: 10.38.1.0/24}}
  web:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: front}}}}]}}
  slow:
    type: Stackloom::Catalog::slow
    properties: {{host: {{get_resource: web}}, attempts: {attempts}}}
  reader:
    type: Stackloom::Catalog::reader
    properties: {{host: {{get_resource: web}}, source: [{{get_resource: slow}}]}}
"
    )
}

fn logs(event: &Event, text: &str) -> bool {
    matches!(&event.body, EventBody::Log(LogLine { text: line, .. }) if line.contains(text))
}

fn state(run: &Run, id: &str) -> StepState {
    let step = run.steps.iter().find(|step| step.id == id);
    step.unwrap().state
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn what_requires_a_component_waits_until_it_is_healthy_also_after_a_crash() {
    let mut bench = on_docker_with(ITEMS, "engine-health", "172.31.38.0/24", BOOT).await;
    let started = bench.start(&template(5)).await;
    let third = |event: &Event| {
        logs(
            event,
            "failed: Was tried often enough: exit status 1; it said: tried 2 times of 5",
        )
    };
    bench.until(&started.run, third).await;
    bench.crash().await;
    let (run, events) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let at = |text: &str| events.iter().position(|event| logs(event, text));
    let healthy = at("Health check of `slow` passed: Was tried often enough");
    assert!(healthy.is_some() && healthy < at("Running role `reader`"));
    // The role of the reader finds its source in `/etc/hosts`.
    assert!(at("TASK [Names of the deployment in /etc/hosts]").is_some());
    assert!(is_bastion_closed(&bench));

    // The names are there already when the source changes and both roles run again.
    let changes = engine::Changes {
        template: template(4),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let update = bench
        .engine
        .update(&bench.actor, &started.deployment, changes);
    let (run, events) = story(&bench, &update.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(state(&run, "reader:configure"), StepState::Succeeded);
    let recaps = events.iter().filter(|event| logs(event, "RECAP web:"));
    let unchanged = recaps.map(|event| logs(event, "changed=0"));
    assert_eq!(unchanged.collect::<Vec<_>>(), [true, true]);
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_component_that_never_gets_healthy_fails_its_run_with_the_last_answer() {
    let bench = on_docker_with(ITEMS, "engine-ill", "172.31.37.0/24", BOOT).await;
    // The health check of a third component hangs.
    let template = template(1000)
        + "  stuck: {type: Stackloom::Catalog::stuck, properties: {host: {get_resource: web}}}\n";
    let started = bench.start(&template).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "slow:configure");
    assert!(error.contains("is not healthy after"), "{error}");
    assert!(error.contains("times of 1000"), "{error}");
    let error = error_of(&run, "stuck:configure");
    assert!(error.contains("no answer within 1 s"), "{error}");
    assert_ne!(state(&run, "reader:configure"), StepState::Succeeded);
    assert!(is_bastion_closed(&bench));
    all_goes(bench, &started.deployment).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_stopped_service_is_found_by_a_check_and_repaired() {
    let bench = on_docker("engine-stopped", "172.31.36.0/24", BOOT).await;
    let started = bench.start(&PAGE.replace("10.44.", "10.36.")).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let check = async || {
        let check = bench.engine.check(&bench.actor, &started.deployment).await;
        check.unwrap()
    };
    let whole = check().await;
    assert_eq!(whole.findings, []);
    assert!(is_bastion_closed(&bench));
    let service = async |name: &str| {
        let deployment = bench
            .engine
            .deployment(&bench.tenant, &started.deployment)
            .await;
        let services = deployment.unwrap().services.into_iter();
        let mut services = services.filter(|service| service.component == name);
        services.next().unwrap()
    };
    let nginx = service("nginx").await;
    assert_eq!(nginx.state, ServiceState::Healthy);
    assert_eq!((nginx.server.as_str(), nginx.ports[0].port), ("web", 80));
    assert!(nginx.address.is_some_and(|it| it.starts_with("10.36.1.")));
    assert!(nginx.since.is_some() && nginx.since < nginx.checked);
    assert!(service("proxy").await.public_address.is_some());

    let stop = CommandRequest {
        servers: Some(CommandServers::All(AllServers::All)),
        script: Some("if [ -x /usr/sbin/nginx ]; then service nginx stop; fi".into()),
        ..CommandRequest::default()
    };
    let stop = bench
        .engine
        .command(&bench.actor, &started.deployment, stop);
    let (run, _) = story(&bench, &stop.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    // The client goes away in the middle of a check.
    let (engine, actor) = (bench.engine.clone(), bench.actor.clone());
    let id = started.deployment.clone();
    let left = tokio::spawn(async move { engine.check(&actor, &id).await });
    let is_open = async || !is_bastion_closed(&bench);
    bench
        .eventually("the check opens the bastion", is_open)
        .await;
    left.abort();
    let is_closed = async || is_bastion_closed(&bench);
    bench.eventually("the bastion is closed", is_closed).await;

    let found = check().await;
    let kinds = found.findings.iter();
    let kinds: Vec<_> = kinds.map(|one| (one.resource.as_str(), one.kind)).collect();
    // The proxy answers, with an error that names its missing server.
    assert!(
        kinds.contains(&("nginx", FindingKind::Unhealthy)),
        "{found:#?}"
    );
    let text = &found.findings[0].text;
    assert!(
        text.contains("`web` did not connect to localhost port 80"),
        "{text}"
    );
    assert!(is_bastion_closed(&bench));

    let nginx = service("nginx").await;
    assert_eq!((nginx.state, nginx.since), (ServiceState::Unhealthy, None));
    let ill = nginx.checked;

    let request = RepairRequest {
        check: found.id,
        ..RepairRequest::default()
    };
    let repair = bench
        .engine
        .repair(&bench.actor, &started.deployment, request, bench::facts());
    let (run, _) = story(&bench, &repair.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    // The wait of the run has asked it: it is healthy anew.
    let nginx = service("nginx").await;
    assert_eq!(nginx.state, ServiceState::Healthy);
    assert!(nginx.since > ill && nginx.since == nginx.checked);
    let begun = nginx.since;
    assert_eq!(check().await.findings, []);
    let nginx = service("nginx").await;
    assert_eq!((nginx.state, &nginx.since), (ServiceState::Healthy, &begun));
    assert!(nginx.checked > begun);
    all_goes(bench, &started.deployment).await;
}

const JOB: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.40.1.0/24}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  tidy:
    type: Stackloom::Catalog::job
    properties: {host: {get_resource: web}, schedule: '@monthly', script: test ! -e /root/broken}
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_job_is_unhealthy_after_a_failed_run_and_without_its_timer() {
    let bench = on_docker("engine-job", "172.31.40.0/24", BOOT).await;
    let started = bench.start(JOB).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let id = &started.deployment;
    let command = async |request: CommandRequest| {
        let command = bench.engine.command(&bench.actor, id, request).await;
        story(&bench, &command.unwrap().run).await.0.state
    };
    let on_the_server = async |script: &str| {
        let request = CommandRequest {
            servers: Some(CommandServers::All(AllServers::All)),
            script: Some(script.into()),
            ..CommandRequest::default()
        };
        assert_eq!(command(request).await, RunState::Succeeded, "{script}");
    };
    let run_now = async || {
        let request = CommandRequest {
            component: Some("tidy".into()),
            command: Some("run".into()),
            ..CommandRequest::default()
        };
        command(request).await
    };
    let check = async || bench.engine.check(&bench.actor, id).await.unwrap();
    let texts = |check: &api::Check| -> Vec<String> {
        let findings = check.findings.iter();
        let findings = findings.map(|one| format!("{}: {}", one.resource, one.text));
        findings.collect()
    };
    assert_eq!(check().await.findings, []);

    on_the_server("touch /root/broken").await;
    assert_eq!(run_now().await, RunState::Failed);
    let failed = "tidy: The last run succeeded: exit status 1";
    assert_eq!(texts(&check().await), [failed]);

    on_the_server("rm /root/broken; systemctl stop 'stackloom-tidy-*.timer'").await;
    assert_eq!(run_now().await, RunState::Succeeded);
    let found = check().await;
    let stopped = "tidy: The timer is active: exit status 1";
    assert_eq!(texts(&found), [stopped]);

    let request = RepairRequest {
        check: found.id,
        ..RepairRequest::default()
    };
    let repair = bench
        .engine
        .repair(&bench.actor, id, request, bench::facts());
    let (run, _) = story(&bench, &repair.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(check().await.findings, []);
    all_goes(bench, id).await;
}
