use serde_json::json;

use super::*;
use crate::cloud::{Flavor, Named};
use hot::document::Document;

/// Problems of a parameter with this declaration, for a value.
fn problems(declaration: &str, value: Value) -> Vec<String> {
    problems_in(declaration, value, &CloudFacts::default())
}

fn problems_in(declaration: &str, value: Value, cloud: &CloudFacts) -> Vec<String> {
    let text = format!("heat_template_version: 2021-04-16\nparameters:\n  p: {declaration}\n");
    let document = Document::parse(text);
    assert_eq!(document.diagnostics(), [], "{declaration}");
    let given = BTreeMap::from([("p".to_owned(), value)]);
    check(document.template(), &given, cloud)
        .into_iter()
        .map(|one| one.message)
        .collect()
}

#[test]
fn types_coerce_as_in_heat() {
    for (kind, given, value) in [
        ("string", json!(true), json!("True")),
        ("string", json!(80), json!("80")),
        ("number", json!("80"), json!(80)),
        ("number", json!(" 1.5 "), json!(1.5)),
        ("number", json!("x"), json!("x")),
        ("boolean", json!("on"), json!(true)),
        ("boolean", json!("N"), json!(false)),
        ("boolean", json!(1), json!(true)),
        ("comma_delimited_list", json!("a, b"), json!(["a", " b"])),
        ("comma_delimited_list", json!(""), json!([])),
        ("comma_delimited_list", json!([1, "b"]), json!(["1", "b"])),
        ("json", json!("{\"a\": [1]}"), json!({"a": [1]})),
        ("json", json!([1]), json!([1])),
    ] {
        assert_eq!(coerce(kind, &given), value, "{kind} {given}");
    }
}

#[test]
fn each_constraint_accepts_and_refuses_its_examples() {
    for (declaration, right, wrong) in [
        (
            "{type: string, constraints: [{length: {min: 2, max: 3}}]}",
            json!("abc"),
            json!("abcd"),
        ),
        (
            "{type: json, constraints: [{length: {max: 1}}]}",
            json!({"a": 1}),
            json!({"a": 1, "b": 2}),
        ),
        (
            "{type: comma_delimited_list, constraints: [{length: {min: 2}}]}",
            json!("a,b"),
            json!("a"),
        ),
        (
            "{type: number, constraints: [{range: {min: 1, max: 9}}]}",
            json!("9"),
            json!(10),
        ),
        (
            "{type: number, constraints: [{modulo: {step: 2, offset: 1}}]}",
            json!(3),
            json!(4),
        ),
        (
            "{type: string, constraints: [{allowed_values: [a, 1]}]}",
            json!("1"),
            json!("2"),
        ),
        (
            "{type: number, constraints: [{allowed_values: [1, 2]}]}",
            json!("2"),
            json!(3),
        ),
        (
            "{type: comma_delimited_list, constraints: [{allowed_values: [a, b]}]}",
            json!("b,a"),
            json!("a,c"),
        ),
        (
            "{type: string, constraints: [{allowed_pattern: '[a-z]+'}]}",
            json!("abc"),
            json!("abc1"),
        ),
        (
            "{type: string, constraints: [{custom_constraint: ip_addr}]}",
            json!("10.0.0.1"),
            json!("ten"),
        ),
        (
            "{type: comma_delimited_list, constraints: [{custom_constraint: net_cidr}]}",
            json!("10.0.0.0/8"),
            json!("10.0.0.0/8,x"),
        ),
        ("{type: number}", json!("1e3"), json!("many")),
        ("{type: boolean}", json!("yes"), json!("maybe")),
        ("{type: json}", json!("[1]"), json!("{")),
    ] {
        assert_eq!(
            problems(declaration, right.clone()),
            [""; 0],
            "{declaration} {right}"
        );
        assert_eq!(
            problems(declaration, wrong.clone()).len(),
            1,
            "{declaration} {wrong}"
        );
    }
}

#[test]
fn messages_use_the_authors_words_and_keep_secrets() {
    let described =
        "{type: string, constraints: [{length: {min: 8}, description: at least eight letters}]}";
    insta::assert_snapshot!(problems(described, json!("x")).join("\n"), @"the parameter `p`: at least eight letters");
    let hidden = "{type: string, hidden: true, constraints: [{allowed_pattern: '[0-9]+'}]}";
    insta::assert_snapshot!(problems(hidden, json!("secret")).join("\n"), @"the parameter `p`: its value does not fit its type or constraints");
    let modulo = "{type: number, constraints: [{modulo: {step: 5, offset: 2}}]}";
    insta::assert_snapshot!(problems(modulo, json!(5)).join("\n"), @"the parameter `p`: 5 is not a multiple of 5 with an offset of 2");
}

