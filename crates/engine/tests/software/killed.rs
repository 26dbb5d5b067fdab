//! The sandbox of a step is killed on its Docker host, as by an operator or with the daemon.

use api::{LogLine, ServiceState};
use tokio::process::Command;

use super::*;

const STEP: &str = "nginx:configure";

/// The output of a docker command.
async fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().await;
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn is_at_work(event: &Event) -> bool {
    matches!(&event.body, EventBody::Log(LogLine { step, stream: LogStream::Ansible, text, .. }) if step == STEP && text.contains("TASK ["))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_step_whose_sandbox_is_killed_says_so_and_its_run_is_resumed() {
    let bench = on_docker("engine-killed", "172.31.72.0/24", BOOT).await;
    let started = bench.start(&PAGE.replace("10.44.", "10.72.")).await;
    bench.until(&started.run, is_at_work).await;
    let of_run = format!("label=stackloom.run={}", started.run);
    let of_step = format!("label=stackloom.step={STEP}");
    let found = docker(&["ps", "--quiet", "--filter", &of_run, "--filter", &of_step]).await;
    let sandboxes: Vec<&str> = found.split_whitespace().collect();
    assert_eq!(sandboxes.len(), 1, "{found}");
    docker(&["kill", sandboxes[0]]).await;

    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, STEP);
    assert!(
        error.contains("was killed on its Docker host") && error.contains("Resume the run"),
        "{error}"
    );
    assert!(is_bastion_closed(&bench));
    let left = docker(&["ps", "--all", "--quiet", "--filter", &of_run]).await;
    assert_eq!(left, "", "no sandbox is left");

    bench
        .engine
        .resume(&bench.actor, &started.run)
        .await
        .unwrap();
    bench.until_state(&started.run, RunState::Succeeded).await;
    assert_eq!(bench.lab.model(|model| model.servers.len()), 2);
    let shown = bench
        .engine
        .deployment(&bench.tenant, &started.deployment)
        .await
        .unwrap();
    for service in &shown.services {
        assert_eq!(service.state, ServiceState::Healthy, "{service:?}");
    }
    let url = shown.outputs["url"].value.as_ref().and_then(Value::as_str);
    let page = fetch(url.unwrap()).await;
    assert!(page.contains("woven on a private server"), "{page}");
    assert!(is_bastion_closed(&bench));
    all_goes(bench, &started.deployment).await;
}
