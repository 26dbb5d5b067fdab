use super::*;
use crate::testing::{DEMO, cloud, resources, types};
use hot::diagnostic::listing;

#[track_caller]
fn problems(text: &str) -> String {
    listing(&validate(&Document::parse(text), &types(), &cloud()))
}

#[test]
fn a_valid_template_has_no_problems() {
    assert_eq!(problems(DEMO), "");
}

#[test]
fn a_template_in_another_language_gives_one_error() {
    let text =
        "HeatTemplateFormatVersion: '2012-12-12'\nResources:\n  web: {Type: 'OS::Nova::Server'}\n";
    insta::assert_snapshot!(problems(text), @"1:1 Error cloudformation-template HeatTemplateFormatVersion: this is a CloudFormation template, by its `HeatTemplateFormatVersion`, and Stackloom reads HOT: deploy it with Heat as it is, or write it as HOT, beginning with `heat_template_version: 2021-04-16`");
}

#[test]
fn structure() {
    insta::assert_snapshot!(problems("resource:\n  a: {type: x}\n"), @r"
    1:1 Error version-missing : the template must say `heat_template_version`, such as `heat_template_version: 2021-04-16`
    1:1 Error unknown-key resource: `resource` is no key of a template; did you mean `resources`?
    ");
    insta::assert_snapshot!(problems("heat_template_version: 2021-04-17\nresources: [a]\n"), @r"
    1:24 Error version-unknown heat_template_version: `2021-04-17` is no version of HOT; there are `2013-05-23`, `2014-10-16`, `2015-04-30`, `2015-10-15`, `2016-04-08`, `2016-10-14`, `newton`, `2017-02-24`, `ocata`, `2017-09-01`, `pike`, `2018-03-02`, `queens`, `2018-08-31`, `rocky`, `2021-04-16` and `wallaby`
    2:12 Error wrong-shape resources: a map from names to resources belongs here, not a list
    ");
    insta::assert_snapshot!(problems("heat_template_version: \"2013-05-23\"\nresources:\n  <b>x</b>: {type: OS::Neutron::Net, propertys: {}}\n  n: {}\n"), @"
    3:3 Error bad-name resources.<b>x</b>: `<b>x</b>` cannot name a resource: a name has no `/`, `:` or `@`
    3:38 Error unknown-key resources.<b>x</b>.propertys: `propertys` is no key of a resource; did you mean `properties`?
    4:3 Error resource-type-missing resources.n: a resource needs a `type`, such as `OS::Nova::Server`
    ");
    insta::assert_snapshot!(problems("heat_template_version: wallaby\nparameters:\n  p: {type: sting, constraints: [{lenght: {min: 1}}, {allowed_pattern: '('}]}\n"), @r"
    3:13 Error parameter-type-unknown parameters.p: `sting` is no type of parameter; there are `string`, `number`, `json`, `comma_delimited_list` and `boolean`; did you mean `string`?
    3:35 Error constraint-invalid parameters.p.constraints.0: `lenght` is no constraint; did you mean `length`?
    3:55 Error constraint-invalid parameters.p.constraints.1: `(` is no pattern that we can read: found open group without closing ')'
    ");
    insta::assert_snapshot!(problems("heat_template_version: wallaby\nresources:\n  a:\n    type: OS::Neutron::Net\n    condition: x\n    metadata: {stackloom: {publik: true}}\n    properties: {name: {get_file: x}, tags: [{get_attr: x}]}\n"), @r"
    5:5 Error unknown-condition resources.a.condition: there is no condition `x` in the template
    6:28 Error unknown-key resources.a.metadata.stackloom.publik: `publik` is no key of `metadata.stackloom`; did you mean `public`?
    7:47 Error function-arguments resources.a.properties.tags.0: `get_attr` takes a list: a resource's name, an attribute, then keys and indices
    ");
    insta::assert_snapshot!(problems(""), @"1:1 Error version-missing : the template must say `heat_template_version`, such as `heat_template_version: 2021-04-16`");
    insta::assert_snapshot!(problems("just text"), @r"
    1:1 Error wrong-shape : a map with `heat_template_version` and `resources` belongs here, not text
    1:1 Error version-missing : the template must say `heat_template_version`, such as `heat_template_version: 2021-04-16`
    ");
    insta::assert_snapshot!(problems("heat_template_version: wallaby\nresources:\n  a: {type: OS::Neutron::Net\n  b: 1\n"), @r"
    3:7 Warning resource-type-not-deployable resources.a.type: `OS::Neutron::Net b` is kept in the template, but Stackloom cannot deploy it yet
    4:4 Error yaml-syntax : this is not YAML: while parsing a flow mapping, did not find expected ',' or '}'
    ");
}

#[test]
fn types_and_properties() {
    insta::assert_snapshot!(problems(&resources("
  a: {type: OS::Nova::Sever}
  b: {type: OS::Zun::Container, properties: {image: nginx}}
  c: {type: Stackloom::Catalog::ngnix}
  d: {type: Nonsense}
  e: {type: OS::Neutron::Subnet, properties: {nettwork: x, cidr: 10.0.0/24, ip_version: 5, enable_dhcp: maybe, dns_nameservers: {}}}
  f: {type: OS::Neutron::SecurityGroup, properties: {rules: [{direction: in, port_range_min: 99999}, {ports: 1}]}}
")), @r"
    4:7 Error resource-type-unknown resources.a.type: there is no resource type `OS::Nova::Sever`; did you mean `OS::Nova::Server`?
    5:7 Warning resource-type-not-deployable resources.b.type: `OS::Zun::Container` is kept in the template, but Stackloom cannot deploy it yet
    6:7 Error resource-type-unknown resources.c.type: there is no resource type `Stackloom::Catalog::ngnix`; did you mean `Stackloom::Catalog::nginx`?
    7:7 Error resource-type-unknown resources.d.type: there is no resource type `Nonsense`
    8:3 Error property-missing resources.e: `e` needs the property `network`: the network that it belongs to
    8:47 Error unknown-property resources.e.properties.nettwork: `OS::Neutron::Subnet` has no property `nettwork`; did you mean `network`?
    8:60 Error property-constraint resources.e.properties.cidr: `cidr`: `10.0.0/24` is not a range of addresses such as `10.0.0.0/24`
    8:77 Error property-constraint resources.e.properties.ip_version: `ip_version`: `5` is not one of 4, 6
    8:92 Error property-type resources.e.properties.enable_dhcp: `enable_dhcp`: it takes `true` or `false`, not `maybe`
    8:112 Error property-type resources.e.properties.dns_nameservers: `dns_nameservers` takes a list, not a map
    9:63 Error property-constraint resources.f.properties.rules.0.direction: `direction`: `in` is not one of ingress, egress
    9:78 Error property-constraint resources.f.properties.rules.0.port_range_min: `port_range_min`: 99999 is out of range: it must be from 0 to 65535
    9:103 Error unknown-property resources.f.properties.rules.1.ports: `rules` has no key `ports`
    ");
}

#[test]
fn references() {
    insta::assert_snapshot!(problems(&resources("
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: nett}, cidr: {get_param: range}}}
  web:
    type: OS::Nova::Server
    depends_on: [sub, gone]
    properties: {flavor: m1.small, networks: [{network: {get_resource: sub}}]}
outputs:
  a: {value: {get_attr: [web, first_adress]}}
  b: {value: {str_replace: {template: x, params: {x: {get_attr: [none, x]}}}}}
")), @"
    5:49 Error unknown-resource resources.sub.properties.network: there is no resource `nett` in the template; did you mean `net`?
    5:80 Error unknown-parameter resources.sub.properties.cidr: there is no parameter `range` in the template
    6:3 Warning property-missing resources.web: the server `web` has nothing to boot from: give it an `image`, or a volume in `block_device_mapping_v2`
    8:23 Error unknown-resource resources.web.depends_on.1: there is no resource `gone` in the template
    9:48 Warning reference-type resources.web.properties.networks.0.network: `network` takes a resource of type `OS::Neutron::Net` or `OS::Neutron::ProviderNet`; `sub` is of type `OS::Neutron::Subnet`
    11:7 Error unknown-attribute outputs.a.value: `web` of type `OS::Nova::Server` has no attribute `first_adress`; did you mean `first_address`?
    12:51 Error unknown-resource outputs.b.value.str_replace.params.x: there is no resource `none` in the template
    ");
}

#[test]
fn circles() {
    insta::assert_snapshot!(problems(&resources("
  a: {type: OS::Neutron::Net, depends_on: b}
  b: {type: OS::Neutron::Net, depends_on: c}
  c: {type: OS::Neutron::Net, depends_on: a}
  d: {type: OS::Neutron::Net, properties: {name: {get_attr: [d, name]}}}
")), @r"
    4:3 Error circular-reference resources.a: these resources wait for each other in a circle: `a` → `b` → `c` → `a`
    7:3 Error circular-reference resources.d: `d` waits for itself
    ");
}

#[test]
fn the_cloud_and_servers() {
    insta::assert_snapshot!(problems(&resources("
  alone: {type: OS::Nova::Server, properties: {flavor: m1.smal, image: debian12}}
  odd: {type: OS::Nova::Server, properties: {flavor: m1.small, networks: [{fixed_ip: 10.0.0.1}], key_name: mine}}
  router: {type: OS::Neutron::Router, properties: {external_gateway_info: {network: publik}}}
")), @"
    4:3 Error server-without-network resources.alone: the server `alone` is attached to no network; connect it to one
    4:48 Error unknown-flavor resources.alone.properties.flavor: the cloud has no flavor `m1.smal`; did you mean `m1.small`?
    4:65 Error unknown-image resources.alone.properties.image: the cloud has no image `debian12`; did you mean `debian-12`?
    5:3 Warning property-missing resources.odd: the server `odd` has nothing to boot from: give it an `image`, or a volume in `block_device_mapping_v2`
    5:75 Error server-without-network resources.odd.properties.networks.0: this entry of `odd` names no `network`, `port` or `subnet`
    5:98 Error unknown-key-pair resources.odd.properties.key_name: the cloud has no key pair `mine`; it has none
    6:76 Error unknown-external-network resources.router.properties.external_gateway_info.network: the cloud has no external network `publik`; did you mean `public`?
    ");
}

#[test]
fn software_with_more_connections_than_it_takes() {
    let found = problems(&resources(
        "
  web: {type: OS::Nova::Server, properties: {image: debian-12, flavor: m1.small}}
  one: {type: Stackloom::Catalog::base, properties: {host: {get_resource: web}}}
  two: {type: Stackloom::Catalog::base, properties: {host: {get_resource: web}, listen_port: 3307}}
  blog:
    type: Stackloom::Catalog::blog
    properties: {host: {get_resource: web}, database: [{get_resource: one}, {get_resource: two}]}
",
    ));
    let expected = "Error connection-count resources.blog.properties.database: `blog` can be connected to at most one as `database`, and is connected to 2";
    assert!(found.contains(expected), "{found}");
}

#[test]
fn software() {
    insta::assert_snapshot!(problems(&resources("
  net: {type: OS::Neutron::Net}
  web: {type: OS::Nova::Server, properties: {flavor: m1.small, networks: [{network: {get_resource: net}}]}}
  one: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: web}}}
  two: {type: Stackloom::Catalog::nginx, properties: {host: {get_resource: web}, listen_port: 80}}
  lost: {type: Stackloom::Catalog::nginx, properties: {listen_port: 99999}}
  proxy: {type: Stackloom::Catalog::haproxy, properties: {host: {get_resource: net}}}
  proxy2: {type: Stackloom::Catalog::haproxy, properties: {host: {get_resource: web}, listen_port: 81, backends: [{get_resource: web}]}}
")), @"
    5:3 Warning property-missing resources.web: the server `web` has nothing to boot from: give it an `image`, or a volume in `block_device_mapping_v2`
    7:82 Error port-conflict resources.two.properties.listen_port: `two` and `one` both listen on port 80 of `web`; give one another `listen_port`
    8:3 Error component-without-host resources.lost: `lost` runs on no server: drop it on one, or set its `host`
    8:56 Error property-constraint resources.lost.properties.listen_port: `listen_port`: 99999 is out of range: it must be from 1 to 65535
    9:3 Error connection-count resources.proxy: `proxy` must be connected to at least one that provides `http` (`backends`), and is connected to none
    9:59 Error reference-type resources.proxy.properties.host: `host` takes a resource of type `OS::Nova::Server`; `net` is of type `OS::Neutron::Net`
    10:115 Error reference-type resources.proxy2.properties.backends.0: `backends` takes software that provides `http`; `web` is of type `OS::Nova::Server`
    ");
}

#[test]
fn parameter_values_are_checked_and_hidden_ones_not_shown() {
    insta::assert_snapshot!(problems("heat_template_version: wallaby
parameters:
  flavor: {type: string, default: m1.huge}
  secret: {type: string, hidden: true, default: hush}
resources:
  net: {type: OS::Neutron::Net}
  web: {type: OS::Nova::Server, properties: {flavor: {get_param: flavor}, image: {get_param: secret}, networks: [{network: {get_resource: net}}]}}
"), @"7:46 Error unknown-flavor resources.web.properties.flavor: the cloud has no flavor `m1.huge`; there are `m1.small`");
}

#[test]
fn public_templates_that_heat_accepts_have_no_errors_of_ours() {
    // Names of the cloud's objects are unknown offline.
    let text =
        resources("  web: {type: OS::Nova::Server, properties: {flavor: any, image: any}}\n");
    let found = validate(
        &Document::parse(text),
        &Registry::openstack(),
        &CloudFacts::default(),
    );
    assert!(found.iter().all(|one| !one.is_error()), "{found:?}");
}

#[test]
fn keys_of_other_versions_are_named() {
    insta::assert_snapshot!(problems("\
heat_template_version: 2013-05-23
conditions: {c: true}
parameters:
  p: {type: number, default: 1, tags: [x], constraints: [{modulo: {step: 2, offset: 1}}]}
resources:
  net: {type: OS::Neutron::Net, condition: true, external_id: x, deletion_policy: retain}
outputs:
  o: {value: 1, condition: c}
"), @"
    2:1 Error unknown-key conditions: `conditions` came with version 2016-10-14 of HOT, and this template is of version 2013-05-23
    4:33 Error unknown-key parameters.p.tags: `tags` came with version 2018-03-02 of HOT, and this template is of version 2013-05-23
    4:59 Error constraint-invalid parameters.p.constraints.0: the constraint `modulo` came with version 2017-02-24, and this template is of version 2013-05-23
    6:33 Error unknown-key resources.net.condition: `condition` came with version 2016-10-14 of HOT, and this template is of version 2013-05-23
    6:50 Error unknown-key resources.net.external_id: `external_id` came with version 2016-10-14 of HOT, and this template is of version 2013-05-23
    6:83 Error deletion-policy-unknown resources.net.deletion_policy: `retain` is no deletion policy; there are `Delete`, `Retain` and `Snapshot`; lower-case words came with version 2016-10-14
    8:17 Warning unknown-key outputs.o.condition: `condition` is no key of an output in version 2013-05-23, and nothing comes of it
    ");
}

#[test]
fn conditions() {
    insta::assert_snapshot!(problems("\
heat_template_version: 2021-04-16
parameters:
  env: {type: string, default: dev}
conditions:
  prod: {equals: [{get_param: env}, prod]}
  wrong: {get_param: env}
  typo: {not: prd}
  other: {equals: [{get_param: evn}, {get_resource: net}]}
  text: [a]
resources:
  net: {type: OS::Neutron::Net, condition: prod}
  sub:
    type: OS::Neutron::Subnet
    depends_on: net
    properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}
  port:
    type: OS::Neutron::Port
    properties: {network: {if: [prod, {get_resource: net}, public]}, name: {if: [pord, a, b]}}
outputs:
  a: {value: {get_attr: [net, name]}}
  b: {value: {get_attr: [net, name]}, condition: prod}
"), @"
    6:3 Warning function-arguments conditions.wrong: a condition is `true`, `false`, the name of a condition, or a function that gives one of the two; `dev` is not
    7:3 Warning unknown-condition conditions.typo: there is no condition `prd` in the template; did you mean `prod`?
    8:3 Error unknown-parameter conditions.other: there is no parameter `evn` in the template; did you mean `env`?
    8:39 Error function-unsupported conditions.other.equals.1: the function `get_resource` cannot stand in a condition: conditions know parameters only, by `get_param`, `equals`, `not`, `and`, `or`, `contains` and `yaql`
    9:9 Error wrong-shape conditions.text: a condition (`true`, `false`, the name of one, or a function such as `equals`) belongs here, not a list
    11:3 Info resource-off resources.net: `net` is left out: its condition does not hold
    15:18 Error resource-off resources.sub.properties.network: `net` is not there: its condition does not hold; give this value the same condition by `if`
    18:82 Error unknown-condition resources.port.properties.name.if.0: there is no condition `pord` in the template; did you mean `prod`?
    20:7 Error resource-off outputs.a.value: `net` is not there: its condition does not hold; give this value the same condition by `if`
    ");
}

#[test]
fn policies_and_live_objects() {
    insta::assert_snapshot!(problems("\
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net, deletion_policy: Snapshot}
  old: {type: OS::Neutron::Net, deletion_policy: keep, external_id: {get_param: id}}
  live: {type: OS::Neutron::Net, external_id: n-1, depends_on: net}
  func: {type: {get_param: t}, depends_on: {get_param: d}, description: [a], update_policy: 5}
"), @r#"
    3:33 Error deletion-policy-unknown resources.net.deletion_policy: nothing can be kept of a `OS::Neutron::Net` in a snapshot; say `delete` or `retain`
    4:50 Error deletion-policy-unknown resources.old.deletion_policy: `keep` is no deletion policy; there are `delete`, `retain` and `snapshot`
    4:56 Error unknown-parameter resources.old.external_id: there is no parameter `id` in the template
    5:34 Error external-depends resources.live.external_id: `live` is a live object, by its `external_id`, and cannot depend on `net`
    6:3 Error resource-type-missing resources.func: a resource needs a `type`, such as `OS::Nova::Server`
    6:16 Error wrong-shape resources.func.type: text belongs here, not a map; the function `get_param` is not allowed here
    6:44 Error wrong-shape resources.func.depends_on: the name of a resource, or a list of names, belongs here, not a map; the function `get_param` is not allowed here
    6:73 Error wrong-shape resources.func.description: text belongs here, not a list
    6:93 Error wrong-shape resources.func.update_policy: a map belongs here, not a number
    "#);
}

#[test]
fn groups_of_parameters() {
    insta::assert_snapshot!(problems("\
heat_template_version: 2021-04-16
parameter_groups:
  - {label: One, parameters: [a, b, a]}
  - {label: Two}
  - {parameters: [c], lable: x}
parameters:
  a: {type: string, default: x, immutable: true, hidden: maybe}
  b: {type: number, default: 5, constraints: [{range: {max: 3}}, {length: {max: 3}}, {modulo: {step: 0, offset: 0}}]}
  OS::stack_name: {type: string}
  e: {type: string, default: '', constraints: [{custom_constraint: nova.flavour}, {range: {min: a}}, {length: {mn: 1}}]}
"), @"
    3:37 Error parameter-group-invalid parameter_groups.0.parameters.2: the parameter `a` is in a group already; it can be in one only
    4:5 Error parameter-group-invalid parameter_groups.1: a group of parameters needs `parameters`, a list of names
    5:19 Error parameter-group-invalid parameter_groups.2.parameters.0: there is no parameter `c` in the template
    5:23 Warning unknown-key parameter_groups.2.lable: `lable` is no key of a group of parameters, and nothing comes of it; did you mean `label`?
    7:58 Warning wrong-shape parameters.a.hidden: `true` or `false` belongs here, not text; it counts as `true`
    8:21 Error parameter-invalid parameters.b.default: the parameter `b`: 5 is out of range: it must be at most 3
    8:67 Error constraint-invalid parameters.b.constraints.1: `length` does not apply to a parameter of type `number`
    8:87 Error constraint-invalid parameters.b.constraints.2: `step` of `modulo` cannot be 0
    9:3 Error bad-name parameters.OS::stack_name: `OS::stack_name` is always there and cannot be declared
    10:49 Error constraint-invalid parameters.e.constraints.0: there is no custom constraint `nova.flavour`; did you mean `nova.flavor`?
    10:84 Error constraint-invalid parameters.e.constraints.1: `range` does not apply to a parameter of type `string`
    10:103 Error constraint-invalid parameters.e.constraints.2: `length` has no `mn`; did you mean `min`?
    ");
}

#[test]
fn an_expiration_must_be_in_the_future() {
    let problems = |expiration: &str, now: Option<i64>| {
        let text = resources(&format!(
            "  word: {{type: OS::Barbican::Secret, properties: {{payload: x, payload_content_type: text/plain, expiration: '{expiration}'}}}}\n"
        ));
        let facts = crate::cloud::CloudFacts { now, ..cloud() };
        listing(&validate(&Document::parse(text.as_str()), &types(), &facts))
    };
    // 2026-11-21T12:00:00Z
    let now = Some(1_795_262_400);
    assert_eq!(problems("2026-11-21T12:00:01Z", now), "");
    assert_eq!(problems("2026-11-21T12:00:00+02:00", None), "");
    insta::assert_snapshot!(problems("2026-11-21T12:00:00+02:00", now), @"3:97 Error property-constraint resources.word.properties.expiration: `expiration`: `2026-11-21T12:00:00+02:00` is in the past");
}

#[test]
fn names_in_properties_are_looked_up_in_known_lists() {
    let known = crate::cloud::Named {
        id: "r-1".to_owned(),
        name: "office".to_owned(),
    };
    let facts = crate::cloud::CloudFacts {
        things: std::iter::once(("neutron.router".to_owned(), vec![known])).collect(),
        ..cloud()
    };
    let diagnostics = |router: &str, more: &str| {
        let text = resources(&format!(
            "  a: {{type: OS::Neutron::RouterInterface, properties: {{router: {router}, subnet: any}}}}\n{more}"
        ));
        listing(&validate(&Document::parse(text), &types(), &facts))
    };
    assert_eq!(
        (diagnostics("office", ""), diagnostics("r-1", "")),
        (String::new(), String::new())
    );
    insta::assert_snapshot!(diagnostics("offise", ""), @"3:56 Error unknown-in-cloud resources.a.properties.router: the cloud has no router `offise`; did you mean `office`?");
    let made = "  b: {type: OS::Neutron::Router, properties: {name: mine}}\n";
    assert_eq!(diagnostics("mine", made), "");
}
