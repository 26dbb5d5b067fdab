//! The database fails in the middle of a run: PostgreSQL stops like after a crash and starts again, or the disk of the
//! database is full for a while. No run ends because of it, and nothing exists twice.

use std::{fs::File, io::Write as _, path::Path, sync::Arc};

use serde_json::json;
use store::testing::Postgres;

use crate::{
    IN_FLIGHT, PATIENCE,
    belongings::Belongings,
    ends_well, privileged,
    program::Program,
    servers::{Place, check_view, view},
    slow_lab, text,
};

/// Longer than any restart of the database, in seconds.
const LEASE: u64 = 120;

/// The engine's words for a journal that is not written for a while.
const WAITS: &str = "the journal cannot write; runs wait";

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_postgresql_harms_no_run() {
    let database = Arc::new(Postgres::start());
    let mut place = Place::new([(); 2].map(|()| database.address("postgres")), LEASE).await;
    let started = place.deploy(4, &[0, 1]).await;
    let run = started[3].1.as_str();
    let requests = [0, 1].map(|server| place.servers[server].websocket());
    let viewer = tokio::spawn(view(requests, run.to_owned()));
    place.until_in_flight(run).await;
    let restarting = tokio::task::spawn_blocking(move || {
        database.restart();
        database
    });
    let _database = restarting.await.unwrap();
    for server in &mut place.servers {
        server.until_ready().await;
    }

    let [first, second] = &place.servers;
    place.check(first, &started).await;
    for server in [first, second] {
        let lost = server.has_logged("the lease of this server is lost");
        assert!(!lost, "a restart is shorter than a lease");
    }
    check_view(second, run, &viewer.await.unwrap()).await;
    place.undeploy(second, &started).await;
}

/// A small disk, until it is dropped.
struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    fn new(folder: &'a Path) -> Disk<'a> {
        let mut mount = privileged("mount");
        let owner = rustix::process::geteuid().as_raw();
        let options = format!("size=24m,mode=0700,uid={owner}");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]);
        let done = mount.arg(folder).status();
        assert!(done.unwrap().success(), "a small disk is mounted");
        Disk(folder)
    }

    /// Takes all of the free space.
    fn fill(&self) {
        let mut file = File::options()
            .append(true)
            .create(true)
            .open(self.ballast())
            .unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    /// Frees the space.
    fn free(&self) {
        std::fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> std::path::PathBuf {
        self.0.join("ballast")
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        // The program may still be ending.
        let _unmounted = privileged("umount").arg("--lazy").arg(self.0).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_delays_a_run_and_does_not_end_it() {
    let (_lab, target) = slow_lab().await;
    let before = Belongings::of(&target.session).await;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let disk = Disk::new(&data);
    // A disk that is full all of a sudden.
    let no_reserve = vec![("STACKLOOM_DISK_RESERVE_MIB", "0".to_owned())];
    let program = Program::start_with(folder.path(), &target.clouds, target.horizon, no_reserve);
    let mut program = program.await;
    program.login(&target.login()).await;
    let started = program
        .post("/api/v1/deployments", &target.deployment("full"))
        .await;
    let run = text(&started, "run");
    program.until_in_flight(&run, IN_FLIGHT).await;

    // What the database can still write into its files is used up by these.
    let lines =
        (0..20_000_u64).map(|line| format!("{:x}\n", line.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let files = json!({"a": lines.collect::<String>()});
    let design = json!({"name": "large", "template": "", "files": files});
    let waits = async {
        let mut is_refused = false;
        while !(is_refused && program.has_logged(WAITS)) {
            disk.fill();
            let stored = program.try_post("/api/v1/designs", &design).await;
            is_refused |= stored.is_none();
        }
    };
    let waits = tokio::time::timeout(PATIENCE, waits).await;
    waits.expect("the run waits for space on the disk");
    disk.free();
    ends_well(&program, &target, &before, &started, "full disk").await;
}
