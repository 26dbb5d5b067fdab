//! Edits of values, one case per test.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Checks the text after an edit.
#[track_caller]
fn check_edit(before: &str, edit: &Edit, after: &str) {
    let document = Document::parse(before);
    match document.edit(edit) {
        Ok(edited) => assert_eq!(edited.text(), after),
        Err(error) => panic!("{error}\n{before}"),
    }
}

fn path(dotted: &str) -> Vec<String> {
    dotted.split('.').map(str::to_owned).collect()
}

fn set(dotted: &str, value: Value) -> Edit {
    Edit::Set {
        path: path(dotted),
        value,
    }
}

fn remove(dotted: &str) -> Edit {
    Edit::Remove { path: path(dotted) }
}

fn add(name: &str, resource_type: &str, properties: Value) -> Edit {
    Edit::AddResource {
        name: name.into(),
        resource_type: resource_type.into(),
        properties,
    }
}

const WEB: &str = "\
heat_template_version: 2021-04-16  # the newest

resources:
  # where servers live
  front:
    type: OS::Neutron::Net

  web:
    type: OS::Nova::Server
    depends_on: [front, other]
    properties:
      image: debian-12 # small
      flavor: \"m1.small\"
      networks: [{network: {get_resource: front}}, {network: public}]

outputs:
  ip: {value: {get_attr: [web, first_address]}}
";

#[test]
fn a_scalar_is_replaced_in_place() {
    check_edit(
        WEB,
        &set("resources.web.properties.image", json!("ubuntu 24.04")),
        &WEB.replace("debian-12 #", "ubuntu 24.04 #"),
    );
    check_edit(
        WEB,
        &set("resources.web.properties.flavor", json!("yes")),
        &WEB.replace("\"m1.small\"", "\"yes\""),
    );
}

#[test]
fn a_new_key_comes_last_in_its_map() {
    let after = WEB.replace(
        "{network: public}]\n",
        "{network: public}]\n      key_name: me\n",
    );
    check_edit(
        WEB,
        &set("resources.web.properties.key_name", json!("me")),
        &after,
    );
    check_edit(&after, &remove("resources.web.properties.key_name"), WEB);
    let after = WEB.replace(
        "OS::Neutron::Net\n",
        "OS::Neutron::Net\n    properties:\n      name: a\n",
    );
    check_edit(
        WEB,
        &set("resources.front.properties.name", json!("a")),
        &after,
    );
    check_edit(&after, &remove("resources.front.properties.name"), WEB);
}

#[test]
fn several_lines_become_a_block() {
    let after = WEB
        .replace("debian-12 #", "| #")
        .replace("# small\n", "# small\n        a\n          b\n");
    check_edit(
        WEB,
        &set("resources.web.properties.image", json!("a\n  b\n")),
        &after,
    );
    check_edit(
        &after,
        &set("resources.web.properties.image", json!("c")),
        &WEB.replace("debian-12 # small", "c"),
    );
}

#[test]
fn flow_style_stays_flow_style() {
    check_edit(
        WEB,
        &set(
            "resources.web.properties.networks.0.fixed_ip",
            json!("10.0.0.4"),
        ),
        &WEB.replace(
            "{network: {get_resource: front}}",
            "{network: {get_resource: front}, fixed_ip: 10.0.0.4}",
        ),
    );
    check_edit(
        WEB,
        &set("resources.web.properties.networks.2", json!({"port": "p"})),
        &WEB.replace("public}]", "public}, {port: p}]"),
    );
    check_edit(
        WEB,
        &remove("resources.web.properties.networks.0"),
        &WEB.replace("{network: {get_resource: front}}, ", ""),
    );
    check_edit(
        WEB,
        &remove("resources.web.properties.networks.1"),
        &WEB.replace(", {network: public}", ""),
    );
}

#[test]
fn only_differences_are_written() {
    let networks = json!([{"network": {"get_resource": "front"}}, {"network": "dmz"}]);
    check_edit(
        WEB,
        &set("resources.web.properties.networks", networks),
        &WEB.replace("network: public", "network: dmz"),
    );
}

