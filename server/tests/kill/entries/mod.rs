//! The program is killed after each entry of a run's journal.
//!
//! A round is a deployment, a command on two of its servers, a suspension and a resumption of all of them, a scaling up and down, the
//! repair of two servers that were deleted behind its back, the roll-back of a cancelled update, the update itself, which waits at a
//! hook and for a signal, a snapshot, its restoration, and the undeployment. Each of these runs is killed as soon as its journal has
//! the n-th entry that is no log line, and the program is started again. The usual test takes a few numbers by the day's date;
//! `STACKLOOM_KILL_SEED` selects others. The ignored tests take all numbers, in [`PARTS`] parts.
//!
//! The lab is in memory. Its servers answer SSH, and sandboxes run, in this process ([`stand_in`]). So the runs also open and close the
//! bastion, wait for SSH, change host keys and set up software.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};

use lab::{CallFault, Fault, Lab, LabConfig};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::Value;
use tempfile::TempDir;

use crate::{
    clouds_file, demo,
    program::{self, Program},
    setting, stand_in, text,
};
use checks::has_steps;

mod checks;
mod runs;
mod template;

/// Minimum number of steps of the deployment.
const STEPS_MIN: usize = 30;

/// Steps of the deployment that need what is inside servers.
const INSIDE: [&str; 6] = [
    "bastion:open",
    "web0:ssh",
    "app:ssh",
    "setup:configure",
    "report:configure",
    "bastion:close",
];

/// Steps of a repair of `DELETED`.
const REPAIRING: [&str; 4] = [
    "app:create",
    "setup:configure",
    "web1:create",
    "plug1:create",
];

/// The hook at which an update waits for a user. By then, a server has its successor.
const HOOK: &str = "wait:pre-create";

/// The step of an update that waits for a signal.
const WAIT: &str = "wait:create";

/// Steps of an update.
const UPDATING: [&str; 4] = ["web1:create", "web1:delete-old", HOOK, WAIT];

/// Changes of the servers' power, each with the state that they have then.
const POWER: [(&str, &str); 2] = [("suspend", "SUSPENDED"), ("resume", "ACTIVE")];

/// Scalings of the group, each with the size that it has then.
const SCALINGS: [(&str, usize); 2] = [("scaling up", 2), ("scaling down", 1)];

/// Runs that are killed by each usual test: its first number is an entry of all of them.
const ALWAYS: [&str; 6] = [
    "scaling up",
    "scaling down",
    "repair",
    "roll-back",
    "update",
    "snapshot",
];

/// Start of the addresses of signals. The test sends them to the program's own address.
const SIGNALS: &str = "http://stackloom.test";

/// Number of labs so far. Each has floating IPs of its own on this machine's loopback interface.
static LABS: AtomicU8 = AtomicU8::new(0);

/// Delay of a creation in the lab, in milliseconds. It spreads the entries of the journal.
const LATE_MS: u64 = 50;

/// Longer than any request is under way in the lab.
const HORIZON: Duration = Duration::from_secs(1);

/// Rounds of the usual test: each takes some seconds.
const FEW: usize = 2;

/// Number of ignored tests. They share the rounds, so that each takes minutes.
const PARTS: usize = 4;

/// A lab in memory and the program, after a deployment and an undeployment without a kill.
struct Scene {
    lab: Arc<Lab>,
    program: Program,
    /// Kinds of the project's resources while the template is deployed, one per resource.
    kinds: Vec<String>,
    /// The same while the group has another member.
    scaled_kinds: Vec<String>,
    /// Number of entries of a run that nothing disturbs, by kind of run.
    entries: BTreeMap<&'static str, usize>,
    // Dropped last.
    _folder: TempDir,
}

