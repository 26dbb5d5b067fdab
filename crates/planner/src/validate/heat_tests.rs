//! Templates that Heat accepts or refuses, one per line. Each was run on Heat's engine.
//!
//! `+` means accepted (perhaps with our warning). Otherwise the code of our first error.

use super::*;

const PARAMETERS: &str = "parameters:\n  text: {type: string, default: hello}\n  other: {type: string, default: text}\n  map: {type: json, default: {a: [1]}}\n";

/// Code of the first error, or `+`.
fn verdict(text: &str) -> String {
    let document = Document::parse(text);
    let found = validate(&document, &Registry::openstack(), &CloudFacts::default());
    let first = found.into_iter().find(Diagnostic::is_error);
    first.map_or("+".to_owned(), |one| one.code)
}

#[track_caller]
fn check(version: &str, body: &str, expected: &str) {
    let text = format!("heat_template_version: {version}\n{body}\n");
    assert_eq!(verdict(&text), expected, "{text}");
}

/// Checks a value of a property with any type, beside a resource `r`.
#[track_caller]
fn check_value(version: &str, value: &str, expected: &str) {
    let body = format!(
        "{PARAMETERS}resources:\n  r: {{type: OS::Heat::RandomString}}\n  v: {{type: OS::Heat::Value, properties: {{value: {value}}}}}"
    );
    check(version, &body, expected);
}

const NEW: &str = "2021-04-16";
const OLD: &str = "2013-05-23";

#[test]
fn functions_of_later_versions_are_data_and_removed_ones_are_refused() {
    for (version, value, expected) in [
        (OLD, "{digest: [sha512, text]}", "+"),
        (OLD, "{make_url: {scheme: http}}", "+"),
        (OLD, "{'Fn::GetAtt': [r, value]}", "+"),
        (OLD, "{'Fn::Join': [',', [a]]}", "+"),
        (
            "2014-10-16",
            "{'Fn::Join': [',', [a]]}",
            "function-unsupported",
        ),
        ("2014-10-16", "{'Fn::Select': [0, [a]]}", "+"),
        (
            "2015-10-15",
            "{'Fn::Select': [0, [a]]}",
            "function-unsupported",
        ),
        (NEW, "{Ref: r}", "function-unsupported"),
        (NEW, "{get_resource: {get_param: text}}", "unknown-resource"),
        (NEW, "{get_param: {get_param: text}}", "unknown-parameter"),
        (NEW, "{get_param: {get_param: other}}", "+"),
        (
            NEW,
            "{get_attr: [r, {get_param: text}]}",
            "unknown-attribute",
        ),
        (
            NEW,
            "{get_attr: [{get_param: text}, value]}",
            "unknown-resource",
        ),
    ] {
        check_value(version, value, expected);
    }
}

#[test]
fn functions_take_what_their_version_takes() {
    for (version, value, expected) in [
        (
            "2014-10-16",
            "{list_join: [',', [{a: b}]]}",
            "function-arguments",
        ),
        ("2015-10-15", "{list_join: [',', [{a: b}]]}", "+"),
        (
            "2014-10-16",
            "{list_join: [',', [a], '']}",
            "function-arguments",
        ),
        (NEW, "{list_join: [',', [a], '', 0, null]}", "+"),
        (NEW, "{list_join: [',', [a], 5]}", "function-arguments"),
        (
            "2014-10-16",
            "{str_replace: {template: a, params: {a: [b]}}}",
            "function-arguments",
        ),
        (
            "2015-10-15",
            "{str_replace: {template: a, params: {a: [b]}}}",
            "+",
        ),
        (
            OLD,
            "{str_replace: {template: a, params: {get_param: map}}}",
            "function-arguments",
        ),
        (
            OLD,
            "{'Fn::Replace': [{a: [b]}, abc]}",
            "function-arguments",
        ),
        (NEW, "{str_split: [null, 'a b', 1]}", "+"),
        (NEW, "{str_split: [',', 'a,b', 1.7]}", "+"),
        (NEW, "{str_split: [',', 'a,b', 2]}", "function-arguments"),
        (
            NEW,
            "{map_replace: [{a: b}, {keys: [a]}]}",
            "function-arguments",
        ),
        (NEW, "{if: [null, a, b]}", "+"),
        (NEW, "{filter: [[a], null]}", "+"),
    ] {
        check_value(version, value, expected);
    }
}

