use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::{
    plan::{Action, Plan, PlanInput, plan},
    testing::{cloud, resources, types},
};
use hot::diagnostic::listing;

/// A template with its files. Files that look like environments are environments.
#[derive(Default)]
struct Given<'a> {
    template: &'a str,
    files: &'a [(&'a str, &'a str)],
    parameters: &'a [(&'a str, Value)],
    deployed: Deployed,
}

impl Given<'_> {
    fn plan(&self) -> Plan {
        let files = self.files.iter();
        let environments = files
            .clone()
            .filter(|(_, text)| hot::bundle::is_environment(text))
            .map(|(name, _)| (*name).to_owned());
        let bundle = Bundle::new(
            files.map(|(name, text)| ((*name).to_owned(), (*text).to_owned())),
            environments,
        );
        let parameters = self.parameters.iter();
        let parameters: BTreeMap<String, Value> = parameters
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        plan(&PlanInput {
            document: &Document::parse(self.template),
            bundle: &bundle,
            parameters: &parameters,
            deployed: &self.deployed,
            types: &types(),
            cloud: &cloud(),
        })
    }

    /// Planned resources. Fails if there is an error.
    fn made(&self) -> BTreeMap<String, ResourceSpec> {
        let plan = self.plan();
        match plan.workflow {
            Some(workflow) => workflow.resources,
            None => panic!("{}", listing(&plan.diagnostics)),
        }
    }

    fn errors(&self) -> String {
        let plan = self.plan();
        let errors: Vec<_> = plan
            .diagnostics
            .into_iter()
            .filter(Diagnostic::is_error)
            .collect();
        let files: Vec<String> = errors
            .iter()
            .map(|one| {
                one.file
                    .clone()
                    .map_or(String::new(), |file| format!("{file}:"))
            })
            .collect();
        let lines = listing(&errors);
        let lines: Vec<String> = lines
            .lines()
            .zip(files)
            .map(|(line, file)| format!("{file}{line}"))
            .collect();
        lines.join("\n")
    }
}

fn property(resources: &BTreeMap<String, ResourceSpec>, name: &str, property: &str) -> Value {
    let spec = resources.get(name).unwrap_or_else(|| panic!("no `{name}`"));
    spec.properties
        .get(property)
        .map_or(Value::Null, Expr::to_json)
}

const GROUP_OF_THREE: &str = "\
heat_template_version: 2021-04-16
parameters:
  count: {type: number, default: 3}
  names: {type: comma_delimited_list, default: 'a,b,c'}
resources:
  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  group:
    type: OS::Heat::ResourceGroup
    depends_on: subnet
    properties:
      count: {get_param: count}
      resource_def:
        type: OS::Nova::Server
        properties:
          name: {list_join: ['-', [web, '%index%', {get_param: [names, '%index%']}]]}
          image: debian-12
          flavor: m1.small
          networks: [{network: {get_resource: net}}]
outputs:
  all: {value: {get_attr: [group, refs]}}
  map: {value: {get_attr: [group, refs_map]}}
  second: {value: {get_attr: [group, resource.1, networks, private]}}
  dotted: {value: {get_attr: [group, resource.1.first_address]}}
  addresses: {value: {get_attr: [group, first_address]}}
  by_name: {value: {get_attr: [group, attributes, networks, private]}}
  one: {value: {get_attr: [group, refs, 2]}}
";

