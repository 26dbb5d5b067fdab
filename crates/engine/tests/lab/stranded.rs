//! Runs that this server holds without a task, and takes up again.

use std::{collections::BTreeMap, time::Duration};

use api::{DeploymentState, RunState};
use engine::{Config, NewDeployment, Page};
use lab::Lab;
use store::testing::{BreakingWay, Lost, event_accept_all, event_refuse_successes};

use crate::bench::{Bench, PATIENCE, TWO_NETS, facts};

/// A short lease, after which a run without a task is taken up.
const LEASE: Duration = Duration::from_secs(3);

#[tokio::test]
async fn a_run_whose_journal_refused_a_write_goes_on_without_a_restart() {
    let lab = Lab::memory().await.unwrap();
    let ssh_timeout = Duration::from_secs(60);
    let with_lease = |config: &mut Config| config.lease = LEASE;
    let no_catalog = "no-catalog".as_ref();
    let bench = Bench::with_config(lab, no_catalog, PATIENCE, ssh_timeout, with_lease).await;
    event_refuse_successes(&bench.store).await;
    let started = bench.start(TWO_NETS).await;
    let was_taken_up = async || {
        let row = bench.store.run_find(&bench.tenant, &started.run).await;
        row.unwrap().unwrap().fence > 0
    };
    bench.eventually("it is taken up", was_taken_up).await;
    event_accept_all(&bench.store).await;

    let run = bench.end_of(&started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.left().len(), 2, "nothing twice: {:?}", bench.left());
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_run_whose_storing_was_not_confirmed_is_carried_out() {
    let bench = Bench::new().await;
    let way = BreakingWay::new().await;
    let engine = bench.server(&way.operator, 1).await.unwrap();
    way.break_at_commit(Lost::Answer);
    let new = NewDeployment {
        name: "shop".into(),
        template: TWO_NETS.into(),
        parameters: BTreeMap::new(),
        cloud: facts(),
        ..NewDeployment::default()
    };
    let failed = engine.deploy(&bench.actor, new).await.unwrap_err();
    assert_eq!(failed.code(), "database-unavailable", "{failed:?}");
    let is_deployed = async || {
        let all = engine.deployments(&bench.tenant, Page::ALL).await.unwrap();
        all[0].state == DeploymentState::Deployed
    };
    bench.eventually("it is deployed", is_deployed).await;
    assert_eq!(bench.left().len(), 2, "{:?}", bench.left());
    engine.shutdown().await;
}
