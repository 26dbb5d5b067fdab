//! Rare types of the network service and the key manager in one deployment. The tests with a real cloud use the same
//! template.

use std::collections::BTreeMap;

use api::{Run, RunState};
use serde_json::json;

use crate::bench::Bench;
use crate::update::{order, to};

const MEMBERS: &str = include_str!("../real/rare.yaml");

/// The template with other defaults.
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

/// The template with an asymmetric key pair, which some real clouds cannot create.
pub fn with_a_pair() -> String {
    with(&[(
        "outputs:\n",
        "  keys: {type: OS::Barbican::Order, properties: {type: asymmetric, algorithm: rsa, bit_length: 2048}}\noutputs:\n",
    )])
}

fn assert_succeeded(run: &Run) {
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
}

#[tokio::test]
async fn each_type_is_created_updated_replaced_and_deleted() {
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

/// Secrets in the key manager can be read, and are not stored in clear text.
#[tokio::test]
async fn secrets_of_the_key_manager_are_passed_on_and_sealed() {
    let template = "heat_template_version: 2021-04-16
parameters:
  word: {type: string, hidden: true}
resources:
  note: {type: OS::Barbican::Secret, properties: {payload: {get_param: word}}}
  keys: {type: OS::Barbican::Order, properties: {type: asymmetric, algorithm: rsa, bit_length: 2048}}
  cipher: {type: OS::Barbican::Order, properties: {type: key, algorithm: aes, bit_length: 256}}
outputs:
  note: {value: {get_attr: [note, decrypted_payload]}}
  private: {value: {get_attr: [keys, private_key]}}
  public: {value: {get_attr: [keys, public_key]}}
";
    let bench = Bench::new().await;
    let given = BTreeMap::from([("word".to_owned(), json!("xyzzy-4711"))]);
    let started = bench.try_deploy("shop", template, given).await.unwrap();
    assert_succeeded(&bench.end_of(&started.run).await);
    let shown = bench.shown(&started.deployment).await;
    let text = |name: &str| {
        shown.outputs[name]
            .value
            .as_ref()
            .unwrap()
            .as_str()
            .unwrap()
    };
    assert_eq!(text("note"), "xyzzy-4711");
    assert!(text("private").starts_with("-----BEGIN PRIVATE KEY"));
    assert!(text("public").starts_with("-----BEGIN PUBLIC KEY"));
    let stored = store::testing::table(&bench.store, "resources")
        .await
        .join("\n");
    assert!(stored.contains("BEGIN PUBLIC KEY"), "{stored}");
    assert!(
        !stored.contains("xyzzy") && !stored.contains("BEGIN PRIVATE KEY"),
        "{stored}"
    );
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}
