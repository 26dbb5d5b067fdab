//! Checks at an interval, and the repairs that follow.

use openstack::network::Network;

use super::*;

impl Bench {
    /// Deletes a network behind our back.
    async fn lose(&self, deployment: &str, resource: &str) {
        let ids = self.ids(deployment).await;
        let network = self.actor.session.network();
        network.delete::<Network>(&ids[resource]).await.unwrap();
    }
}

#[tokio::test]
async fn a_check_at_its_interval_finds_what_is_lost_and_repairs_it() {
    let (bench, deployment) = group().await;
    bench.permit(&deployment).await;
    assert_eq!(bench.due(4).await.len(), 0);
    let whole = bench.check_that_is_due(6).await.unwrap();
    assert_eq!(whole.check.findings, []);
    assert!(whole.repair.is_none());
    assert_eq!(bench.due(7).await.len(), 0, "the next one is later");

    bench.lose(&deployment, "web/0").await;
    let found = bench.check_that_is_due(12).await.unwrap();
    assert_eq!(found.check.author, "demo (standing permission)");
    let repair = found.repair.unwrap();
    let repaired = bench
        .engine
        .repair(&found.actor, &deployment, repair, facts());
    let run = bench.end_of(&repaired.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let whole = bench.check_that_is_due(18).await.unwrap();
    assert_eq!(whole.check.findings, []);
}

#[tokio::test]
async fn a_check_repairs_nothing_without_permission_or_after_a_failure() {
    let (bench, deployment) = group().await;
    bench
        .give(&deployment, may(false, Some(5), false))
        .await
        .unwrap();
    bench.lose(&deployment, "web/0").await;
    let found = bench.check_that_is_due(6).await.unwrap();
    assert!(found.check.has_damage() && found.repair.is_none());

    bench.permit(&deployment).await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        status: Some(400),
        ..CallFault::default()
    }));
    let found = bench.check_that_is_due(12).await.unwrap();
    let repaired = bench
        .engine
        .repair(&found.actor, &deployment, found.repair.unwrap(), facts());
    let run = bench.end_of(&repaired.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Failed);
    let found = bench.check_that_is_due(18).await.unwrap();
    assert!(found.repair.is_none(), "a person looks at the failure");
}

#[tokio::test]
async fn a_check_that_is_due_during_a_run_waits_for_the_next_interval() {
    let (bench, deployment) = group().await;
    bench.permit(&deployment).await;
    let run = bench.scaling(&deployment).await;
    assert!(bench.check_that_is_due(6).await.is_none());
    bench.end_of(&run).await;
    assert!(bench.check_that_is_due(12).await.is_some());
}
