use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::{document::Document, scope::Known, version::Version};

/// Two parameters, a hidden one, and one existing resource.
#[derive(Default)]
struct World;

impl Scope for World {
    fn parameter(&self, name: &str) -> Option<Value> {
        Some(match name {
            "port" => json!(80),
            "map" => json!({"a": [1, {"b": "c"}]}),
            "list" => json!(["x", "y"]),
            "text" => json!("{\"k\": 1}"),
            "nothing" => json!(null),
            "attribute" => json!("name"),
            _ => return None,
        })
    }
    fn reference(&self, resource: &str) -> Option<Value> {
        (resource == "web").then(|| json!("123"))
    }
    fn attribute(&self, resource: &str, name: &str) -> Option<Value> {
        self.attributes(resource).map(|mut all| all[name].take())
    }
    fn attributes(&self, resource: &str) -> Option<Value> {
        (resource == "web").then(|| json!({"name": "w", "networks": {"front": ["10.0.0.4"]}}))
    }
    fn condition(&self, name: &str) -> Option<bool> {
        match name {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        }
    }
    fn condition_parameter(&self, name: &str) -> Option<Value> {
        match name {
            "password" => Some(json!("secret")),
            _ => self.parameter(name),
        }
    }
    fn file(&self, name: &str) -> Option<String> {
        (name == "setup.sh").then(|| "#!/bin/sh\n".to_owned())
    }
    fn facade(&self, what: &str) -> Option<Value> {
        (what == "metadata").then(|| json!({"m": 1}))
    }
}

/// Value of an output of a template of this version, or the problem.
fn value_in(version: &str, hot: &Value) -> Result<Value, String> {
    let text = json!({
        "heat_template_version": version,
        "parameters": {"port": {"type": "number"}, "list": {"type": "json"}, "map": {"type": "json"}},
        "resources": {"web": {"type": "OS::Nova::Server"}},
        "outputs": {"o": {"value": hot}},
    });
    let document = Document::parse(text.to_string());
    if let Some(problem) = document.diagnostics().iter().find(|one| one.is_error()) {
        return Err(problem.message.clone());
    }
    document.template().outputs[0]
        .value
        .resolve(&World)
        .map_err(|problem| problem.to_string())
}

fn value(hot: Value) -> Result<Value, String> {
    value_in("2021-04-16", &hot)
}

#[track_caller]
fn check_value(hot: Value, expected: Value) {
    assert_eq!(value(hot.clone()), Ok(expected), "{hot}");
}

mod versions;

#[test]
fn get_param_follows_a_path_into_its_value() {
    check_value(json!({"get_param": "port"}), json!(80));
    check_value(json!({"get_param": ["map", "a", 1, "b"]}), json!("c"));
    check_value(json!({"get_param": ["map", "a", -2]}), json!(1));
    check_value(json!({"get_param": ["map", "a", "0"]}), json!(1));
    check_value(json!({"get_param": ["map", "a", 9]}), json!(""));
    check_value(json!({"get_param": ["map", "missing", "x"]}), json!(""));
    check_value(json!({"get_param": ["text", "k"]}), json!(1));
    check_value(
        json!({"get_param": ["map", {"list_join": ["", ["a"]]}]}),
        json!([1, {"b": "c"}]),
    );
}

#[test]
fn get_resource_and_get_attr_need_an_existing_resource() {
    check_value(json!({"get_resource": "web"}), json!("123"));
    check_value(
        json!({"get_attr": ["web", "networks", "front", 0]}),
        json!("10.0.0.4"),
    );
    check_value(json!({"get_attr": ["web", "missing"]}), json!(null));
    check_value(
        json!({"get_attr": ["web", {"get_param": "attribute"}]}),
        json!("w"),
    );
    check_value(
        json!({"get_attr": ["web"]}),
        json!({"name": "w", "networks": {"front": ["10.0.0.4"]}}),
    );
    assert_eq!(
        value(json!({"get_attr": ["db", "name"]})),
        Err("`db` does not exist yet".to_owned())
    );
}

#[test]
fn a_name_may_be_the_result_of_a_function() {
    check_value(
        json!({"get_resource": {"str_replace": {"template": "wXb", "params": {"X": "e"}}}}),
        json!("123"),
    );
    check_value(
        json!({"get_attr": [{"list_join": ["", ["w", "eb"]]}, "name"]}),
        json!("w"),
    );
}

