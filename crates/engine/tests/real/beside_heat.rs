//! Six designs, created, updated and deleted by the engine and by the cloud's own Heat: times, and the differences.
//!
//! Each design is in `designs/`. After creation and after update, the [`inventory`] of the project's resources is
//! compared line by line for both sides. In the end the project must be as before.
//!
//! One difference is intended and counted separately: in Barbican only the name can contain a marker, so a secret
//! without a name in the template has our marker as its name, and no name with Heat.
//!
//! `STACKLOOM_CONTRACT_CLOUDS=FILE cargo test -p engine --test real -- --ignored --nocapture beside` prints the table.
//! `STACKLOOM_DESIGN` limits the comparison to the design whose name contains it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use api::{Run, RunState};
use engine::{Changes, NewDeployment};
use hot::bundle::Bundle;
use openstack::Service;
use serde_json::{Value, json};

use crate::heat::{Content, Stack};
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

/// Seconds for creation, update and deletion, and the project's resources after the first two.
struct Made {
    seconds: [f32; 3],
    after: [Vec<String>; 2],
}

const NAME: &str = "beside-heat";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/designs")
}

pub fn texts(names: &[&str]) -> BTreeMap<String, String> {
    let text = |name| std::fs::read_to_string(folder().join(name)).unwrap();
    names
        .iter()
        .map(|name| ((*name).to_owned(), text(name)))
        .collect()
}

pub async fn given(place: &Place) -> BTreeMap<String, Value> {
    let mut given = crate::parameters(place).await;
    let session = &place.actor.session;
    let mut flavors = session.compute().flavor_list().await.unwrap();
    flavors.sort_by_key(|flavor| (flavor.ram, flavor.disk));
    given.insert("larger".to_owned(), json!(flavors[1].name));
    given
}

impl Design {
    /// Templates of the creation and of the update.
    fn contents(&self, given: &BTreeMap<String, Value>) -> [Content; 2] {
        let (name, value) = (self.update)(given);
        let mut changed = given.clone();
        changed.insert(name.to_owned(), value);
        [given.clone(), changed].map(|parameters| Content {
            template: texts(&[self.template])[self.template].clone(),
            files: texts(self.files),
            environments: texts(self.environments),
            parameters,
        })
    }
}

async fn timed<T>(work: impl Future<Output = T>) -> (T, f32) {
    let begun = Instant::now();
    let done = Box::pin(work).await;
    (done, begun.elapsed().as_secs_f32())
}

pub fn well_ended(run: &Run) -> Result<(), String> {
    let failed = run.steps.iter().filter_map(|step| {
        let error = step.error.as_ref()?;
        Some(format!("{}: {error}", step.id))
    });
    match run.state {
        RunState::Succeeded => Ok(()),
        state => Err(format!(
            "{state:?}: {}",
            failed.collect::<Vec<_>>().join("; ")
        )),
    }
}

async fn by_us(place: &Place, contents: &[Content; 2]) -> Result<Made, String> {
    let [content, changed] = contents;
    let files = content.files.iter().chain(&content.environments);
    let files = files.map(|(name, text)| (name.clone(), text.clone()));
    let bundle = Bundle::new(files, content.environments.keys().cloned());
    let new = NewDeployment {
        name: NAME.into(),
        template: content.template.clone(),
        bundle: bundle.clone(),
        parameters: content.parameters.clone(),
        ..NewDeployment::default()
    };
    let changes = Changes {
        template: changed.template.clone(),
        bundle: Some(bundle),
        parameters: changed.parameters.clone(),
        ..Changes::default()
    };
    let session = &place.actor.session;
    let (started, created) = timed(async {
        let started = place.engine.deploy(&place.actor, new).await.unwrap();
        (place.end_of(&started.run, |_| {}).await, started.deployment)
    })
    .await;
    let (run, deployment) = started;
    let made = async {
        well_ended(&run)?;
        let after_create = inventory(session).await;
        let (run, updated) = timed(async {
            let update = place.engine.update(&place.actor, &deployment, changes);
            place.end_of(&update.await.unwrap().run, |_| {}).await
        })
        .await;
        well_ended(&run)?;
        Ok((after_create, updated, inventory(session).await))
    };
    let made: Result<_, String> = made.await;
    let (run, removed) = timed(async {
        let started = place.undeploy(&deployment).await;
        place.end_of(&started.run, |_| {}).await
    })
    .await;
    let (after_create, updated, after_update) = made?;
    well_ended(&run)?;
    Ok(Made {
        seconds: [created, updated, removed],
        after: [after_create, after_update],
    })
}