#[test]
fn a_cloud_answers_custom_constraints() {
    let cloud = CloudFacts {
        flavors: Some(vec![Flavor {
            id: "1".into(),
            name: "m1.small".into(),
            vcpus: 1,
            ram_mib: 512,
            disk_gib: 1,
        }]),
        networks: Some(vec![Named {
            id: "n-1".into(),
            name: "front".into(),
        }]),
        ..CloudFacts::default()
    };
    let flavor = "{type: string, constraints: [{custom_constraint: nova.flavor}]}";
    assert_eq!(problems_in(flavor, json!("m1.small"), &cloud), [""; 0]);
    insta::assert_snapshot!(problems_in(flavor, json!("m1.smal"), &cloud).join("\n"), @"the parameter `p`: the cloud has no flavor `m1.smal`; did you mean `m1.small`?");
    let networks =
        "{type: comma_delimited_list, constraints: [{custom_constraint: neutron.network}]}";
    assert_eq!(problems_in(networks, json!("front,n-1"), &cloud), [""; 0]);
    assert_eq!(problems_in(networks, json!("front,back"), &cloud).len(), 1);
    let image = "{type: string, constraints: [{custom_constraint: glance.image}]}";
    assert_eq!(
        problems_in(image, json!("any"), &cloud),
        [""; 0],
        "images are not known"
    );
}

#[test]
fn looked_up_lists_answer_custom_constraints() {
    let named = |id: &str, name: &str| Named {
        id: id.into(),
        name: name.into(),
    };
    let cloud = CloudFacts {
        volume_types: Some(vec![named("t-1", "fast")]),
        things: BTreeMap::from([
            ("cinder.volume".to_owned(), vec![named("v-1", "pictures")]),
            ("barbican.secret".to_owned(), vec![named("s-1", "s-1")]),
        ]),
        now: Some(0),
        ..CloudFacts::default()
    };
    let asks =
        |name: &str| format!("{{type: string, constraints: [{{custom_constraint: {name}}}]}}");
    assert_eq!(
        problems_in(&asks("cinder.volume"), json!("v-1"), &cloud),
        [""; 0]
    );
    insta::assert_snapshot!(problems_in(&asks("cinder.volume"), json!("picture"), &cloud).join("\n"), @"the parameter `p`: the cloud has no volume `picture`; did you mean `pictures`?");
    insta::assert_snapshot!(problems_in(&asks("cinder.vtype"), json!("slow"), &cloud).join("\n"), @"the parameter `p`: the cloud has no volume type `slow`; there are `fast`");
    assert_eq!(
        problems_in(
            &asks("barbican.secret"),
            json!("https://keys/v1/secrets/s-1"),
            &cloud
        ),
        [""; 0]
    );
    assert_eq!(
        problems_in(&asks("neutron.port"), json!("any"), &cloud),
        [""; 0],
        "ports were not asked for"
    );
    insta::assert_snapshot!(problems_in(&asks("trove.flavor"), json!("any"), &cloud).join("\n"), @"the object that `p` names is not looked up (`trove.flavor`): the cloud checks it when it is used");
}

#[test]
fn missing_and_unknown_values_are_named() {
    let document =
        Document::parse("heat_template_version: 2021-04-16\nparameters:\n  size: {type: string}\n");
    let given = BTreeMap::from([("siz".to_owned(), json!("x"))]);
    let messages: Vec<String> = check(document.template(), &given, &CloudFacts::default())
        .into_iter()
        .map(|one| format!("{} {}", one.code, one.message))
        .collect();
    insta::assert_snapshot!(messages.join("\n"), @"
    parameter-missing the parameter `size` has no value and no default; give it one
    unknown-parameter a value is given for `siz`, which is not a parameter of the template; did you mean `size`?
    ");
}

#[test]
fn defaults_fulfil_their_own_constraints() {
    let document = Document::parse(
        "heat_template_version: 2021-04-16\nparameters:\n  n: {type: number, default: 5, constraints: [{range: {max: 3}}]}\n",
    );
    let messages: Vec<String> = defaults(document.template())
        .into_iter()
        .map(|one| format!("{}: {}", one.path, one.message))
        .collect();
    insta::assert_snapshot!(messages.join("\n"), @"parameters.n.default: the parameter `n`: 5 is out of range: it must be at most 3");
}