#[test]
fn keys_without_a_value() {
    for key in [
        "properties",
        "metadata",
        "depends_on",
        "description",
        "deletion_policy",
        "update_policy",
        "condition",
        "external_id",
    ] {
        let body = format!("resources:\n  v:\n    type: OS::Heat::RandomString\n    {key}:");
        check(NEW, &body, "wrong-shape");
    }
    for section in ["parameters", "outputs", "parameter_groups", "description"] {
        check(NEW, &format!("{section}:\nresources: {{}}"), "+");
    }
    check(NEW, "conditions:\nresources: {}", "wrong-shape");
    for (resource, expected) in [
        (
            "{type: OS::Heat::RandomString, metadata: [a]}",
            "wrong-shape",
        ),
        (
            "{type: OS::Heat::RandomString, metadata: {get_param: map}}",
            "+",
        ),
        (
            "{type: OS::Heat::RandomString, description: 5}",
            "wrong-shape",
        ),
        (
            "{type: OS::Heat::RandomString, deletion_policy: {get_param: text}}",
            "deletion-policy-unknown",
        ),
        ("{type: OS::Heat::Value, properties: {value: null}}", "+"),
        ("{type: OS::Heat::Value}", "property-missing"),
        (
            "{type: OS::Heat::Value, external_id: a, properties: {value: {get_attr: [none, x]}}}",
            "+",
        ),
        (
            "{type: OS::Heat::Value, external_id: a, depends_on: w}",
            "external-depends",
        ),
    ] {
        check(
            NEW,
            &format!(
                "{PARAMETERS}resources:\n  w: {{type: OS::Heat::RandomString}}\n  v: {resource}"
            ),
            expected,
        );
    }
}

#[test]
fn names() {
    for (name, expected) in [
        ("a b", "+"),
        ("ä", "+"),
        ("'%index%'", "+"),
        ("'1'", "+"),
        ("1", "bad-name"),
        ("off", "bad-name"),
        ("null", "bad-name"),
        ("a/b", "bad-name"),
        ("'a:b'", "bad-name"),
    ] {
        check(
            NEW,
            &format!("resources:\n  {name}: {{type: OS::Heat::RandomString}}"),
            expected,
        );
    }
    check(
        NEW,
        "parameters:\n  r: {type: string, default: a}\nresources:\n  r: {type: OS::Heat::RandomString}",
        "bad-name",
    );
    check(
        NEW,
        "parameters:\n  r: {type: string, default: a}\nresources:\n  r: {type: OS::Heat::RandomString, condition: false}",
        "+",
    );
}

#[test]
fn parameters() {
    for (parameter, expected) in [
        ("{type: string, default: [a]}", "+"),
        ("{type: string, default: a, description: {a: b}}", "+"),
        ("{type: string, default: a, hidden: x}", "+"),
        ("{type: string, default: a, schema: {}}", "+"),
        ("{type: string, default: a, tags: null}", "wrong-shape"),
        ("{type: number, default: '1_000'}", "+"),
        ("{type: number, default: '1__0'}", "parameter-invalid"),
        ("{type: json, default: '\"a\"'}", "+"),
        ("{type: json, default: a}", "parameter-invalid"),
        (
            "{type: boolean, default: true, constraints: [{allowed_values: ['yes']}]}",
            "+",
        ),
        (
            "{type: boolean, default: true, constraints: [{allowed_values: ['no']}]}",
            "parameter-invalid",
        ),
        (
            "{type: string, default: 5, constraints: [{allowed_pattern: '[0-9]'}]}",
            "parameter-invalid",
        ),
        (
            "{type: string, default: '5', constraints: [{allowed_pattern: '[0-9]'}]}",
            "+",
        ),
        (
            "{type: string, default: abc, constraints: [{allowed_pattern: 'a|abc'}]}",
            "parameter-invalid",
        ),
        (
            "{type: string, default: abc, constraints: [{allowed_values: [abc], allowed_pattern: x}]}",
            "+",
        ),
        (
            "{type: string, default: abc, constraints: [{custom_constraint: nova.flavour}]}",
            "constraint-invalid",
        ),
        (
            "{type: string, default: 10.0.0.0, constraints: [{custom_constraint: net_cidr}]}",
            "parameter-invalid",
        ),
        (
            "{type: string, default: 10.0.0.0, constraints: [{custom_constraint: ip_or_cidr}]}",
            "+",
        ),
        (
            "{type: string, default: Nowhere/Land, constraints: [{custom_constraint: timezone}]}",
            "parameter-invalid",
        ),
        (
            "{type: string, default: 5-1 * * * *, constraints: [{custom_constraint: cron_expression}]}",
            "parameter-invalid",
        ),
    ] {
        check(
            NEW,
            &format!("parameters:\n  p: {parameter}\nresources: {{}}"),
            expected,
        );
    }
}

