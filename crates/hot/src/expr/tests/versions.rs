//! Functions of each version, refused ones, and limits of results.

use super::*;

#[test]
fn the_first_version_has_functions_of_cloudformation() {
    for (hot, expected) in [
        (json!({"Ref": "web"}), json!("123")),
        (json!({"Ref": "port"}), json!(80)),
        (json!({"Fn::Select": ["1", ["a", "b"]]}), json!("b")),
        (json!({"Fn::Select": ["k", {"k": "v"}]}), json!("v")),
        (json!({"Fn::Select": ["9", ["a"]]}), json!("")),
        (json!({"Fn::Join": ["-", ["a", "b"]]}), json!("a-b")),
        (json!({"Fn::Split": [",", "a,b"]}), json!(["a", "b"])),
        (json!({"Fn::Replace": [{"$x": "y"}, "a $x"]}), json!("a y")),
        (json!({"Fn::Base64": "plain"}), json!("plain")),
        (json!({"Fn::GetAZs": ""}), json!(["nova"])),
        (
            json!({"Fn::MemberListToMap": ["Name", "Value", [".member.0.Name=k", ".member.0.Value=a=b", ".member.1.Name=l"]]}),
            json!({"k": "a=b"}),
        ),
    ] {
        assert_eq!(value_in("2013-05-23", &hot), Ok(expected), "{hot}");
    }
}

/// A call of each function, correct in the newest version of the function.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("get_param", json!("port")),
        ("get_resource", json!("web")),
        ("get_attr", json!(["web", "name"])),
        ("get_file", json!("setup.sh")),
        ("list_join", json!(["", ["a"]])),
        ("resource_facade", json!("metadata")),
        ("str_replace", json!({"template": "a", "params": {}})),
        ("repeat", json!({"template": "a", "for_each": {"a": []}})),
        ("digest", json!(["md5", ""])),
        ("str_split", json!([",", "a"])),
        ("map_merge", json!([{}])),
        ("map_replace", json!([{}, {}])),
        ("yaql", json!({"expression": "$.data", "data": {}})),
        ("if", json!(["on", 1, 2])),
        ("filter", json!([[], []])),
        ("str_replace_strict", json!({"template": "a", "params": {}})),
        (
            "str_replace_vstrict",
            json!({"template": "a", "params": {}}),
        ),
        ("make_url", json!({"host": "a"})),
        ("list_concat", json!([[]])),
        ("list_concat_unique", json!([[]])),
        ("contains", json!([1, [1]])),
        ("Fn::Select", json!([0, ["a"]])),
        ("Fn::Join", json!(["", []])),
        ("Fn::Split", json!([",", "a"])),
        ("Fn::Replace", json!([{}, "a"])),
        ("Fn::Base64", json!("a")),
        ("Fn::GetAZs", json!("")),
        ("Fn::MemberListToMap", json!(["a", "b", []])),
        ("Fn::ResourceFacade", json!("Metadata")),
        ("Ref", json!("web")),
    ]
}

