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

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn a_check_has_a_proxy_forget_a_server_that_is_gone_and_a_repair_brings_both_back() {
    let bench = on_docker("engine-following", "172.31.33.0/24", BOOT).await;
    let template = SITE.replace("10.35.", "10.33.");
    let (started, address) = deploy(&bench, &template, "All backends are healthy").await;
    let deployment = started.deployment.as_str();
    let shown = async || {
        let shown = bench.engine.deployment(&bench.tenant, deployment).await;
        shown.unwrap()
    };
    let check = async || bench.engine.check(&bench.actor, deployment).await.unwrap();
    let whole = check().await;
    assert_eq!((whole.findings, whole.following), (Vec::new(), None));
    assert_eq!(backends(&bench, deployment).await, 2);

    let before = shown().await;
    let server = before
        .resources
        .iter()
        .find(|one| one.name == "web/1/server");
    let server = server.unwrap().physical_id.clone().unwrap();
    let compute = bench.actor.session.compute();
    compute.server_delete(&server).await.unwrap();
    bench
        .eventually("the server is gone", async || {
            compute.server_get(&server).await.is_err()
        })
        .await;
    let found = check().await;
    let is_gone =
        |one: &api::Finding| one.resource == "web/1/server" && one.kind == FindingKind::Gone;
    assert!(found.findings.iter().any(is_gone), "{found:#?}");
    let following = found.following.clone().unwrap();
    let without = following.without.iter();
    let without: Vec<_> = without
        .map(|(name, lost)| (name.as_str(), Vec::from_iter(lost)))
        .collect();
    assert_eq!(without, [("proxy", vec!["web/1/nginx"])]);
    let (run, _) = story(&bench, &following.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let title = run.command.map(|command| command.title);
    assert_eq!(
        title.as_deref(),
        Some("Configure proxy without web/1/nginx")
    );
    assert_eq!(backends(&bench, deployment).await, 1);
    fetch(&format!("http://{address}")).await;
    let after = shown().await;
    assert_eq!(
        (after.state, after.last_run),
        (before.state, before.last_run)
    );

    // The next check begins no other command.
    let again = check().await;
    assert_eq!(again.following, Some(following));
    let request = api::RepairRequest {
        check: again.id,
        ..api::RepairRequest::default()
    };
    let repair = bench
        .engine
        .repair(&bench.actor, deployment, request, bench::facts());
    let (run, _) = story(&bench, &repair.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(backends(&bench, deployment).await, 2);
    let whole = check().await;
    assert_eq!((whole.findings, whole.following), (Vec::new(), None));
    assert!(is_bastion_closed(&bench));
    all_goes(bench, deployment).await;
}