#[test]
fn conditions_are_evaluated_only_where_they_decide() {
    let used = "resources:\n  r: {type: OS::Heat::RandomString, condition: c}";
    for (condition, expected) in [
        ("{and: [false, none]}", "+"),
        ("{or: [true, none]}", "+"),
        ("{and: [true, none]}", "unknown-condition"),
        ("{not: none}", "unknown-condition"),
        ("d", "wrong-shape"),
        ("'true'", "wrong-shape"),
        ("{equals: [{contains: [a, [a]]}, true]}", "+"),
    ] {
        check(
            "2016-10-14",
            &format!("conditions:\n  d: true\n  c: {condition}\n{used}"),
            expected,
        );
    }
    check(NEW, "conditions:\n  c: {not: none}\nresources: {}", "+");
}

#[test]
fn outputs_are_checked_when_they_are_read() {
    for (output, expected) in [
        ("{value: {get_param: none}}", "+"),
        ("{value: {get_resource: none}}", "+"),
        ("{value: {get_attr: [none, x]}}", "unknown-resource"),
        ("{value: {get_attr: [r, none]}}", "unknown-attribute"),
        ("{value: a, other: b}", "+"),
        ("{value: a, description: [b]}", "+"),
        ("{description: b}", "wrong-shape"),
    ] {
        check(
            NEW,
            &format!("resources:\n  r: {{type: OS::Heat::RandomString}}\noutputs:\n  o: {output}"),
            expected,
        );
    }
}

#[test]
fn an_output_may_refer_to_a_disabled_resource() {
    for (value, expected) in [
        ("{get_resource: r}", "+"),
        ("{get_attr: [r, value]}", "resource-off"),
        (
            "[{get_resource: r}, {get_attr: [r, value]}]",
            "resource-off",
        ),
    ] {
        let body = format!(
            "conditions: {{never: {{equals: [a, b]}}}}\nresources:\n  r: {{type: OS::Heat::RandomString, condition: never}}\noutputs:\n  o: {{value: {value}}}"
        );
        check(NEW, &body, expected);
    }
}

#[test]
fn properties_are_not_converted() {
    let value = "type: OS::Heat::TestResource, properties: {value: {}}";
    let fail = "type: OS::Heat::TestResource, properties: {fail: {}}";
    let wait = "type: OS::Heat::TestResource, properties: {wait_secs: {}}";
    let length = "type: OS::Heat::RandomString, properties: {length: {}}";
    let groups = "type: OS::Nova::Server, properties: {flavor: f, image: i, security_groups: {}}";
    let metadata = "type: OS::Nova::Server, properties: {flavor: f, image: i, metadata: {}}";
    let number = "type: OS::Heat::Value, properties: {type: number, value: {}}";
    let list = "type: OS::Heat::Value, properties: {type: comma_delimited_list, value: {}}";
    for (resource, right, wrong) in [
        (
            value,
            ["a", "5", "true"].as_slice(),
            ["5.5", "[a]", "{a: b}"].as_slice(),
        ),
        (
            fail,
            &["true", "'False'", "yes"],
            &["'yes'", "1", "'1'", "''"],
        ),
        (
            wait,
            &["5", "5.5", "'5.5'", "'1e3'"],
            &["x", "''", "'0x10'"],
        ),
        (length, &["5", "' 5'", "5.0"], &["'5.0'", "x", "''"]),
        (
            groups,
            &["[a]", "[]", "null"],
            &["a", "'a,b'", "{a: b}", "5"],
        ),
        (metadata, &["{a: b}", "{}"], &["'{}'", "[a]", "a"]),
        (number, &["5", "'5'"], &["a", "[]"]),
        (list, &["[a]"], &["a", "{}"]),
    ] {
        for (values, expected) in [(right, "+"), (wrong, "property-type")] {
            for value in values {
                let resource = resource.replacen("{}}", &format!("{value}}}"), 1);
                check(NEW, &format!("resources:\n  r: {{{resource}}}"), expected);
            }
        }
    }
}

