use super::*;
use crate::document::write;
use proptest::prelude::*;
use serde_json::json;

fn json_of(text: &str) -> Value {
    let tree = parse(text);
    assert!(tree.problems.is_empty(), "{text}: {:?}", tree.problems);
    tree.root.map_or(Value::Null, |root| root.to_json())
}

fn at<'t>(text: &'t str, node: &Node) -> &'t str {
    &text[node.span.clone()]
}

#[test]
fn every_node_knows_its_bytes() {
    let text = "# c\nö: 1 # x\nb:\n- x\n- {k: v, l: [1,2]}\n  # trailing\n\nd: |\n  hello\n  wörld\n\n# comment\ne: &A\n  f: 'q''r'\n\
                g: *A\nempty:\ni: !!str 5\nj: plain\n  more   # c\nnested:\n  -\n  - - 1\n    - 2\n";
    let tree = parse(text);
    assert!(tree.problems.is_empty(), "{:?}", tree.problems);
    let root = tree.root.unwrap();
    let of = |key: &str| at(text, &root.entry(key).unwrap().value);
    assert_eq!(of("ö"), "1");
    assert_eq!(of("b"), "- x\n- {k: v, l: [1,2]}");
    assert_eq!(of("d"), "|\n  hello\n  wörld");
    assert_eq!(of("e"), "&A\n  f: 'q''r'");
    assert_eq!(of("g"), "*A");
    assert_eq!(of("empty"), "");
    assert_eq!(of("i"), "!!str 5");
    assert_eq!(of("j"), "plain\n  more");
    assert_eq!(of("nested"), "-\n  - - 1\n    - 2");
    let items = root.entry("nested").unwrap().value.items().unwrap();
    assert_eq!(&text[items[1].start..items[1].start + 3], "- -");
    assert_eq!(
        root.entry("g").unwrap().value.to_json(),
        json!({"f": "q'r"})
    );
    assert_eq!(root.entry("i").unwrap().value.to_json(), json!("5"));
    assert_eq!(
        root.entry("nested").unwrap().value.to_json(),
        json!([null, [1, 2]])
    );
}

#[test]
fn windows_line_ends_and_json_are_yaml_too() {
    assert_eq!(
        json_of("a:\r\n  b: 1\r\n  c: |\r\n    t\r\n"),
        json!({"a": {"b": 1, "c": "t\n"}})
    );
    assert_eq!(
        json_of("{\"a\": {\"b\": [1, null]}}"),
        json!({"a": {"b": [1, null]}})
    );
}

/// The values were confirmed with Heat's parser.
#[test]
fn quotes_and_brackets_need_no_indentation() {
    for (text, expected) in [
        ("a: 'x\n\ny'\nb: 1\n", json!({"a": "x\ny", "b": 1})),
        ("a:\n  b: \"x\ny\"\n", json!({"a": {"b": "x y"}})),
        ("a:\n- k: 'x ''\n[y'\n", json!({"a": [{"k": "x ' [y"}]})),
        (
            "a:\n  b: [\n1,\n{c: d\n}]\n  e: f\n",
            json!({"a": {"b": [1, {"c": "d"}], "e": "f"}}),
        ),
        (
            "a:\n  b: {\n  c: 'x\ny', # ]\n  d: [e\nf]\n  }\n",
            json!({"a": {"b": {"c": "x y", "d": ["e f"]}}}),
        ),
        ("a:\n  b: [c,\n\td]\n", json!({"a": {"b": ["c", "d"]}})),
        ("a: [b]#c\nd: 'e'#f\n", json!({"a": ["b"], "d": "e"})),
        ("a:\tb\n", json!({"a": "b"})),
        ("&k a: b\nc: *k\n", json!({"a": "b", "c": "a"})),
        ("a: &k b\n*k : c\n", json!({"a": "b", "b": "c"})),
    ] {
        assert_eq!(json_of(text), expected, "{text}");
    }
    let many: String = (0..300).map(|at| format!("  k{at}: [\na\n]\n")).collect();
    let many = json_of(&format!("a:\n{many}"));
    assert_eq!(many["a"].as_object().unwrap().len(), 300);
    let text = "ä:\n  b: [\n'ö',\nc] # x\n  d: 'e\nf'\ng: h\n";
    let tree = parse(text);
    let root = tree.root.unwrap();
    let first = &root.entry("ä").unwrap().value;
    let list = &first.entry("b").unwrap().value;
    assert_eq!(at(text, list), "[\n'ö',\nc]");
    assert_eq!(at(text, &list.items().unwrap()[0].value), "'ö'");
    assert_eq!(at(text, &first.entry("d").unwrap().value), "'e\nf'");
    assert_eq!(at(text, &root.entry("g").unwrap().value), "h");
}

#[test]
fn texts_that_libyaml_refuses_are_refused() {
    for text in [
        "a: =\n",
        "a: [<<]\n",
        "a: &x 1\nb: &x 2\n",
        "a: \u{7}\n",
        "a: '\u{7f}'\n",
        "a: [b\nc: d\n",
        "a: 'b\nc: d\n",
        "a:\n\t- b\n",
    ] {
        assert!(!parse(text).problems.is_empty(), "{text:?}");
    }
}

#[test]
fn a_syntax_error_keeps_the_text_before_it() {
    let tree = parse("a: 1\nb:\n  c: 2\n  d: \"no end\n");
    assert_eq!(tree.problems.len(), 1);
    assert_eq!(tree.problems[0].code, "yaml-syntax");
    assert_eq!(
        tree.root.unwrap().to_json(),
        json!({"a": 1, "b": {"c": 2, "d": null}})
    );
}

