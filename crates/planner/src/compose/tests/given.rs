//! Arguments of nested templates that are known only during the run, and the limit on their size.

use super::*;
use hot::diagnostic::listing;
use hot::expr::{Scope, Unresolved};

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
fn late_values_are_converted_to_the_parameters_type() {
    let plan = Given {
        template: SITE,
        files: &[("disk.yaml", DISK)],
        ..Given::default()
    }
    .plan();
    let workflow = plan
        .workflow
        .unwrap_or_else(|| panic!("{}", listing(&plan.diagnostics)));
    let disk = &workflow.resources["site/disk"];
    let size = &disk.properties["size"];
    assert_eq!(size.resources(), ["size"]);
    assert_eq!(size.resolve(&All(json!("3"))), Ok(json!(3)));
    let refused = |value: Value| match size.resolve(&All(value)) {
        Err(Unresolved::Invalid(diagnostics)) => diagnostics,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused(json!(11)),
        "the parameter `size` of `disk.yaml`: ten at most"
    );
    assert!(
        refused(json!("x"))
            .ends_with("does not fit: a number is wanted that keeps the parameter's constraints")
    );
    let words = &workflow.outputs["told"].value;
    assert_eq!(words.resolve(&All(json!("a,b"))), Ok(json!("b")));
    // A reference that needs no conversion stays a reference, so that the port belongs to that network.
    let port = &workflow.resources["site/port"];
    assert_eq!(port.properties["network"], Expr::reference("net"));
}

/// Templates that each use their argument, or the output of the level below, `times` times.
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

fn diagnostics_of(levels: &[(String, String)]) -> Vec<Diagnostic> {
    diagnostics_of_value("[{get_attr: [a, value]}]", levels)
}

fn diagnostics_of_value(value: &str, levels: &[(String, String)]) -> Vec<Diagnostic> {
    let template = format!(
        "heat_template_version: 2021-04-16\nresources:\n  a: {{type: OS::Heat::RandomString}}\n  top: {{type: l1.yaml, properties: {{value: {value}}}}}\n  end: {{type: OS::Heat::Value, properties: {{value: {{get_attr: [top, value]}}}}}}\n"
    );
    let files: Vec<(&str, &str)> = levels
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let plan = Given {
        template: &template,
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
fn parameters_that_grow_exponentially_are_refused() {
    let given = |times: usize, _: &str| {
        let all = vec!["{get_param: value}"; times].join(", ");
        (format!("[{all}]"), "1".to_owned())
    };
    assert_eq!(diagnostics_of(&levels(4, given)), []);
    let diagnostics = diagnostics_of(&levels(200, given));
    assert_eq!(diagnostics[0].code, "nested-too-large", "{diagnostics:?}");
}

#[test]
fn outputs_that_grow_exponentially_are_refused() {
    let output = |times: usize, _: &str| {
        let all = vec!["{get_attr: [in, value]}"; times].join(", ");
        ("{get_param: value}".to_owned(), format!("[{all}]"))
    };
    assert_eq!(diagnostics_of(&levels(4, output)), []);
    let diagnostics = diagnostics_of(&levels(200, output));
    assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
    assert_eq!(diagnostics[0].code, "nested-too-large");
}

/// Problems of a template. Fails if planning takes 120 s or longer.
fn diagnostics_in_time(template: &str, files: &[(&str, &str)]) -> Vec<String> {
    let begun = std::time::Instant::now();
    let given = Given {
        template,
        files,
        ..Given::default()
    };
    let errors = given.plan().diagnostics.into_iter();
    let errors = errors.filter(Diagnostic::is_error).map(|one| one.code);
    let errors = errors.collect();
    let took = begun.elapsed();
    assert!(took.as_secs() < 120, "{took:?}");
    errors
}

#[test]
fn known_values_that_grow_exponentially_are_refused() {
    let given = |times: usize, _: &str| {
        let all = vec!["{get_param: value}"; times].join(", ");
        (format!("[{all}]"), "1".to_owned())
    };
    assert_eq!(diagnostics_of_value("[1]", &levels(4, given)), []);
    let begun = std::time::Instant::now();
    let diagnostics = diagnostics_of_value("[1]", &levels(200, given));
    let codes: Vec<&str> = diagnostics.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["values-too-large"], "{diagnostics:?}");
    assert!(begun.elapsed().as_secs() < 120, "{:?}", begun.elapsed());
}

#[test]
fn the_uses_of_a_long_text_are_limited() {
    let text = "x".repeat(250_000);
    let uses = |times: usize, call: &str| {
        let all = vec![call; times].join(", ");
        format!(
            "heat_template_version: 2021-04-16\nparameters:\n  p: {{type: string, default: {text}}}\nresources:\n  a: {{type: OS::Heat::Value, properties: {{value: [{all}]}}}}\n"
        )
    };
    let files = [("long", text.as_str())];
    for call in [
        "{get_param: p}",
        "{get_file: long}",
        "{list_join: [x, [{get_param: p}, y]]}",
        "{str_replace: {template: aaaa, params: {a: {get_param: p}}}}",
    ] {
        assert_eq!(
            diagnostics_in_time(&uses(20, call), &files),
            [""; 0],
            "{call}"
        );
        let diagnostics = diagnostics_in_time(&uses(4_000, call), &files);
        assert_eq!(diagnostics, ["values-too-large"], "{call}");
    }
}

#[test]
fn the_uses_of_a_long_file_are_limited() {
    let text = "x".repeat(250_000);
    let file = format!(
        "heat_template_version: 2021-04-16\nparameters:\n  p: {{type: string, default: {text}}}\nresources:\n  a: {{type: OS::Heat::Value, properties: {{value: {text}}}}}\noutputs:\n  o: {{value: {{get_param: p}}}}\n"
    );
    let many = "heat_template_version: 2021-04-16\nresources:\n  g: {type: OS::Heat::ResourceGroup, properties: {count: 3000, resource_def: {type: a.yaml}}}\n";
    assert_eq!(
        diagnostics_in_time(many, &[("a.yaml", &file)]),
        ["values-too-large"]
    );
    let few = many.replace("3000", "20");
    assert_eq!(diagnostics_in_time(&few, &[("a.yaml", &file)]), [""; 0]);
}

/// The same file with the same wrong argument, once in the template and once in a file that the template uses.
#[test]
fn a_problem_is_an_error_if_the_template_itself_uses_the_file() {
    let db = "heat_template_version: 2021-04-16\nparameters:\n  size: {type: string, constraints: [{allowed_values: [a, b]}]}\nresources:\n  v: {type: OS::Heat::Value, properties: {value: {get_param: size}}}\n";
    let a = "heat_template_version: 2021-04-16\nresources:\n  db: {type: db.yaml, properties: {size: x}}\n";
    let files = [("db.yaml", db), ("a.yaml", a)];
    let head = "heat_template_version: 2021-04-16\nresources:\n";
    let within = "  in: {type: a.yaml}\n";
    let direct = "  db: {type: db.yaml, properties: {size: x}}\n";
    let codes = |template: String| diagnostics_in_time(&template, &files);
    assert_eq!(codes(format!("{head}{within}")), [""; 0]);
    let diagnostics = codes(format!("{head}{within}{direct}"));
    assert!(!diagnostics.is_empty());
    assert_eq!(codes(format!("{head}{direct}{within}")), diagnostics);
}
