//! The caret is `|` in these texts.

use hot::document::Document;
use planner::cloud::{Flavor, Named};

use super::*;

const TEMPLATE: &str = "heat_template_version: 2021-04-16
parameters:
  size: {type: string, description: Size of the servers, default: m1.tiny}
conditions:
  large: {equals: [{get_param: size}, m1.large]}
resources:
  net: {type: OS::Neutron::Net}
  web:
    type: OS::Nova::Server
    properties:
      flavor: { get_param: size }
";

/// Calls `ask` with the text without its caret, and with the caret's offset.
fn at_caret<T>(text: &str, ask: impl FnOnce(&CompletionInput<'_>, &str, usize) -> T) -> T {
    let offset = text.find('|').expect("a caret");
    let text = text.replacen('|', "", 1);
    let document = Document::parse(TEMPLATE);
    let named = |name: &str| Named {
        id: format!("id-of-{name}"),
        name: name.to_owned(),
    };
    let cloud = CloudFacts {
        images: Some(vec![named("debian-12"), named("yes")]),
        flavors: Some(vec![Flavor {
            id: "1".into(),
            name: "m1.tiny".into(),
            vcpus: 1,
            ram_mib: 512,
            disk_gib: 1,
        }]),
        ..CloudFacts::default()
    };
    let bundle = Bundle::new([("setup.sh".to_owned(), String::new())], []);
    let input = CompletionInput {
        template: document.template(),
        types: Registry::shared(),
        cloud: &cloud,
        bundle: &bundle,
    };
    ask(&input, &text, offset)
}

fn offers(text: &str) -> Vec<Offer> {
    let found = at_caret(text, |input, text, offset| {
        complete(input, text, offset, true)
    });
    found.map(|found| found.options).unwrap_or_default()
}

fn labels(text: &str) -> Vec<String> {
    offers(text).into_iter().map(|one| one.label).collect()
}

/// The text after the proposal was taken, with the new caret.
fn taken(text: &str, label: &str) -> String {
    at_caret(text, |input, text, offset| {
        let found = complete(input, text, offset, true).expect("proposals");
        let offer = found.options.iter().find(|one| one.label == label);
        let offer = offer.unwrap_or_else(|| panic!("no `{label}` in {:?}", found.options));
        let (before, after) = offer.insert.split_at(offer.caret);
        format!("{}{before}|{after}{}", &text[..found.from], &text[offset..])
    })
}

fn explained(text: &str) -> Option<(String, String)> {
    at_caret(text, explain).map(|found| (found.title, found.lines.join(" ")))
}

/// A server whose properties end with these lines.
fn server(properties: &str) -> String {
    format!("resources:\n  web:\n    type: OS::Nova::Server\n    properties:\n{properties}")
}

#[test]
fn sections_and_keys_follow_from_the_place() {
    assert_eq!(labels("|")[0], "heat_template_version");
    assert!(!labels("resources: {}\npar|").contains(&"resources".to_owned()));
    assert!(labels("parameters:\n  size:\n    |").contains(&"constraints".to_owned()));
    assert!(labels("outputs:\n  ip: { |").contains(&"value".to_owned()));
    assert_eq!(
        labels("resources:\n  web:\n    type: OS::Nova::Server\n    pro|\n    metadata: {}\n")[0],
        "properties"
    );
    assert_eq!(
        taken("resources:\n  web:\n    pro|", "properties"),
        "resources:\n  web:\n    properties:\n      |"
    );
}

#[test]
fn types_are_proposed_with_their_titles() {
    let found = offers("resources:\n  web:\n    type: OS::No|");
    let server = found.iter().find(|one| one.label == "OS::Nova::Server");
    assert_eq!(server.map(|one| &*one.detail), Some("Server"));
    assert!(labels("resources:\n  web: { type: |").contains(&"OS::Neutron::Net".to_owned()));
}

#[test]
fn properties_are_those_that_the_resource_lacks() {
    let found = labels(&server("      flavor: m1.tiny\n      |\n      name: a\n"));
    assert!(found.contains(&"image".to_owned()), "{found:?}");
    assert!(!found.contains(&"flavor".to_owned()) && !found.contains(&"name".to_owned()));
    // The type stands after the caret, and the resource is not in the last readable template.
    let late = "resources:\n  new:\n    properties:\n      |\n    type: OS::Neutron::Subnet\n";
    assert!(labels(late).contains(&"cidr".to_owned()));
    let flow = "resources:\n  new: {type: OS::Neutron::Subnet, properties: {cidr: a, |";
    let found = labels(flow);
    assert!(found.contains(&"gateway_ip".to_owned()) && !found.contains(&"cidr".to_owned()));
}

#[test]
fn properties_of_list_items_and_maps_are_those_of_their_description() {
    let item = server("      networks:\n        - |");
    assert!(labels(&item).contains(&"port".to_owned()));
    let second = server("      networks:\n        - port: a\n          |");
    let found = labels(&second);
    assert!(found.contains(&"subnet".to_owned()) && !found.contains(&"port".to_owned()));
    let unindented = server("      networks:\n      - port: a\n      - |");
    assert!(labels(&unindented).contains(&"port".to_owned()));
    assert_eq!(
        taken(&server("      netw|"), "networks"),
        server("      networks:\n        - |")
    );
}

#[test]
fn values_are_those_of_the_form() {
    assert!(labels(&server("      flavor: |")).contains(&"m1.tiny".to_owned()));
    assert!(labels(&server("      networks:\n        - network: |")).contains(&"net".to_owned()));
    assert_eq!(
        taken(&server("      networks:\n        - network: n|"), "net"),
        server("      networks:\n        - network: { get_resource: net }|")
    );
    // A word that YAML would read as a boolean.
    assert_eq!(
        taken(&server("      image: |"), "yes"),
        server("      image: \"yes\"|")
    );
    assert_eq!(
        taken(&server("      image: \"ye|"), "yes"),
        server("      image: \"yes|")
    );
    let found = offers(&server("      config_drive: |"));
    assert_eq!(found[0].label, "true");
}

#[test]
fn functions_lead_to_what_they_refer_to() {
    assert_eq!(
        taken(&server("      flavor: get|"), "get_param"),
        server("      flavor: { get_param: | }")
    );
    assert_eq!(
        labels(&server("      flavor: { get_param: s| }"))[0],
        "size"
    );
    assert_eq!(
        labels(&server("      flavor:\n        get_param: |"))[0],
        "size"
    );
    assert_eq!(
        labels(&server(
            "      networks:\n        - network: { get_resource: | }"
        ))[0],
        "net"
    );
    assert_eq!(
        taken("outputs:\n  ip:\n    value: { get_attr: | }", "web"),
        "outputs:\n  ip:\n    value: { get_attr: [web, |] }"
    );
    assert!(
        labels("outputs:\n  ip:\n    value: { get_attr: [web, |] }")
            .contains(&"first_address".to_owned())
    );
    assert!(
        labels("outputs:\n  ip:\n    value:\n      get_attr:\n        - web\n        - |")
            .contains(&"first_address".to_owned())
    );
    assert_eq!(labels(&server("      flavor: { if: [|"))[0], "large");
    assert_eq!(
        labels(&server("      user_data: { get_file: |"))[0],
        "setup.sh"
    );
    assert_eq!(labels("resources:\n  web:\n    depends_on: [|]"), ["net"]);
}

#[test]
fn nothing_is_proposed_where_anything_can_stand() {
    for text in [
        "# |",
        "resources: {} # |",
        "description: |a",
        "resources:\n  |",
        &server("      user_data: >\n        a text\n        |"),
        &server("      flavor: { get_param: size } |"),
        "resources:\n  web:\n    type: OS::Unknown::Type\n    properties:\n      |",
    ] {
        assert_eq!(labels(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn proposals_are_not_in_the_way_of_typing() {
    let typing = |text: &str| {
        at_caret(text, |input, text, offset| {
            complete(input, text, offset, false)
        })
    };
    assert_eq!(typing(&server("      |")), None);
    assert_eq!(typing(&server("      flavor|")), None);
    assert!(typing(&server("      flav|")).is_some());
}

#[test]
fn help_comes_from_the_descriptions() {
    let (title, lines) = explained("resources:\n  web:\n    type: OS::No|va::Server\n").unwrap();
    assert_eq!(title, "OS::Nova::Server");
    assert!(lines.contains("Required: "), "{lines}");
    let (title, lines) = explained(&server("      fla|vor: m1.tiny\n")).unwrap();
    assert_eq!(title, "flavor");
    assert!(lines.contains("Text, required."), "{lines}");
    let (_, lines) = explained(&server("      flavor: { get_param: |size }\n")).unwrap();
    assert_eq!(
        lines,
        "Size of the servers Parameter, string, default `m1.tiny`."
    );
    let (_, lines) = explained(&server("      flavor: { get|_param: size }\n")).unwrap();
    assert!(lines.starts_with("The value of a parameter"));
    let (_, lines) = explained("outputs:\n  ip: {value: {get_attr: [we|b, name]}}").unwrap();
    assert_eq!(lines, "Server, `OS::Nova::Server`.");
    assert_eq!(explained("# OS::No|va::Server"), None);
}

#[test]
fn any_place_of_any_text_has_an_answer() {
    let text = format!("{TEMPLATE}  a: [{{\"x: 'y\n- - b: |\n   ä: {{\n\t- ]}}: #\n");
    at_caret(&format!("|{text}"), |input, _, _| {
        for offset in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            if let Some(found) = complete(input, &text, offset, true) {
                assert!(found.from <= offset);
                assert!(
                    found
                        .options
                        .iter()
                        .all(|one| one.insert.is_char_boundary(one.caret))
                );
            }
            explain(input, &text, offset);
        }
    });
}
