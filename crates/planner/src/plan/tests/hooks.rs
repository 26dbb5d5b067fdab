//! Hooks of environments in plans.

use super::*;

const TWO: &str = "heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net, properties: {name: NAME}}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
";

/// The steps for a template with hooks, after a deployment.
fn held(template: &str, hooks: &str, deployed: &Deployed) -> String {
    let environment = format!("resource_registry: {{resources: {{{hooks}}}}}\n");
    let bundle = Bundle::new(
        [("hooks.yaml".to_owned(), environment)],
        ["hooks.yaml".to_owned()],
    );
    let plan = plan(&PlanInput {
        document: &Document::parse(template),
        bundle: &bundle,
        parameters: &BTreeMap::new(),
        deployed,
        types: &types(),
        cloud: &CloudFacts::default(),
    });
    assert!(plan.diagnostics.is_empty(), "{:?}", plan.diagnostics);
    steps(&plan.workflow.unwrap())
}

#[test]
fn a_run_waits_before_and_after_a_creation() {
    let hooks = "net: {hooks: [pre-create, post-create]}";
    insta::assert_snapshot!(held(TWO, hooks, &Deployed::default()), @r"
    net:pre-create <- 
    net:create <- net:pre-create
    net:post-create <- net:create
    sub:create <- net:post-create
    ");
}

#[test]
fn an_update_and_an_undeployment_have_their_own_hooks() {
    let before = deployed(&plan_of(TWO));
    let hooks = "'*': {hooks: [pre-create, pre-update, post-delete]}";
    let after = TWO.replace("NAME", "other");
    insta::assert_snapshot!(held(&after, hooks, &before), @r"
    net:pre-update <- 
    net:update <- net:pre-update
    ");
    let rule = hot::environment::Rule {
        resource: "net".into(),
        hooks: vec!["pre-delete".into()],
        restricted_actions: Vec::new(),
        file: String::new(),
        at: Default::default(),
    };
    let plan = plan_undeploy(&before, &types(), &[rule]);
    insta::assert_snapshot!(steps(&plan.workflow.unwrap()), @r"
    sub:delete <- 
    net:pre-delete <- sub:delete
    net:delete <- net:pre-delete
    ");
}

#[test]
fn the_members_of_a_group_wait_for_its_hook() {
    let text = "heat_template_version: 2021-04-16
resources:
  web:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def: {type: OS::Neutron::Net}
";
    let hooks = "web: {hooks: pre-create, '0': {hooks: post-create}}";
    insta::assert_snapshot!(held(text, hooks, &Deployed::default()), @r"
    web:pre-create <- 
    web/0:create <- web:pre-create
    web/0:post-create <- web/0:create web:pre-create
    web/1:create <- web:pre-create
    web:create <- web/0:post-create web/1:create web:pre-create
    ");
}

#[test]
fn a_group_has_its_hooks_when_only_its_members_change() {
    let text = "heat_template_version: 2021-04-16
resources:
  web:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def: {type: OS::Neutron::Net, properties: {name: NAME}}
  after: {type: OS::Neutron::Net, depends_on: web, properties: {name: NAME}}
";
    let before = deployed(&plan_of(text));
    let hooks = "web: {hooks: [pre-update, post-update], '0': {hooks: [pre-update, post-update]}}";
    insta::assert_snapshot!(held(&text.replace("NAME", "other"), hooks, &before), @r"
    web:pre-update <- 
    web/0:pre-update <- web:pre-update
    web/0:update <- web/0:pre-update web:pre-update
    web/0:post-update <- web/0:update web:pre-update
    web/1:update <- web:pre-update
    web:post-update <- web/0:post-update web/1:update
    after:update <- web:post-update
    ");
    assert_eq!(held(text, hooks, &before), "");
}

#[test]
fn a_replacement_waits_before_the_new_one_and_before_the_old_one_goes() {
    let text = |zone: &str| {
        format!(
            "heat_template_version: 2021-04-16
resources:
  net: {{type: OS::Neutron::Net, properties: {{availability_zone_hints: [{zone}]}}}}
"
        )
    };
    let before = deployed(&plan_of(&text("a")));
    let hooks = "net: {hooks: [pre-create, pre-delete]}";
    insta::assert_snapshot!(held(&text("b"), hooks, &before), @r"
    net:pre-create <- 
    net:create <- net:pre-create
    net:pre-delete <- net:create
    net:delete-old <- net:pre-delete
    ");
}
