//! Round trips: a design exported as plain HOT and imported again is unchanged.

use hot::document::{Document, Edit};
use serde_json::{Value, json};

use super::{edited, path};
use crate::export::testing::{Design, types};
use crate::export::tests::SHOP;
use crate::export::{Format, Kind, restored};

fn value(text: &str) -> Value {
    Document::parse(text).value(&[]).unwrap()
}

fn exported(text: &str) -> String {
    let text = Design::of(text).export(Format::Hot).text;
    let found = Document::parse(text.as_str());
    assert!(found.diagnostics().is_empty(), "{:?}", found.diagnostics());
    text
}

#[test]
fn a_design_comes_back_as_it_went() {
    let text = exported(SHOP);
    assert!(!text.contains("Stackloom::"));
    let back = restored(&text, &types()).unwrap();
    assert_eq!(value(&back), value(SHOP));
    assert!(back.starts_with("heat_template_version"), "{back}");
    assert!(back.contains("# where they meet"), "{back}");
    // A second round trip gives the same result.
    assert_eq!(
        value(&restored(&exported(&back), &types()).unwrap()),
        value(SHOP)
    );
}

#[test]
fn an_exported_output_of_a_role_is_a_reference_after_the_import() {
    let design = SHOP
        .replace(
            "outputs:\n",
            "  job:\n    type: Stackloom::Catalog::script\n    properties: {host: {get_resource: inner}}\noutputs:\n  said: {value: {get_attr: [job, stdout]}}\n",
        )
        .replace(
            "  inside: {value: {get_attr: [inner, first_address]}}\n",
            "  inside: {value: [{get_attr: [job, stdout]}, {get_attr: [proxy, url]}]}\n",
        );
    let export = exported(&design);
    assert_eq!(value(&export)["outputs"]["said"]["value"], "{stats.stdout}");
    let back = restored(&export, &types()).unwrap();
    assert_eq!(value(&back), value(&design));
    // A later edit of the output stays.
    let changed = export.replace("said: {value: \"{stats.stdout}\"}", "said: {value: mine}");
    assert_ne!(changed, export);
    let back = restored(&changed, &types()).unwrap();
    assert_eq!(value(&back)["outputs"]["said"]["value"], "mine");
}

#[test]
fn comments_at_the_top_of_a_design_are_not_taken_for_a_report() {
    let notes = "# - the shop's front\n# - needed by Ann\n#\n# more\n";
    let design = format!("{notes}{SHOP}");
    let export = exported(&design);
    let back = restored(&export, &types()).unwrap();
    assert!(
        back.starts_with(&format!("{notes}heat_template_version")),
        "{back}"
    );
    // If the end of the report is missing, text that does not look like a report stays.
    let changed = export.replace("\n#\n", "\n");
    let back = restored(&changed, &types()).unwrap();
    assert!(back.starts_with("# - the shop's front\n"), "{back}");
}

#[test]
fn many_marks_are_removed_in_one_edit() {
    let mut text =
        "heat_template_version: 2021-04-16\nresources:\n  # of mine\n  a: {type: OS::Heat::None}\n"
            .to_owned();
    let mut edits = Vec::new();
    for number in 0..2_000 {
        let name = format!("a{number}");
        text.push_str(&format!(
            "  {name}: {{type: OS::Heat::None, metadata: {{stackloom: {{exported: added}}}}}}\n"
        ));
        let path = path(&["resources", &name]);
        edits.push(Edit::Remove { path });
    }
    let at_once = edited(&Document::parse(text.as_str()), &edits);
    assert_eq!(restored(&text, &types()).as_deref(), Some(at_once.text()),);
    assert_eq!(at_once.text(), &text[..text.find("  a0:").unwrap()]);
}

#[test]
fn a_design_in_json_comes_back_as_it_went() {
    let design = value(SHOP);
    let text = exported(&design.to_string());
    assert_eq!(value(&restored(&text, &types()).unwrap()), design);
}

#[test]
fn without_the_catalogue_only_outputs_of_software_stay_text() {
    let back = restored(&exported(SHOP), &types::Registry::openstack()).unwrap();
    let (back, design) = (value(&back), value(SHOP));
    for name in ["gate", "inner", "disk"] {
        assert_eq!(back["resources"][name], design["resources"][name]);
    }
    assert_eq!(
        back["resources"]["proxy"]["properties"],
        design["resources"]["proxy"]["properties"]
    );
    assert!(back["outputs"]["url"]["value"].get("str_replace").is_some());
}

