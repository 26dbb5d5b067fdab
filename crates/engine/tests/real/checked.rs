//! Requests that a real cloud accepts and then does not carry out, and servers with an image and additional volumes.

use api::{Run, RunState};
use engine::Changes;
use openstack::flavors::FLAVORS;
use openstack::{Session, collection};
use serde_json::json;

use super::{assert_succeeded, parameters};
use crate::place::{Place, real_cloud};

const TEMPLATE: &str = include_str!("checked.yaml");
/// Size in GiB, larger than the capacity of any cloud.
const TOO_LARGE: u64 = 900_000;

fn error_of(run: &Run, step: &str) -> String {
    let found = run.steps.iter().find(|one| one.id == step);
    found.and_then(|one| one.error.clone()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_change_is_reported_and_the_resource_stays() {
    let Some((clouds, name)) = real_cloud() else {
        return;
    };
    let Some(entry) = clouds.iter().find(|cloud| cloud.name.contains("admin")) else {
        eprintln!("skipped: an administrator has to make a flavor that is too large");
        return;
    };
    let credentials = entry.credentials.clone().unwrap();
    let admin = Session::login(entry, &credentials, entry.scope.as_ref());
    let admin = admin.await.unwrap();
    let place = Place::open_apart(&clouds, &name, "contract-checked").await;
    let huge = format!("{}-huge", place.actor.user);
    let fields = json!({"name": huge, "ram": 64, "vcpus": 1, "disk": TOO_LARGE * 1_000});
    let flavors = admin.records(&FLAVORS);
    let flavor = flavors.create(fields.as_object().unwrap()).await.unwrap();

    let before = place.belongings().await;
    let started = place.deploy("contract-checked", TEMPLATE, parameters(&place).await);
    let started = started.await;
    assert_succeeded(&place.end_of(&started.run, |_| {}).await);

    let with = async |name: &str, value: serde_json::Value| {
        let mut parameters = parameters(&place).await;
        parameters.insert(name.to_owned(), value);
        let changes = Changes {
            template: TEMPLATE.into(),
            parameters,
            ..Changes::default()
        };
        let started = place
            .engine
            .update(&place.actor, &started.deployment, changes);
        place.end_of(&started.await.unwrap().run, |_| {}).await
    };
    let run = with("flavor", json!(huge)).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "web:update");
    eprintln!("{error}");
    assert!(
        error.contains(&format!("`web` was not resized to `{huge}`: ")),
        "{error}"
    );
    assert!(error.contains("runs as before"), "{error}");

    let run = with("size", json!(TOO_LARGE)).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    let error = error_of(&run, "disk:update");
    eprintln!("{error}");
    assert!(error.contains("It still has 1 GiB"), "{error}");

    // Back to the actual size: no change is left, and the run succeeds.
    let run = with("size", json!(1)).await;
    assert_succeeded(&run);
    let ended = place.undeploy(&started.deployment).await;
    assert_succeeded(&place.end_of(&ended.run, |_| {}).await);
    assert_eq!(place.belongings().await, before);
    flavors.delete(&collection::id_of(&flavor)).await.unwrap();
    place.close().await;
}
