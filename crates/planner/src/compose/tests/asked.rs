//! References of a nested template to the resource that it implements, and rules of environments for resources.

use super::*;
use hot::diagnostic::listing;

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
fn a_nested_template_reads_its_parent_resource() {
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
    let value_specs = |name: &str| property(&made, name, "value_specs");
    assert_eq!(value_specs("plain/net"), json!({}));
    assert_eq!(
        value_specs("site/net"),
        json!({"role": "front", "beside": {"get_resource": "other"}})
    );
    assert_eq!(value_specs("g/0/net"), json!({"number": "0"}));
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
fn restricted_actions_are_kept() {
    let environment = "\
resource_registry:
  resources:
    net: {restricted_actions: update}
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
    assert_eq!(listing(&first.diagnostics), "");
    let deployed = Deployed::of(
        first
            .workflow
            .expect("a lock is no reason against making")
            .resources,
    );
    let same = plan(given("one", "a"), deployed.clone());
    assert!(same.workflow.is_some(), "{}", listing(&same.diagnostics));
    let other = plan(given("two", "b"), deployed);
    assert!(other.workflow.is_none());
    insta::assert_snapshot!(listing(&other.diagnostics), @r"
    3:3 Error action-restricted resources.net: `net` would be changed (`name` changes), which `restricted_actions` in `locks.yaml` (line 3) forbids; remove that rule, or do not change `net`
    4:3 Error action-restricted resources.site/back: `site/back` would be replaced (`availability_zone_hints` changes: it will be replaced), which `restricted_actions` in `locks.yaml` (line 5) forbids; remove that rule, or do not change `site/back`
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

/// Heat creates a nested stack when all its arguments exist. A condition can depend on them.
#[test]
fn an_if_on_a_late_value_is_evaluated_by_the_run() {
    let inner = "\
heat_template_version: 2021-04-16
parameters:
  shared: {type: boolean}
  other: {type: string, default: x}
conditions:
  own: {not: {equals: [{get_param: shared}, true]}}
  both: {and: [own, {equals: [{get_param: other}, x]}]}
resources:
  net:
    type: OS::Neutron::Net
    properties: {name: {if: [both, mine, theirs]}, admin_state_up: {if: [{get_param: shared}, true, false]}}
outputs:
  name: {value: {if: [own, {get_attr: [net, name]}]}}
  there: {value: {get_resource: net}, condition: both}
";
    let template = "\
heat_template_version: 2021-04-16
resources:
  outside: {type: OS::Neutron::Net}
  web: {type: web.yaml, properties: {shared: {get_attr: [outside, admin_state_up]}}}
outputs:
  name: {value: {get_attr: [web, name]}}
";
    let given = Given {
        template,
        files: &[("web.yaml", inner)],
        ..Given::default()
    };
    let resources = given.made();
    let shared = json!({"Stackloom::Given": {
        "parameter": {"name": "shared", "of": "web.yaml", "kind": "boolean"},
        "value": {"get_attr": ["outside", "admin_state_up"]},
    }});
    let own = json!({"not": {"equals": [shared, true]}});
    let both = json!({"and": [own, {"equals": ["x", "x"]}]});
    assert_eq!(
        property(&resources, "web/net", "name"),
        json!({"if": [both, "mine", "theirs"]})
    );
    assert_eq!(resources["web/net"].requires, ["outside"]);
    assert_eq!(
        property(&resources, "web", "there"),
        json!({"if": [both, {"get_resource": "web/net"}]})
    );

    struct Run(bool);
    impl Scope for Run {
        fn parameter(&self, _: &str) -> Option<Value> {
            None
        }
        fn reference(&self, resource: &str) -> Option<Value> {
            Some(json!(format!("id of {resource}")))
        }
        fn attribute(&self, _: &str, name: &str) -> Option<Value> {
            Some(match name {
                "admin_state_up" => json!(self.0),
                name => json!(name),
            })
        }
    }
    let value = |name: &str, property: &str, shared: bool| {
        resources[name].properties[property].resolve(&Run(shared))
    };
    assert_eq!(value("web/net", "name", false), Ok(json!("mine")));
    assert_eq!(value("web/net", "name", true), Ok(json!("theirs")));
    assert_eq!(value("web/net", "admin_state_up", true), Ok(json!(true)));
    assert_eq!(value("web", "name", true), Ok(Value::Null));
    assert_eq!(value("web", "there", false), Ok(json!("id of web/net")));
}

#[test]
fn conditions_belong_to_their_own_template() {
    let inner = "\
heat_template_version: 2021-04-16
conditions:
  here: {equals: [{get_param: 'OS::stack_name'}, shop-web]}
  ours: {equals: [{get_param: 'OS::project_id'}, p1]}
resources:
  a: {type: OS::Neutron::Net, condition: here}
  b: {type: OS::Neutron::Net, condition: ours, properties: {name: {get_param: 'OS::project_id'}}}
";
    let template = "\
heat_template_version: 2021-04-16
conditions:
  shop: {equals: [{get_param: 'OS::stack_name'}, shop]}
resources:
  net: {type: OS::Neutron::Net, condition: shop}
  web: {type: web.yaml}
outputs:
  net: {value: {get_resource: net}, condition: shop}
";
    let there = |name: &str| {
        let pseudo = [("OS::stack_name", name), ("OS::project_id", "p1")];
        let pseudo = pseudo.map(|(name, value)| (name.to_owned(), json!(value)));
        let made = Given {
            template,
            files: &[("web.yaml", inner)],
            deployed: Deployed {
                pseudo: pseudo.into(),
                ..Deployed::default()
            },
            ..Given::default()
        }
        .made();
        // A stored value would have to change with the name.
        let name = property(&made, "web/b", "name");
        assert_eq!(name, json!({"get_param": "OS::project_id"}));
        made.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(there("shop"), ["net", "web", "web/a", "web/b"]);
    assert_eq!(there("other"), ["web", "web/b"]);
}

#[test]
fn a_resource_condition_must_be_known_before_the_run() {
    let inner = "\
heat_template_version: 2021-04-16
parameters:
  shared: {type: boolean}
conditions:
  own: {not: {equals: [{get_param: shared}, true]}}
resources:
  net: {type: OS::Neutron::Net}
  more:
    type: OS::Neutron::Net
    condition: own
";
    let template = "\
heat_template_version: 2021-04-16
parameters:
  given: {type: boolean, default: false}
resources:
  outside: {type: OS::Neutron::Net}
  web: {type: web.yaml, properties: {shared: {get_attr: [outside, admin_state_up]}}}
";
    let files = [("web.yaml", inner)];
    let given = Given {
        template,
        files: &files,
        ..Given::default()
    };
    assert_eq!(
        given.errors(),
        "web.yaml:10:5 Error condition-late resources.web/more.condition: whether `web/more` is there hangs on what becomes \
         of `outside`, and a plan must know it before: give the nested template a value that is known then, such as a parameter"
    );
    let known = template.replace(
        "{get_attr: [outside, admin_state_up]}",
        "{get_param: given}",
    );
    let known = Given {
        template: &known,
        ..given
    };
    assert!(known.made().contains_key("web/more"));
}

/// Plan for `web`, whose condition `cN` is `step` of the previous condition, N times.
fn chained(step: impl Fn(&str) -> String, times: usize) -> Plan {
    let chain: String = (1..=times)
        .map(|at| format!("  c{at}: {}\n", step(&format!("c{}", at - 1))))
        .collect();
    let inner = format!(
        "\
heat_template_version: 2021-04-16
parameters:
  up: {{type: boolean}}
conditions:
  c0: {{equals: [{{get_param: up}}, true]}}
{chain}resources:
  net: {{type: OS::Neutron::Net, properties: {{name: {{if: [c{times}, a, b]}}}}}}
"
    );
    let template = "\
heat_template_version: 2021-04-16
resources:
  outside: {type: OS::Neutron::Net}
  web: {type: web.yaml, properties: {up: {get_attr: [outside, admin_state_up]}}}
";
    Given {
        template,
        files: &[("web.yaml", &inner)],
        ..Given::default()
    }
    .plan()
}

#[test]
fn conditions_that_refer_to_each_other_are_expanded_to_a_limit() {
    let deep = |before: &str| format!("{{and: [{before}, true]}}");
    let plan = chained(deep, 40);
    let Some(workflow) = plan.workflow else {
        panic!("{}", listing(&plan.diagnostics));
    };
    // The workflow can be stored and read again.
    let stored = serde_json::to_string(&workflow).unwrap();
    let read: crate::workflow::Workflow = serde_json::from_str(&stored).unwrap();
    assert_eq!(read.resources, workflow.resources);

    let wide = |before: &str| format!("{{and: [{before}, {{not: {before}}}]}}");
    for plan in [chained(deep, 60), chained(wide, 19), chained(wide, 60)] {
        let errors = plan.diagnostics.iter().filter(|one| one.is_error());
        let errors: Vec<&Diagnostic> = errors.collect();
        assert_eq!(errors.len(), 1, "{}", listing(&plan.diagnostics));
        assert_eq!(
            (errors[0].code.as_ref(), errors[0].path.as_str()),
            ("condition-late", "resources.web")
        );
        assert!(
            errors[0].message.contains("too long"),
            "{}",
            errors[0].message
        );
    }
}
