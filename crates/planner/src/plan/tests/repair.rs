//! Repairs: plans of an unchanged template for resources that were damaged in the cloud.

use serde_json::json;

use super::{update::made, *};
use crate::deployed::Damage;

const WEB: &str = "
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}, fixed_ips: [{subnet: {get_resource: sub}}]}}
  web: {type: OS::Nova::Server, properties: {flavor: m1.small, image: debian-12, networks: [{port: {get_resource: port}}]}}
  data: {type: OS::Cinder::Volume, properties: {size: 1}}
  disk: {type: OS::Cinder::VolumeAttachment, properties: {instance_uuid: {get_resource: web}, volume_id: {get_resource: data}}}
";

/// The plan of a repair.
fn repair(damage: &[(&str, Damage)]) -> Plan {
    let template = resources(WEB);
    let deployed = Deployed {
        damage: damage
            .iter()
            .map(|(name, damage)| ((*name).to_owned(), damage.clone()))
            .collect(),
        ..made(&plan_of(&template))
    };
    plan_with(&template, &[], &deployed)
}

fn changes(plan: &Plan) -> Vec<String> {
    let changed = plan.changes.iter();
    let changed = changed.filter(|change| change.action != Action::None);
    changed
        .map(|change| {
            let because = change.because.as_deref().unwrap_or("-");
            format!("{:?} {}: {because}", change.action, change.resource)
        })
        .collect()
}

#[test]
fn nothing_is_damaged() {
    let plan = repair(&[]);
    assert_eq!(changes(&plan), Vec::<String>::new());
}

#[test]
fn a_server_that_is_gone_is_created_again_and_its_disk_attached_again() {
    let plan = repair(&[("web", Damage::Gone), ("disk", Damage::Gone)]);
    let gone = "it is gone from the cloud: it is created again";
    let expected = [
        format!("Create web: {gone}"),
        format!("Create disk: {gone}"),
    ];
    assert_eq!(changes(&plan), expected);
    let workflow = plan.workflow.unwrap();
    let ids: Vec<&str> = workflow.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["web:create", "disk:create"]);
}

#[test]
fn what_was_made_from_a_lost_server_follows_it() {
    let plan = repair(&[("web", Damage::Gone)]);
    let changed = changes(&plan);
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(
        changed[1].starts_with("Replace disk: `instance_uuid` changes"),
        "{changed:?}"
    );
}

#[test]
fn a_broken_server_is_replaced() {
    let plan = repair(&[("web", Damage::Broken("state ERROR".into()))]);
    let changed = changes(&plan);
    assert_eq!(
        changed[0],
        "Replace web: it cannot be used (state ERROR): it will be replaced"
    );
}

#[test]
fn a_component_that_is_not_healthy_is_set_up_again() {
    let template = resources(
        "
  web: {type: OS::Nova::Server, metadata: {stackloom: {public: true}}, properties: {flavor: m1.small, image: debian-12, networks: [{network: public}]}}
  nginx: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: web}}}
",
    );
    let why = "Answers requests: HTTP 503, expected less than 500";
    let damage = [("nginx".to_owned(), Damage::Unhealthy(why.to_owned()))];
    let deployed = Deployed {
        damage: damage.into(),
        ..made(&plan_of(&template))
    };
    let plan = plan_with(&template, &[], &deployed);
    assert_eq!(
        changes(&plan),
        [format!(
            "Update nginx: it is not healthy ({why}): it is set up again"
        )]
    );
    let workflow = plan.workflow.unwrap();
    let ids: Vec<&str> = workflow.steps.iter().map(|step| step.id.as_str()).collect();
    assert!(ids.contains(&"nginx:configure"), "{ids:?}");
}

#[test]
fn values_that_were_changed_by_hand_are_restored() {
    let changed = vec![
        ("flavor".to_owned(), Some(json!("m1.huge"))),
        ("status".to_owned(), Some(json!("SHUTOFF"))),
    ];
    let plan = repair(&[("web", Damage::Changed(changed))]);
    assert_eq!(
        changes(&plan),
        ["Update web: `flavor`, `status` were changed in the cloud: restored"]
    );
    let change = plan.changes.iter().find(|change| change.resource == "web");
    let flavor = &change.unwrap().properties[0];
    assert_eq!(
        (&flavor.old, &flavor.new),
        (&Some(json!("m1.huge")), &Some(json!("m1.small")))
    );
    let workflow = plan.workflow.unwrap();
    let steps: Vec<_> = workflow
        .steps
        .iter()
        .map(|step| (step.id.as_str(), step.repairs))
        .collect();
    assert_eq!(steps, [("web:update", true)]);
    assert_eq!(workflow.steps[0].changed, ["flavor", "status"]);
}