#[test]
fn text_added_to_an_export_is_kept_without_the_catalogue() {
    let export = exported(SHOP);
    let changed = export.replace("page_title: Welcome", "page_title: Hello");
    assert_ne!(changed, export);
    let back = restored(&changed, &types::Registry::openstack()).unwrap();
    assert_eq!(
        value(&back)["resources"]["nginx"]["properties"],
        json!({"host": {"get_resource": "inner"}, "listen_port": 8080, "page_title": "Hello"})
    );
}

#[test]
fn changes_to_an_export_are_kept() {
    let export = Document::parse(exported(SHOP));
    let set = |at: &[&str], value: Value| Edit::Set {
        path: path(at),
        value,
    };
    let changed = edited(
        &export,
        &[
            set(
                &[
                    "resources",
                    "nginx",
                    "properties",
                    "input_values",
                    "listen_port",
                ],
                json!(8081),
            ),
            set(
                &[
                    "resources",
                    "nginx",
                    "properties",
                    "input_values",
                    "page_title",
                ],
                json!("Hello"),
            ),
            set(
                &["resources", "inner", "properties", "flavor"],
                json!("large"),
            ),
            set(
                &["outputs", "address", "value"],
                json!({"get_attr": ["gate_floating_ip", "floating_ip_address"]}),
            ),
        ],
    );
    let back = value(&restored(changed.text(), &types()).unwrap());
    let resources = &back["resources"];
    assert_eq!(
        resources["nginx"]["properties"],
        json!({"host": {"get_resource": "inner"}, "listen_port": 8081, "page_title": "Hello"})
    );
    assert_eq!(resources["inner"]["properties"]["flavor"], "large");
    // A remaining resource refers to it, so it stays, with its dependencies.
    assert!(resources["gate_floating_ip"].get("metadata").is_none());
    assert!(resources.get("gate_port").is_some() && resources.get("router").is_some());
    assert!(resources.get("inner_port").is_none(), "{resources:#}");
}

#[test]
fn orders_that_heat_cannot_derive_are_depends_on() {
    let export = value(&exported(SHOP));
    let waits = |name: &str| export["resources"][name]["depends_on"].clone();
    // The gateway of the network, and the software that is used.
    assert_eq!(
        waits("gate_floating_ip"),
        json!(["router", "front_subnet_interface"])
    );
    assert_eq!(waits("proxy"), json!(["nginx"]));
    let after = SHOP.replace("  proxy:\n", "  proxy:\n    depends_on: disk\n");
    let export = exported(&after);
    assert_eq!(
        value(&export)["resources"]["proxy"]["depends_on"],
        json!(["disk", "nginx"])
    );
    assert_eq!(value(&restored(&export, &types()).unwrap()), value(&after));
}

#[test]
fn inputs_from_other_software_are_inputs_of_the_deployment() {
    let text = SHOP.replace(
        "listen_port: 8080}",
        "listen_port: 8080, page_text: {get_attr: [proxy, url]}}",
    );
    let export = exported(&text);
    let deployment = &value(&export)["resources"]["nginx"]["properties"];
    let input = &deployment["input_values"]["page_text"];
    assert!(input.get("str_replace").is_some(), "{deployment:#}");
    assert!(deployment.get("page_text").is_none());
    assert_eq!(value(&restored(&export, &types()).unwrap()), value(&text));
}

const SITE: &str = "\
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.1.0.0/24}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}
  db:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}
  data:
    type: Stackloom::Catalog::mariadb
    properties: {host: {get_resource: db}, password: for-the-owner}
  site:
    type: Stackloom::Catalog::wordpress
    properties: {host: {get_resource: web}, admin_password: for-the-author, database: [{get_resource: data}]}
";

