//! Six designs, made, updated and removed by the engine and by the cloud's own Heat: times, and the differences.
//!
//! Each design stands in `designs/`. After its creation and after its update, the project's resources are described by
//! [`inventory`] for both makers and compared line by line; in the end the project must be as it was before. Two
//! differences are meant: a server and a port that the template does not name are called after deployment or stack, and
//! Heat gives a floating IP no description.
//!
//! `cargo xtask contract --cloud real --clouds FILE beside_heat` runs it where the cloud has Heat and the machine
//! the `openstack` command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use engine::{Changes, NewDeployment};
use serde_json::{Value, json};
use topology::bundle::Bundle;

use crate::assert_succeeded;
use crate::inventory::inventory;
use crate::place::{Place, real_cloud};

/// A template with its files, and the parameters of its update.
struct Design {
    name: &'static str,
    template: &'static str,
    files: &'static [&'static str],
    environments: &'static [&'static str],
    update: fn(&BTreeMap<String, Value>) -> (&'static str, Value),
}

const DESIGNS: [Design; 6] = [
    Design {
        name: "three tiers",
        template: "three_tiers.yaml",
        files: &[],
        environments: &[],
        update: |given| ("app_flavor", given["larger"].clone()),
    },
    Design {
        name: "group of 5",
        template: "group.yaml",
        files: &["member.yaml"],
        environments: &[],
        update: |_| ("size", json!(3)),
    },
    Design {
        name: "volumes",
        template: "volumes.yaml",
        files: &[],
        environments: &[],
        update: |_| ("size", json!(2)),
    },
    Design {
        name: "nested, environment, conditions",
        template: "nested.yaml",
        files: &["nested_server.yaml"],
        environments: &["nested_env.yaml"],
        update: |_| ("with_spare", json!(true)),
    },
    Design {
        name: "Barbican, group, key, MIME",
        template: "secrets.yaml",
        files: &[],
        environments: &[],
        update: |_| ("second", json!(true)),
    },
    Design {
        name: "Octavia with L7",
        template: "balanced.yaml",
        files: &[],
        environments: &[],
        update: |_| ("weight", json!(5)),
    },
];

