//! Versions of the server's own items on deployments, when the operator brings other ones.

use api::{RunState, Started, StepState, UpgradeRequest};
use engine::Changes;
use lab::Lab;
use tempfile::TempDir;

use crate::bench::{Bench, PATIENCE, TWO_SERVERS, facts};

/// Two servers, and a component on the private one, which no run can reach here.
fn template() -> String {
    TWO_SERVERS.replace(
        "outputs:",
        "  page: {type: Stackloom::Catalog::page, properties: {host: {get_resource: web}}}\noutputs:",
    )
}

/// A catalogue folder with the item `page` in this version.
fn catalog(version: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let manifest =
        format!("name: page\ntitle: Page\nversion: {version}\nsummary: A page.\ncategory: web\n");
    for (path, text) in [
        ("item.yml", manifest.as_str()),
        (
            "meta/argument_specs.yml",
            "argument_specs: {main: {options: {}}}\n",
        ),
        ("tasks/main.yml", "- ansible.builtin.debug: {msg: hi}\n"),
    ] {
        let path = folder.path().join("page").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// Waits until a run waits for its servers, and cancels it.
async fn cancel(bench: &Bench, started: &Started) {
    bench
        .until_step(&started.run, "bastion:open", StepState::Succeeded)
        .await;
    let cancelled = bench.engine.cancel(&bench.tenant, &started.run).await;
    cancelled.unwrap();
    assert_eq!(bench.end_of(&started.run).await.state, RunState::Cancelled);
}

/// The version that a run sets the component up with.
async fn version_of(bench: &Bench, started: &Started) -> String {
    let plan = bench.engine.run_plan(&bench.tenant, &started.run).await;
    let workflow = plan.unwrap().workflow.unwrap();
    workflow.resources["page"].version.clone().unwrap()
}

#[tokio::test]
async fn runs_use_the_version_of_the_deployment_until_it_is_upgraded() {
    let (before, after) = (catalog("1.0.0"), catalog("1.1.0"));
    let lab = Lab::memory().await.unwrap();
    let mut bench = Bench::with_catalog(lab, before.path(), PATIENCE, PATIENCE).await;
    let started = bench.start(&template()).await;
    bench
        .until_step(&started.run, "web:create", StepState::Succeeded)
        .await;
    cancel(&bench, &started).await;
    let id = started.deployment;
    let set_up = ("Stackloom::Catalog::page", "1.0.0", "web");
    store::testing::component_insert(&bench.store, &id, "page", set_up).await;

    bench.crash_with_catalog(after.path()).await;
    let used = async || {
        let shown = bench.engine.deployment(&bench.tenant, &id).await;
        let [item] = shown.unwrap().items.try_into().unwrap();
        (item.version, item.versions)
    };
    let both = || vec!["1.1.0".to_owned(), "1.0.0".to_owned()];
    assert_eq!(used().await, ("1.0.0".to_owned(), both()));
    let changes = Changes {
        template: template().replace("outputs:", "  extra: {type: OS::Neutron::Net}\noutputs:"),
        cloud: facts(),
        ..Changes::default()
    };
    let updated = bench.engine.update(&bench.actor, &id, changes).await;
    let updated = updated.unwrap();
    let run = bench.end_of(&updated.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(version_of(&bench, &updated).await, "1.0.0");

    let request = UpgradeRequest {
        item: "page".into(),
        version: "1.1.0".into(),
        ..UpgradeRequest::default()
    };
    let upgraded = bench.engine.upgrade(&bench.actor, &id, request, facts());
    let upgraded = upgraded.await.unwrap();
    assert_eq!(version_of(&bench, &upgraded).await, "1.1.0");
    assert_eq!(used().await, ("1.1.0".to_owned(), both()));
    cancel(&bench, &upgraded).await;

    let back = bench.engine.roll_back(&bench.actor, &id, &facts()).await;
    let back = back.unwrap();
    assert_eq!(version_of(&bench, &back).await, "1.0.0");
    assert_eq!(used().await, ("1.0.0".to_owned(), both()));
}