impl Scene {
    async fn new() -> Scene {
        program::install_tls_provider();
        let public = format!("127.{}.0.0/24", 78 + LABS.fetch_add(1, Ordering::Relaxed));
        let config = LabConfig {
            public_cidr: public.parse().unwrap(),
            ..LabConfig::memory()
        };
        let lab = Arc::new(Lab::start(config).await.unwrap());
        stand_in::answer_ssh(&lab, &public).await;
        for service in ["network", "compute", "block-storage", "key-manager"] {
            lab.faults().add(Fault::Call(CallFault {
                service: Some(service.into()),
                method: Some("POST".into()),
                commits_after_ms: Some(LATE_MS),
                ..CallFault::default()
            }));
        }
        let folder = tempfile::tempdir().unwrap();
        let catalog = concat!(env!("CARGO_MANIFEST_DIR"), "/../catalog");
        let settings = vec![
            ("STACKLOOM_CATALOG", catalog.to_owned()),
            ("STACKLOOM_DOCKER", stand_in::docker().await),
            ("STACKLOOM_SIGNAL_URL", SIGNALS.to_owned()),
        ];
        let clouds = clouds_file(&lab);
        let mut program = Program::start_with(folder.path(), &clouds, HORIZON, settings).await;
        program.login(&demo()).await;
        let mut scene = Scene {
            lab,
            program,
            kinds: Vec::new(),
            scaled_kinds: Vec::new(),
            entries: BTreeMap::new(),
            _folder: folder,
        };
        let started = scene.deploy("undisturbed").await;
        let run = text(&started, "run");
        let ended = scene.undisturbed("deployment", &run).await;
        assert!(ended["steps"].as_array().unwrap().len() >= STEPS_MIN);
        has_steps(&ended, &INSIDE);
        scene.kinds = scene.kinds();
        assert!(scene.own_host_keys() >= 2, "of app and web0");
        let run = scene.command(&started).await;
        scene.undisturbed("command", &run).await;
        for (change, state) in POWER {
            let run = scene.begin(&started, change).await;
            scene.undisturbed(change, &run).await;
            scene.servers_are(&started, state, "undisturbed").await;
        }
        for (scaling, size) in SCALINGS {
            let run = scene.scale(&started, size).await;
            scene.undisturbed(scaling, &run).await;
            if size > 1 {
                scene.scaled_kinds = scene.kinds();
            }
        }
        assert!(scene.scaled_kinds.len() > scene.kinds.len());
        let run = scene.repair(&started).await;
        let ended = scene.undisturbed("repair", &run).await;
        has_steps(&ended, &REPAIRING);
        let run = scene.roll_back(&started).await;
        let ended = scene.undisturbed("roll-back", &run).await;
        assert_eq!(ended["rolls_back"], true, "{ended:#}");
        let run = scene.update(&started).await;
        let ended = scene.undisturbed("update", &run).await;
        has_steps(&ended, &UPDATING);
        assert_eq!(scene.kinds(), scene.kinds, "{:?}", scene.left());
        let snapshot = scene.snapshot(&started).await;
        scene.undisturbed("snapshot", &snapshot).await;
        scene
            .is_taken_once(&started, &snapshot, "undisturbed")
            .await;
        let run = scene.restore(&started, &snapshot).await;
        scene.undisturbed("restoration", &run).await;
        let run = scene.undeploy(&started).await;
        scene.undisturbed("undeployment", &run).await;
        scene.nothing_is_left("undisturbed").await;
        scene
    }

    /// Waits for the end of a run, which succeeds, and keeps the number of its entries. Returns the run.
    async fn undisturbed(&mut self, kind: &'static str, run: &str) -> Value {
        let whole = Box::pin(self.program.until_stored(run, usize::MAX));
        let stored = self.helped(run, whole).await;
        self.entries.insert(kind, stored.entries);
        self.succeeded(run, "undisturbed").await
    }

    /// Kills the program when a run has stored its n-th entry, starts it again, and waits for the end of the run.
    async fn killed(&mut self, run: &str, nth: usize, label: &str) {
        let entry = Box::pin(self.program.until_stored(run, nth));
        let stored = self.helped(run, entry).await;
        self.program.kill();
        self.program.restart().await;
        let begun = Instant::now();
        let end = Box::pin(self.program.until_over(run));
        self.helped(run, end).await;
        eprintln!(
            "{label}: killed at entry {}, ended {:.1} s after the restart",
            stored.entries,
            begun.elapsed().as_secs_f32()
        );
    }

    /// True if one of these runs has an n-th entry when nothing disturbs it.
    fn have(&self, nth: usize, runs: &[&str]) -> bool {
        runs.iter().any(|run| nth <= self.entries[*run])
    }