#[test]
fn get_file_gives_a_file_beside_the_template() {
    check_value(json!({"get_file": "setup.sh"}), json!("#!/bin/sh\n"));
    assert_eq!(
        value(json!({"get_file": "other.sh"})),
        Err("the file `other.sh` was not given with the template".to_owned())
    );
}

#[test]
fn resource_facade_asks_the_parent() {
    check_value(json!({"resource_facade": "metadata"}), json!({"m": 1}));
    assert_eq!(
        value_in("2013-05-23", &json!({"Fn::ResourceFacade": "Metadata"})),
        Ok(json!({"m": 1}))
    );
}

#[test]
fn list_join_joins_texts_and_writes_the_rest_as_json() {
    check_value(
        json!({"list_join": [", ", ["a", null], ["c"]]}),
        json!("a, , c"),
    );
    check_value(
        json!({"list_join": ["-", [{"b": 1, "a": [true]}], null]}),
        json!("{\"a\": [true], \"b\": 1}"),
    );
    check_value(
        json!({"list_join": [",", {"get_param": "list"}]}),
        json!("x,y"),
    );
    assert_eq!(
        value_in("2013-05-23", &json!({"list_join": ["", ["a", "b"]]})),
        Ok(json!("ab"))
    );
}

#[test]
fn str_replace_takes_the_longest_word() {
    check_value(
        json!({"str_replace": {"template": "http://$host:$port/$hosts", "params": {"$host": "a", "$hosts": "b", "$port": {"get_param": "port"}}}}),
        json!("http://a:80/b"),
    );
    check_value(
        json!({"str_replace": {"template": "a b c", "params": {"a": true, "b": null, "c": {"k": []}}}}),
        json!("True  {\"k\": []}"),
    );
    check_value(
        json!({"str_replace": {"template": "xy", "params": {"x": "y", "y": "z"}}}),
        json!("yz"),
    );
}

#[test]
fn str_replace_strict_wants_every_word() {
    let call = |function: &str, params: Value| {
        value(json!({function: {"template": "a b", "params": params}}))
    };
    assert_eq!(
        call("str_replace_strict", json!({"a": "1", "b": ""})),
        Ok(json!("1 "))
    );
    insta::assert_snapshot!(call("str_replace_strict", json!({"a": "1", "c": "2"})).unwrap_err(), @"`str_replace_strict` does not find `c` in its template");
    insta::assert_snapshot!(call("str_replace_vstrict", json!({"a": "1", "b": ""})).unwrap_err(), @"`str_replace_vstrict` has no value for `b`, or an empty one");
    assert_eq!(
        call("str_replace_vstrict", json!({"a": 1, "b": false})),
        Ok(json!("1 False"))
    );
}

#[test]
fn repeat_copies_its_template() {
    check_value(
        json!({"repeat": {"template": {"%p%": "port %p%"}, "for_each": {"%p%": ["80", "443"]}}}),
        json!([{"80": "port 80"}, {"443": "port 443"}]),
    );
    check_value(
        json!({"repeat": {"template": "ab", "for_each": {"a": ["1", "2"], "b": ["x", "y"]}}}),
        json!(["1x", "1y", "2x", "2y"]),
    );
    check_value(
        json!({"repeat": {"template": "ab", "for_each": {"a": ["1", "2"], "b": ["x", "y"]}, "permutations": false}}),
        json!(["1x", "2y"]),
    );
    check_value(
        json!({"repeat": {"template": "k", "for_each": {"k": {"one": 1, "two": 2}}}}),
        json!(["one", "two"]),
    );
    check_value(
        json!({"repeat": {"template": "k", "for_each": {"k": {"get_param": "nothing"}}}}),
        json!([]),
    );
    assert!(value(json!({"repeat": {"template": "ab", "for_each": {"a": ["1"], "b": ["x", "y"]}, "permutations": false}})).is_err());
    insta::assert_snapshot!(
        value(json!({"repeat": {"template": "p", "for_each": {"p": [80]}}})).unwrap_err(),
        @"`repeat` puts texts for `p`, and `80` is none; write it in quotes"
    );
}