#[test]
fn the_last_of_duplicate_keys_counts() {
    let text = "a: 1\nb: 2\na: 3\n";
    let tree = parse(text);
    assert_eq!(
        (tree.problems[0].code, tree.problems[0].at),
        ("duplicate-key", 10)
    );
    assert_eq!(tree.root.unwrap().to_json(), json!({"b": 2, "a": 3}));
}

#[test]
fn merge_keys_add_missing_keys() {
    assert_eq!(
        json_of("a: &a {x: 1, y: {z: 2}}\nb:\n  <<: *a\n  x: 3\n"),
        json!({"a": {"x": 1, "y": {"z": 2}}, "b": {"y": {"z": 2}, "x": 3}})
    );
    assert_eq!(
        json_of("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b], z: 3}\nd: {<<: {k: 1}}\n")["c"],
        json!({"x": 1, "y": 2, "z": 3})
    );
    assert_eq!(
        json_of("a: {\"<<\": 1}\n"),
        json!({"a": {"<<": 1}}),
        "in quotes it is a key"
    );
    for wrong in ["a: {<<: 5}", "a: &a [1]\nb: {<<: *a}", "a: {<<: [1]}"] {
        assert_eq!(
            parse(wrong).problems[0].code,
            "merge-key-invalid",
            "{wrong}"
        );
    }
    let many = (0..1000).map(|n| format!("k{n}: 1, ")).collect::<String>();
    let merges = "  - {<<: *a}\n".repeat(1000);
    let bomb = parse(&format!("a: &a {{{many}}}\nb:\n{merges}"));
    assert_eq!(bomb.problems[0].code, "alias-bomb");
}

#[test]
fn limits_can_be_set() {
    let limits = Limits {
        bytes_max: 10,
        depth_max: 2,
        nodes_max: 5,
    };
    let code = |text: &str| {
        parse_within(text, &limits)
            .problems
            .first()
            .map(|one| one.code)
    };
    assert_eq!(code("a: {b: 1}"), None);
    assert_eq!(code("a: {b: 1} "), None);
    assert_eq!(code("a: {b: 1}  "), Some("template-too-large"));
    assert_eq!(code("[[[1]]]"), Some("template-too-deep"));
    assert_eq!(code("[1,2,3,4]"), None);
    assert_eq!(code("[1,2,3,4,]"), None);
    assert_eq!(code("[1,1,1,1]]"), Some("yaml-syntax"));
    assert_eq!(code("[1,1,1,1,1"), Some("alias-bomb"));
    assert_eq!(
        parse(&"- x\n".repeat(132_000)).problems[0].code,
        "template-too-large"
    );
}

#[test]
fn hostile_texts_are_parsed_or_refused_at_once() {
    let bomb = (1..40).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
        format!("{text}a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1)
    });
    assert_eq!(parse(&bomb).problems[0].code, "alias-bomb");
    assert_eq!(
        parse(&"x".repeat(10 << 20)).problems[0].code,
        "template-too-large"
    );
    for open in ["[", "{a: ", "- ", "? "] {
        let tree = parse(&open.repeat(100_000));
        assert!(tree.problems.iter().any(|problem| problem.fatal), "{open}");
    }
    assert_eq!(parse("a: &a [*a]").problems[0].code, "yaml-syntax");
    assert_eq!(
        parse("a: 1\n---\nb: 2").problems[0].code,
        "several-documents"
    );
    assert_eq!(parse("a: !Ref b").problems[0].code, "yaml-tag");
    assert_eq!(parse("? [a]\n: b").problems[0].code, "yaml-key");
}

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-z]{1,6}",
        "[ -~]{0,12}",
        "\\PC{0,8}",
        "[a-z#: -]{0,6}\n[a-z: ]{0,6}\n?",
        Just("true".to_owned()),
        Just("0755".to_owned()),
        Just("1e5".to_owned()),
        Just("".to_owned()),
    ];
    let leaf = prop_oneof![
        text.clone().prop_map(Value::String),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        (-1e9..1e9f64).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((text.clone(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_written_value_reads_back(value in value(), step in 2usize..5) {
        let text = write::entry("key", &value, 0, step);
        prop_assert_eq!(json_of(&text), json!({"key": value}), "{}", text);
        let text = write::item(&value, 0, step);
        prop_assert_eq!(json_of(&text), json!([value]), "{}", text);
        let text = write::flow(&value);
        prop_assert_eq!(json_of(&text), value, "{}", text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-c:\\-\\[\\]{}&*!|>'\"#%?, \n\t]{0,60}") {
        let tree = parse(&text);
        if let Some(root) = tree.root {
            prop_assert!(text.get(root.span.clone()).is_some());
            let _ = root.to_json();
        }
    }

    #[test]
    fn no_unicode_makes_the_parser_panic(text in "\\PC{0,40}") {
        let _ = parse(&text);
    }
}

#[test]
fn many_duplicate_keys_are_read_in_linear_time() {
    let others: String = (0..30_000).map(|at| format!("z{at}:\n")).collect();
    let read = |doubled: String| {
        let start = std::time::Instant::now();
        let tree = parse(&format!("{doubled}{others}"));
        (start.elapsed(), tree)
    };
    let (alone, _) = read((0..40_000).map(|at| format!("{at:x}:\n")).collect());
    let (doubled, tree) = read("a:\n".repeat(70_000));
    // Moving all entries for each duplicate would take many times as long.
    assert!(doubled < alone * 5, "{doubled:?}, alone {alone:?}");
    assert_eq!(tree.problems.len(), 69_999);
    let root = tree.root.unwrap();
    assert_eq!(root.entries().unwrap().len(), 30_001);
    assert_eq!(root.entries().unwrap()[0].key, "a");
}
