//! Signals to scaling policies, which scale while nobody is logged in.

use api::StepState;
use engine::Changes;
use hot::bundle::Bundle;

use super::*;
use crate::{groups::policy, update::to};

impl Bench {
    /// The reason why a signal does nothing.
    async fn ignored(&self, target: &SignalTarget, body: &str) -> String {
        match self.engine.policy_signal(target, body.as_bytes()).await {
            Ok(PolicySignal::Nothing(why)) => why,
            Ok(PolicySignal::Scaling(scaling)) => panic!("{}", scaling.summary),
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_signal_to_a_policy_scales_its_group_while_nobody_is_logged_in() {
    let (bench, deployment) = group().await;
    let (up, down) = (
        bench.policy(&deployment, "up").await,
        bench.policy(&deployment, "down").await,
    );
    let why = bench.refused(&up).await;
    assert!(
        why.contains("nobody has permitted this deployment to scale by itself"),
        "{why}"
    );

    let given = bench.permit(&deployment).await;
    assert_eq!(
        (given.author.as_str(), given.has_access_rules),
        ("demo", true)
    );
    assert!(!given.opens_secrets, "the cloud has a key manager");
    let end: Timestamp = given.expires.parse().unwrap();
    assert_eq!(
        end.duration_since(given.created.parse().unwrap())
            .as_hours(),
        24 * 30
    );
    assert_eq!(bench.shown(&deployment).await.permission, Some(given));
    bench.lab.model(|model| {
        let row = model
            .identity
            .application_credentials
            .iter()
            .next()
            .unwrap();
        assert_eq!(
            (row.roles.as_slice(), row.unrestricted),
            (&["member".to_owned()][..], false)
        );
        let rules = row.access_rules.iter().flatten();
        let services: Vec<_> = rules.map(|rule| rule.service.as_str()).collect();
        assert!(services.contains(&"compute") && !services.contains(&"object-store"));
    });

    let resolved = r#"{"version": "4", "status": "resolved"}"#;
    let why = bench.ignored(&up, resolved).await;
    assert_eq!(why, "the alarm is not raised, so the group stays as it is");
    let unchanged = bench.ignored(&down, "").await;
    assert!(
        unchanged.contains("`down` changes nothing now"),
        "{unchanged}"
    );

    let run = bench.signalled(&up).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(run.author, "demo (standing permission)");
    let scaling = run.scaling.unwrap();
    assert_eq!((scaling.from, scaling.to), (1, 3));
    let firing = r#"{"version": "4", "status": "firing"}"#;
    let cooldown = bench.ignored(&down, firing).await;
    assert!(
        cooldown.contains("`web` was scaled a short time ago"),
        "{cooldown}"
    );
    let invalid = bench.engine.policy_signal(&up, b"up!").await;
    assert!(matches!(invalid, Err(Error::SignalInvalid(_))));

    bench.undeploy(&deployment).await;
    assert_eq!(bench.credentials(), Vec::<String>::new());
    for table in ["permissions", "unused_credentials"] {
        assert_eq!(bench.table(table).await, Vec::<String>::new(), "{table}");
    }
    let late = bench.policy_signal(&up).await;
    assert!(matches!(late, Err(Error::NotPossibleNow(_))));
    assert_eq!(bench.left(), Vec::<String>::new());
}

#[tokio::test]
async fn a_signal_during_a_run_is_refused() {
    let (bench, deployment) = group().await;
    bench.permit(&deployment).await;
    let up = bench.policy(&deployment, "up").await;
    let run = bench.scaling(&deployment).await;
    let busy = bench.policy_signal(&up).await;
    assert!(matches!(busy, Err(Error::Busy(by)) if by == run));
    bench.end_of(&run).await;

    // The same while the group is updated: the update goes on, and the group keeps its size.
    let renamed = GROUP.replace(
        "OS::Neutron::Net}",
        "OS::Neutron::Net, properties: {name: n}}",
    );
    let held = renamed.replace("outputs:", "  held: {type: OS::Neutron::Net}\noutputs:");
    let hooks = "resource_registry: {resources: {held: {hooks: pre-create}}}\n";
    let changes = Changes {
        bundle: Some(Bundle::new(
            [("hooks.yaml".to_owned(), hooks.to_owned())],
            ["hooks.yaml".to_owned()],
        )),
        ..to(&held)
    };
    let update = bench.engine.update(&bench.actor, &deployment, changes);
    let run = update.await.unwrap().run;
    let hook = "held:pre-create";
    bench.until_step(&run, hook, StepState::Running).await;
    let busy = bench.policy_signal(&up).await;
    assert!(matches!(busy, Err(Error::Busy(by)) if by == run));
    let by_hand = bench.try_scale(&deployment, policy("up")).await;
    assert!(matches!(by_hand, Err(Error::Busy(by)) if by == run));
    let released = bench.engine.release_hook(&bench.tenant, &run, hook);
    released.await.unwrap();
    let run = bench.end_of(&run).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:#?}");
    assert_eq!(bench.shown(&deployment).await.groups[0].size, 2);
}