#[test]
fn a_group_becomes_its_members() {
    let given = Given {
        template: GROUP_OF_THREE,
        ..Given::default()
    };
    let made = given.made();
    assert_eq!(property(&made, "group/0", "name"), "web-0-a");
    assert_eq!(property(&made, "group/2", "name"), "web-2-c");
    assert!(made["group/1"].requires.contains(&"subnet".to_owned()));
    let group = &made["group"];
    assert_eq!(group.resource_type, GROUP);
    for member in ["group/0", "group/1", "group/2"] {
        assert!(group.requires.contains(&member.to_owned()), "{member}");
    }
    // Members are ordinary servers: each has its port.
    assert_eq!(
        property(&made, "group/1", "networks"),
        json!([{"port": {"get_resource": "group/1_port"}}])
    );
    let outputs = given.plan().workflow.unwrap().outputs;
    let output = |name: &str| outputs[name].value.to_json();
    let servers = ["group/0", "group/1", "group/2"];
    assert_eq!(
        output("all"),
        json!(servers.map(|name| json!({"get_resource": name})))
    );
    assert_eq!(output("map")["2"], json!({"get_resource": "group/2"}));
    assert_eq!(
        output("second"),
        json!({"get_attr": ["group/1", "networks", "private"]})
    );
    assert_eq!(
        output("dotted"),
        json!({"get_attr": ["group/1", "first_address"]})
    );
    assert_eq!(
        output("addresses"),
        json!(servers.map(|name| json!({"get_attr": [name, "first_address"]})))
    );
    assert_eq!(
        output("by_name")["0"],
        json!({"get_attr": ["group/0", "networks", "private"]})
    );
    assert_eq!(output("one"), json!({"get_resource": "group/2"}));
}

#[test]
fn an_empty_group_exists_without_its_definition_being_checked() {
    let template = GROUP_OF_THREE.replace(
        "image: debian-12",
        "image: debian-12\n          nonsense: 1",
    );
    let given = Given {
        template: &template
            .replace("{get_attr: [group, resource.1, networks, private]}", "1")
            .replace("{get_attr: [group, resource.1.first_address]}", "1"),
        parameters: &[("count", json!(0))],
        ..Given::default()
    };
    let made = given.made();
    assert!(made.contains_key("group") && !made.contains_key("group/0"));
    let given = Given {
        template: &template,
        ..Given::default()
    };
    assert_eq!(
        given.errors(),
        "18:11 Error unknown-property resources.group.properties.resource_def.properties.nonsense: `OS::Nova::Server` has no property `nonsense`"
    );
}

const WEB: &str = "\
heat_template_version: 2021-04-16
description: A server on a network.
parameters:
  net: {type: string}
  flavor: {type: string, default: m1.small, constraints: [{allowed_values: [m1.small, m1.large]}]}
  labels: {type: json, default: {tier: front}}
resources:
  port: {type: OS::Neutron::Port, properties: {network: {get_param: net}}}
  server:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: {get_param: flavor}
      name: {get_param: 'OS::stack_name'}
      metadata: {tier: {get_param: [labels, tier]}}
      networks: [{port: {get_resource: port}}]
outputs:
  port: {value: {get_resource: port}}
  address: {description: Where it is., value: {get_attr: [server, first_address]}}
  networks: {value: {get_attr: [server, networks]}}
";

const NESTED: &str = "\x20 net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  web: {type: web.yaml, depends_on: subnet, properties: {net: {get_resource: net}}}
  address: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_attr: [web, port]}}}
outputs:
  address: {value: {get_attr: [web, address]}}
  private: {value: {get_attr: [web, networks, private]}}
  inner: {value: {get_attr: [web, resource.server, name]}}
";

#[test]
fn a_nested_template_becomes_its_resources() {
    let given = Given {
        template: &resources(NESTED),
        files: &[("web.yaml", WEB)],
        ..Given::default()
    };
    let made = given.made();
    assert_eq!(
        property(&made, "web/port", "network"),
        json!({"get_resource": "net"})
    );
    assert_eq!(property(&made, "web/server", "flavor"), "m1.small");
    assert_eq!(
        property(&made, "web/server", "metadata"),
        json!({"tier": "front"})
    );
    assert_eq!(
        property(&made, "web/server", "name"),
        json!({"list_join": ["-", [{"get_param": "OS::stack_name"}, "web"]]})
    );
    assert_eq!(
        property(&made, "web/server", "networks"),
        json!([{"port": {"get_resource": "web/port"}}])
    );
    assert_eq!(made["web"].resource_type, "web.yaml");
    assert!(made["web/port"].requires.contains(&"subnet".to_owned()));
    // A reference to the parent is replaced by the referenced value, and waits for the whole parent.
    assert_eq!(
        property(&made, "address", "port_id"),
        json!({"get_resource": "web/port"})
    );
    assert!(made["address"].requires.contains(&"web".to_owned()));
    let outputs = given.plan().workflow.unwrap().outputs;
    assert_eq!(
        outputs["address"].value.to_json(),
        json!({"get_attr": ["web/server", "first_address"]})
    );
    assert_eq!(
        outputs["private"].value.to_json(),
        json!({"get_attr": ["web/server", "networks", "private"]})
    );
    assert_eq!(
        outputs["inner"].value.to_json(),
        json!({"get_attr": ["web/server", "name"]})
    );
}

