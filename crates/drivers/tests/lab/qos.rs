//! Rules of QoS policies: without a marker, they are identified by policy, type and values.

use drivers::DriverError;
use openstack::network::QosPolicy;
use openstack::qos::QosRuleKind;
use serde_json::{Value, json};

use crate::world::World;

const POLICY: &str = "OS::Neutron::QoSPolicy";
const RULES: [(&str, &str, &str); 4] = [
    ("OS::Neutron::QoSBandwidthLimitRule", "max_kbps", "egress"),
    ("OS::Neutron::QoSDscpMarkingRule", "dscp_mark", ""),
    (
        "OS::Neutron::QoSMinimumBandwidthRule",
        "min_kbps",
        "ingress",
    ),
    (
        "OS::Neutron::QoSMinimumPacketRateRule",
        "min_kpps",
        "egress",
    ),
];

fn rule(policy: &str, field: &str, direction: &str, value: u32) -> Value {
    let mut properties = json!({"policy": policy, field: value});
    if !direction.is_empty() {
        properties["direction"] = json!(direction);
    }
    properties
}

/// An administrator's world with a policy.
async fn world() -> (World, String) {
    let world = World::of("admin").await;
    let policy = world.create("promise", POLICY, &json!({})).await.unwrap();
    (world, policy)
}

async fn rules(world: &World, policy: &str) -> usize {
    let network = world.session.network();
    let policy: QosPolicy = network.get(policy).await.unwrap();
    policy.rules.len()
}

#[tokio::test]
async fn made_twice_is_there_once_changed_in_place_and_removed() {
    let (world, policy) = world().await;
    for (kind, field, direction) in RULES {
        let first = rule(&policy, field, direction, 16);
        let id = world.create("rule", kind, &first).await.unwrap();
        assert_eq!(
            world.create("rule", kind, &first).await.unwrap(),
            id,
            "{kind}"
        );
        let ready = world.wait_ready("rule", kind, &first, &id).await.unwrap();
        assert_eq!(
            id,
            format!("{policy}:{}", ready.reference.as_str().unwrap())
        );
        assert_eq!(ready.attributes["show"][field], 16);

        let then = rule(&policy, field, direction, 18);
        let changed = world.with("rule", kind, &then, async |driver, context| {
            driver.update(context, &id).await
        });
        changed.await.unwrap();
        let ready = world.wait_ready("rule", kind, &then, &id).await.unwrap();
        assert_eq!(ready.attributes[field], 18);
        assert_eq!(rules(&world, &policy).await, 1);
        world.delete("rule", kind, &then, Some(&id)).await;
        assert_eq!(rules(&world, &policy).await, 0);
    }
}

#[tokio::test]
async fn another_promise_of_the_same_kind_is_somebody_elses() {
    let (world, policy) = world().await;
    for (kind, field, direction) in RULES {
        let theirs = rule(&policy, field, direction, 10);
        world.create("theirs", kind, &theirs).await.unwrap();
        let before = rules(&world, &policy).await;
        let ours = rule(&policy, field, direction, 20);
        let refused = world.create("ours", kind, &ours).await.unwrap_err();
        let DriverError::Cloud(error) = &refused else {
            panic!("{refused}");
        };
        assert!(error.is_conflict(), "{error}");
        // It was not created, so nothing is deleted.
        world.delete("ours", kind, &ours, None).await;
        assert_eq!(rules(&world, &policy).await, before);
        // Without an id, the rule with equal values is deleted; without properties, nothing was created.
        world.delete("ours", kind, &json!({}), None).await;
        world.delete("theirs", kind, &theirs, None).await;
        assert_eq!(rules(&world, &policy).await, before - 1);
    }
}

#[tokio::test]
async fn the_rules_go_with_their_policy() {
    let (world, policy) = world().await;
    let (kind, field, direction) = RULES[0];
    let first = rule(&policy, field, direction, 10);
    let id = world.create("rule", kind, &first).await.unwrap();
    world
        .delete("promise", POLICY, &json!({}), Some(&policy))
        .await;
    assert_eq!(
        world
            .wait_ready("rule", kind, &first, &id)
            .await
            .unwrap_err(),
        "the QoS rule is gone"
    );
    world.delete("rule", kind, &first, Some(&id)).await;
    world.delete("rule", kind, &first, None).await;
}

/// Absent properties have Heat's defaults: an ingress rule is not an egress rule.
#[tokio::test]
async fn a_rule_of_the_other_direction_is_another_rule() {
    let (world, policy) = world().await;
    let (kind, field, _) = RULES[0];
    let inwards = rule(&policy, field, "ingress", 1000);
    let outwards = rule(&policy, field, "", 1000);
    let first = world.create("in", kind, &inwards).await.unwrap();
    let second = world.create("out", kind, &outwards).await.unwrap();
    assert_ne!(first, second);
    world.delete("out", kind, &outwards, None).await;
    let there = world
        .wait_ready("in", kind, &inwards, &first)
        .await
        .unwrap();
    assert_eq!(there.attributes["direction"], "ingress");
}

/// In a policy outside the deployment, an equal rule can be an administrator's.
#[tokio::test]
async fn in_a_policy_of_the_clouds_only_what_is_known_is_ours() {
    let world = World::of("admin").await;
    let network = world.session.network();
    let fields = json!({"name": "gold"});
    let policy: QosPolicy = network.create(&fields).await.unwrap();
    let (kind, field, direction) = RULES[0];
    let existing = json!({field: 10, "direction": direction, "max_burst_kbps": 0});
    network
        .qos_rules(&policy.id, QosRuleKind::BandwidthLimit)
        .create(&existing)
        .await
        .unwrap();
    let ours = rule(&policy.id, field, direction, 10);
    world.create("ours", kind, &ours).await.unwrap_err();
    world.delete("ours", kind, &ours, None).await;
    assert_eq!(rules(&world, &policy.id).await, 1);
}