    /// All kinds of runs, each killed at its n-th entry.
    async fn round(&mut self, nth: usize) {
        let label = format!("deployment at entry {nth}");
        let started = self.deploy(&format!("entry-{nth}")).await;
        let run = text(&started, "run");
        self.killed(&run, nth, &label).await;
        self.all_is_there_once(&run, &label).await;

        if self.have(nth, &["command"]) {
            let label = format!("command at entry {nth}");
            let run = self.command(&started).await;
            self.killed(&run, nth, &label).await;
            self.all_is_there_once(&run, &label).await;
        }

        if self.have(nth, &["suspend", "resume"]) {
            for (change, state) in POWER {
                let label = format!("{change} at entry {nth}");
                let run = self.begin(&started, change).await;
                self.killed(&run, nth, &label).await;
                self.all_is_there_once(&run, &label).await;
                self.servers_are(&started, state, &label).await;
            }
        }

        if self.have(nth, &["scaling up", "scaling down"]) {
            for (scaling, size) in SCALINGS {
                let label = format!("{scaling} at entry {nth}");
                let run = self.scale(&started, size).await;
                self.killed(&run, nth, &label).await;
                let kinds = match size {
                    1 => &self.kinds,
                    _ => &self.scaled_kinds,
                };
                self.are_there_once(kinds, &run, &label).await;
            }
        }

        if self.have(nth, &["repair"]) {
            let label = format!("repair at entry {nth}");
            let run = self.repair(&started).await;
            self.killed(&run, nth, &label).await;
            self.all_is_there_once(&run, &label).await;
        }

        if self.have(nth, &["roll-back", "update"]) {
            let label = format!("roll-back at entry {nth}");
            let run = self.roll_back(&started).await;
            self.killed(&run, nth, &label).await;
            self.all_is_there_once(&run, &label).await;

            let label = format!("update at entry {nth}");
            let run = self.update(&started).await;
            self.killed(&run, nth, &label).await;
            self.all_is_there_once(&run, &label).await;
        }

        if self.have(nth, &["snapshot", "restoration"]) {
            let label = format!("snapshot at entry {nth}");
            let snapshot = self.snapshot(&started).await;
            self.killed(&snapshot, nth, &label).await;
            self.is_taken_once(&started, &snapshot, &label).await;

            let label = format!("restoration at entry {nth}");
            let run = self.restore(&started, &snapshot).await;
            self.killed(&run, nth, &label).await;
            self.is_taken_once(&started, &snapshot, &label).await;
            self.succeeded(&run, &label).await;
        }

        let label = format!("undeployment at entry {nth}");
        let run = self.undeploy(&started).await;
        self.killed(&run, nth, &label).await;
        self.succeeded(&run, &label).await;
        self.nothing_is_left(&label).await;
    }

    /// Number of entries of the longest run.
    fn longest(&self) -> usize {
        self.entries.values().copied().max().unwrap()
    }
}

/// The path of a deployment's snapshots.
fn snapshots(started: &Value) -> String {
    let deployment = text(started, "deployment");
    format!("/api/v1/deployments/{deployment}/snapshots")
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_some_entries_of_the_journal() {
    let days = jiff::Timestamp::now().as_second() / (24 * 3600);
    let seed = setting("STACKLOOM_KILL_SEED", u64::try_from(days).unwrap());
    let mut random = StdRng::seed_from_u64(seed);
    let mut scene = Scene::new().await;
    let shortest = ALWAYS.iter().map(|run| scene.entries[run]).min().unwrap();
    let mut numbers = BTreeSet::from([random.random_range(1..=shortest)]);
    while numbers.len() < FEW {
        numbers.insert(random.random_range(1..=scene.longest()));
    }
    eprintln!("seed {seed}, entries {numbers:?} of {:?}", scene.entries);
    for nth in numbers {
        scene.round(nth).await;
    }
}

/// The numbers of one part: every [`PARTS`]th one.
async fn killed_at_entries_of(part: usize) {
    let mut scene = Scene::new().await;
    let begun = Instant::now();
    let numbers: Vec<usize> = (1 + part..=scene.longest()).step_by(PARTS).collect();
    for &nth in &numbers {
        scene.round(nth).await;
    }
    eprintln!(
        "part {part}: {} rounds in {:.0} s; the runs have {:?} entries",
        numbers.len(),
        begun.elapsed().as_secs_f32(),
        scene.entries
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "some minutes"]
async fn killed_at_a_first_part_of_all_entries() {
    killed_at_entries_of(0).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "some minutes"]
async fn killed_at_a_second_part_of_all_entries() {
    killed_at_entries_of(1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "some minutes"]
async fn killed_at_a_third_part_of_all_entries() {
    killed_at_entries_of(2).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "some minutes"]
async fn killed_at_a_fourth_part_of_all_entries() {
    killed_at_entries_of(3).await;
}