fn remove_resource(name: &str) -> Edit {
    Edit::RemoveResource {
        name: name.into(),
        keep: Vec::new(),
    }
}

#[test]
fn block_lists_are_edited_as_block_lists() {
    let text = "a:\n- x: 1 # one\n  y: 2\n- z\n# end\n";
    check_edit(text, &remove("a.0.x"), "a:\n- y: 2\n- z\n# end\n");
    check_edit(text, &remove("a.0"), "a:\n- z\n# end\n");
    check_edit(text, &remove("a.1"), "a:\n- x: 1 # one\n  y: 2\n# end\n");
    check_edit(
        text,
        &set("a.2", json!({"k": 1, "l": [{"m": 2}]})),
        "a:\n- x: 1 # one\n  y: 2\n- z\n- k: 1\n  l:\n    - m: 2\n# end\n",
    );
    check_edit(
        text,
        &set("a.0.w", json!(3)),
        "a:\n- x: 1 # one\n  y: 2\n  w: 3\n- z\n# end\n",
    );
    check_edit(
        text,
        &set("a.1", json!("q")),
        "a:\n- x: 1 # one\n  y: 2\n- q\n# end\n",
    );
    check_edit(text, &set("a", json!("q")), "a: q\n# end\n");
}

#[test]
fn windows_line_ends_are_kept() {
    check_edit(
        "a:\r\n  b: 1\r\n",
        &set("a.c", json!([{"x": 1}])),
        "a:\r\n  b: 1\r\n  c:\r\n    - x: 1\r\n",
    );
}

#[test]
fn impossible_edits_are_refused() {
    let document = Document::parse(WEB);
    let refused = |edit: Edit| document.edit(&edit).unwrap_err().to_string();
    insta::assert_snapshot!(refused(add("web", "x", json!({}))), @"`web` exists already; choose another name");
    insta::assert_snapshot!(refused(add("<b>", "x", json!({}))), @"`<b>` cannot be a name: use letters, digits, `_`, `-` and `.`");
    insta::assert_snapshot!(refused(remove_resource("db")), @"there is no `db` in the template");
    insta::assert_snapshot!(refused(remove("resources.web.properties.x")), @"there is no `resources.web.properties.x` in the template");
    let broken = Document::parse("a: 1\nb: [1\n")
        .edit(&remove("a"))
        .unwrap_err();
    insta::assert_snapshot!(broken, @"the template has a syntax error on line 3; correct it in the code view first");
    let alias = Document::parse("a: &a {x: 1}\nb: *a\n")
        .edit(&set("b.x", json!(2)))
        .unwrap_err();
    insta::assert_snapshot!(alias, @"this cannot be changed here: `b` is inside a YAML alias; change it in the code view");
}

#[test]
fn paths_have_lines_and_places() {
    let document = Document::parse(WEB);
    assert_eq!(document.lines(&["resources", "web"]), Some((8, 14)));
    assert_eq!(document.lines(&["resources", "nothing"]), None);
    assert_eq!(
        document.position("resources.web.properties.networks.1"),
        Some(Position {
            line: 14,
            column: 52
        })
    );
    assert_eq!(
        document.position("resources.web.properties.missing"),
        Some(Position {
            line: 11,
            column: 5
        })
    );
    assert_eq!(
        Document::parse("resources:\n  a.b:\n    type: x\n").position("resources.a.b.type"),
        Some(Position { line: 3, column: 5 })
    );
}

#[test]
fn a_key_that_must_come_first_is_set_and_removed() {
    let after = WEB.replace(
        "    type: OS::Neutron::Net\n",
        "    type: OS::Neutron::Net\n    depends_on: [web]\n",
    );
    check_edit(
        WEB,
        &set("resources.front.depends_on", json!(["web"])),
        &after,
    );
    check_edit(&after, &remove("resources.front.depends_on"), WEB);
    check_edit(
        WEB,
        &set("resources.web.depends_on", json!(["front"])),
        &WEB.replace("[front, other]", "[front]"),
    );
    let conditional = WEB.replace(
        "    type: OS::Neutron::Net\n",
        "    type: OS::Neutron::Net\n    condition: production\n",
    );
    check_edit(
        WEB,
        &set("resources.front.condition", json!("production")),
        &conditional,
    );
    check_edit(&conditional, &remove("resources.front.condition"), WEB);
}

