//! What nested templates are given when the run knows it, and how much of it there may be.

use super::*;
use crate::expr::{Scope, Unresolved};

const SITE: &str = "\
heat_template_version: 2021-04-16
resources:
  size: {type: OS::Heat::Value, properties: {value: '3'}}
  site:
    type: disk.yaml
    properties: {size: {get_attr: [size, value]}, words: {get_attr: [size, value]}, net: {get_resource: net}}
  net: {type: OS::Neutron::Net}
outputs:
  told: {value: {get_attr: [site, told]}}
";

const DISK: &str = "\
heat_template_version: 2021-04-16
parameters:
  size: {type: number, constraints: [{range: {max: 10}, description: ten at most}]}
  words: {type: comma_delimited_list}
  net: {type: string}
resources:
  disk: {type: OS::Cinder::Volume, properties: {size: {get_param: size}}}
  port: {type: OS::Neutron::Port, properties: {network: {get_param: net}}}
outputs:
  told: {value: {get_param: [words, 1]}}
";

/// Every attribute has this value.
struct All(Value);

impl Scope for All {
    fn parameter(&self, _: &str) -> Option<Value> {
        None
    }
    fn reference(&self, _: &str) -> Option<Value> {
        None
    }
    fn attribute(&self, _: &str, _: &str) -> Option<Value> {
        Some(self.0.clone())
    }
}

#[test]
fn what_a_run_knows_is_what_the_parameters_type_says() {
    let plan = Given {
        template: SITE,
        files: &[("disk.yaml", DISK)],
        ..Given::default()
    }
    .plan();
    let workflow = plan
        .workflow
        .unwrap_or_else(|| panic!("{}", told(&plan.diagnostics)));
    let disk = &workflow.resources["site/disk"];
    let size = &disk.properties["size"];
    assert_eq!(size.resources(), ["size"]);
    assert_eq!(size.resolve(&All(json!("3"))), Ok(json!(3)));
    let refused = |value: Value| match size.resolve(&All(value)) {
        Err(Unresolved::Invalid(said)) => said,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused(json!(11)),
        "the parameter `size` of `disk.yaml`: ten at most"
    );
    assert!(refused(json!("x")).starts_with("the parameter `size` of `disk.yaml`: "));
    let words = &workflow.outputs["told"].value;
    assert_eq!(words.resolve(&All(json!("a,b"))), Ok(json!("b")));
    // A reference that needs no other form is one still, so that the port is a port of that network.
    let port = &workflow.resources["site/port"];
    assert_eq!(port.properties["network"], Expr::reference("net"));
}

/// Each level uses what it is given, or what the level below gives, so many times.
fn levels(times: usize, of: impl Fn(usize, &str) -> (String, String)) -> Vec<(String, String)> {
    (1..=5)
        .map(|level| {
            let below = match level {
                5 => "OS::Heat::Value".to_owned(),
                level => format!("l{}.yaml", level + 1),
            };
            let (properties, output) = of(times, &below);
            let text = format!(
                "heat_template_version: 2021-04-16\nparameters: {{value: {{type: json}}}}\nresources:\n  in: {{type: {below}, properties: {{value: {properties}}}}}\noutputs:\n  value: {{value: {output}}}\n"
            );
            (format!("l{level}.yaml"), text)
        })
        .collect()
}

fn said_of(levels: &[(String, String)]) -> Vec<Diagnostic> {
    let template = "heat_template_version: 2021-04-16\nresources:\n  a: {type: OS::Heat::RandomString}\n  top: {type: l1.yaml, properties: {value: [{get_attr: [a, value]}]}}\n  end: {type: OS::Heat::Value, properties: {value: {get_attr: [top, value]}}}\n";
    let files: Vec<(&str, &str)> = levels
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let plan = Given {
        template,
        files: &files,
        ..Given::default()
    }
    .plan();
    plan.diagnostics
        .into_iter()
        .filter(Diagnostic::is_error)
        .collect()
}

#[test]
fn what_is_given_and_used_ever_more_often_has_an_end() {
    let given = |times: usize, _: &str| {
        let all = vec!["{get_param: value}"; times].join(", ");
        (format!("[{all}]"), "1".to_owned())
    };
    assert_eq!(said_of(&levels(4, given)), []);
    let said = said_of(&levels(200, given));
    assert_eq!(said[0].code, "nested-too-large", "{said:?}");
}

#[test]
fn what_is_told_and_asked_ever_more_often_has_an_end() {
    let told = |times: usize, _: &str| {
        let all = vec!["{get_attr: [in, value]}"; times].join(", ");
        ("{get_param: value}".to_owned(), format!("[{all}]"))
    };
    assert_eq!(said_of(&levels(4, told)), []);
    let said = said_of(&levels(200, told));
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0].code, "nested-too-large");
}
