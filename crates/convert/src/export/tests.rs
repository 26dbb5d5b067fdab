//! The complete export of one design in each format, as snapshots.

use canvas::{
    geometry::CanvasPoint,
    layout::{Place, Places},
};
use hot::document::Document;

use super::*;
use crate::export::testing::Design;

/// A public proxy in front of a private server, with a volume, parameters and outputs.
pub(crate) const SHOP: &str = "\
heat_template_version: 2021-04-16
description: A shop.
parameters:
  size:
    type: number
    default: 10
    constraints: [{range: {min: 1, max: 100}}]
  image: {type: string, default: debian-12}
resources:
  # where they meet
  front: {type: OS::Neutron::Net}
  front_subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: front}, cidr: 10.1.0.0/24}
  gate:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties:
      image: {get_param: image}
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
  inner:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
      networks: [{network: {get_resource: front}}]
  disk:
    type: OS::Cinder::Volume
    properties: {size: {get_param: size}}
  attached:
    type: OS::Cinder::VolumeAttachment
    properties: {instance_uuid: {get_resource: inner}, volume_id: {get_resource: disk}}
  proxy:
    type: Stackloom::Catalog::haproxy
    properties:
      host: {get_resource: gate}
      backends: [{get_resource: nginx}]
  nginx:
    type: Stackloom::Catalog::nginx
    properties: {host: {get_resource: inner}, listen_port: 8080}
outputs:
  url: {description: Where to go., value: {get_attr: [proxy, url]}}
  inside: {value: {get_attr: [inner, first_address]}}
";

fn exported(text: &str, format: Format) -> Export {
    Design::of(text).export(format)
}

#[test]
fn plain_hot() {
    let export = exported(SHOP, Format::Hot);
    assert_eq!(export.file_name, "my-shop.hot.yaml");
    insta::assert_snapshot!(export.text);
    let document = Document::parse(export.text.as_str());
    assert!(
        document.diagnostics().is_empty(),
        "{:?}",
        document.diagnostics()
    );
    assert!(!export.text.contains("Stackloom::"));
}

#[test]
fn terraform() {
    insta::assert_snapshot!(exported(SHOP, Format::Terraform).text);
}

#[test]
fn tosca() {
    insta::assert_snapshot!(exported(SHOP, Format::Tosca).text);
}

#[test]
fn picture() {
    let volume = SHOP.find("  disk:").unwrap()..SHOP.find("  proxy:").unwrap();
    let text = SHOP.replace(&SHOP[volume], "");
    insta::assert_snapshot!(exported(&text, Format::Svg).text);
}

#[test]
fn a_folded_network_is_a_card_in_a_picture() {
    let text = "\
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  web:
    type: OS::Nova::Server
    properties: {networks: [{network: {get_resource: net}}]}
";
    let open = Design::of(text).export(Format::Svg).text;
    assert!(open.contains(">web<"), "{open}");
    let folded = Place {
        folded: Some(CanvasPoint::default()),
        ..Place::default()
    };
    let places = Places::from([("net".to_owned(), folded)]);
    let picture = Design::of(text).placed(places).export(Format::Svg).text;
    assert!(picture.contains("Network · 1 inside"), "{picture}");
    assert!(!picture.contains(">web<"), "{picture}");
}

#[test]
fn a_plain_heat_template_is_exported_byte_for_byte() {
    let text = "heat_template_version: 2013-05-23\n# note\nresources:\n  a: {type: OS::Heat::RandomString}   # x\n";
    let export = exported(text, Format::Hot);
    assert_eq!(export.text, text);
    assert_eq!(export.report, Report::default());
}

#[test]
fn a_large_design_keeps_its_comments_however_much_is_added() {
    let mut text = "heat_template_version: 2021-04-16\n# all of them\nresources:\n  net: {type: OS::Neutron::Net}\n  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/16}}\n".to_owned();
    for number in 0..300 {
        text.push_str(&format!(
            "  s{number}:\n    type: OS::Nova::Server # {number}\n    metadata: {{stackloom: {{public: true}}}}\n    properties: {{image: a, flavor: b, networks: [{{network: {{get_resource: net}}}}]}}\n"
        ));
    }
    let export = exported(&text, Format::Hot).text;
    assert_eq!(export.matches("type: OS::Neutron::Port").count(), 300);
    assert!(export.contains("# all of them\n"), "{export}");
    for number in [0, 150, 299] {
        let line = format!("    type: OS::Nova::Server # {number}\n");
        assert!(export.contains(&line), "{export}");
    }
}

#[test]
fn a_template_with_a_syntax_error_is_refused() {
    let half = Design::of("resources: [a\n  b: c");
    for format in Format::ALL {
        assert!(half.try_export(format).unwrap_err().line.is_some());
        assert_eq!(format.word().parse(), Ok(format));
    }
}

