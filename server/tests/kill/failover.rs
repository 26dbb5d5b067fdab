//! Two servers on a highly available database whose primary fails while deployments are under way.
//!
//! Every write that was acknowledged is there afterwards, and every run ends well.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use serde_json::json;
use store::testing::HighlyAvailable;

use crate::{
    LOOK_EVERY,
    program::Program,
    servers::{Place, check_view, view},
    text, until,
};

/// A lease that outlasts a failover, which takes 25 s.
const LONG: u64 = 60;

/// A lease that ends during a failover.
const SHORT: u64 = 6;

/// Designs that are stored before the failure, the last ones immediately before it.
const BEFORE: usize = 20;

/// Designs that a server has acknowledged, in order.
#[derive(Default)]
struct Acknowledged(Vec<String>);

impl Acknowledged {
    /// Stores a design. True if the server has acknowledged it.
    async fn write(&mut self, server: &Program) -> bool {
        let design = json!({"name": format!("design {}", self.0.len()), "template": "heat_template_version: 2021-04-16\n"});
        let answer = server.try_post("/api/v1/designs", &design).await;
        self.0
            .extend(answer.iter().map(|design| text(design, "id")));
        answer.is_some()
    }

    /// Stores designs by both servers in turn until each of them has acknowledged one after the failure.
    async fn write_until_recovered(&mut self, servers: &[Program; 2], has_failed: &AtomicBool) {
        let mut recovered = [false; 2];
        while recovered != [true; 2] {
            for (server, recovered) in servers.iter().zip(&mut recovered) {
                let is_after = has_failed.load(Ordering::Acquire);
                if self.write(server).await {
                    *recovered = is_after;
                } else {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            }
        }
    }

    async fn check(&self, server: &Program) {
        const PAGE: usize = 1000;
        let mut stored = HashSet::new();
        loop {
            let path = format!("/api/v1/designs?limit={PAGE}&offset={}", stored.len());
            let page = server.get(&path).await;
            let page = page.as_array().unwrap();
            stored.extend(page.iter().map(|design| text(design, "id")));
            if page.len() < PAGE {
                break;
            }
        }
        let lost: Vec<&String> = self.0.iter().filter(|id| !stored.contains(*id)).collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    }
}

/// Deploys, lets the primary fail while requests are in flight, and writes designs all the time.
async fn the_primary_fails(
    database: Arc<HighlyAvailable>,
    lease: u64,
    fail: impl FnOnce(&HighlyAvailable, u16) + Send + 'static,
) {
    until("a standby confirms writes", || database.has_standby()).await;
    let before = database.primary().expect("a primary");
    let place = Place::new([(); 2].map(|()| database.address()), lease).await;
    let started = place.deploy(4, &[0, 1]).await;
    let run = &started[3].1;
    let requests = [0, 1].map(|server| place.servers[server].websocket());
    let viewer = tokio::spawn(view(requests, run.clone()));
    place.until_in_flight(run).await;

    let mut acknowledged = Acknowledged::default();
    for _ in 0..BEFORE {
        assert!(acknowledged.write(&place.servers[0]).await);
    }
    let has_failed = Arc::new(AtomicBool::new(false));
    let failing = tokio::task::spawn_blocking({
        let (database, has_failed) = (database.clone(), has_failed.clone());
        move || {
            fail(&database, before);
            has_failed.store(true, Ordering::Release);
        }
    });
    let began = Instant::now();
    acknowledged
        .write_until_recovered(&place.servers, &has_failed)
        .await;
    failing.await.unwrap();
    eprintln!(
        "both servers write again {:.1} s after the failure, {} writes were acknowledged",
        began.elapsed().as_secs_f32(),
        acknowledged.0.len()
    );
    // Until then, it answers reads without the newest writes.
    until("the former primary is none", || {
        !database.is_primary(before)
    })
    .await;
    let [first, second] = &place.servers;
    place.check(first, &started).await;
    eprintln!(
        "all runs have ended well {:.1} s after it",
        began.elapsed().as_secs_f32()
    );
    check_view(second, run, &viewer.await.unwrap()).await;
    acknowledged.check(first).await;
    acknowledged.check(second).await;
    place.undeploy(second, &started).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "waits for a failover; runs beside the others, in the sample of `cargo xtask test`"]
async fn a_killed_primary_loses_no_acknowledged_write() {
    let database = Arc::new(HighlyAvailable::start());
    the_primary_fails(database, LONG, |database, primary| database.kill(primary)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: three failovers"]
async fn no_failover_loses_an_acknowledged_write() {
    let database = Arc::new(HighlyAvailable::start());
    // The servers lose their leases, and join again.
    the_primary_fails(database.clone(), SHORT, |database, primary| {
        database.kill(primary);
    })
    .await;
    // Patroni hangs: its server believes that it is the primary, until Patroni goes on.
    the_primary_fails(database.clone(), LONG, |database, primary| {
        database.signal_patroni(primary, "STOP");
        while database.primary().is_none() {
            std::thread::sleep(LOOK_EVERY);
        }
        database.signal_patroni(primary, "CONT");
    })
    .await;
    the_primary_fails(database, LONG, |database, primary| database.kill(primary)).await;
}
