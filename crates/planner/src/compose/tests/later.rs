//! Errors in members and nested templates: those that Heat finds before their creation are errors here, those that it
//! finds during creation are warnings. Each line was run on Heat's engine (Zed).

use super::*;

/// Heat refuses the template.
const NO: bool = false;
/// Heat starts the deployment, which fails later.
const LATE: bool = true;

struct Line {
    /// A resource.
    text: &'static str,
    /// Code of our diagnostic.
    code: &'static str,
    /// Result as a member of a group.
    member: bool,
    /// Result as a member of a scaling group.
    scaled: bool,
    /// Result as a resource of a nested template.
    nested: bool,
}

const fn line(text: &'static str, code: &'static str, verdicts: [bool; 3]) -> Line {
    let [member, scaled, nested] = verdicts;
    Line {
        text,
        code,
        member,
        scaled,
        nested,
    }
}

const LINES: &[Line] = &[
    // A server, a volume and a group read some of their own properties. Other types read none of these.
    line(
        "{type: OS::Nova::Server, properties: {image: debian-12, networks: [{network: public}]}}",
        "property-missing",
        [NO, NO, NO],
    ),
    line(
        "{type: OS::Heat::ResourceGroup, properties: {count: 1}}",
        "property-missing",
        [NO, NO, NO],
    ),
    line(
        "{type: OS::Neutron::Port}",
        "property-missing",
        [LATE, LATE, LATE],
    ),
    line(
        "{type: OS::Cinder::VolumeAttachment, properties: {volume_id: v}}",
        "property-missing",
        [LATE, LATE, LATE],
    ),
    line(
        "{type: OS::Neutron::Port, properties: {network: public, allowed_address_pairs: [{mac_address: 'fa:16:3e:00:00:01'}]}}",
        "property-missing",
        [LATE, LATE, LATE],
    ),
    // Rules between properties are checked by each type itself.
    line(
        "{type: OS::Cinder::Volume, properties: {name: x}}",
        "property-missing",
        [NO, NO, NO],
    ),
    line(
        "{type: OS::Neutron::Subnet, properties: {network: public}}",
        "property-missing",
        [NO, NO, NO],
    ),
    line(
        "{type: OS::Nova::Server, properties: {flavor: m1.small, image: debian-12, networks: [{network: public}], metadata: hello}}",
        "property-type",
        [NO, NO, NO],
    ),
    line(
        "{type: OS::Cinder::Volume, properties: {size: many}}",
        "property-type",
        [NO, NO, NO],
    ),
    line(
        "{type: OS::Neutron::Port, properties: {network: public, admin_state_up: 5x}}",
        "property-type",
        [LATE, LATE, LATE],
    ),
    // Constraints need values.
    line(
        "{type: OS::Cinder::Volume, properties: {size: 0}}",
        "property-constraint",
        [LATE, LATE, LATE],
    ),
    line(
        "{type: OS::Neutron::Subnet, properties: {network: public, cidr: notacidr}}",
        "property-constraint",
        [LATE, LATE, LATE],
    ),
    line(
        "{type: OS::Neutron::Subnet, properties: {network: public, cidr: 10.0.0.0/24, ip_version: 5}}",
        "property-constraint",
        [LATE, LATE, LATE],
    ),
    line(
        "{type: OS::Heat::ResourceGroup, properties: {count: -1, resource_def: {type: OS::Heat::RandomString}}}",
        "property-constraint",
        [NO, NO, NO],
    ),
    // Names need no values, except those inside a value.
    line(
        "{type: OS::Neutron::Net, properties: {colour: red}}",
        "unknown-property",
        [NO, NO, NO],
    ),
    line(
        "{type: OS::Nova::Server, properties: {flavor: m1.small, image: debian-12, networks: [{network: public, nosuch: 1}]}}",
        "unknown-property",
        [LATE, LATE, LATE],
    ),
    line(
        "{type: OS::Heat::ResourceGroup, properties: {count: 1, resource_def: {type: OS::Heat::RandomString, properties: {lenght: 1}}}}",
        "unknown-property",
        [NO, NO, NO],
    ),
    // Functions are evaluated if a value is read. A definition of members is read.
    line(
        "{type: OS::Heat::Value, properties: {value: {list_join: [1, 2]}}}",
        "function-arguments",
        [NO, NO, LATE],
    ),
    line(
        "{type: OS::Nova::Server, properties: {flavor: {list_join: [1, 2]}, image: debian-12, networks: [{network: public}]}}",
        "function-arguments",
        [NO, NO, NO],
    ),
    line(
        "{type: OS::Nova::Server, properties: {flavor: m1.small, image: debian-12, networks: [{network: public}], user_data: {list_join: [1, 2]}}}",
        "function-arguments",
        [NO, NO, LATE],
    ),
    line(
        "{type: OS::Heat::ResourceGroup, properties: {count: {list_join: [1, 2]}, resource_def: {type: OS::Heat::RandomString}}}",
        "function-arguments",
        [NO, NO, NO],
    ),
    line(
        "{type: OS::Nova::Server, properties: {flavor: {get_param: nosuch}, image: debian-12, networks: [{network: public}]}}",
        "unknown-parameter",
        [NO, NO, NO],
    ),
    line(
        "{type: OS::Heat::Value, properties: {value: {get_param: nosuch}}}",
        "unknown-parameter",
        [NO, NO, LATE],
    ),
    // An inner nested template with an invalid argument, or without an argument.
    line(
        "{type: volume.yaml, properties: {size: 99}}",
        "property-constraint",
        [LATE, LATE, LATE],
    ),
    line(
        "{type: volume.yaml, properties: {size: many}}",
        "property-type",
        [LATE, LATE, LATE],
    ),
    line("{type: named.yaml}", "property-missing", [LATE, LATE, LATE]),
];

