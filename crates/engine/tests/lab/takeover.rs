//! Servers that share a database: when one takes the runs of another that is gone.

use std::time::{Duration, Instant};

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
