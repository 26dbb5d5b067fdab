//! Another version of an item: its components are set up again, one after the other, and their consumers follow.

use super::{update::made, *};
use crate::testing::types_with;
use types::catalog::CatalogItem;

/// Two web servers behind a proxy.
fn farm() -> String {
    let (servers, _) = DEMO.split_once("  proxy:\n").unwrap();
    format!(
        "{servers}
  second:
    type: OS::Nova::Server
    properties: {{image: debian-12, flavor: m1.small, networks: [{{network: {{get_resource: front}}}}]}}
  web1: {{type: Stackloom::Catalog::nginx, properties: {{host: {{get_resource: inner}}}}}}
  web2: {{type: Stackloom::Catalog::nginx, properties: {{host: {{get_resource: second}}}}}}
  proxy:
    type: Stackloom::Catalog::haproxy
    properties: {{host: {{get_resource: gate}}, backends: [{{get_resource: web1}}, {{get_resource: web2}}]}}
"
    )
}

/// The types with this version of nginx.
fn with_version(version: &str) -> Registry {
    types_with(|item| match item.name.as_str() {
        "nginx" => CatalogItem {
            version: version.to_owned(),
            ..item
        },
        _ => item,
    })
}

fn planned(types: &Registry, deployed: &Deployed) -> Plan {
    plan(&PlanInput {
        document: &Document::parse(farm()),
        bundle: &Default::default(),
        parameters: &BTreeMap::new(),
        deployed,
        types,
        cloud: &cloud(),
    })
}

fn deployed_with(types: &Registry) -> Deployed {
    made(&planned(types, &Deployed::default()))
}

fn changed(plan: &Plan) -> Vec<(&str, Action, Option<&str>)> {
    let changes = plan.changes.iter();
    changes
        .filter(|change| change.action != Action::None)
        .map(|change| {
            let because = change.because.as_deref();
            (change.resource.as_str(), change.action, because)
        })
        .collect()
}

#[test]
fn components_get_another_version_one_after_the_other_and_consumers_follow() {
    let plan = planned(
        &with_version("1.1.0"),
        &deployed_with(&with_version("1.0.0")),
    );
    let because = Some("its item changes from version 1.0.0 to 1.1.0");
    let changes = changed(&plan);
    assert_eq!(
        changes[..2],
        [
            ("web1", Action::Update, because),
            ("web2", Action::Update, because)
        ]
    );
    assert_eq!(changes[2].0, "proxy");
    let workflow = plan.workflow.unwrap();
    insta::assert_snapshot!(steps(&workflow), @r"
    bastion:open <- 
    gate:ssh <- bastion:open
    inner:ssh <- bastion:open gate:ssh
    second:ssh <- bastion:open gate:ssh
    web1:configure <- inner:ssh
    web2:configure <- second:ssh web1:configure
    proxy:configure <- gate:ssh web1:configure web2:configure
    bastion:close (always) <- gate:ssh inner:ssh second:ssh web1:configure web2:configure proxy:configure
    ");
    assert_eq!(workflow.resources["web1"].version.as_deref(), Some("1.1.0"));
}

#[test]
fn a_batch_of_components_gets_another_version_at_the_same_time() {
    let deployed = Deployed {
        upgrade_batch: 2,
        ..deployed_with(&with_version("1.0.0"))
    };
    let plan = planned(&with_version("1.1.0"), &deployed);
    let steps = plan.workflow.unwrap().steps;
    let second = steps.iter().find(|step| step.id == "web2:configure");
    assert_eq!(second.unwrap().after, ["second:ssh"]);
}

#[test]
fn the_same_version_changes_nothing() {
    let types = with_version("1.0.0");
    assert_eq!(changed(&planned(&types, &deployed_with(&types))), []);
}

#[test]
fn a_component_without_a_recorded_version_stays_as_it_is() {
    let mut before = deployed_with(&with_version("1.0.0"));
    for spec in before.resources.values_mut() {
        spec.version = None;
    }
    assert_eq!(changed(&planned(&with_version("1.1.0"), &before)), []);
}
