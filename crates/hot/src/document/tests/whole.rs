//! Whole values, several resources at once, and edits that would change more than requested.

use super::*;

#[track_caller]
fn check_value(before: &str, change: impl FnOnce(&mut Value), after: &str) {
    let document = Document::parse(before);
    let mut value = document.value(&[]).unwrap();
    change(&mut value);
    match document.with_value(&value) {
        Ok(edited) => assert_eq!(edited.text(), after),
        Err(error) => panic!("{error}\n{before}"),
    }
}

fn refusal(before: &str, edit: &Edit) -> String {
    Document::parse(before).edit(edit).unwrap_err().to_string()
}

#[test]
fn another_value_changes_only_what_differs() {
    check_value(
        WEB,
        |value| {
            value["resources"]["web"]["properties"]["flavor"] = json!("m1.large");
            value["resources"]["front"]["depends_on"] = json!(["web"]);
            value["outputs"]["ip"]["description"] = json!("where");
        },
        &WEB.replace("\"m1.small\"", "m1.large")
            .replace(
                "type: OS::Neutron::Net\n",
                "type: OS::Neutron::Net\n    depends_on: [web]\n",
            )
            .replace("first_address]}}", "first_address]}, description: where}"),
    );
}

#[test]
fn items_are_added_to_and_removed_from_one_list() {
    check_value(
        "a:\n- p # one\n- q # two\n- r # three\n",
        |value| value["a"] = json!(["q", "s"]),
        "a:\n- q # one\n- s # two\n",
    );
    check_value(
        "a: {b: 1, c: [1, 2, 3]}  # end\n",
        |value| value["a"] = json!({"c": [1, 3], "d": 4}),
        "a: {c: [1, 3], d: 4}  # end\n",
    );
}

#[test]
fn comments_stay_with_their_items() {
    let text = "networks:\n  - network: a # front\n  - network: b # back\n  - network: c # side\n";
    let without = |line: &str| text.replace(line, "");
    let item = |name: &str| json!({"network": name});
    check_edit(
        text,
        &set("networks", json!([item("b"), item("c")])),
        &without("  - network: a # front\n"),
    );
    check_edit(
        text,
        &set("networks", json!([item("a"), item("c")])),
        &without("  - network: b # back\n"),
    );
    check_edit(
        text,
        &set("networks", json!([item("a"), item("d"), item("c")])),
        &text.replace("network: b", "network: d"),
    );
    check_edit(
        text,
        &set(
            "networks",
            json!([item("a"), item("b"), item("c"), item("d")]),
        ),
        &format!("{text}  - network: d\n"),
    );
}

#[test]
fn a_function_name_as_a_key_of_names_is_a_name() {
    let text = "\
resources:
  digest: # the only one
    type: \"OS::Heat::Value\"
    properties:
      # what it is
      value: 1
";
    check_value(
        text,
        |value| value["resources"]["digest"]["properties"]["value"] = json!(2),
        &text.replace("value: 1", "value: 2"),
    );
    check_value(
        text,
        |value| value["resources"]["more"] = json!({"type": "x"}),
        &format!("{text}  more:\n    type: x\n"),
    );
    // A call of the same function with another argument keeps its unchanged parts.
    let call = "a:\n  str_replace: # of it\n    template: one # first\n    params: {x: 1}\n";
    check_value(
        call,
        |value| value["a"]["str_replace"]["params"]["x"] = json!(2),
        &call.replace("x: 1", "x: 2"),
    );
}

#[test]
fn inherited_keys_stay_inherited() {
    let text = "base: &b {x: 1, y: 2}\nuse:\n  <<: *b # all of it\n  z: 3\n";
    check_value(
        text,
        |value| value["use"]["z"] = json!(4),
        &text.replace("z: 3", "z: 4"),
    );
    check_value(
        text,
        |value| value["use"]["x"] = json!(5),
        &format!("{text}  x: 5\n"),
    );
}

#[test]
fn an_edit_that_would_change_another_place_is_refused() {
    let text = "\
resources:
  a: {type: x, properties: &p {flavor: small, size: 1}}
  b: {type: x, properties: *p}
";
    insta::assert_snapshot!(refusal(text, &set("resources.a.properties.flavor", json!("large"))), @"this cannot be changed here: the lines around `resources.a.properties.flavor` have an unsupported notation; change it in the code view");
    insta::assert_snapshot!(refusal(text, &remove("resources.a.properties.flavor")), @"this cannot be changed here: the lines around `resources.a.properties.flavor` have an unsupported notation; change it in the code view");
    let document = Document::parse(text);
    let mut value = document.value(&[]).unwrap();
    value["resources"]["a"]["properties"]["flavor"] = json!("large");
    assert!(document.with_value(&value).is_err());
    // An entry that a merge key would restore is not removed.
    let merged = "base: &b {x: 1}\nuse:\n  <<: *b\n  x: 2\n";
    assert!(Document::parse(merged).edit(&remove("use.x")).is_err());
}

#[test]
fn several_resources_are_removed_with_their_references() {
    let text = "\
resources:
  a: {type: x}
  b:
    type: y
    depends_on:
      - a # first
      - c # then
  c: {type: x, properties: {n: {get_resource: a}, m: 1}}
  d: {type: x, properties: {list: [{get_resource: c}, {get_resource: b}]}}
outputs:
  one: {value: {get_attr: [a, id]}}
  two: {value: {get_attr: [b, id]}}
";
    check_edit(
        text,
        &Edit::RemoveResources {
            names: vec!["a".to_owned(), "c".to_owned()],
            keep: Vec::new(),
        },
        "\
resources:
  b:
    type: y
  d: {type: x, properties: {list: [{get_resource: b}]}}
outputs:
  two: {value: {get_attr: [b, id]}}
",
    );
    let all = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    let edit = Edit::RemoveResources {
        names: all,
        keep: Vec::new(),
    };
    check_edit(text, &edit, "resources:\n");
}

#[test]
fn each_line_has_the_line_end_of_its_neighbours() {
    let mixed = "a: 1\nb:\r\n  c: 2\r\n  d: 3\r\ne: 4\n";
    check_edit(mixed, &remove("b.d"), "a: 1\nb:\r\n  c: 2\r\ne: 4\n");
    check_edit(
        mixed,
        &set("b.f", json!(5)),
        "a: 1\nb:\r\n  c: 2\r\n  d: 3\r\n  f: 5\r\ne: 4\n",
    );
    let open = "a: 1\nb: 2";
    check_edit(open, &remove("b"), "a: 1");
    check_edit(open, &set("b", json!("x")), "a: 1\nb: x");
}

#[test]
fn a_name_that_is_a_yaml_marker_is_quoted() {
    let text = "resources:\n  net: {type: x}\n";
    for name in ["-", "...", "---"] {
        let rename = Edit::RenameResource {
            from: "net".to_owned(),
            to: name.to_owned(),
        };
        let after = Document::parse(text).edit(&rename);
        let after = after.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(after.text(), text.replace("net", &format!("\"{name}\"")));
    }
}
