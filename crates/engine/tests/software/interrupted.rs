//! Roles that fail between a change and the handler for it: the handler runs in the next attempt.

use super::*;
use serde_json::json;

/// A server with the role, and with a note that the role does not use.
fn with_note(note: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  net: {{type: OS::Neutron::Net}}
  subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: net}}, cidr: 10.78.1.0/24}}
  web:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: net}}}}]}}
  software:
    type: Stackloom::Catalog::interrupted
    properties: {{host: {{get_resource: web}}, note: {note}}}
"
    )
}

/// The configuration is the file that the first attempt wrote, and its handler has run once.
const RELOADED_ONCE: &str = "set -ex
test \"$(stat -c '%i %y' /root/configuration)\" = \"$(cat /root/first)\"
test \"$(cat /root/reloads)\" = reloaded
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_handler_runs_after_a_failure_between_the_change_and_the_handler() {
    let bench = on_docker_with(ITEMS, "engine-interrupted", "172.31.78.0/24", BOOT).await;
    let started = bench.start(&with_note("first")).await;
    let id = &started.deployment;
    let is_reloaded_once = async || {
        let request = json!({"servers": ["web"], "script": RELOADED_ONCE});
        let request = serde_json::from_value(request).unwrap();
        let command = bench.engine.command(&bench.actor, id, request);
        let (run, _) = story(&bench, &command.await.unwrap().run).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    };

    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Failed);
    let error = error_of(&run, "software:configure");
    assert!(error.contains("Fail in the first attempt"), "{error}");
    let resumed = bench.engine.resume(&bench.actor, &started.run);
    resumed.await.unwrap();
    bench.until_state(&started.run, RunState::Succeeded).await;
    is_reloaded_once().await;

    // The role runs once more, without an interruption before.
    let changes = engine::Changes {
        template: with_note("second"),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let update = bench.engine.update(&bench.actor, id, changes);
    let (run, events) = story(&bench, &update.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(is_logged(&events, "Write the configuration"));
    is_reloaded_once().await;
    assert!(is_bastion_closed(&bench));
    all_goes(bench, id).await;
}

/// A server with a job that fails.
fn with_job(schedule: &str) -> String {
    format!(
        "heat_template_version: 2021-04-16
resources:
  net: {{type: OS::Neutron::Net}}
  subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: net}}, cidr: 10.80.1.0/24}}
  web:
    type: OS::Nova::Server
    metadata: {{stackloom: {{public: true}}}}
    properties: {{image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: net}}}}]}}
  tidy:
    type: Stackloom::Catalog::job
    properties: {{host: {{get_resource: web}}, schedule: {schedule}, script: exit 1}}
"
    )
}

/// Lets the next reload of systemd's units fail.
const NO_RELOAD_ONCE: &str = "set -e
cat >/usr/local/bin/systemctl <<'END'
#!/bin/sh
case \"$*\" in
  *daemon-reload*) rm /usr/local/bin/systemctl; exit 1 ;;
esac
exec /usr/bin/systemctl \"$@\"
END
chmod +x /usr/local/bin/systemctl
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_schedule_applies_after_a_failure_between_its_file_and_its_timer() {
    let bench = on_docker("engine-schedule", "172.31.80.0/24", BOOT).await;
    let started = bench.start(&with_job("0 3 * * *")).await;
    let id = &started.deployment;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let command = async |request: Value| {
        let request = serde_json::from_value(request).unwrap();
        let command = bench.engine.command(&bench.actor, id, request);
        story(&bench, &command.await.unwrap().run).await.0.state
    };
    let on_the_server = async |script: &str| {
        let state = command(json!({"servers": ["web"], "script": script})).await;
        assert_eq!(state, RunState::Succeeded, "{script}");
    };
    let ran = command(json!({"component": "tidy", "command": "run"})).await;
    assert_eq!(ran, RunState::Failed);
    on_the_server(NO_RELOAD_ONCE).await;

    let changes = engine::Changes {
        template: with_job("0 4 * * *"),
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let update = bench.engine.update(&bench.actor, id, changes).await;
    let update = update.unwrap().run;
    let (run, _) = story(&bench, &update).await;
    assert_eq!(run.state, RunState::Failed);
    let error = error_of(&run, "tidy:configure");
    assert!(error.contains("daemon-reload"), "{error}");
    bench.engine.resume(&bench.actor, &update).await.unwrap();
    // The job's failure was before the change.
    bench.until_state(&update, RunState::Succeeded).await;
    let is_new =
        "systemctl show --property=TimersCalendar 'stackloom-tidy-*.timer' | grep ' 04:00:00'";
    on_the_server(is_new).await;
    all_goes(bench, id).await;
}
