//! The program is killed while it installs software on a private server: at each next entry of a run's journal, and once at
//! each kind of step.
//!
//! The lab's servers and the sandboxes are containers. A step that was running at several crashes in a row fails on purpose:
//! it may be their cause. Then the run is resumed, as its error says.

use std::{collections::BTreeSet, time::Duration};

use lab::{Lab, LabConfig};
use serde_json::{Value, json};
use store::SealedKind;
use tempfile::TempDir;

use crate::{
    clouds_file, demo,
    program::{self, Program},
    text,
};

/// A public server, which is the bastion of a private one with a web server.
const SHOP: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.71.1.0/24}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  web:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  nginx:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: web}, page_text: still standing}
";

/// Maximum number of kills of a run. A run that needs more makes no progress.
const KILLS_MAX: u32 = 300;

/// Part of the error of a step that was running at several crashes in a row.
const CRASHED: &str = "crashes of the server, so it is not started again";

/// Kills the program when a run has stored its next entry, starts it again, and so on until the run has succeeded.
async fn killed_at_each_next_entry(program: &mut Program, run: &str) {
    let (mut kills, mut entries) = (0, 0);
    // Number of entries at each resumption.
    let mut resumed = Vec::new();
    loop {
        let stored = program.until_stored(run, entries + 1).await;
        entries = stored.entries;
        if !stored.is_over {
            assert!(
                kills < KILLS_MAX,
                "no end after {kills} kills, {entries} entries"
            );
            program.kill();
            kills += 1;
            program.restart().await;
            continue;
        }
        if resumed.last() == Some(&entries) {
            // The run is still about to go on.
            continue;
        }
        let ended = program.get(&format!("/api/v1/runs/{run}")).await;
        if ended["state"] == "succeeded" {
            break;
        }
        let steps = ended["steps"].as_array().unwrap();
        let failed: Vec<_> = steps
            .iter()
            .filter(|step| step["state"] == "failed")
            .collect();
        let has_crashed = |error: &str| error.contains(CRASHED);
        let all_crashed = failed
            .iter()
            .all(|step| step["error"].as_str().is_some_and(has_crashed));
        assert!(!failed.is_empty() && all_crashed, "{ended:#}");
        program.resume(run).await;
        resumed.push(entries);
    }
    eprintln!("{kills} kills, {entries} entries, resumed at {resumed:?}");
    assert!(kills > 0, "the run was over before the first kill");
}

/// A lab whose servers are containers, and the program.
pub struct Scene {
    pub lab: Lab,
    pub program: Program,
    // Dropped last.
    _folder: TempDir,
}

impl Scene {
    async fn new(name: &str, public_cidr: &str) -> Scene {
        Scene::with_settings(name, public_cidr, Vec::new()).await
    }