#[test]
fn a_value_for_a_nested_parameter_replaces_its_default() {
    let web = "\
heat_template_version: 2021-04-16
parameters:
  net: {type: string, default: public}
  key: {type: string, hidden: true, default: ''}
  note: {type: string, default: ''}
conditions:
  has_key: {not: {equals: [{get_param: key}, '']}}
  is_noted: {equals: [{get_param: note}, of the outer template]}
resources:
  port: {type: OS::Neutron::Port, properties: {network: {get_param: net}, name: {if: [has_key, locked, open]}}}
  locked: {type: OS::Neutron::Port, condition: has_key, properties: {network: {get_param: net}}}
  noted: {type: OS::Neutron::Port, condition: is_noted, properties: {network: {get_param: net}, name: {get_param: note}}}
";
    let outer = "\
heat_template_version: 2021-04-16
parameters:
  root_key: {type: string, hidden: true, default: ''}
  root_note: {type: string, hidden: true, default: of the outer template}
resources:
  private: {type: OS::Neutron::Net}
  web: {type: web.yaml, properties: {net: {get_resource: private}, key: {get_param: root_key}, note: {get_param: root_note}}}
";
    let made = |key: &str| {
        let given = Given {
            template: outer,
            files: &[("web.yaml", web)],
            parameters: &[("root_key", json!(key))],
            ..Given::default()
        };
        given.made()
    };
    let with = made("sesame");
    for port in ["web/port", "web/locked", "web/noted"] {
        assert_eq!(
            property(&with, port, "network"),
            json!({"get_resource": "private"})
        );
        assert!(with[port].requires.contains(&"private".to_owned()));
    }
    assert_eq!(property(&with, "web/port", "name"), "locked");
    // A value that is hidden in the outer template is not visible in the nested one, whatever the inner parameter
    // declares.
    assert_eq!(
        property(&with, "web/noted", "name"),
        json!({"get_param": "root_note"})
    );
    let without = made("");
    assert_eq!(property(&without, "web/port", "name"), "open");
    assert!(!without.contains_key("web/locked"));
}

#[test]
fn groups_and_nested_templates_are_nested() {
    let tier = "\
heat_template_version: 2021-04-16
parameters:
  net: {type: string}
  size: {type: number}
resources:
  all:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: size}
      resource_def: {type: lib/web.yaml, properties: {net: {get_param: net}, labels: {tier: 'n%index%'}}}
outputs:
  addresses: {value: {get_attr: [all, address]}}
";
    let given = Given {
        template: &resources(
            "  net: {type: OS::Neutron::Net}\n  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}\n  \
             tier: {type: tier.yaml, properties: {net: {get_resource: net}, size: 2}}\noutputs:\n  all: {value: {get_attr: [tier, addresses]}}\n",
        ),
        files: &[("tier.yaml", tier), ("lib/web.yaml", WEB)],
        ..Given::default()
    };
    let made = given.made();
    assert_eq!(
        property(&made, "tier/all/1/server", "metadata"),
        json!({"tier": "n1"})
    );
    assert_eq!(
        property(&made, "tier/all/0/port", "network"),
        json!({"get_resource": "net"})
    );
    let outputs = given.plan().workflow.unwrap().outputs;
    assert_eq!(
        outputs["all"].value.to_json(),
        json!([{"get_attr": ["tier/all/0/server", "first_address"]}, {"get_attr": ["tier/all/1/server", "first_address"]}])
    );
    // Deploying the same template again changes nothing.
    let again = Given {
        deployed: Deployed::of(made),
        ..given
    };
    let changes = again.plan().changes;
    assert!(!changes.is_empty());
    assert!(
        changes.iter().all(|one| one.action == Action::None),
        "{changes:?}"
    );
}