async fn by_heat(place: &Place, contents: &[Content; 2]) -> Result<Made, String> {
    let session = &place.actor.session;
    let (stack, created) = timed(Stack::create(session, NAME, &contents[0])).await;
    let stack = stack?;
    let after_create = inventory(session).await;
    let (changed, updated) = timed(stack.update(&contents[1])).await;
    let after_update = inventory(session).await;
    let (gone, removed) = timed(stack.delete()).await;
    changed.and(gone)?;
    Ok(Made {
        seconds: [created, updated, removed],
        after: [after_create, after_update],
    })
}

/// Lines of one side that are missing on the other side. Equal lines count as often as they occur.
pub fn only_in(one: &[String], other: &[String]) -> Vec<String> {
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

/// The line of a secret, with its name removed if it is our marker.
fn without_mark_as_name(line: &str) -> String {
    match line.strip_prefix("secret ") {
        Some(fields) if fields.contains(r#""name":"stackloom-"#) => {
            let mut fields: Value = serde_json::from_str(fields).unwrap();
            fields["name"] = Value::Null;
            format!("secret {fields}")
        }
        _ => line.to_owned(),
    }
}

/// Differences between the two, one per line, and the number of intended ones.
fn differences(ours: &Made, heats: &Made) -> (Vec<String>, usize) {
    let (mut found, mut meant) = (Vec::new(), 0);
    for (index, when) in ["created", "updated"].iter().enumerate() {
        let unnamed: Vec<String> = ours.after[index]
            .iter()
            .map(|line| without_mark_as_name(line))
            .collect();
        meant += only_in(&unnamed, &ours.after[index]).len();
        let (ours, heats) = (&unnamed, &heats.after[index]);
        for (whose, lines) in [
            ("ours", only_in(ours, heats)),
            ("Heat's", only_in(heats, ours)),
        ] {
            found.extend(
                lines
                    .iter()
                    .map(|line| format!("{when}, {whose} only: {line}")),
            );
        }
    }
    (found, meant)
}

/// Resources that existed at only one of the two times. Waits after a deletion: Neutron receives Nova's port deletions
/// late.
pub async fn left_over(place: &Place, before: &[String]) -> Vec<String> {
    let mut left = Vec::new();
    for _ in 0..60 {
        let now = place.belongings().await;
        left = [only_in(&now, before), only_in(before, &now)].concat();
        if left.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    left
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "wants Heat in the cloud; takes a quarter of an hour"]
async fn six_designs_are_deployed_as_by_heat() {
    let Some((clouds, name)) = real_cloud() else {
        return;
    };
    let place = Place::open_apart(&clouds, &name, NAME).await;
    assert!(place.actor.session.has_service(Service::Orchestration));
    let given = given(&place).await;
    let chosen = std::env::var("STACKLOOM_DESIGN").unwrap_or_default();
    println!(
        "| design | resources | ours: create / update / delete, s | Heat's | differences | meant |\n| --- | --- | --- | --- | --- | --- |"
    );
    let mut problems = Vec::new();
    let chosen = |design: &&Design| design.name.contains(&chosen);
    for design in DESIGNS.iter().filter(chosen) {
        let contents = design.contents(&given);
        let before = place.belongings().await;
        let untouched = inventory(&place.actor.session).await.len();
        let ours = Box::pin(by_us(&place, &contents)).await;
        let mut found = left_over(&place, &before).await;
        let heats = by_heat(&place, &contents).await;
        found.extend(left_over(&place, &before).await);
        found
            .iter_mut()
            .for_each(|one| *one = format!("left: {one}"));
        let mut meant = 0;
        if let (Ok(ours), Ok(heats)) = (&ours, &heats) {
            let (different, as_meant) = differences(ours, heats);
            found.extend(different);
            meant = as_meant;
        }
        let seconds = |made: &Result<Made, String>| match made {
            Ok(made) => made.seconds.map(|one| format!("{one:.0}")).join(" / "),
            Err(_) => "failed".to_owned(),
        };
        let resources = ours
            .as_ref()
            .map_or(0, |made| made.after[0].len() - untouched);
        println!(
            "| {} | {resources} | {} | {} | {} | {meant} |",
            design.name,
            seconds(&ours),
            seconds(&heats),
            found.len()
        );
        found.extend(ours.err().map(|error| format!("ours failed: {error}")));
        found.extend(heats.err().map(|error| format!("Heat's failed: {error}")));
        problems.extend(found.iter().map(|one| format!("{}: {one}", design.name)));
    }
    place.close().await;
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
