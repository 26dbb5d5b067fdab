//! Types that act after the deployment, or stand for several resources that do: parsed, checked and ordered like any
//! other type, and refused by a plan with a clear message. Covers all types with `runs: software`; a new type needs an entry here.

use hot::diagnostic::listing;
use std::collections::BTreeMap;

use crate::{
    plan::dependencies,
    testing::{cloud, plan_of, resources, types},
    validate::validate,
};
use hot::document::Document;
use types::{Executable, ResourceType};

/// Resources that the examples refer to. None of them is refused.
const AROUND: &str = "
  script: {type: OS::Heat::SoftwareConfig, properties: {group: script, config: 'echo $word', inputs: [{name: word}], outputs: [{name: said}]}}
  structure: {type: OS::Heat::StructuredConfig, properties: {group: os-apply-config, config: {word: {get_input: word}}, inputs: [{name: word}]}}
  port: {type: OS::Neutron::Port, properties: {network: public}}
  web: {type: OS::Nova::Server, properties: {flavor: m1.small, image: debian-12, user_data_format: SOFTWARE_CONFIG, networks: [{port: {get_resource: port}}]}}
  word: {type: OS::Heat::RandomString}
  launch: {type: 'AWS::AutoScaling::LaunchConfiguration', properties: {ImageId: debian-12, InstanceType: m1.small}}
";

struct Example {
    resource_type: &'static str,
    /// Text after `type` of the resource `it`, and further resources.
    text: &'static str,
    /// Resources that `it` must wait for.
    after: &'static [&'static str],
}

const EXAMPLES: &[Example] = &[
    Example {
        resource_type: "OS::Heat::InstanceGroup",
        text: "properties: {AvailabilityZones: [nova], LaunchConfigurationName: {get_resource: launch}, Size: 2, Tags: [{Key: a, Value: {get_attr: [word, value]}}]}
    update_policy: {RollingUpdate: {MaxBatchSize: 1, PauseTime: PT1M}}",
        after: &["launch", "word"],
    },
];

impl Example {
    fn template(&self) -> String {
        let Example {
            resource_type,
            text,
            ..
        } = self;
        resources(&format!(
            "{AROUND}  it:\n    type: {resource_type}\n    {text}\n"
        ))
    }
}

/// Types with `runs: software`, with the example of each.
fn all() -> Vec<(ResourceType, &'static Example)> {
    let types = types();
    let software = types
        .iter()
        .filter(|one| one.executable == Executable::Software);
    software
        .map(|described| {
            let named = |one: &&Example| one.resource_type == described.name;
            let example = EXAMPLES.iter().find(named);
            let example = example.unwrap_or_else(|| panic!("no example of {}", described.name));
            (described.clone(), example)
        })
        .collect()
}

#[test]
fn each_example_is_of_a_software_type() {
    let of_data: Vec<String> = all().into_iter().map(|(one, _)| one.name).collect();
    for example in EXAMPLES {
        assert!(
            of_data.iter().any(|name| name == example.resource_type),
            "{} is not, or no longer, one of software",
            example.resource_type
        );
    }
    // Software configurations do not run by themselves: they are text, and exist immediately.
    let types = types();
    for local in [
        "OS::Heat::SoftwareConfig",
        "OS::Heat::StructuredConfig",
        "OS::Heat::SoftwareComponent",
    ] {
        assert_eq!(types.get(local).unwrap().executable, Executable::Local);
    }
}

#[test]
fn software_types_are_read_and_checked() {
    for (described, example) in all() {
        let document = Document::parse(example.template());
        let read = document.template().resource("it").unwrap();
        assert_eq!(read.resource_type, described.name);
        let diagnostics = validate(&document, &types(), &cloud());
        let of_it = |path: &str| path == "resources.it" || path.starts_with("resources.it.");
        let (of_it, of_others): (Vec<_>, Vec<_>) =
            diagnostics.into_iter().partition(|one| of_it(&one.path));
        // Validation also reports that the type cannot be deployed.
        assert!(
            of_it
                .iter()
                .all(|one| !one.is_error() && one.code == "resource-type-not-deployable"),
            "{}: {}",
            described.name,
            listing(&of_it)
        );
        assert!(
            !of_others.iter().any(|one| one.is_error()),
            "{}: {}",
            described.name,
            listing(&of_others)
        );
    }
}

#[test]
fn problems_of_software_configurations_are_reported() {
    for (described, example) in all() {
        let template = example.template();
        let wrong = if template.contains("properties: {") && example.text.starts_with("properties")
        {
            let (before, after) = template.rsplit_once("    properties: {").unwrap();
            format!("{before}    properties: {{wrong: 1, {after}")
        } else {
            format!("{template}    properties: {{wrong: 1}}\n")
        };
        let diagnostics = validate(&Document::parse(&wrong), &types(), &cloud());
        let is_reported = diagnostics.iter().any(|one| {
            one.is_error()
                && one.code == "unknown-property"
                && one.path == "resources.it.properties.wrong"
        });
        assert!(is_reported, "{}: {}", described.name, listing(&diagnostics));
    }
}

#[test]
fn software_deployments_wait_for_their_references() {
    for (described, example) in all() {
        let document = Document::parse(example.template());
        let order: BTreeMap<_, _> = dependencies(&document, &Default::default(), &BTreeMap::new())
            .into_iter()
            .collect();
        let mut requires = order["it"].clone();
        requires.sort();
        assert_eq!(requires, example.after, "{}", described.name);
    }
}

#[test]
fn a_plan_refuses_software_deployments_with_their_message() {
    for (described, example) in all() {
        let plan = plan_of(&example.template());
        let name = &described.name;
        let sentence = format!(
            "`it` cannot be deployed yet: it is checked and put in order, but running what `{name}` stands for comes later; \
             use an item of the catalogue, or deploy it with Heat"
        );
        let diagnostics: Vec<_> = plan
            .diagnostics
            .iter()
            .filter(|one| one.path == "resources.it.type")
            .collect();
        assert_eq!(
            diagnostics.len(),
            1,
            "{name}: {}",
            listing(&plan.diagnostics)
        );
        assert!(
            diagnostics[0].is_error() && diagnostics[0].code == "resource-type-not-deployable",
            "{name}"
        );
        assert_eq!(diagnostics[0].message, sentence);
        assert_eq!(plan.workflow, None, "{name}");
        assert!(
            plan.changes.iter().any(|change| change.resource == "it"),
            "{name} is shown all the same"
        );
    }
}