#[test]
fn aliases_and_defaults_come_from_environments() {
    let environment = "\
parameters: {size: 2}
parameter_defaults: {flavor: m1.large}
resource_registry:
  My::Web: lib/web.yaml
  OS::Nova::KeyPair: OS::Heat::None
  OS::Neutron::Net: lib/net.yaml
";
    let net = "\
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
outputs:
  OS::stack_id: {value: {get_resource: net}}
";
    let template = "\
heat_template_version: 2021-04-16
parameters: {size: {type: number}}
resources:
  net: {type: OS::Neutron::Net}
  subnet: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: size}
      resource_def: {type: My::Web, properties: {net: {get_resource: net}}}
";
    let given = Given {
        template,
        files: &[
            ("env.yaml", environment),
            ("lib/web.yaml", WEB),
            ("lib/net.yaml", net),
        ],
        ..Given::default()
    };
    // m1.large is in the template's list but not in the cloud, so this error shows that the default was used.
    let errors = given.errors();
    assert!(
        errors.contains("m1.large") && errors.contains("lib/web.yaml"),
        "{errors}"
    );
    let small = environment.replace("m1.large", "m1.small");
    let given = Given {
        files: &[
            ("env.yaml", &small),
            ("lib/web.yaml", WEB),
            ("lib/net.yaml", net),
        ],
        ..given
    };
    let made = given.made();
    assert_eq!(made["net"].resource_type, "lib/net.yaml");
    assert_eq!(made["net/net"].resource_type, "OS::Neutron::Net");
    // The reference of a nested template with `OS::stack_id` is that output, so its subnet is found.
    assert_eq!(
        property(&made, "subnet", "network"),
        json!({"get_resource": "net/net"})
    );
    assert_eq!(
        property(&made, "group/1/port", "network"),
        json!({"get_resource": "net/net"})
    );
}

#[test]
fn a_nested_template_is_checked_as_a_type_and_as_a_file() {
    let broken = WEB.replace("image: debian-12", "image: debian-12\n      imagee: x");
    let given = Given {
        template: &resources("  web: {type: web.yaml, properties: {network: n, flavor: m2}}\n"),
        files: &[("web.yaml", &broken)],
        ..Given::default()
    };
    assert_eq!(
        given.errors(),
        "3:3 Error property-missing resources.web: `web` needs the property `net`: parameter of `web.yaml`\n\
         3:38 Error unknown-property resources.web.properties.network: `web.yaml` has no property `network`\n\
         3:50 Error property-constraint resources.web.properties.flavor: `flavor`: `m2` is not one of m1.small, m1.large\n\
         web.yaml:13:7 Error unknown-property resources.web/server.properties.imagee: `OS::Nova::Server` has no property `imagee`; did you mean `image`?\n\
         web.yaml:14:7 Error unknown-flavor resources.web/server.properties.flavor: the cloud has no flavor `m2`; there are `m1.small`"
    );
}

