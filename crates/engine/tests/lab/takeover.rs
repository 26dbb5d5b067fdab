//! Servers that share a database: when one takes the runs of another that is gone, and what that one may still do.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use lab::{CallFault, Fault};
use openstack::{Method, Permit, Service};
use serde_json::json;
use store::testing::{deployment_insert_with_run, servers};

use crate::bench::Bench;

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
