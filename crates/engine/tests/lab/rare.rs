//! Everything rare of the network service and the key manager in one deployment, as it is made on a real cloud too.

use api::{Run, RunState};

use crate::bench::Bench;
use crate::update::{order, to};

const MEMBERS: &str = include_str!("../real/rare.yaml");

/// The template with other values in place of its defaults.
fn with(changes: &[(&str, &str)]) -> String {
    let mut template = MEMBERS.replace(
        "outside: {type: string}",
        "outside: {type: string, default: public}",
    );
    for (before, after) in changes {
        assert!(template.contains(before), "{before}");
        template = template.replace(before, after);
    }
    template
}

fn assert_succeeded(run: &Run) {
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
}

#[tokio::test]
async fn it_is_made_changed_in_place_replaced_and_gone() {
    let bench = Bench::new().await;
    let (started, run) = bench.deploy(&with(&[])).await;
    assert_succeeded(&run);
    let before = bench.ids(&started.deployment).await;

    let in_place = [
        ("default: wide", "default: wider"),
        ("default: 8080", "default: 8081"),
        ("default: one", "default: two"),
    ];
    let run = bench
        .update(&started.deployment, to(&with(&in_place)))
        .await;
    assert_succeeded(&run);
    let mut changed = order(&run);
    changed.sort_unstable();
    assert_eq!(changed, ["scope:update", "sharing:update", "web:update"]);
    let after = bench.ids(&started.deployment).await;
    assert_eq!(after["scope"], before["scope"]);
    assert_eq!(after["web"], before["web"]);

    let mut replaced = in_place.to_vec();
    replaced.push(("default: cbc", "default: ctr"));
    replaced.push(("10.201.0.0/24", "10.202.0.0/24"));
    let run = bench
        .update(&started.deployment, to(&with(&replaced)))
        .await;
    assert_succeeded(&run);
    let last = bench.ids(&started.deployment).await;
    for (name, id) in &last {
        let is_replaced = ["cipher", "all", "route"].contains(&name.as_str());
        assert_eq!(after[name] != *id, is_replaced, "{name}");
    }

    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}