#[test]
fn an_inherited_key_is_set_in_the_map_itself() {
    let text = "a: &a {x: 1}\nb:\n  <<: *a\n  y: 2\n";
    check_edit(
        text,
        &set("b.x", json!(3)),
        &text.replace("  y: 2\n", "  y: 2\n  x: 3\n"),
    );
    let refused = Document::parse(text).edit(&remove("b.x")).unwrap_err();
    insta::assert_snapshot!(refused, @"there is no `b.x` in the template");
}

#[test]
fn a_map_with_a_duplicate_key_is_not_edited() {
    let refused = Document::parse("a: 1\nb: 2\na: 3\n")
        .edit(&set("b", json!(4)))
        .unwrap_err();
    insta::assert_snapshot!(refused, @"this cannot be changed here: a key occurs twice in a map, the second time on line 3; change it in the code view");
}

/// JSON text stays JSON, on several lines where it is on several lines.
#[test]
fn json_stays_json() {
    let text = r#"{
  "heat_template_version": "2021-04-16",
  "resources": {
    "net": {"type": "OS::Neutron::Net"},
    "web": {
      "type": "OS::Nova::Server",
      "depends_on": ["net"],
      "properties": {"networks": [{"network": {"get_resource": "net"}}]}
    }
  }
}
"#;
    let db = add("db", "OS::Nova::Server", json!({"name": "a b", "size": 1}));
    let added = text.replace(
        "]}\n    }\n  }",
        "]}\n    },\n    \"db\": {\"type\": \"OS::Nova::Server\", \"properties\": {\"name\": \"a b\", \"size\": 1}}\n  }",
    );
    check_edit(text, &db, &added);
    check_edit(&added, &remove("resources.db"), text);
    let image = set("resources.web.properties.image", json!("debian-12"));
    let with_image = text.replace("}]}\n", "}], \"image\": \"debian-12\"}\n");
    check_edit(text, &image, &with_image);
    let renamed = Edit::RenameResource {
        from: "net".into(),
        to: "front".into(),
    };
    check_edit(text, &renamed, &text.replace("\"net\"", "\"front\""));
    let apart = text.replace("\"net\":", "\"net\"  :");
    check_edit(&apart, &renamed, &apart.replace("\"net\"", "\"front\""));
    for (before, after) in [
        ("{}", r#"{"resources": {"n": {"type": "t"}}}"#),
        (
            r#"{"resources": {}}"#,
            r#"{"resources": {"n": {"type": "t"}}}"#,
        ),
        (
            r#"{"resources": null}"#,
            r#"{"resources": {"n": {"type": "t"}}}"#,
        ),
    ] {
        check_edit(before, &add("n", "t", json!({})), after);
    }
}

/// Braces with a closing line that is not indented.
#[test]
fn multi_line_flow_maps_are_edited_line_by_line() {
    let text = "\
resources: {
  net: {type: OS::Neutron::Net},
  web: {
    type: OS::Nova::Server,
    depends_on: [
      net,
      other
    ]
  }  # the web
}
";
    check_edit(
        text,
        &set("resources.web.name", json!("w")),
        &text.replace("    ]\n", "    ],\n    name: w\n"),
    );
    check_edit(
        text,
        &set("resources.web.depends_on.2", json!("third")),
        &text.replace("other\n", "other,\n      third\n"),
    );
    let added = text.replace("  }  # the web", "  }, db: {type: x}  # the web");
    check_edit(text, &add("db", "x", json!({})), &added);
    check_edit(&added, &remove("resources.db"), text);
    check_edit(
        text,
        &remove("resources.web"),
        &text.replace(
            &text[text.find(",\n  web").unwrap()..text.find("  # the").unwrap()],
            "",
        ),
    );
}

mod entries;
mod laws;
mod resources;
mod three_way;
mod whole;
