//! Servers that share a database: the takeover of runs from a server that is gone, the end of its requests to the cloud with its
//! lease, and requests to one server about the runs of another.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use api::RunState;
use engine::{Engine, NewDeployment};
use lab::{CallFault, Fault};
use openstack::{Method, Permit, Service};
use serde_json::json;
use store::testing::{deployment_insert_with_run, servers};

use crate::{
    bench::{Bench, TWO_SERVERS, facts},
    update::never_active,
};

/// Lease of [`Bench::server`].
const LEASE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_run_is_taken_when_its_holder_can_no_longer_act_and_not_before() {
    let bench = Bench::new().await;
    let [killed, survivor] = servers().await;
    let engine = bench.server(&survivor, 1).await.unwrap();
    let others = killed.server_list_others().await.unwrap();
    // A request that was sent at the end of a lease can have an effect until it times out.
    let request = bench.clouds().get("lab").unwrap().connection.timeout;
    assert_eq!(others[0].patience, LEASE + request);

    // It never renews its lease. Its patience is shorter here than any real one.
    let patience = Duration::from_secs(4);
    let begun = Instant::now();
    let key = &others[0].sealing_key;
    killed.server_join(patience, key).await.unwrap();
    deployment_insert_with_run(killed.store(), &bench.tenant, "d", "r").await;
    let is_taken = async || {
        let run = survivor.store().run_find(&bench.tenant, "r").await;
        run.unwrap().unwrap().fence > 0
    };
    bench.eventually("it is taken", is_taken).await;
    assert!(begun.elapsed() >= patience, "{:?}", begun.elapsed());
    engine.shutdown().await;
}

/// A lease of which this is left. `None` after its end.
struct Rest(Mutex<Option<Duration>>);

impl Permit for Rest {
    fn remaining(&self) -> Option<Duration> {
        *self.0.lock().unwrap()
    }
}

#[tokio::test]
async fn a_change_ends_with_the_lease_and_none_is_sent_after_it() {
    let bench = Bench::new().await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("POST".into()),
        delay_ms: 60_000,
        ..CallFault::default()
    }));
    let create = async || {
        let session = &bench.actor.session;
        let call = session.call(Service::Network, Method::POST, &["networks"]);
        let created = call
            .json(&json!({"network": {"name": "late"}}))
            .send()
            .await;
        created.expect_err("there is no answer")
    };
    let creations = || {
        let calls = bench.lab.faults().calls().into_iter();
        let all = calls.filter(|call| call.service == "network" && call.method == "POST");
        all.count()
    };
    let rest = Arc::new(Rest(Mutex::new(Some(Duration::from_secs(1)))));
    let begun = Instant::now();
    let late = openstack::while_permitted(rest.clone(), create()).await;
    assert!(
        matches!(late, openstack::Error::Connection { .. }),
        "{late}"
    );
    assert!(begun.elapsed() < Duration::from_secs(30), "{late}");
    assert_eq!(creations(), 1);

    *rest.0.lock().unwrap() = None;
    let refused = openstack::while_permitted(rest, create()).await;
    assert!(
        matches!(refused, openstack::Error::NotPermitted(_)),
        "{refused}"
    );
    assert_eq!(creations(), 1, "it was not sent");
}

#[tokio::test]
async fn a_paused_run_goes_on_at_the_server_that_is_asked_and_the_other_one_cancels_it() {
    let bench = Bench::new().await;
    bench.lab.faults().add(never_active("*gate*"));
    let [first, second] = servers().await;
    let here = bench.server(&first, 1).await.unwrap();
    let there = bench.server(&second, 1).await.unwrap();
    let new = NewDeployment {
        name: "shop".into(),
        template: TWO_SERVERS.into(),
        cloud: facts(),
        ..NewDeployment::default()
    };
    let started = here.deploy(&bench.actor, new).await.unwrap();
    let state = async |engine: &Engine| {
        let run = engine.run(&bench.tenant, &started.run).await;
        run.unwrap().state
    };
    let is_built = async || bench.lab.model(|model| !model.servers.is_empty());
    bench.eventually("a server is being built", is_built).await;
    bench.actor.session.revoke().await.unwrap();
    let is_paused = async || state(&there).await == RunState::Paused;
    bench.eventually("the run pauses", is_paused).await;

    // While steps are still ending at the first server, it is refused.
    let again = bench.log_in("demo").await;
    let goes_on = async || there.resume(&again, &started.run).await.is_ok();
    bench.eventually("the run goes on", goes_on).await;
    let row = second.store().run_find(&bench.tenant, &started.run).await;
    assert!(second.store().holds(&row.unwrap().unwrap()));

    here.cancel(&bench.tenant, &started.run).await.unwrap();
    let is_cancelled = async || state(&here).await == RunState::Cancelled;
    bench.eventually("the run is cancelled", is_cancelled).await;
    here.shutdown().await;
    there.shutdown().await;
}
