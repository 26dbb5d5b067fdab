//! Hidden values: stored per change, sealed everywhere, and removed when they are unused.

mod sealed;

use std::collections::BTreeMap;

use api::{RunState, Started};
use engine::{Changes, Error, NewDeployment, Preview};
use hot::bundle::Bundle;
use lab::{CallFault, Fault};
use serde_json::{Value, json};

use crate::{
    bench::{Bench, facts, steps},
    update::{servers_fail, to},
};

/// A network whose name is a hidden parameter.
const WORD: &str = "heat_template_version: 2021-04-16
parameters:
  word: {type: string, hidden: true, default: x}
resources:
  front: {type: OS::Neutron::Net, properties: {name: {get_param: word}}}
";

fn word(value: &str) -> BTreeMap<String, Value> {
    BTreeMap::from([("word".to_owned(), json!(value))])
}

fn with_word(template: &str, value: &str) -> Changes {
    Changes {
        parameters: word(value),
        ..to(template)
    }
}

impl Bench {
    fn a_network_is_called(&self, name: &str) -> bool {
        self.lab
            .model(|model| model.networks.iter().any(|network| network.name == name))
    }

    /// Number of secrets with hidden parameters in the vault.
    fn stored_parameters(&self) -> usize {
        let left = self.left();
        left.iter()
            .filter(|one| one.contains("-parameters"))
            .count()
    }

    /// Unused secrets are removed after the end of a run.
    async fn until_stored(&self, wanted: usize) {
        let what = format!("{wanted} secrets with hidden parameters");
        self.eventually(&what, async || self.stored_parameters() == wanted)
            .await;
    }

    /// Deploys a template with files, in which a network has a hidden name.
    async fn deploys_with(&self, template: &str, bundle: Bundle) -> Started {
        let new = NewDeployment {
            name: "shop".into(),
            template: template.into(),
            bundle,
            cloud: facts(),
            ..NewDeployment::default()
        };
        let started = self.engine.deploy(&self.actor, new).await.unwrap();
        let run = self.end_of(&started.run).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        assert!(self.a_network_is_called("xyzzy-4711"));
        started
    }

    /// All tables of the database, without its write-ahead log.
    async fn database(&self) -> String {
        store::testing::all_tables(&self.store).await.join("\n")
    }
}

#[tokio::test]
async fn a_hidden_value_is_kept_until_another_is_given_and_rolled_back() {
    let bench = Bench::new().await;
    let started = bench
        .try_deploy("shop", WORD, word("secret"))
        .await
        .unwrap();
    bench.end_of(&started.run).await;
    assert!(bench.a_network_is_called("secret"));

    let run = bench.update(&started.deployment, to(WORD)).await;
    assert!(run.steps.is_empty(), "nobody said it anew: {run:#?}");
    let two = format!(
        "{WORD}  back: {{type: OS::Neutron::Net, properties: {{name: {{get_param: word}}, admin_state_up: false}}}}\n"
    );
    let run = bench.update(&started.deployment, to(&two)).await;
    assert_eq!(
        steps(&run).into_keys().collect::<Vec<_>>(),
        ["back:create"],
        "{run:#?}"
    );
    bench.lab.model(|model| {
        let called = |name| model.networks.iter().filter(move |one| one.name == name);
        assert_eq!((called("secret").count(), called("x").count()), (2, 0));
    });

    // The network gets the new value, a server fails, and the change is rolled back.
    bench.lab.faults().add(servers_fail(2));
    let more = WORD.to_owned() + "  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.0.1.0/24}}
  web: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}}