#[test]
fn the_secret_of_a_connection_is_in_the_export_and_gone_after_the_import() {
    let export = exported(SITE);
    let resources = &value(&export)["resources"];
    assert_eq!(resources["site_at_data"]["type"], "OS::Heat::RandomString");
    let secret = json!({"get_attr": ["site_at_data", "value"]});
    let inputs = |name: &str| &resources[name]["properties"]["input_values"];
    assert_eq!(
        inputs("data")["clients"],
        json!([{"name": "site", "secret": secret}])
    );
    let endpoint = &inputs("site")["database"][0];
    assert_eq!(endpoint["consumer"], "site");
    assert_eq!(endpoint["secret"], secret);
    assert!(endpoint.get("password").is_none(), "{endpoint}");
    for types in [types(), types::Registry::openstack()] {
        let back = restored(&export, &types).unwrap();
        assert_eq!(value(&back), value(SITE));
    }
}

#[test]
fn software_works_in_an_export_without_the_additions_of_passes() {
    let export = Design::of(SITE).drawn_only().export(Format::Hot);
    let resources = &value(&export.text)["resources"];
    assert!(
        !export.text.contains("type: OS::Neutron::Router"),
        "{}",
        export.text
    );
    assert_eq!(resources["site_at_data"]["type"], "OS::Heat::RandomString");
    let secret = json!({"get_attr": ["site_at_data", "value"]});
    let inputs = |name: &str| &resources[name]["properties"]["input_values"];
    assert_eq!(
        inputs("data")["clients"],
        json!([{"name": "site", "secret": secret}])
    );
    let endpoint = &inputs("site")["database"][0];
    assert_eq!(endpoint["secret"], secret);
    assert_eq!(endpoint["port"], inputs("data")["listen_port"]);
    assert!(endpoint["port"].is_number(), "{endpoint}");
    // Heat sees no reference between the two.
    assert_eq!(resources["site"]["depends_on"], json!(["data"]));
    let notes = export.report.notes.iter();
    let mut notes = notes.map(|note| note.message.as_str());
    assert!(!notes.any(|note| note.contains("RandomString")));
    let back = restored(&export.text, &types()).unwrap();
    assert_eq!(value(&back), value(SITE));
}

#[test]
fn an_endpoint_that_is_not_known_is_in_the_report() {
    let text = SITE
        .replace(
            "resources:\n",
            "parameters: {base: {type: string}}\nresources:\n",
        )
        .replace(
            "database: [{get_resource: data}]",
            "database: [{get_param: base}]",
        );
    let report = Design::of(&text).export(Format::Hot).report;
    let at = "resources.site.properties.database";
    let mut notes = report.notes.iter();
    assert!(notes.any(|note| note.kind == Kind::Needed && note.path == at));
    let report = Design::of(SITE).export(Format::Hot).report;
    assert!(report.notes.iter().all(|note| note.path != at));
}

#[test]
fn components_that_are_members_of_a_group_are_in_the_report() {
    let text = "heat_template_version: 2021-04-16\nresources:\n  many:\n    type: OS::Heat::ResourceGroup\n    \
                properties: {count: 2, resource_def: {type: 'Stackloom::Catalog::script', properties: {host: web}}}\n";
    let report = Design::of(text).export(Format::Hot).report;
    let mut notes = report.notes.iter();
    assert!(notes.any(|note| note.kind == Kind::Needed && note.path == "resources.many"));
}

#[test]
fn only_resources_with_our_marks_are_converted_back() {
    for text in [
        "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None, metadata: {stackloom: {public: true}}}}\n",
        "resources: [",
        "heat_template_version: 2021-04-16\nresources: {}\n",
    ] {
        assert_eq!(restored(text, &types()), None);
    }
    // An invented mark changes nothing else.
    let odd = "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None, metadata: {stackloom: {exported: [1]}}}}\n";
    assert_eq!(restored(odd, &types()).as_deref(), Some(odd));
}

#[test]
fn a_rewritten_text_is_in_the_report() {
    // A change of an anchored value would also change its aliases.
    let text = SHOP.replace("    metadata:", "    # gone\n    metadata: &m");
    let plain = Design::of(SHOP).export(Format::Hot).report;
    let anew =
        |report: &crate::export::Report| report.lines().any(|line| line.contains("was rewritten"));
    assert!(!anew(&plain), "{plain:?}");
    let text = format!("{text}x: 1\nx: 2\n");
    let export = Design::of(&text).export(Format::Hot);
    assert!(anew(&export.report), "{}", export.text);
}