#[test]
fn names_cannot_break_the_syntax_of_a_file() {
    let text = "heat_template_version: 2013-05-23\nresources:\n  a.b:\n    type: OS::Nova::Server\n    properties: {name: '${file(\"x\")}', image: '<script>&', flavor: \"a\\nb\"}\n";
    let terraform = exported(text, Format::Terraform).text;
    assert!(terraform.contains("$${file("), "{terraform}");
    assert!(terraform.contains("\"a_b\": {"), "{terraform}");
    let picture = exported(text, Format::Svg).text;
    assert!(
        picture.contains("&lt;script&gt;&amp;") && !picture.contains("<script"),
        "{picture}"
    );
}

const HEAD: &str = "heat_template_version: 2021-04-16\n";

/// A design with nested templates, an environment and a script. As in an upload from a browser, the files have no
/// folders.
pub(crate) fn site() -> Design {
    let top = format!(
        "{HEAD}parameters:\n  size: {{type: number, default: 2}}\n  image: {{type: string, default: debian-12}}\nresources:\n  \
         web: {{type: ../lib/web.yaml, properties: {{image: {{get_param: image}}, extra: {{get_param: size}}}}}}\n  \
         db: {{type: My::Db, properties: {{image: {{get_param: image}}}}}}\noutputs:\n  \
         first: {{value: {{get_attr: [web, address]}}}}\n"
    );
    let web = format!(
        "{HEAD}parameters:\n  image: {{type: string}}\n  extra: {{type: number}}\nconditions:\n  many: {{not: {{equals: [{{get_param: extra}}, 0]}}}}\n\
         resources:\n  server:\n    type: OS::Nova::Server\n    properties: {{image: {{get_param: image}}, flavor: m1.small, networks: [{{network: net}}], user_data: {{get_file: init.sh}}}}\n  \
         more:\n    type: OS::Heat::ResourceGroup\n    condition: many\n    properties: {{count: {{get_param: extra}}, resource_def: {{type: OS::Cinder::Volume, properties: {{size: 1, name: 'v%index%'}}}}}}\n\
         outputs:\n  address: {{value: {{get_attr: [server, first_address]}}}}\n"
    );
    let db = format!(
        "{HEAD}parameters:\n  image: {{type: string}}\nresources:\n  gate:\n    type: OS::Nova::Server\n    metadata: {{stackloom: {{public: false}}}}\n    properties: {{image: {{get_param: image}}, flavor: m1.small, networks: [{{network: net}}]}}\n"
    );
    Design::of(&top).with(&[
        ("web.yaml", &web),
        ("sub/db.yaml", &db),
        (
            "env.yaml",
            "resource_registry:\n  # ours\n  My::Db: db.yaml\n",
        ),
        ("scripts/init.sh", "#!/bin/sh\necho ${x}\n"),
    ])
}

#[test]
fn a_hot_export_has_every_file_that_it_names() {
    let export = site().export(Format::Hot);
    assert_eq!(export.download_name(), "my-shop.hot.tar.gz");
    let file = |path: &str| {
        let found = export.files.iter().find(|file| file.path == path);
        found.unwrap().text.as_str()
    };
    assert!(export.text.contains("type: web.yaml"), "{}", export.text);
    assert!(file("env.yaml").contains("# ours\n  My::Db: sub/db.yaml\n"));
    assert!(file("web.yaml").contains("get_file: scripts/init.sh"));
    assert!(file("scripts/init.sh").contains("echo ${x}"));
    // A nested template is treated like the main one: changes are marked.
    assert!(file("sub/db.yaml").contains("exported:"));
    let notes: Vec<&str> = export
        .report
        .notes
        .iter()
        .map(|note| note.message.as_str())
        .collect();
    assert_eq!(
        notes,
        ["Create the stack with the environment files in this order: `-e env.yaml`."]
    );
    assert_eq!(&export.archive().unwrap()[..2], &[0x1f, 0x8b]);
}

/// A value of an environment for a hidden parameter of a nested template becomes a parameter and is not exported.
#[test]
fn a_hidden_default_becomes_a_parameter() {
    let db = format!(
        "{HEAD}parameters:\n  word: {{type: string, hidden: true}}\nresources:\n  \
         net: {{type: OS::Neutron::Net, properties: {{name: {{get_param: word}}}}}}\n"
    );
    let top = format!(
        "{HEAD}parameters:\n  word: {{type: string, hidden: true}}\nresources:\n  db: {{type: db.yaml}}\n"
    );
    let design = Design::of(&top).with(&[
        ("db.yaml", db.as_str()),
        ("env.yaml", "parameter_defaults: {word: s3cret}\n"),
    ]);
    let terraform = design.export(Format::Terraform).text;
    let out: serde_json::Value = serde_json::from_str(&terraform).unwrap();
    assert_eq!(out["variable"]["word_2"]["sensitive"], true, "{terraform}");
    assert_eq!(
        out["resource"]["openstack_networking_network_v2"]["db_net"]["name"],
        "${var.word_2}"
    );
    let tosca = design.export(Format::Tosca).text;
    assert!(tosca.contains("    word_2:\n"), "{tosca}");
    assert!(!terraform.contains("s3cret") && !tosca.contains("s3cret"));
}