";
    let changes = Changes {
        parameters: word("other"),
        ..to(&more)
    };
    let run = bench.update(&started.deployment, changes).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    assert!(bench.a_network_is_called("other"));
    let back = bench
        .engine
        .roll_back(&bench.actor, &started.deployment, &facts())
        .await
        .unwrap();
    let run = bench.end_of(&back.run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(
        bench.a_network_is_called("secret")
            && !bench.a_network_is_called("other")
            && !bench.a_network_is_called("x")
    );
    let run = bench.update(&started.deployment, to(&two)).await;
    assert!(run.steps.is_empty(), "{run:#?}");
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// Two users change the same deployment at once: one is refused, and none of that user's values stay.
#[tokio::test]
async fn a_refused_update_leaves_no_value_behind() {
    let bench = Bench::new().await;
    let started = bench.try_deploy("shop", WORD, word("first")).await.unwrap();
    bench.end_of(&started.run).await;
    for round in 0..4 {
        let (one, other) = (format!("one-{round}"), format!("other-{round}"));
        let update = |value: &str| {
            bench
                .engine
                .update(&bench.actor, &started.deployment, with_word(WORD, value))
        };
        let (first, second) = tokio::join!(update(&one), update(&other));
        let (winner, run) = match (first, second) {
            (Ok(started), Err(_busy)) => (one, started.run),
            (Err(_busy), Ok(started)) => (other, started.run),
            both => panic!("one at a time: {both:?}"),
        };
        assert_eq!(bench.end_of(&run).await.state, RunState::Succeeded);
        assert!(bench.a_network_is_called(&winner));
        // The stored value is still the network's name.
        let run = bench.update(&started.deployment, to(WORD)).await;
        assert!(run.steps.is_empty(), "{run:#?}");
        assert!(bench.a_network_is_called(&winner));
        bench.until_stored(1).await;
    }
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn hidden_values_are_deleted_when_no_run_can_return_to_them() {
    let bench = Bench::new().await;
    let started = bench.try_deploy("shop", WORD, word("first")).await.unwrap();
    bench.end_of(&started.run).await;
    bench.until_stored(1).await;
    let more = WORD.to_owned() + "  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.0.1.0/24}}
  web: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}}
";
    for value in ["second", "third"] {
        bench.lab.faults().add(servers_fail(2));
        let run = bench
            .update(&started.deployment, with_word(&more, value))
            .await;
        assert_eq!(run.state, RunState::Failed, "{run:#?}");
        // The values of the last good state and of the pending change.
        bench.until_stored(2).await;
    }
    let run = bench
        .update(&started.deployment, with_word(&more, "fourth"))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    bench.until_stored(1).await;
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
    assert_eq!(store::testing::hidden_count(&bench.store).await, 0);
}

#[tokio::test]
async fn a_previewed_plan_shows_a_changed_hidden_value() {
    let bench = Bench::new().await;
    let started = bench.try_deploy("shop", WORD, word("first")).await.unwrap();
    bench.end_of(&started.run).await;
    for (value, changes) in [("first", false), ("another", true)] {
        let preview = Preview {
            template: WORD.into(),
            parameters: word(value),
            cloud: facts(),
            ..Preview::default()
        };
        let plan = bench
            .engine
            .plan(&bench.actor, preview, Some(&started.deployment))
            .await
            .unwrap();
        let is_changed = plan
            .workflow
            .is_some_and(|workflow| !workflow.steps.is_empty());
        assert_eq!(is_changed, changes, "{value}");
    }
}

/// The client disconnects as soon as the change is stored, and the key manager is slow.
#[tokio::test]
async fn a_stored_run_starts_though_the_client_disconnects() {
    let bench = Bench::new().await;
    let started = bench.try_deploy("shop", WORD, word("first")).await.unwrap();
    bench.end_of(&started.run).await;
    bench.lab.faults().add(servers_fail(2));
    let more = WORD.to_owned() + "  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: front}, cidr: 10.0.1.0/24}}
  web: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.tiny, networks: [{network: {get_resource: front}}]}}
";
    let failed = bench
        .update(&started.deployment, with_word(&more, "second"))
        .await;
    assert_eq!(failed.state, RunState::Failed, "{failed:#?}");
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("key-manager".into()),
        method: Some("DELETE".into()),
        delay_ms: 1000,
        ..CallFault::default()
    }));
    let update = bench
        .engine
        .update(&bench.actor, &started.deployment, with_word(&more, "third"));
    let is_stored = async {
        loop {
            let last = bench.shown(&started.deployment).await.last_run.unwrap();
            if last != failed.id {
                return last;
            }
            tokio::task::yield_now().await;
        }
    };
    let run = tokio::select! {
        biased;
        run = is_stored => run,
        done = update => done.unwrap().run,
    };
    let run = bench.end_of(&run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(bench.a_network_is_called("third"));
}

/// The secret is deleted from the key manager: a default must not replace the lost value.
#[tokio::test]
async fn a_lost_hidden_value_is_requested_again() {
    let bench = Bench::new().await;
    let started = bench.try_deploy("shop", WORD, word("first")).await.unwrap();
    bench.end_of(&started.run).await;
    let manager = bench.actor.session.key_manager();
    let row = bench
        .store
        .deployment_find(&bench.tenant, &started.deployment)
        .await;
    let name = row.unwrap().unwrap().hidden.unwrap();
    manager.secret_forget(&name).await.unwrap();
    assert_eq!(bench.stored_parameters(), 0);

    let refused = bench
        .engine
        .update(&bench.actor, &started.deployment, to(WORD))
        .await;
    let Err(Error::NotPossibleNow(why)) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        why.contains("is gone from the key manager") && why.contains("`word`"),
        "{why}"
    );
    let plan = |parameters: BTreeMap<String, Value>| {
        let (bench, started) = (&bench, &started);
        async move {
            let id = Some(started.deployment.as_str());
            let preview = Preview {
                template: WORD.into(),
                parameters,
                cloud: facts(),
                ..Preview::default()
            };
            let plan = bench.engine.plan(&bench.actor, preview, id);
            let plan = plan.await.unwrap();
            plan.diagnostics
                .into_iter()
                .map(|one| one.code)
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(plan(BTreeMap::new()).await, ["hidden-value-lost"]);
    assert_eq!(plan(word("second")).await, [""; 0]);
    assert!(bench.a_network_is_called("first"));

    // A new value is stored again; a template without hidden parameters needs none.
    let run = bench
        .update(&started.deployment, with_word(WORD, "second"))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert!(bench.a_network_is_called("second"));
    bench.until_stored(1).await;
    let run = bench.update(&started.deployment, to(WORD)).await;
    assert!(run.steps.is_empty(), "{run:#?}");
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_lost_hidden_value_does_not_prevent_an_undeploy() {
    let bench = Bench::new().await;
    let started = bench.try_deploy("shop", WORD, word("first")).await.unwrap();
    bench.end_of(&started.run).await;
    let id = &started.deployment;
    store::testing::deployment_set_hidden(&bench.store, id, "stackloom-gone").await;
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("DELETE".into()),
        status: Some(400),
        times: Some(2),
        ..CallFault::default()
    }));
    let run = bench.undeploy(&started.deployment).await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    bench.engine.resume(&bench.actor, &run.id).await.unwrap();
    bench.until_state(&run.id, RunState::Succeeded).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// The value at each resource's creation counts, not the latest one of the deployment.
