//! The program is killed at each next entry of a run's journal while it installs software on a private server.
//!
//! The lab's servers and the sandboxes are containers. A step that was running at several crashes in a row fails on purpose:
//! it may be their cause. Then the run is resumed, as its error says.

use lab::{Lab, LabConfig};
use serde_json::json;
use store::SealedKind;

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

/// Number of the project's resources of a kind.
fn count(lab: &Lab, kind: &str) -> usize {
    let left = left(lab);
    let kinds = left.iter().filter_map(|one| one.split(' ').next());
    kinds.filter(|one| *one == kind).count()
}

fn left(lab: &Lab) -> Vec<String> {
    lab.leftovers().remove("demo").unwrap_or_default()
}

fn is_bastion_closed(lab: &Lab) -> bool {
    lab.model(|model| {
        let mut rules = model.security_group_rules.iter();
        !rules.any(|rule| format!("{rule:?}").contains("ssh for the run"))
    })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "many minutes; needs Docker, the lab's images, the sandbox image and Debian's packages"]
async fn killed_at_each_next_entry_while_software_is_installed() {
    program::install_tls_provider();
    let config = LabConfig::docker("kill-software", "172.31.71.0/24".parse().unwrap());
    let lab = Lab::start(config).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let catalog = concat!(env!("CARGO_MANIFEST_DIR"), "/../catalog");
    let settings = vec![
        ("STACKLOOM_CATALOG", catalog.to_owned()),
        ("STACKLOOM_SSH_TIMEOUT", "240".into()),
        ("STACKLOOM_RETRY_PAUSE", "1".into()),
    ];
    let horizon = std::time::Duration::from_secs(3);
    let clouds = clouds_file(&lab);
    let mut program = Program::start_with(folder.path(), &clouds, horizon, settings).await;
    program.login(&demo()).await;
    let shop = json!({"name": "shop", "template": SHOP, "parameters": {}});
    let started = program.post("/api/v1/deployments", &shop).await;
    killed_at_each_next_entry(&mut program, &text(&started, "run")).await;

    for (kind, number) in [
        ("network", 1),
        ("subnet", 1),
        ("router", 1),
        ("floatingip", 1),
        ("server", 2),
    ] {
        assert_eq!(count(&lab, kind), number, "{kind}: {:?}", left(&lab));
    }
    let deployment = format!("/api/v1/deployments/{}", text(&started, "deployment"));
    let shown = program.get(&deployment).await;
    let services = shown["services"].as_array().unwrap();
    assert_eq!(services.len(), 1, "{services:#?}");
    assert_eq!(services[0]["component"], "nginx");
    assert_eq!(services[0]["state"], "healthy", "{services:#?}");
    assert!(is_bastion_closed(&lab));
    assert_eq!(program.sealed(SealedKind::Run).await, 0, "no token is left");

    let run = text(&program.delete(&deployment).await, "run");
    killed_at_each_next_entry(&mut program, &run).await;
    assert_eq!(left(&lab), Vec::<String>::new());
    assert!(is_bastion_closed(&lab));
    for kind in [SealedKind::Run, SealedKind::Vault] {
        assert_eq!(program.sealed(kind).await, 0, "{kind:?} is left");
    }
    lab.stop().await;
}
