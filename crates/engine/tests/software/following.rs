//! A proxy whose server is gone: a check has it configured without that server, before any repair.

use api::FindingKind;

use super::{
    scaling::{SITE, deploy, execute},
    *,
};

/// The proxy's servers in its configuration.
async fn backends(bench: &Bench, deployment: &str) -> usize {
    let script = "echo backends: $(grep -c '^ *server ' /etc/haproxy/haproxy.cfg)";
    let gate = api::CommandServers::Named(vec!["gate".to_owned()]);
    let events = execute(bench, deployment, gate, script.into()).await;
    let count = events.iter().find_map(|event| match &event.body {
        EventBody::Log(line) => line.text.strip_prefix("backends: ")?.trim().parse().ok(),
        _ => None,
    });
    count.unwrap()
}

/// Deletes a server behind the engine's back.
async fn lose(bench: &Bench, deployment: &str, name: &str) {
    let shown = bench.engine.deployment(&bench.tenant, deployment).await;
    let mut resources = shown.unwrap().resources.into_iter();
    let server = resources.find(|one| one.name == name).unwrap().physical_id;
    let (compute, server) = (bench.actor.session.compute(), server.unwrap());
    compute.server_delete(&server).await.unwrap();
    bench
        .eventually("the server is gone", async || {
            compute.server_get(&server).await.is_err()
        })
        .await;
}

/// Begins to repair what a check has found. Returns the run.
async fn repair(bench: &Bench, deployment: &str, check: String) -> String {
    let request = api::RepairRequest {
        check,
        ..api::RepairRequest::default()
    };
    let engine = &bench.engine;
    let repair = engine.repair(&bench.actor, deployment, request, bench::facts());
    repair.await.unwrap().run
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn a_check_has_a_proxy_forget_a_server_that_is_gone_and_a_repair_brings_both_back() {
    let bench = on_docker("engine-following", "172.31.33.0/24", BOOT).await;
    let template = SITE.replace("10.35.", "10.33.");
    let (started, address) = deploy(&bench, &template, "All backends are healthy").await;
    let deployment = started.deployment.as_str();
    let standing = async || {
        let shown = bench.engine.deployment(&bench.tenant, deployment).await;
        shown.map(|it| (it.state, it.last_run)).unwrap()
    };
    let check = async || bench.engine.check(&bench.actor, deployment).await.unwrap();
    let succeeded = async |run: &str| {
        let (run, events) = story(&bench, run).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        (run, events)
    };
    let whole = check().await;
    assert_eq!((whole.findings, whole.following), (Vec::new(), None));
    assert_eq!(backends(&bench, deployment).await, 2);

    let before = standing().await;
    lose(&bench, deployment, "web/1/server").await;
    let found = check().await;
    let mut findings = found.findings.iter();
    let lost = findings.find(|one| one.resource == "web/1/server");
    assert_eq!(lost.map(|one| one.kind), Some(FindingKind::Gone));
    let following = found.following.clone().unwrap();
    assert_eq!(Vec::from_iter(&following.without["proxy"]), ["web/1/nginx"]);
    let (run, _) = succeeded(&following.run).await;
    let title = run.command.map(|command| command.title);
    let expected = "Configure proxy without web/1/nginx";
    assert_eq!(title.as_deref(), Some(expected));
    assert_eq!(backends(&bench, deployment).await, 1);
    fetch(&format!("http://{address}")).await;
    assert_eq!(standing().await, before);

    // The next check begins no other command.
    let again = check().await;
    assert_eq!(again.following, Some(following));
    let run = repair(&bench, deployment, again.id).await;
    succeeded(&run).await;
    assert_eq!(backends(&bench, deployment).await, 2);
    let whole = check().await;
    assert_eq!((whole.findings, whole.following), (Vec::new(), None));

    // A repair that begins at once does not wait for the command, which has its effect all the same.
    lose(&bench, deployment, "web/0/server").await;
    let found = check().await;
    let run = repair(&bench, deployment, found.id).await;
    let (_, events) = succeeded(&found.following.unwrap().run).await;
    let text = "Configuring `proxy` without `web/0/nginx`, which is gone";
    assert!(is_logged(&events, text));
    succeeded(&run).await;
    assert_eq!(backends(&bench, deployment).await, 2);
    assert_eq!(check().await.findings, []);
    assert!(is_bastion_closed(&bench));
    all_goes(bench, deployment).await;
}