#[test]
fn problems_of_group_members_have_the_path_of_the_definition() {
    for (properties, expected) in [
        (
            "resource_def: {type: OS::Heat::RandomString, properties: {length: 5}}",
            "+",
        ),
        (
            "resource_def: {type: OS::Heat::RandomString, properties: {lenght: 5}}",
            "unknown-property",
        ),
        (
            "resource_def: {type: OS::Heat::RandomString, depends_on: x}",
            "unknown-property",
        ),
        (
            "count: 0, resource_def: {type: OS::Heat::RandomString, depends_on: x}",
            "unknown-property",
        ),
        (
            "count: 0, resource_def: {type: OS::Heat::RandomString, properties: {lenght: 5}}",
            "+",
        ),
        (
            "count: -1, resource_def: {type: OS::Heat::RandomString}",
            "property-constraint",
        ),
    ] {
        check(
            NEW,
            &format!(
                "resources:\n  g: {{type: OS::Heat::ResourceGroup, properties: {{{properties}}}}}"
            ),
            expected,
        );
    }
    for (properties, expected) in [
        (
            "min_size: 1, max_size: 2, resource: {type: OS::Heat::RandomString}",
            "+",
        ),
        (
            "min_size: 1, max_size: 2, resource: {type: OS::Heat::RandomString, properties: {lenght: 5}}",
            "unknown-property",
        ),
        (
            "min_size: 0, max_size: 2, resource: {type: OS::Heat::RandomString, properties: {lenght: 5}}",
            "+",
        ),
        (
            "min_size: 1, max_size: 2, resource: {properties: {}}",
            "resource-type-missing",
        ),
        ("min_size: 1, max_size: 2, resource: x", "property-type"),
        (
            "min_size: 2, max_size: 1, resource: {type: OS::Heat::RandomString}",
            "property-constraint",
        ),
        (
            "min_size: 1, max_size: 2, desired_capacity: 3, resource: {type: OS::Heat::RandomString}",
            "property-constraint",
        ),
    ] {
        check(
            NEW,
            &format!(
                "resources:\n  g: {{type: OS::Heat::AutoScalingGroup, properties: {{{properties}}}}}"
            ),
            expected,
        );
    }
    for (path, expected) in [
        ("g, value", "+"),
        ("g, refs", "+"),
        ("g, resource.0.value", "+"),
        ("g, nothing", "unknown-attribute"),
        ("g, resource.0.nothing", "unknown-attribute"),
    ] {
        check(
            NEW,
            &format!(
                "resources:\n  g: {{type: OS::Heat::ResourceGroup, properties: {{resource_def: {{type: OS::Heat::RandomString}}}}}}\noutputs:\n  o: {{value: {{get_attr: [{path}]}}}}"
            ),
            expected,
        );
    }
}

#[test]
fn a_required_property_without_a_value_is_the_empty_value_of_its_type() {
    for (kind, properties, expected) in [
        ("OS::Neutron::Port", "{network: }", "+"),
        ("OS::Neutron::Port", "{network_id: }", "+"),
        ("OS::Neutron::Port", "{}", "property-missing"),
        ("OS::Neutron::Subnet", "{network: , cidr: 10.0.0.0/24}", "+"),
        (
            "OS::Neutron::Subnet",
            "{network: a, cidr: 10.0.0.0/24, host_routes: [{destination: 10.1.0.0/24, nexthop: }]}",
            "property-constraint",
        ),
        ("OS::Neutron::FloatingIP", "{floating_network: }", "+"),
        (
            "OS::Octavia::Listener",
            "{protocol: , protocol_port: 80, loadbalancer: a}",
            "property-constraint",
        ),
        (
            "OS::Octavia::Listener",
            "{protocol: HTTP, protocol_port: , loadbalancer: a}",
            "property-constraint",
        ),
        (
            "OS::Octavia::PoolMember",
            "{pool: , address: 10.0.0.1, protocol_port: 80}",
            "+",
        ),
        (
            "OS::Octavia::PoolMember",
            "{pool: a, address: , protocol_port: 80}",
            "property-constraint",
        ),
        ("OS::Nova::KeyPair", "{name: }", "property-constraint"),
        ("OS::Nova::Flavor", "{ram: , vcpus: }", "+"),
        (
            "OS::Heat::ResourceGroup",
            "{count: 1, resource_def: }",
            "property-missing",
        ),
    ] {
        let body = format!("resources:\n  x: {{type: '{kind}', properties: {properties}}}");
        check(NEW, &body, expected);
    }
}