#[test]
fn a_group_that_cannot_be_flattened_gives_a_reason() {
    let head = "heat_template_version: 2021-04-16\nresources:\n";
    let one = |template: &str, files: &[(&str, &str)]| {
        Given {
            template: &resources(template),
            files,
            ..Given::default()
        }
        .errors()
    };
    assert_eq!(
        one("  web: {type: web.yaml}\n", &[]),
        "3:9 Error file-missing resources.web.type: `web` is made from `web.yaml`, which is not given: add the file beside the template"
    );
    let a = format!("{head}  b: {{type: b.yaml}}\n");
    let b = format!("{head}  a: {{type: a.yaml}}\n");
    assert_eq!(
        one("  a: {type: a.yaml}\n", &[("a.yaml", &a), ("b.yaml", &b)]),
        "b.yaml:3:7 Error nested-recursion resources.a/b/a.type: `a.yaml` uses itself: `a.yaml` → `b.yaml` → `a.yaml`"
    );
    let mut definition = "{type: OS::Neutron::Net}".to_owned();
    for _ in 0..6 {
        definition = format!(
            "{{type: OS::Heat::ResourceGroup, properties: {{resource_def: {definition}}}}}"
        );
    }
    let deep = one(&format!("  g: {definition}\n"), &[]);
    assert!(
        deep.contains("nested-too-deep") && deep.contains("5 levels"),
        "{deep}"
    );
    let count = |count: &str| {
        one(
            &format!(
                "  n: {{type: OS::Neutron::Net}}\n  g: {{type: OS::Heat::ResourceGroup, properties: {{count: {count}, resource_def: {{type: OS::Neutron::Net}}}}}}\n"
            ),
            &[],
        )
    };
    assert!(count("{get_attr: [n, mtu]}").contains("group-count"));
    assert!(count("10001").contains("too-many-resources"));
    // A group is not empty because a parameter with a value has a name similar to an unknown one.
    let sizes = "heat_template_version: 2021-04-16\nparameters:\n  count: {type: number, default: 3}\n  sizes: {type: json, default: {a: 1}}\nresources:\n  \
                 x: {type: OS::Heat::Value, properties: {value: a}}\n";
    let in_one = format!(
        "{sizes}  g: {{type: OS::Heat::ResourceGroup, properties: {{count: {{get_param: [sizes, {{get_attr: [x, value]}}]}}, resource_def: {{type: OS::Neutron::Net}}}}}}\n"
    );
    let nesting = format!(
        "{sizes}  web: {{type: web.yaml, properties: {{count: {{get_attr: [x, value]}}}}}}\n"
    );
    let nested = "heat_template_version: 2021-04-16\nparameters: {count: {type: number}}\nresources:\n  \
                  g: {type: OS::Heat::ResourceGroup, properties: {count: {get_param: count}, resource_def: {type: OS::Neutron::Net}}}\n";
    for (template, files) in [(in_one, &[][..]), (nesting, &[("web.yaml", nested)][..])] {
        let given = Given {
            template: &template,
            files,
            ..Given::default()
        };
        let errors = given.errors();
        assert!(errors.contains("group-count"), "{errors}");
    }
    // If only a parameter's value is missing, only that is reported.
    let waits = Given {
        template: "heat_template_version: 2021-04-16\nparameters: {n: {type: number}}\nresources:\n  web: {type: web.yaml, properties: {count: {get_param: n}}}\n",
        files: &[("web.yaml", nested)],
        ..Given::default()
    };
    let errors = waits.errors();
    assert!(
        errors.contains("parameter-missing") && !errors.contains("group-count"),
        "{errors}"
    );
    let many = one(
        "  g:\n    type: OS::Heat::ResourceGroup\n    properties:\n      count: 200\n      resource_def:\n        type: OS::Heat::ResourceGroup\n        \
         properties: {count: 200, resource_def: {type: OS::Neutron::Net}}\n",
        &[],
    );
    assert!(many.contains("too-many-resources"), "{many}");
    // A reference to a missing member gives null, as in Heat, with a warning.
    assert_eq!(
        one(
            "  g: {type: OS::Heat::ResourceGroup, properties: {resource_def: {type: OS::Neutron::Net}}}\noutputs:\n  x: {value: {get_attr: [g, resource.4, name]}}\n",
            &[]
        ),
        ""
    );
}

#[test]
fn pins_that_contradict_each_other_are_a_problem_of_the_template() {
    let text = resources(
        "  net: {type: OS::Neutron::Net, metadata: {stackloom: {version: 1.0.0}}}
  one: {type: Stackloom::Catalog::base, metadata: {stackloom: {version: 1.0.0}}, properties: {host: {get_resource: vm}}}
  two:
    type: Stackloom::Catalog::base
    metadata: {stackloom: {version: 1.1.0}}
    properties: {host: {get_resource: vm}}
",
    );
    let document = Document::parse(text);
    let (bundle, given) = (Bundle::default(), BTreeMap::new());
    let mut problems = validate(&document, &bundle, &types(), &cloud(), &given);
    problems.retain(|one| one.code == "item-version");
    insta::assert_snapshot!(listing(&problems), @r"
    3:56 Error item-version resources.net.metadata.stackloom.version: only components have a version, and `OS::Neutron::Net` is no type of the catalogue
    7:28 Error item-version resources.two.metadata.stackloom.version: `base` is pinned to 1.1.0 here and to 1.0.0 elsewhere; a deployment has one version of an item
    ");
}

mod amazon;
mod asked;
mod given;
mod groups;
mod hidden;
mod instances;
mod later;
mod scaling;