    /// A scene with more settings of the program.
    pub async fn with_settings(
        name: &str,
        public_cidr: &str,
        more: Vec<(&'static str, String)>,
    ) -> Scene {
        program::install_tls_provider();
        let config = LabConfig::docker(name, public_cidr.parse().unwrap());
        let lab = Lab::start(config).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let catalog = concat!(env!("CARGO_MANIFEST_DIR"), "/../catalog");
        let mut settings = vec![
            ("STACKLOOM_CATALOG", catalog.to_owned()),
            ("STACKLOOM_SSH_TIMEOUT", "240".into()),
            ("STACKLOOM_RETRY_PAUSE", "1".into()),
        ];
        settings.extend(more);
        let horizon = Duration::from_secs(3);
        let clouds = clouds_file(&lab);
        let mut program = Program::start_with(folder.path(), &clouds, horizon, settings).await;
        program.login(&demo()).await;
        Scene {
            lab,
            program,
            _folder: folder,
        }
    }

    pub async fn deploy(&self) -> Value {
        let shop = json!({"name": "shop", "template": SHOP, "parameters": {}});
        self.program.post("/api/v1/deployments", &shop).await
    }

    /// Begins to undeploy. Returns the run.
    pub async fn undeploy(&self, started: &Value) -> String {
        let deployment = text(started, "deployment");
        let path = format!("/api/v1/deployments/{deployment}");
        text(&self.program.delete(&path).await, "run")
    }

    fn left(&self) -> Vec<String> {
        self.lab.leftovers().remove("demo").unwrap_or_default()
    }

    fn is_bastion_closed(&self) -> bool {
        self.lab.model(|model| {
            let mut rules = model.security_group_rules.iter();
            !rules.any(|rule| format!("{rule:?}").contains("ssh for the run"))
        })
    }

    /// Checks that each resource exists once, and that the service is healthy.
    pub async fn stands(&self, started: &Value, label: &str) {
        let left = self.left();
        for (kind, number) in [
            ("network", 1),
            ("subnet", 1),
            ("router", 1),
            ("floatingip", 1),
            ("server", 2),
        ] {
            let kinds = left.iter().filter_map(|one| one.split(' ').next());
            let count = kinds.filter(|one| *one == kind).count();
            assert_eq!(count, number, "{label}, {kind}: {left:?}");
        }
        let deployment = format!("/api/v1/deployments/{}", text(started, "deployment"));
        let shown = self.program.get(&deployment).await;
        let services = shown["services"].as_array().unwrap();
        assert_eq!(services.len(), 1, "{label}: {services:#?}");
        assert_eq!(services[0]["component"], "nginx");
        assert_eq!(services[0]["state"], "healthy", "{label}: {services:#?}");
        assert!(self.is_bastion_closed(), "{label}");
        let tokens = self.program.sealed(SealedKind::Run).await;
        assert_eq!(tokens, 0, "{label}: the token is left in the database");
    }

    pub async fn nothing_is_left(&self, label: &str) {
        assert_eq!(self.left(), Vec::<String>::new(), "{label}");
        assert!(self.is_bastion_closed(), "{label}");
        for kind in [SealedKind::Run, SealedKind::Vault] {
            let sealed = self.program.sealed(kind).await;
            assert_eq!(sealed, 0, "{label}: {kind:?} is left in the database");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "many minutes; needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn killed_at_each_next_entry_while_software_is_installed() {
    let mut scene = Scene::new("kill-entries", "172.31.71.0/24").await;
    let started = scene.deploy().await;
    let run = text(&started, "run");
    killed_at_each_next_entry(&mut scene.program, &run).await;
    scene.stands(&started, "killed at each entry").await;
    let run = scene.undeploy(&started).await;
    killed_at_each_next_entry(&mut scene.program, &run).await;
    scene.nothing_is_left("killed at each entry").await;
    scene.lab.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "many minutes; needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn killed_at_each_kind_of_step_while_software_is_installed() {
    let mut scene = Scene::new("kill-kinds", "172.31.73.0/24").await;
    let mut kinds = BTreeSet::<String>::new();
    let mut killed = BTreeSet::<String>::new();
    loop {
        // The first run tells the kinds.
        let kind = kinds.difference(&killed).next().cloned();
        if !kinds.is_empty() && kind.is_none() {
            break;
        }
        let label = kind.clone().unwrap_or_else(|| "undisturbed".into());
        let started = scene.deploy().await;
        let run = text(&started, "run");
        if let Some(kind) = kind {
            scene.program.until_begun(&run, &kind).await;
            scene.program.kill();
            scene.program.restart().await;
            killed.insert(kind);
        }
        scene.program.until_over(&run).await;
        let ended = scene.program.get(&format!("/api/v1/runs/{run}")).await;
        assert_eq!(ended["state"], "succeeded", "{label}: {ended:#}");
        let steps = ended["steps"].as_array().unwrap().iter();
        kinds.extend(steps.map(|step| text(step, "kind")));
        scene.stands(&started, &label).await;
        let run = scene.undeploy(&started).await;
        scene.program.until_over(&run).await;
        scene.nothing_is_left(&label).await;
        eprintln!("{label}: everything once, nothing left");
    }
    scene.lab.stop().await;
}