#[test]
fn every_version_has_its_functions_and_names_the_version_of_others() {
    let mut table = String::new();
    for (name, arguments) in calls() {
        let row: String = Version::words()
            .filter(|word| word.starts_with("20"))
            .map(
                |version| match value_in(version, &json!({name: arguments})) {
                    // Data in versions before the function.
                    Ok(Value::Object(map)) if map.contains_key(name) => '-',
                    Ok(_) => '+',
                    Err(problem) if problem.contains("is not in version") => '-',
                    Err(problem) => panic!("{name} in {version}: {problem}"),
                },
            )
            .collect();
        table.push_str(&format!("{row} {name}\n"));
    }
    insta::assert_snapshot!(table, @"
    +++++++++++ get_param
    +++++++++++ get_resource
    +++++++++++ get_attr
    +++++++++++ get_file
    +++++++++++ list_join
    +++++++++++ resource_facade
    +++++++++++ str_replace
    --+++++++++ repeat
    --+++++++++ digest
    ---++++++++ str_split
    ----+++++++ map_merge
    -----++++++ map_replace
    -----++++++ yaql
    -----++++++ if
    ------+++++ filter
    ------+++++ str_replace_strict
    -------++++ str_replace_vstrict
    -------++++ make_url
    -------++++ list_concat
    -------++++ list_concat_unique
    -------++++ contains
    +++-------- Fn::Select
    +---------- Fn::Join
    +---------- Fn::Split
    +---------- Fn::Replace
    +---------- Fn::Base64
    +---------- Fn::GetAZs
    +---------- Fn::MemberListToMap
    +---------- Fn::ResourceFacade
    +---------- Ref
    ");
}

/// A call of each function in conditions; the last two are not allowed there.
fn conditions() -> Vec<(&'static str, Value)> {
    vec![
        ("equals", json!({"equals": [{"get_param": "port"}, 80]})),
        (
            "not",
            json!({"not": {"equals": [{"get_param": "port"}, 81]}}),
        ),
        ("and", json!({"and": ["on", {"equals": [1, 1]}]})),
        ("or", json!({"or": [{"equals": [1, 2]}, "on"]})),
        (
            "contains",
            json!({"contains": [80, [{"get_param": "port"}]]}),
        ),
        (
            "yaql",
            json!({"yaql": {"expression": "$.data > 1", "data": {"get_param": "port"}}}),
        ),
        ("if", json!({"if": ["on", true, false]})),
        ("list_join", json!({"list_join": ["", ["a"]]})),
    ]
}

/// Functions that are allowed in conditions only.
const ONLY_IN_CONDITIONS: [&str; 4] = ["equals", "not", "and", "or"];

#[test]
fn no_function_is_left_out_of_these_tables() {
    let tried = calls().into_iter().map(|(name, _)| name);
    let mut tried: Vec<&str> = tried.chain(ONLY_IN_CONDITIONS).collect();
    let mut all: Vec<&str> = function::names().collect();
    tried.sort_unstable();
    all.sort_unstable();
    assert_eq!(tried, all);
    for name in ONLY_IN_CONDITIONS {
        assert!(conditions().iter().any(|(one, _)| *one == name), "{name}");
    }
}

/// Functions in conditions: accepted versions, and results.
#[test]
fn every_version_has_its_conditions() {
    let holds = |version: &str, condition: &Value| {
        let text = json!({
            "heat_template_version": version,
            "parameters": {"port": {"type": "number"}, "list": {"type": "json"}},
            "conditions": {"on": true, "tried": condition},
        });
        let document = Document::parse(text.to_string());
        if let Some(problem) = document.diagnostics().iter().find(|one| one.is_error()) {
            return Err(problem.message.clone());
        }
        let conditions = &document.template().conditions;
        let tried = conditions.iter().find(|one| one.name == "tried").unwrap();
        tried
            .value
            .holds(&World)
            .map_err(|problem| problem.to_string())
    };
    let mut table = String::new();
    for (name, condition) in conditions() {
        let versions = Version::words().filter(|word| word.starts_with("20"));
        let row: String = versions
            .map(|version| match holds(version, &condition) {
                Ok(true) => '+',
                Ok(false) => panic!("{name} in {version} does not hold"),
                Err(_refused) => '-',
            })
            .collect();
        table.push_str(&format!("{row} {name}\n"));
    }
    insta::assert_snapshot!(table, @r"
    -----++++++ equals
    -----++++++ not
    -----++++++ and
    -----++++++ or
    -------++++ contains
    -------++++ yaql
    ----------- if
    ----------- list_join
    ");
}

#[test]
fn other_versions_are_named() {
    let refused = |version: &str, hot: Value| value_in(version, &hot).unwrap_err();
    insta::assert_snapshot!(refused("2014-10-16", json!({"Fn::Join": ["", []]})), @"the function `Fn::Join` is not in version 2014-10-16; the last version with it is 2013-05-23; write `list_join`");
    insta::assert_snapshot!(refused("2015-10-15", json!({"Fn::Select": [0, []]})), @"the function `Fn::Select` is not in version 2015-10-15; the last version with it is 2015-04-30; give the path to `get_attr` or `get_param`");
    insta::assert_snapshot!(refused("2018-08-31", json!({"if": ["on", 1]})), @"`if` takes a list: a condition, the value if it holds, the value if not (two arguments from version 2021-04-16 on)");
    insta::assert_snapshot!(refused("2014-10-16", json!({"get_attr": ["web"]})), @"`get_attr` takes a list: a resource's name, an attribute, then keys and indices; all attributes at once come with version 2015-10-15");
    insta::assert_snapshot!(refused("2014-10-16", json!({"list_join": ["", [], []]})), @"`list_join` takes a list: a delimiter and a list (more lists from version 2015-10-15 on)");
    insta::assert_snapshot!(refused("2015-04-30", json!({"repeat": {"template": "k", "for_each": {"k": {}}}})), @"`for_each` of `repeat` takes a map under `k` from version 2016-10-14 on, a list before");
    insta::assert_snapshot!(refused("2017-02-24", json!({"repeat": {"template": "k", "for_each": {"k": []}, "permutations": false}})), @"`permutations` of `repeat` came with version 2017-09-01");
}

#[test]
fn maps_that_are_not_a_call_are_data() {
    for hot in [
        json!({"filter": "nginx"}),
        json!({"if": "x > 1"}),
        json!({"not": ["a", "b"]}),
        json!({"repeat": {"template": "a", "for_each": {}}}),
        json!({"Fn::GetAtt": ["a", "b"]}),
        json!({"Fn::Nothing": 1}),
    ] {
        assert_eq!(value_in("2013-05-23", &hot), Ok(hot.clone()));
    }
    check_value(json!({"equals": "x"}), json!({"equals": "x"}));
    check_value(
        json!({"get_param": "port", "other": 1}),
        json!({"get_param": "port", "other": 1}),
    );
}

#[test]
fn arguments_of_another_form_are_refused() {
    for hot in [
        json!({"get_resource": ["web"]}),
        json!({"get_attr": "web"}),
        json!({"get_param": []}),
        json!({"get_file": ["x"]}),
        json!({"str_replace": {"template": "x"}}),
        json!({"str_replace": {"template": "x", "params": ["x"]}}),
        json!({"list_join": ["x"]}),
        json!({"list_join": ["x", "y"]}),
        json!({"list_join": [",", [1]]}),
        json!({"repeat": {"template": "x"}}),
        json!({"digest": ["md5"]}),
        json!({"str_split": "x"}),
        json!({"map_merge": {"a": 1}}),
        json!({"map_replace": [{}]}),
        json!({"yaql": {"data": 1}}),
        json!({"if": [true]}),
        json!({"filter": [[]]}),
        json!({"make_url": "x"}),
        json!({"list_concat": "x"}),
        json!({"contains": [1]}),
        json!({"resource_facade": "name"}),
    ] {
        let problem = value(hot.clone()).unwrap_err();
        assert!(problem.contains('`'), "{hot}: {problem}");
    }
}

#[test]
fn results_are_limited() {
    let long = "x".repeat(2000);
    let lists: serde_json::Map<String, Value> = (0..8)
        .map(|index| (format!("${index}"), json!(vec!["a"; 20])))
        .collect();
    assert!(value(json!({"repeat": {"template": "a", "for_each": lists}})).is_err());
    assert!(
        value(json!({"str_replace": {"template": long, "params": {"x": "y".repeat(9000)}}}))
            .is_err()
    );
}
