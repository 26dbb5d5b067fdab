//! Components whose item can be installed alone: the installation does not wait for what is required.

use super::{update::made, *};
use crate::{testing::types_with, workflow::StepKind};
use types::catalog::CatalogItem;

/// The plan of a template over deployed resources. All items can be installed alone.
fn plan_over(deployed: &Deployed, template: &str) -> Workflow {
    let plan = plan(&PlanInput {
        document: &Document::parse(template),
        bundle: &Default::default(),
        parameters: &BTreeMap::new(),
        deployed,
        types: &types_with(|item| CatalogItem {
            installs: true,
            ..item
        }),
        cloud: &cloud(),
    });
    plan.workflow.unwrap()
}

/// The steps that a step waits for.
fn before<'a>(workflow: &'a Workflow, id: &str) -> Option<Vec<&'a str>> {
    let step = workflow.steps.iter().find(|step| step.id == id)?;
    Some(step.after.iter().map(String::as_str).collect())
}

#[test]
fn only_the_configuration_waits_for_the_components_that_it_refers_to() {
    let workflow = plan_over(&Deployed::default(), DEMO);
    assert_eq!(before(&workflow, "proxy:install"), Some(vec!["gate:ssh"]));
    assert_eq!(
        before(&workflow, "proxy:configure"),
        Some(vec!["gate:ssh", "proxy:install", "nginx:configure"])
    );
    // It requires nothing but its server.
    assert_eq!(before(&workflow, "nginx:install"), None);
    let closed = before(&workflow, "bastion:close").unwrap();
    assert!(closed.contains(&"proxy:install"), "{closed:?}");
}

#[test]
fn an_installation_waits_for_what_the_template_orders() {
    let template = DEMO.replacen(
        "type: Stackloom::Catalog::haproxy\n",
        "type: Stackloom::Catalog::haproxy\n    depends_on: first\n",
        1,
    );
    let first = "resources:\n  first: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: gate}, listen_port: 81}}\n";
    let template = template.replacen("resources:\n", first, 1);
    let workflow = plan_over(&Deployed::default(), &template);
    assert_eq!(
        before(&workflow, "proxy:install"),
        Some(vec!["gate:ssh", "first:configure"])
    );
}

#[test]
fn an_installation_waits_for_a_component_of_depends_on_that_a_property_refers_to_as_well() {
    let template = DEMO.replacen(
        "type: Stackloom::Catalog::haproxy\n",
        "type: Stackloom::Catalog::haproxy\n    depends_on: nginx\n",
        1,
    );
    let third = "resources:\n  third: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: gate}, listen_port: 81}}\n";
    let template = template.replacen("resources:\n", third, 1).replacen(
        "[{get_resource: nginx}]",
        "[{get_resource: nginx}, {get_resource: third}]",
        1,
    );
    let workflow = plan_over(&Deployed::default(), &template);
    assert_eq!(
        before(&workflow, "proxy:install"),
        Some(vec!["gate:ssh", "nginx:configure"])
    );
}

#[test]
fn an_installation_in_a_group_waits_for_what_the_group_depends_on() {
    let member = "  more:
    type: OS::Heat::ResourceGroup
    depends_on: nginx
    properties:
      count: 1
      resource_def:
        type: Stackloom::Catalog::haproxy
        properties: {host: {get_resource: gate}, listen_port: 90, backends: [{get_resource: nginx}, {get_resource: third}]}
  third: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: gate}, listen_port: 81}}
";
    let template = DEMO.replacen("outputs:\n", &format!("{member}outputs:\n"), 1);
    let workflow = plan_over(&Deployed::default(), &template);
    assert_eq!(
        before(&workflow, "more/0:install"),
        Some(vec!["gate:ssh", "nginx:configure"])
    );
}

#[test]
fn a_component_that_is_set_up_again_is_not_installed_before() {
    let changed = DEMO.replacen("listen_port: 8080", "listen_port: 8090", 1);
    let workflow = plan_over(&made(&plan_of(DEMO)), &changed);
    assert!(before(&workflow, "proxy:configure").is_some());
    let mut steps = workflow.steps.iter();
    assert!(!steps.any(|step| step.kind == StepKind::Install));
}
