//! Another version of an item on a deployment: it reaches one server after the other, and goes back if its role or its health check fails.

use api::{OnFailure, UpgradeRequest};
use engine::catalog::{Files, Stage, pack};
use tempfile::TempDir;
use types::catalog::recipe::{Recipe, RecipeFile, RecipeOption};

use super::*;

const TEMPLATE: &str = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.57.1.0/24}
  one:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  two:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}
  word1:
    type: Stackloom::Catalog::word
    properties: {host: {get_resource: one}}
  word2:
    type: Stackloom::Catalog::word
    properties: {host: {get_resource: two}}
";

/// An item that writes a file.
fn word(version: &str, content: &str) -> Recipe {
    Recipe {
        name: "word".into(),
        title: "Word".into(),
        version: version.into(),
        summary: "Writes a word.".into(),
        files: vec![RecipeFile {
            path: "/srv/word".into(),
            mode: "0644".into(),
            content: content.into(),
        }],
        options: vec![RecipeOption {
            name: "tone".into(),
            kind: Default::default(),
            default: "quiet".into(),
            summary: String::new(),
        }],
        ..Recipe::new()
    }
}

/// The files of an item.
fn files(item: &Recipe) -> Files {
    let files = item.files().into_iter();
    files
        .map(|(path, text)| (path, text.into_bytes()))
        .collect()
}

/// The files of an item whose role succeeds, and whose health check always fails.
fn never_healthy(item: &Recipe) -> Files {
    let mut files = files(item);
    let health = "health:
  - title: The word is loud
    command: grep loud /srv/word
    interval: 1
    deadline: 3
";
    files.get_mut("item.yml").unwrap().extend(health.bytes());
    files
}

async fn publish(bench: &Bench, files: &Files) {
    let archive = pack(files).unwrap();
    let (engine, actor) = (&bench.engine, &bench.actor);
    let published = engine.publish(actor, archive, None, Stage::Published);
    published.await.unwrap();
}

/// Changes the deployment to a version, and waits for the end of the run.
async fn upgrade(bench: &Bench, deployment: &str, version: &str) -> Run {
    let request = UpgradeRequest {
        item: "word".into(),
        version: version.into(),
        on_failure: OnFailure::Rollback,
        ..UpgradeRequest::default()
    };
    let (engine, actor) = (&bench.engine, &bench.actor);
    let started = engine.upgrade(actor, deployment, request, bench::facts());
    story(bench, &started.await.unwrap().run).await.0
}

/// Fails unless each server has this text in its file.
async fn each_server_has(bench: &Bench, deployment: &str, text: &str) {
    let request =
        serde_json::json!({"servers": "all", "script": format!("grep -x '{text}' /srv/word")});
    let request = serde_json::from_value(request).unwrap();
    let (engine, actor) = (&bench.engine, &bench.actor);
    let started = engine.command(actor, deployment, request).await.unwrap();
    let (run, _) = story(bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
}

/// The version in use, and all versions.
async fn versions(bench: &Bench, deployment: &str) -> (String, Vec<String>) {
    let shown = bench.engine.deployment(&bench.tenant, deployment).await;
    let [item] = shown.unwrap().items.try_into().unwrap();
    assert_eq!(item.components, ["word1", "word2"]);
    (item.version, item.versions)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn a_new_version_rolls_out_and_a_bad_one_goes_back() {
    let bench = on_docker_with(ITEMS, "engine-upgrade", "172.31.57.0/24", BOOT).await;
    publish(&bench, &files(&word("1.0.0", "first, {{ tone }}\n"))).await;
    let started = bench.start(TEMPLATE).await;
    let (run, _) = story(&bench, &started.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let id = started.deployment.as_str();

    publish(&bench, &files(&word("1.1.0", "second, {{ tone }}\n"))).await;
    let both = || vec!["1.1.0".to_owned(), "1.0.0".to_owned()];
    assert_eq!(versions(&bench, id).await, ("1.0.0".to_owned(), both()));
    each_server_has(&bench, id, "first, quiet").await;
    let run = upgrade(&bench, id, "1.1.0").await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    let ended = |step: &str| {
        run.steps
            .iter()
            .find(|one| one.id == step)
            .unwrap()
            .ended
            .clone()
    };
    let began = |step: &str| {
        run.steps
            .iter()
            .find(|one| one.id == step)
            .unwrap()
            .started
            .clone()
    };
    assert!(began("word2:configure") >= ended("word1:configure"));
    assert_eq!(versions(&bench, id).await, ("1.1.0".to_owned(), both()));
    each_server_has(&bench, id, "second, quiet").await;

    let bad_role = files(&word("1.2.0", "third, {{ no_such_option }}\n"));
    let bad_health = never_healthy(&word("1.3.0", "fourth, {{ tone }}\n"));
    for (version, bad, why) in [
        ("1.2.0", bad_role, "no_such_option"),
        ("1.3.0", bad_health, "is not healthy after"),
    ] {
        publish(&bench, &bad).await;
        let run = upgrade(&bench, id, version).await;
        assert_eq!(run.state, RunState::Failed);
        let error = error_of(&run, "word1:configure");
        assert!(error.contains(why), "{error}");
        let reached = run.steps.iter().find(|one| one.id == "word2:configure");
        assert!(
            reached.unwrap().started.is_none(),
            "only the first one is reached"
        );
        bench
            .eventually("the deployment returns to 1.1.0", async || {
                let shown = bench.engine.deployment(&bench.tenant, id).await.unwrap();
                shown.state == api::DeploymentState::Deployed
            })
            .await;
        assert_eq!(versions(&bench, id).await.0, "1.1.0");
        each_server_has(&bench, id, "second, quiet").await;
    }
    all_goes(bench, id).await;
}

/// A catalogue folder with the item.
fn folder_with(item: &Recipe) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in item.files() {
        let path = folder.path().join(&item.name).join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Docker, the lab's images and the sandbox image"]
async fn an_item_of_the_server_stays_on_its_version_until_an_upgrade() {
    let before = folder_with(&word("1.0.0", "first, {{ tone }}\n"));
    let after = folder_with(&word("1.1.0", "second, {{ tone }}\n"));
    let folder = before.path().to_str().unwrap();
    let mut bench = on_docker_with(folder, "engine-own-upgrade", "172.31.59.0/24", BOOT).await;
    let id = bench.deployed(TEMPLATE).await;
    let id = id.as_str();
    bench.crash_with_catalog(after.path()).await;
    let both = || vec!["1.1.0".to_owned(), "1.0.0".to_owned()];
    assert_eq!(versions(&bench, id).await, ("1.0.0".to_owned(), both()));

    // Another change sets a component up with the deployment's version.
    let host = "{host: {get_resource: two}";
    let louder = TEMPLATE.replace(host, &format!("{host}, tone: loud"));
    let changes = engine::Changes {
        template: louder,
        cloud: bench::facts(),
        ..engine::Changes::default()
    };
    let started = bench.engine.update(&bench.actor, id, changes);
    let (run, _) = story(&bench, &started.await.unwrap().run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    each_server_has(&bench, id, "first, .*").await;

    let run = upgrade(&bench, id, "1.1.0").await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(versions(&bench, id).await, ("1.1.0".to_owned(), both()));
    each_server_has(&bench, id, "second, .*").await;
    all_goes(bench, id).await;
}
