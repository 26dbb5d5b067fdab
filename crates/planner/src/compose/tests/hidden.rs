//! Hidden values of environments for nested templates are used, and never visible.

use super::*;
use hot::diagnostic::listing;
use hot::parameter::HIDDEN_DEFAULTS;

const DB: &str = "\
heat_template_version: 2021-04-16
parameters:
  pw: {type: string, hidden: true, default: of the file}
conditions:
  safe: {not: {equals: [{get_param: pw}, 'of the file']}}
resources:
  net: {type: OS::Neutron::Net, properties: {name: {get_param: pw}}}
  back: {type: OS::Neutron::Net, condition: safe}
outputs:
  told: {value: {list_join: ['-', [{get_param: pw}, x]]}}
";

const SITE: &str = "\
heat_template_version: 2021-04-16
resources:
  db: {type: db.yaml}
  group: {type: OS::Heat::ResourceGroup, properties: {count: 1, resource_def: {type: db.yaml}}}
outputs:
  told: {value: {get_attr: [db, told]}}
";

const SECRET: &str = "parameter_defaults: {pw: s3cret}\n";
const TAKEN_OUT: &str = "parameter_defaults: {pw: null}\n";

fn stands_for(kind: &str) -> Value {
    json!({"get_param": format!("{HIDDEN_DEFAULTS}{kind}/pw")})
}

#[test]
fn a_hidden_default_is_used_and_not_shown() {
    let given = Given {
        template: SITE,
        files: &[("db.yaml", DB), ("env.yaml", SECRET)],
        ..Given::default()
    };
    let plan = given.plan();
    let answer = serde_json::to_string(&plan).unwrap();
    assert!(!answer.contains("s3cret"), "{answer}");
    let diagnostics = listing(&plan.diagnostics);
    let workflow = plan.workflow.unwrap_or_else(|| panic!("{diagnostics}"));
    let resources = workflow.resources;
    for net in ["db/net", "group/0/net"] {
        assert_eq!(property(&resources, net, "name"), stands_for("string"));
    }
    // The file's conditions use the value.
    assert!(resources.contains_key("db/back"));
    let output = workflow.outputs["told"].value.to_json().to_string();
    assert!(output.contains(HIDDEN_DEFAULTS), "{output}");
    assert_eq!(
        listing(&plan.diagnostics),
        "1:22 Warning environment-secret parameter_defaults.pw: `pw` is hidden, but its value is here in clear text and is stored \
         so with the design; let the template have such a parameter, pass it on, and give it when you deploy"
    );
}

#[test]
fn a_stored_hidden_default_is_used_if_the_file_no_longer_has_it() {
    let path = format!("{HIDDEN_DEFAULTS}string/pw");
    let given = Given {
        template: SITE,
        files: &[("db.yaml", DB), ("env.yaml", TAKEN_OUT)],
        deployed: Deployed {
            stored_hidden: BTreeMap::from([(path, json!("s3cret"))]),
            ..Deployed::default()
        },
        ..Given::default()
    };
    let resources = given.made();
    assert_eq!(property(&resources, "db/net", "name"), stands_for("string"));
    assert!(resources.contains_key("db/back"));

    // Without a stored value, null means no value.
    let none = Given {
        deployed: Deployed::default(),
        ..given
    };
    let resources = none.made();
    assert_eq!(property(&resources, "db/net", "name"), json!("of the file"));
    assert!(!resources.contains_key("db/back"));

    let needs = DB.replace(", default: of the file", "");
    let files = [("db.yaml", needs.as_str()), ("env.yaml", TAKEN_OUT)];
    let none = Given {
        files: &files,
        ..none
    };
    assert_eq!(
        none.errors(),
        "3:3 Error property-missing resources.db: `db` needs the property `pw`: parameter of `db.yaml`"
    );
    // For the group's member this is a warning, because Heat reports it at creation.
    let diagnostics = listing(&none.plan().diagnostics);
    assert!(
        diagnostics.contains("Warning property-missing resources.group"),
        "{diagnostics}"
    );
}

#[test]
fn hidden_defaults_are_converted_to_the_parameters_type() {
    let list = "\
heat_template_version: 2021-04-16
parameters:
  pw: {type: comma_delimited_list}
conditions:
  two: {equals: [{get_param: [pw, 1]}, b]}
resources:
  net: {type: OS::Neutron::Net, condition: two, properties: {name: {get_param: [pw, 0]}}}
";
    // A parameter is hidden if any of the files declares it as hidden.
    let template = format!("{SITE}  list: {{value: 1}}\n").replace(
        "  db: {type: db.yaml}\n",
        "  db: {type: db.yaml}\n  list: {type: list.yaml}\n",
    );
    let given = Given {
        template: &template,
        files: &[
            ("db.yaml", DB),
            ("list.yaml", list),
            ("env.yaml", "parameter_defaults: {pw: 'a,b'}\n"),
        ],
        ..Given::default()
    };
    let resources = given.made();
    assert_eq!(property(&resources, "db/net", "name"), stands_for("string"));
    let name = format!("{HIDDEN_DEFAULTS}comma_delimited_list/pw");
    assert_eq!(
        property(&resources, "list/net", "name"),
        json!({"get_param": [name, 0]})
    );
}

#[test]
fn another_hidden_default_is_a_change() {
    let files = [("db.yaml", DB), ("env.yaml", SECRET)];
    let given = Given {
        template: SITE,
        files: &files,
        ..Given::default()
    };
    let deployed = Deployed {
        hidden_changed: [format!("{HIDDEN_DEFAULTS}string/pw")].into(),
        ..Deployed::of(given.made())
    };
    let changed = Given { deployed, ..given };
    let changes = changed.plan().changes;
    let net = changes.iter().find(|change| change.resource == "db/net");
    let net = net.unwrap();
    assert_eq!(net.action, Action::Update);
    let why = serde_json::to_string(net).unwrap();
    assert!(why.contains("the value of `pw` changes"), "{why}");
}

#[test]
fn names_reserved_for_hidden_defaults_are_refused() {
    let name = format!("{HIDDEN_DEFAULTS}string/pw");
    let declares = format!(
        "heat_template_version: 2021-04-16\nparameters:\n  {name}: {{type: string, default: x}}\n"
    );
    let asks = SITE.replace(
        "outputs:",
        &format!("  net: {{type: OS::Neutron::Net, properties: {{name: {{get_param: '{name}'}}}}}}\noutputs:"),
    );
    let files = [("db.yaml", DB), ("env.yaml", SECRET)];
    for (template, code) in [(declares, "bad-name"), (asks, "unknown-parameter")] {
        let given = Given {
            template: &template,
            files: &files,
            ..Given::default()
        };
        assert!(given.errors().contains(code), "{}", given.errors());
    }
}