#[tokio::test]
async fn a_hidden_value_that_reached_one_resource_reaches_the_other_in_the_next_update() {
    let bench = Bench::new().await;
    let two = WORD.to_owned()
        + "  back: {type: OS::Neutron::Net, depends_on: front, properties: {name: {get_param: word}}}\n";
    let started = bench
        .try_deploy("shop", &two, word("xyzzy-1"))
        .await
        .unwrap();
    assert_eq!(bench.end_of(&started.run).await.state, RunState::Succeeded);
    let called = |name: &str| {
        let is_called = |one: &&lab::services::Network| one.name == name;
        bench
            .lab
            .model(|model| model.networks.iter().filter(is_called).count())
    };
    bench.lab.faults().add(Fault::Call(CallFault {
        service: Some("network".into()),
        method: Some("PUT".into()),
        status: Some(400),
        ..CallFault::default()
    }));
    let run = bench
        .update(&started.deployment, with_word(&two, "xyzzy-2"))
        .await;
    assert_eq!(run.state, RunState::Failed, "{run:#?}");
    bench.lab.faults().clear();
    assert_eq!((called("xyzzy-1"), called("xyzzy-2")), (2, 0));

    let run = bench
        .update(&started.deployment, with_word(&two, "xyzzy-2"))
        .await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!((called("xyzzy-1"), called("xyzzy-2")), (0, 2));
    let run = bench
        .update(&started.deployment, with_word(&two, "xyzzy-2"))
        .await;
    assert!(run.steps.is_empty(), "{run:#?}");
    // Returning to the first value changes both.
    let run = bench
        .update(&started.deployment, with_word(&two, "xyzzy-1"))
        .await;
    assert_eq!(steps(&run).len(), 2, "{run:#?}");
    assert!(!bench.database().await.contains("xyzzy"));
    bench.undeploy(&started.deployment).await;
    assert_eq!(bench.left(), Vec::<String>::new());
}

/// A password cannot be read, so the cloud's value cannot be compared.
#[tokio::test]
async fn another_hidden_password_reaches_the_server() {
    let bench = Bench::new().await;
    let template = |name: &str| {
        format!(
            "heat_template_version: 2021-04-16
parameters:
  word: {{type: string, hidden: true}}
resources:
  front: {{type: OS::Neutron::Net}}
  sub: {{type: OS::Neutron::Subnet, properties: {{network: {{get_resource: front}}, cidr: 10.0.1.0/24}}}}
  web: {{type: OS::Nova::Server, depends_on: sub, properties: {{name: {name}, admin_pass: {{get_param: word}}, image: debian-12, flavor: m1.tiny, networks: [{{network: {{get_resource: front}}}}]}}}}
"
        )
    };
    let started = bench
        .try_deploy("shop", &template("one"), word("first"))
        .await;
    let started = started.unwrap();
    assert_eq!(bench.end_of(&started.run).await.state, RunState::Succeeded);
    // The lab's servers do not support passwords, so the response is faked.
    bench.lab.faults().add(Fault::Call(CallFault {
        path: Some("*/action".into()),
        status: Some(202),
        ..CallFault::default()
    }));
    for (name, value, expected) in [
        ("one", "second", 1),
        ("two", "second", 0),
        ("two", "third", 1),
    ] {
        bench.lab.faults().clear_calls();
        let changes = with_word(&template(name), value);
        let run = bench.update(&started.deployment, changes).await;
        assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
        assert_eq!(steps(&run).into_keys().collect::<Vec<_>>(), ["web:update"]);
        let calls = bench.lab.faults().calls();
        let actions = calls.iter().filter(|call| call.path.ends_with("/action"));
        assert_eq!(actions.count(), expected, "{name}, {value}");
    }
}