const VOLUME: &str = "\
heat_template_version: 2021-04-16
parameters:
  size: {type: number, constraints: [{range: {max: 10}}]}
resources:
  volume: {type: OS::Cinder::Volume, properties: {size: {get_param: size}}}
";

const NAMED: &str = "\
heat_template_version: 2021-04-16
parameters:
  name: {type: string}
resources:
  volume: {type: OS::Cinder::Volume, properties: {size: 1, name: {get_param: name}}}
";

/// Codes of errors and of warnings, except those about types that cannot be deployed.
fn diagnostics(template: &str, inner: &str) -> (Vec<String>, Vec<String>) {
    let given = Given {
        template,
        files: &[
            ("inner.yaml", inner),
            ("volume.yaml", VOLUME),
            ("named.yaml", NAMED),
        ],
        ..Given::default()
    };
    let diagnostics = given.plan().diagnostics;
    let diagnostics = diagnostics
        .into_iter()
        .filter(|one| one.code != "resource-type-not-deployable");
    let (errors, others): (Vec<_>, Vec<_>) = diagnostics.partition(Diagnostic::is_error);
    let codes = |all: Vec<Diagnostic>| all.into_iter().map(|one| one.code).collect();
    (codes(errors), codes(others))
}

#[track_caller]
fn check(line: &Line, is_late: bool, template: &str) {
    let inner = resources(&format!("  m: {}\n", line.text));
    let (errors, warnings) = diagnostics(template, &inner);
    let has = |codes: &[String]| codes.iter().any(|code| code == line.code);
    if is_late {
        assert!(
            errors.is_empty() && has(&warnings),
            "{template}{inner}errors {errors:?} warnings {warnings:?}"
        )
    } else {
        assert!(
            has(&errors),
            "{template}{inner}errors {errors:?} warnings {warnings:?}"
        )
    }
}

#[test]
fn invalid_values_in_the_template_are_errors() {
    for line in LINES {
        check(line, NO, &resources(&format!("  m: {}\n", line.text)));
    }
}

#[test]
fn invalid_values_in_group_members_are_mostly_warnings() {
    for line in LINES {
        let member = format!(
            "  g: {{type: OS::Heat::ResourceGroup, properties: {{count: 1, resource_def: {}}}}}\n",
            line.text
        );
        check(line, line.member, &resources(&member));
        let scaled = format!(
            "  g: {{type: OS::Heat::AutoScalingGroup, properties: {{min_size: 1, max_size: 1, resource: {}}}}}\n",
            line.text
        );
        check(line, line.scaled, &resources(&scaled));
    }
}

#[test]
fn invalid_values_in_nested_templates_are_mostly_warnings() {
    for line in LINES {
        check(line, line.nested, &resources("  n: {type: inner.yaml}\n"));
    }
}

#[test]
fn a_parameter_without_a_value_is_an_error_where_it_is_read_at_creation() {
    let of = |inner: &str| diagnostics(&resources("  n: {type: inner.yaml}\n"), &resources(inner));
    let (errors, _) = of("  m: {type: volume.yaml}\n");
    assert_eq!(errors, ["parameter-missing"]);
    let (errors, warnings) = of("  m: {type: named.yaml}\n");
    assert_eq!(
        (errors.len(), warnings),
        (0, vec!["property-missing".to_owned()])
    );
}

#[test]
fn a_use_in_the_template_is_an_error_in_any_order() {
    let uses = [
        "  a: {type: deep.yaml}\n  b: {type: volume.yaml, properties: {size: 99}}\n",
        "  b: {type: volume.yaml, properties: {size: 99}}\n  a: {type: deep.yaml}\n",
    ];
    for text in uses {
        let deep = resources("  d: {type: volume.yaml, properties: {size: 99}}\n");
        let given = Given {
            template: &resources(text),
            files: &[("deep.yaml", &deep), ("volume.yaml", VOLUME)],
            ..Given::default()
        };
        let errors = given.errors();
        assert!(errors.contains("resources.b"), "{errors}");
        assert!(!errors.contains("resources.a"), "{errors}");
    }
}
