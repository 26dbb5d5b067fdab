//! What a nested template asks of the resource that it stands for, and what environments say of resources.

use super::*;

const ASKS: &str = "\
heat_template_version: 2021-04-16
resources:
  net:
    type: OS::Neutron::Net
    properties:
      name: {list_join: ['-', [{resource_facade: deletion_policy}, {get_param: 'OS::stack_name'}]]}
      value_specs: {resource_facade: metadata}
      tags: [{list_join: [',', {yaql: {expression: $.data.keys(), data: {resource_facade: update_policy}}}]}]
";

#[test]
fn a_nested_template_knows_the_resource_that_it_stands_for() {
    let template = "\
heat_template_version: 2021-04-16
parameters:
  role: {type: string, default: front}
resources:
  other: {type: OS::Neutron::Net}
  plain: {type: asks.yaml}
  site:
    type: asks.yaml
    deletion_policy: Retain
    metadata: {role: {get_param: role}, beside: {get_resource: other}}
  g:
    type: OS::Heat::ResourceGroup
    properties:
      resource_def: {type: asks.yaml, metadata: {number: '%index%'}}
";
    let made = Given {
        template,
        files: &[("asks.yaml", ASKS)],
        ..Given::default()
    }
    .made();
    let told = |name: &str| property(&made, name, "value_specs");
    assert_eq!(told("plain/net"), json!({}));
    assert_eq!(
        told("site/net"),
        json!({"role": "front", "beside": {"get_resource": "other"}})
    );
    assert_eq!(told("g/0/net"), json!({"number": "0"}));
    assert!(made["site/net"].requires.contains(&"other".to_owned()));
    let name = property(&made, "site/net", "name").to_string();
    assert!(name.contains("Retain"), "{name}");
}

const TWO: &str = "\
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net, properties: {name: NAME}}
  site: {type: inner.yaml}
";
const INNER: &str = "\
heat_template_version: 2021-04-16
resources:
  gate: {type: OS::Neutron::Router, properties: {admin_state_up: true}}
  back: {type: OS::Neutron::Net, properties: {availability_zone_hints: [ZONE]}}
";

#[test]
fn locks_are_kept_and_hooks_are_told() {
    let environment = "\
resource_registry:
  resources:
    net: {restricted_actions: update, hooks: [pre-update, post-delete]}
    site:
      b*: {restricted_actions: [replace]}
";
    let given = |name: &str, zone: &str| (TWO.replace("NAME", name), INNER.replace("ZONE", zone));
    let plan = |(outer, inner): (String, String), deployed: Deployed| {
        Given {
            template: &outer,
            files: &[("inner.yaml", &inner), ("locks.yaml", environment)],
            deployed,
            ..Given::default()
        }
        .plan()
    };
    let first = plan(given("one", "a"), Deployed::default());
    insta::assert_snapshot!(told(&first.diagnostics), @"3:39 Info environment-ignored resource_registry.resources.net: `net` has the hooks `pre-update` and `post-delete`: they are kept, and a run does not stop for them");
    let deployed = Deployed::of(
        first
            .workflow
            .expect("a lock is no reason against making")
            .resources,
    );
    let same = plan(given("one", "a"), deployed.clone());
    assert!(same.workflow.is_some(), "{}", told(&same.diagnostics));
    let other = plan(given("two", "b"), deployed);
    assert!(other.workflow.is_none());
    insta::assert_snapshot!(told(&other.diagnostics), @r"
    3:3 Error action-restricted resources.net: `net` would be changed (`name` changes), which `restricted_actions` in `locks.yaml` (line 3) forbids; take that away, or leave `net` as it is
    4:3 Error action-restricted resources.site/back: `site/back` would be replaced (`availability_zone_hints` changes: it will be replaced), which `restricted_actions` in `locks.yaml` (line 5) forbids; take that away, or leave `site/back` as it is
    3:39 Info environment-ignored resource_registry.resources.net: `net` has the hooks `pre-update` and `post-delete`: they are kept, and a run does not stop for them
    ");
}

#[test]
fn nothing_is_fetched_from_elsewhere() {
    let errors = |kind: &str, environment: &str| {
        Given {
            template: &resources(&format!("  a: {{type: {kind}}}\n")),
            files: &[("e.yaml", environment)],
            ..Given::default()
        }
        .errors()
    };
    let registry = "resource_registry: {My::Web: 'https://example.org/web.yaml', My::Other: 'http://example.org/other?raw=1'}";
    insta::assert_snapshot!(errors("'My::Web'", registry), @"3:7 Error file-missing resources.a.type: `a` is made from `https://example.org/web.yaml`, and nothing is fetched from elsewhere: add the file beside the template, and name it by its own name");
    insta::assert_snapshot!(errors("'My::Other'", registry), @"3:7 Error file-missing resources.a.type: `a` is made from `http://example.org/other?raw=1`, and nothing is fetched from elsewhere: add the file beside the template, and name it by its own name");
    insta::assert_snapshot!(errors("'https://example.org/web.yaml'", registry), @"3:7 Error file-missing resources.a.type: `a` is made from `https://example.org/web.yaml`, and nothing is fetched from elsewhere: add the file beside the template, and name it by its own name");
}