#[test]
fn terraform_expands_nested_templates_and_keeps_variables() {
    let export = site().export(Format::Terraform);
    let out: serde_json::Value = serde_json::from_str(&export.text).unwrap();
    let servers = &out["resource"]["openstack_compute_instance_v2"];
    assert_eq!(
        servers["web_server"]["image_name"]
            .as_str()
            .unwrap()
            .matches("var.image")
            .count(),
        2
    );
    assert!(servers["db_gate"].is_object(), "{out:#}");
    let volumes = &out["resource"]["openstack_blockstorage_volume_v3"];
    assert_eq!(volumes["web_more_1"]["name"], "v1");
    assert_eq!(out["variable"].as_object().unwrap().len(), 1);
    assert_eq!(
        out["output"]["first"]["value"],
        "${openstack_compute_instance_v2.web_server.access_ip_v4}"
    );
    let fixed = &export.report.notes[0];
    assert_eq!(
        (fixed.kind, fixed.path.as_str()),
        (Kind::Changed, "parameters.size")
    );
}

#[test]
fn tosca_expands_nested_templates() {
    let text = site().export(Format::Tosca).text;
    for name in ["web/server:", "web/more/0:", "web/more/1:", "db/gate:"] {
        assert!(text.contains(name), "{text}");
    }
    assert!(!text.contains("size:\n      type: integer"), "{text}");
}

#[test]
fn resources_that_a_deployment_adds_can_be_left_out() {
    let export = Design::of(SHOP).drawn_only().export(Format::Hot);
    assert!(!export.text.contains("type: OS::Neutron::FloatingIP"));
    assert!(!export.text.contains("type: OS::Neutron::Router"));
    let left_out = |name: &str| {
        export
            .report
            .notes
            .iter()
            .any(|note| note.kind == Kind::LeftOut && note.message.contains(name))
    };
    assert!(left_out("OS::Neutron::FloatingIP"), "{:?}", export.report);
}

#[test]
fn files_of_a_design_neither_replace_the_main_file_nor_leave_the_folder() {
    let text = format!("{HEAD}resources: {{a: {{type: OS::Heat::None}}}}\n");
    let files = [
        ("my-shop.hot.yaml", "mine"),
        ("../up.sh", "x"),
        ("/root.sh", "y"),
    ];
    let export = Design::of(&text).with(&files).export(Format::Hot);
    assert_eq!(export.file_name, "my-shop-export.hot.yaml");
    for file in &export.files {
        let is_within =
            !file.path.starts_with('/') && !file.path.split('/').any(|part| part == "..");
        assert!(is_within, "{}", file.path);
    }
    assert!(export.archive().is_ok());
}

#[test]
fn deep_long_and_odd_designs_are_exported_in_time() {
    let nest = |depth: usize| format!("{}x{}", "[".repeat(depth), "]".repeat(depth));
    let many: String = (0..40)
        .map(|n| {
            format!(
                "  p{n}: {{type: OS::Neutron::Port, properties: {{network: {{get_resource: n}}, odd{n}: 1}}}}\n"
            )
        })
        .collect();
    for resources in [
        format!("  a: {{type: OS::Heat::Value, properties: {{value: {}}}}}\n", nest(55)),
        format!("  n: {{type: OS::Neutron::Net}}\n{many}"),
        "  '\"--><script>${x}%{y}': {type: 'OS::Nova::Server\"><script>', properties: {\"a\\nb\": \"\\u2028*/\"}}\n".to_owned(),
    ] {
        let design = Design::of(&format!("{HEAD}resources:\n{resources}"));
        for format in Format::ALL {
            let export = design.export(format);
            assert!(export.report.notes.len() <= 1_001);
            match format {
                Format::Terraform => {
                    let read: Result<serde_json::Value, _> = serde_json::from_str(&export.text);
                    assert!(read.is_ok());
                }
                Format::Hot | Format::Tosca => {
                    assert!(Document::parse(export.text.as_str()).is_readable());
                }
                Format::Svg => assert!(!export.text.contains("<script")),
            }
        }
    }
}