#[test]
fn digest_gives_checksums() {
    for (algorithm, hash) in [
        ("md5", "900150983cd24fb0d6963f7d28e17f72"),
        ("sha1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "SHA224",
            "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
        ),
        (
            "sha256",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
    ] {
        check_value(json!({"digest": [algorithm, "abc"]}), json!(hash));
    }
    assert_eq!(
        value(json!({"digest": ["sha384", "abc"]}))
            .unwrap()
            .as_str()
            .unwrap()
            .len(),
        96
    );
    assert_eq!(
        value(json!({"digest": ["sha512", "abc"]}))
            .unwrap()
            .as_str()
            .unwrap()
            .len(),
        128
    );
    assert!(value(json!({"digest": ["crc32", "abc"]})).is_err());
}

#[test]
fn str_split_gives_parts_or_one_part() {
    check_value(json!({"str_split": [",", "a,b,c"]}), json!(["a", "b", "c"]));
    check_value(json!({"str_split": [",", "a,b,c", 1]}), json!("b"));
    check_value(json!({"str_split": [",", "a,b,c", "-1"]}), json!("c"));
    check_value(json!({"str_split": [",", null]}), json!(null));
    insta::assert_snapshot!(value(json!({"str_split": [",", "a", 1]})).unwrap_err(), @"`str_split` has no part 1: the text has 1 part, counted from 0");
}

#[test]
fn maps_are_merged_and_replaced() {
    check_value(
        json!({"map_merge": [{"a": 1, "b": 2}, null, {"b": 3}]}),
        json!({"a": 1, "b": 3}),
    );
    check_value(
        json!({"map_replace": [{"k1": "v1", "k2": "v2", "k3": 80}, {"keys": {"k1": "K1"}, "values": {"v2": "V2", "80": "http"}}]}),
        json!({"K1": "v1", "k2": "V2", "k3": "http"}),
    );
    check_value(json!({"map_replace": [null, {"keys": {}}]}), json!({}));
    insta::assert_snapshot!(
        value(json!({"map_replace": [{"a": 1, "b": 2}, {"keys": {"a": "b"}}]})).unwrap_err(),
        @"`map_replace` would give the key `b` twice"
    );
}

#[test]
fn lists_are_joined_and_filtered() {
    check_value(
        json!({"list_concat": [["a"], null, ["b", "a"]]}),
        json!(["a", "b", "a"]),
    );
    check_value(
        json!({"list_concat_unique": [["a", "b"], ["b", "a", "c"]]}),
        json!(["a", "b", "c"]),
    );
    check_value(
        json!({"filter": [["a", null], ["a", "b", null]]}),
        json!(["b"]),
    );
    check_value(json!({"filter": [null, ["a"]]}), json!(["a"]));
    check_value(json!({"filter": [["a"], null]}), json!(null));
    check_value(
        json!({"contains": ["x", {"get_param": "list"}]}),
        json!(true),
    );
    check_value(json!({"contains": ["z", ["x"]]}), json!(false));
    check_value(json!({"contains": ["b", "abc"]}), json!(true));
}

#[test]
fn make_url_escapes_each_part() {
    check_value(
        json!({"make_url": {"scheme": "http", "username": "u", "password": "p:/", "host": "example.com", "port": {"get_param": "port"}, "path": "a b", "query": {"x": "1 2", "y": "a/b"}, "fragment": "top"}}),
        json!("http://u:p%3A%2F@example.com:80/a%20b?x=1+2&y=a/b#top"),
    );
    check_value(
        json!({"make_url": {"scheme": "https", "host": "::1"}}),
        json!("https://[::1]"),
    );
    check_value(
        json!({"make_url": {"host": "[fe80::1]", "port": "5000"}}),
        json!("//[fe80::1]:5000"),
    );
    check_value(json!({"make_url": {"path": "/v3"}}), json!("/v3"));
    assert!(value(json!({"make_url": {"host": "a", "port": 0}})).is_err());
    assert!(value(json!({"make_url": {"hots": "a"}})).is_err());
    assert!(value(json!({"make_url": {"scheme": "http:"}})).is_err());
}

#[test]
fn if_gives_one_of_two_values_or_nothing() {
    check_value(json!({"if": ["on", 1, 2]}), json!(1));
    check_value(json!({"if": ["off", 1, 2]}), json!(2));
    check_value(
        json!({"if": [true, "a", {"get_resource": "not looked at"}]}),
        json!("a"),
    );
    check_value(
        json!({"if": [{"equals": [{"get_param": "port"}, 80.0]}, "a", "b"]}),
        json!("a"),
    );
    check_value(json!(["x", {"if": ["off", "y"]}, "z"]), json!(["x", "z"]));
    check_value(json!({"k": {"if": ["off", 1]}, "l": 2}), json!({"l": 2}));
    check_value(json!({"if": ["on", {"if": ["off", 1]}, 2]}), json!(null));
}

#[test]
fn conditions_are_booleans() {
    let holds = |condition: Value| {
        value(json!({"if": [condition, "yes", "no"]})).map(|value| value == "yes")
    };
    for (condition, truth) in [
        (json!({"not": "on"}), false),
        (json!({"and": ["on", {"not": "off"}, true]}), true),
        (json!({"or": ["off", false]}), false),
        (
            json!({"or": ["off", {"equals": [{"get_param": ["map", "a", 0]}, 1]}]}),
            true,
        ),
        (json!({"equals": ["1", 1]}), false),
        (
            json!({"equals": [{"get_param": "password"}, "secret"]}),
            true,
        ),
        (json!({"contains": ["x", {"get_param": "list"}]}), true),
        (
            json!({"yaql": {"expression": "$.data.a", "data": {"a": true}}}),
            true,
        ),
    ] {
        assert_eq!(holds(condition.clone()), Ok(truth), "{condition}");
    }
    insta::assert_snapshot!(holds(json!("unknown")).unwrap_err(), @"it is not known whether the condition `unknown` holds");
    insta::assert_snapshot!(holds(json!({"get_param": "port"})).unwrap_err(), @"a condition is `true`, `false`, the name of a condition, or a function that gives one of the two; `80` is not");
    insta::assert_snapshot!(holds(json!({"equals": [{"get_resource": "web"}, 1]})).unwrap_err(), @"the function `get_resource` cannot stand in a condition: conditions know parameters only, by `get_param`, `equals`, `not`, `and`, `or`, `contains` and `yaql`");
}

#[test]
fn simplify_substitutes_known_values() {
    let simple = |hot: Value| {
        Expr::from_json(&hot)
            .unwrap()
            .simplify(&World)
            .unwrap()
            .to_json()
    };
    assert_eq!(
        simple(
            json!({"str_replace": {"template": "$a:$b", "params": {"$a": {"get_attr": ["db", "ip"]}, "$b": {"get_param": "port"}}}})
        ),
        json!({"str_replace": {"template": "$a:$b", "params": {"$a": {"get_attr": ["db", "ip"]}, "$b": 80}}})
    );
    assert_eq!(
        simple(json!({"list_join": [",", {"list_concat": [["a"], {"get_param": "list"}]}]})),
        json!("a,x,y")
    );
    // The other branch is removed, with its references.
    assert_eq!(
        simple(
            json!([{"if": ["off", {"get_resource": "db"}, {"get_resource": "cache"}]}, {"if": ["off", 1]}])
        ),
        json!([{"get_resource": "cache"}])
    );
    assert_eq!(
        simple(json!({"if": ["later", {"get_param": "port"}, {"get_param": "size"}]})),
        json!({"if": ["later", 80, {"get_param": "size"}]})
    );
    assert_eq!(
        simple(json!({"get_attr": [{"get_param": "attribute"}, {"get_param": "attribute"}]})),
        json!({"get_attr": ["name", "name"]})
    );
}

#[test]
fn an_expression_reads_back_from_json() {
    for hot in [
        json!({"a": [{"get_attr": ["web", "networks", {"get_param": "n"}]}], "b": {"list_join": ["-", {"get_param": "l"}]}}),
        json!({"if": [{"and": ["a", {"not": "b"}]}, {"get_resource": "x"}, null]}),
        json!({"filter": "data"}),
    ] {
        let expr = Expr::from_json(&hot).unwrap();
        assert_eq!(expr.to_json(), hot);
        let stored = serde_json::to_value(&expr).unwrap();
        assert_eq!(serde_json::from_value::<Expr>(stored).unwrap(), expr);
    }
}

#[test]
fn data_that_looks_like_a_call_stays_data() {
    let data = Expr::data(json!({"get_param": "password"}));
    let stored = serde_json::to_value(&data).unwrap();
    assert_eq!(serde_json::from_value::<Expr>(stored).unwrap(), data);
}

#[test]
fn paths_are_followed_in_known_and_unknown_values() {
    let picked = |hot: Value, path: Value| {
        let path = path
            .as_array()
            .unwrap()
            .iter()
            .cloned()
            .map(Expr::data)
            .collect();
        Expr::from_json(&hot).unwrap().pick(path).to_json()
    };
    assert_eq!(
        picked(json!({"a": [{"get_resource": "x"}]}), json!(["a", 0])),
        json!({"get_resource": "x"})
    );
    assert_eq!(
        picked(json!({"get_attr": ["x", "y"]}), json!(["z"])),
        json!({"get_attr": ["x", "y", "z"]})
    );
    assert_eq!(
        picked(json!({"get_resource": "x"}), json!([0])),
        json!({"Fn::Select": [0, {"get_resource": "x"}]})
    );
    assert_eq!(picked(json!({"a": 1}), json!(["b"])), json!(null));
}

#[test]
fn names_and_parameters_can_be_rewritten() {
    let expr = Expr::from_json(
        &json!({"list_join": [",", [{"get_param": "n"}, {"get_attr": ["x", "y"]}]]}),
    )
    .unwrap();
    let other = expr.rewrite(&mut |expr| match expr {
        Expr::GetParam(name, _) if name == "n" => Some(Expr::text("v")),
        Expr::GetAttr(name, path) => Some(Expr::GetAttr(format!("group/{name}"), path.clone())),
        _ => None,
    });
    assert_eq!(
        other.to_json(),
        json!({"list_join": [",", ["v", {"get_attr": ["group/x", "y"]}]]})
    );
}

#[test]
fn conditions_of_a_template_may_name_each_other() {
    let text = "\
heat_template_version: 2016-10-14
parameters:
  env: {type: string, default: prod, hidden: true}
conditions:
  small: {not: large}
  large: {or: [prod, {equals: [{get_param: env}, stage]}]}
  prod: {equals: [{get_param: env}, prod]}
  round: {not: about}
  about: {not: round}
";
    let document = Document::parse(text);
    let known = Known::of(document.template(), &BTreeMap::new());
    assert_eq!(known.condition("small"), Some(false));
    assert_eq!(known.condition("large"), Some(true));
    assert_eq!(known.condition("round"), None);
    let messages: Vec<_> = document
        .diagnostics()
        .iter()
        .map(|one| one.message.as_str())
        .collect();
    insta::assert_snapshot!(messages.join("\n"), @"these conditions refer to each other in a circle: `round` → `about` → `round`");
}

#[test]
fn conditions_may_refer_to_each_other_to_any_depth() {
    let far: String = (1..20_000)
        .rev()
        .map(|at| format!("  c{at}: {{not: c{}}}\n", at - 1))
        .collect();
    let text = format!("heat_template_version: 2021-04-16\nconditions:\n{far}  c0: true\n");
    let document = Document::parse(text.as_str());
    assert_eq!(document.diagnostics(), []);
    let known = Known::of(document.template(), &BTreeMap::new());
    assert_eq!(known.condition("c19999"), Some(false));
    assert_eq!(known.condition("c10000"), Some(true));
}

#[test]
fn nested_conditions_are_evaluated_once() {
    let within = (0..29).fold("true".to_owned(), |inner, _| {
        format!("{{and: [true, {inner}]}}")
    });
    let text = format!("heat_template_version: 2021-04-16\nconditions:\n  deep: {within}\n");
    let document = Document::parse(text.as_str());
    assert_eq!(document.diagnostics(), []);
    let known = Known::of(document.template(), &BTreeMap::new());
    assert_eq!(known.condition("deep"), Some(true));
    // An expression in a run can be nested deeper than a text.
    let yes = || Expr::Literal(json!(true));
    let within = (0..60).fold(yes(), |inner, _| {
        Expr::call(Function::And, Expr::List(vec![inner, yes()]))
    });
    let scope = Known::of(document.template(), &BTreeMap::new());
    assert_eq!(within.holds(&scope), Ok(true));
}