/// Seconds for creation, update and removal, and the project's resources after the first two.
struct Made {
    seconds: [f32; 3],
    after: [Vec<String>; 2],
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/designs")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

async fn given(place: &Place) -> BTreeMap<String, Value> {
    let mut given = crate::parameters(place).await;
    let session = &place.actor.session;
    let mut flavors = session.compute().flavor_list().await.unwrap();
    flavors.sort_by_key(|flavor| (flavor.ram, flavor.disk));
    given.insert("larger".to_owned(), json!(flavors[1].name));
    given
}

async fn timed<T>(work: impl Future<Output = T>) -> (T, f32) {
    let begun = Instant::now();
    let done = Box::pin(work).await;
    (done, begun.elapsed().as_secs_f32())
}

async fn by_us(place: &Place, design: &Design, given: &BTreeMap<String, Value>) -> Made {
    let files = design.files.iter().chain(design.environments);
    let files = files.map(|name| ((*name).to_owned(), text(name)));
    let environments = design.environments.iter().map(|name| (*name).to_owned());
    let bundle = Bundle::new(files, environments);
    let new = NewDeployment {
        name: "beside-heat".into(),
        template: text(design.template),
        bundle: bundle.clone(),
        parameters: given.clone(),
        ..NewDeployment::default()
    };
    let (deployment, created) = timed(async {
        let started = place.engine.deploy(&place.actor, new).await.unwrap();
        assert_succeeded(&place.end_of(&started.run, |_| {}).await);
        started.deployment
    })
    .await;
    let after_create = inventory(&place.actor.session).await;
    let (name, value) = (design.update)(given);
    let mut parameters = given.clone();
    parameters.insert(name.to_owned(), value);
    let changes = Changes {
        template: text(design.template),
        bundle: Some(bundle),
        parameters,
        ..Changes::default()
    };
    let ((), updated) = timed(async {
        let started = place
            .engine
            .update(&place.actor, &deployment, changes)
            .await;
        assert_succeeded(&place.end_of(&started.unwrap().run, |_| {}).await);
    })
    .await;
    let after_update = inventory(&place.actor.session).await;
    let ((), removed) = timed(Box::pin(async {
        let started = place.undeploy(&deployment).await;
        assert_succeeded(&place.end_of(&started.run, |_| {}).await);
    }))
    .await;
    Made {
        seconds: [created, updated, removed],
        after: [after_create, after_update],
    }
}

async fn by_heat(
    place: &Place,
    design: &Design,
    given: &BTreeMap<String, Value>,
    login: &Login,
) -> Made {
    let template = folder().join(design.template).display().to_string();
    let mut words = vec!["-t".to_owned(), template];
    for name in design.environments {
        words.extend(["-e".to_owned(), folder().join(name).display().to_string()]);
    }
    let parameter = |(name, value): (&str, &Value)| {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        ["--parameter".to_owned(), format!("{name}={value}")]
    };
    let all = given
        .iter()
        .flat_map(|(name, value)| parameter((name, value)));
    words.extend(all);
    let wait = ["--wait", "--poll", "1"].map(str::to_owned);
    let stack = "beside-heat".to_owned();
    let create = [
        vec!["create".to_owned()],
        words.clone(),
        wait.to_vec(),
        vec![stack.clone()],
    ]
    .concat();
    let (name, value) = (design.update)(given);
    words.extend(parameter((name, &value)));
    let update = [
        vec!["update".to_owned()],
        words,
        wait[..1].to_vec(),
        vec![stack.clone()],
    ]
    .concat();
    let delete = ["delete", "--yes", "--wait"].map(str::to_owned).to_vec();
    let delete = [delete, vec![stack]].concat();
    let ((), created) = timed(login.stack(&create)).await;
    let after_create = inventory(&place.actor.session).await;
    let ((), updated) = timed(login.stack(&update)).await;
    let after_update = inventory(&place.actor.session).await;
    let ((), removed) = timed(login.stack(&delete)).await;
    Made {
        seconds: [created, updated, removed],
        after: [after_create, after_update],
    }
}

/// The `openstack` command, with the login of the clouds file.
struct Login {
    file: String,
    cloud: String,
}

impl Login {
    async fn stack(&self, words: &[String]) {
        let done = tokio::process::Command::new("openstack")
            .args(["--os-cloud", &self.cloud, "stack"])
            .args(words)
            .env("OS_CLIENT_CONFIG_FILE", &self.file)
            .stdout(std::process::Stdio::null())
            .status()
            .await
            .expect("the openstack command is there");
        assert!(done.success(), "openstack stack {}", words.join(" "));
    }
}

/// Lines of one side that the other has not; equal lines count as often as they occur.
fn only_in(one: &[String], other: &[String]) -> Vec<String> {
    let mut rest = other.to_vec();
    let mut only = Vec::new();
    for line in one {
        match rest.iter().position(|there| there == line) {
            Some(at) => drop(rest.swap_remove(at)),
            None => only.push(line.clone()),
        }
    }
    only
}

/// Belongings settle for a moment after a removal: Neutron hears of Nova's ports late.
async fn is_as_before(place: &Place, before: &[String]) {
    let settled = async {
        while place.belongings().await != before {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    let settled = tokio::time::timeout(Duration::from_secs(60), settled).await;
    if settled.is_err() {
        assert_eq!(place.belongings().await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants Heat in the cloud and the openstack command; takes a quarter of an hour"]
async fn six_designs_are_as_heat_makes_them() {
    let Some((clouds, name)) = real_cloud() else {
        return;
    };
    let login = Login {
        file: std::env::var("STACKLOOM_CONTRACT_CLOUDS").unwrap(),
        cloud: name.clone(),
    };
    let place = Place::open(&clouds, &name).await;
    let given = given(&place).await;
    println!(
        "| design | ours: create / update / delete, s | Heat's | differences |\n| --- | --- | --- | --- |"
    );
    let chosen = std::env::var("STACKLOOM_DESIGN").unwrap_or_default();
    let designs = DESIGNS
        .iter()
        .filter(|design| design.name.contains(&chosen));
    let mut different = Vec::new();
    for design in designs {
        let before = place.belongings().await;
        let ours = Box::pin(by_us(&place, design, &given)).await;
        is_as_before(&place, &before).await;
        let heats = by_heat(&place, design, &given, &login).await;
        is_as_before(&place, &before).await;
        let mut count = 0;
        for (when, (ours, heats)) in ["created", "updated"]
            .iter()
            .zip(ours.after.iter().zip(&heats.after))
        {
            for line in only_in(ours, heats) {
                different.push(format!("{} {when}: ours only: {line}", design.name));
                count += 1;
            }
            for line in only_in(heats, ours) {
                different.push(format!("{} {when}: Heat's only: {line}", design.name));
                count += 1;
            }
        }
        let seconds = |made: &Made| made.seconds.map(|one| format!("{one:.0}")).join(" / ");
        println!(
            "| {} | {} | {} | {count} lines |",
            design.name,
            seconds(&ours),
            seconds(&heats)
        );
    }
    assert_eq!(different, Vec::<String>::new());
}
