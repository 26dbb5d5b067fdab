//! `yaql`: queries over data, as in the YAQL library.
//!
//! Supported are `$` and other names, keys and indices, the operators, lists `[1, 2]` and maps `{a => 1}`, and nearly
//! all functions and methods of YAQL's standard library: [`signatures`] lists them, and `docs/yaql.md` has an example
//! of each. Others are refused by name: times, random values, definitions of functions, and infinite lists. In the
//! argument of `select` and similar methods `$` is the item.
//!
//! As in Heat, lists of more than 200 items are not traversed.

use serde_json::{Value, json};

mod budget;
mod call;
pub mod cancel;
mod evaluate;
mod functions;
mod operators;
mod parse;
pub mod pattern;
pub mod python;
mod signatures;
mod value;

/// Maximum number of items of a list for traversal.
const ITEMS_MAX: usize = 200;

/// Maximum size of a text that a function can create, here and in the functions of HOT: 4 MiB.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// Value of HOT's function `yaql`: `expression` over `data`.
///
/// # Errors
/// A sentence with the problem of the expression or of a value in it.
pub fn query(mut arguments: Value) -> Result<Value, String> {
    let Value::String(expression) = arguments["expression"].take() else {
        return Err("`expression` of `yaql` is a text".to_owned());
    };
    let tree = parse::parse(&expression)?;
    // The default of `data` is an empty map.
    let data = match arguments.get_mut("data") {
        Some(data) => data.take(),
        None => json!({}),
    };
    evaluate::run(&tree, json!({"data": data}))
}

/// Untrusted text for a message: shortened, and on one line.
pub fn shown(text: &str) -> String {
    let mut out: String = text
        .chars()
        .take(60)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(60).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod tests {
    use super::*;

    fn value(expression: &str, data: Value) -> Result<Value, String> {
        query(json!({"expression": expression, "data": data}))
    }

    #[test]
    fn expressions_query_data() {
        let data = json!({
            "n": [3, 1, 2, 3],
            "servers": [{"name": "a", "up": true, "ips": ["1", "2"]}, {"name": "b", "up": false, "ips": ["3"]}],
            "map": {"x": 1, "y": 2},
            "text": "a-b",
            "none": null,
            "image": "host:5000/ns/image:tag",
            "pairs": [["a", 1], ["b", 2], ["a", 3]],
        });
        for (expression, expected) in [
            ("$.data.n[0]", json!(3)),
            ("$.data.n[-1]", json!(3)),
            ("$.data.none?.x", json!(null)),
            ("$.data.n.sum()", json!(9)),
            ("$.data.n.len() - 1", json!(3)),
            ("len($.data.n) * 2 + 1", json!(9)),
            ("$.data.n.distinct().orderBy($)", json!([1, 2, 3])),
            ("$.data.n.where($ > 1 and $ != 3)", json!([2])),
            ("$.data.n.max() = 3", json!(true)),
            ("$.data.servers.name", json!(["a", "b"])),
            (
                "$.data.servers.where($.up).select($.name).first()",
                json!("a"),
            ),
            (
                "$.data.servers.selectMany($.ips).join(', ')",
                json!("1, 2, 3"),
            ),
            (
                "$.data.servers.where(not $.up).select({$.name => $.ips.len()})",
                json!([{"b": 1}]),
            ),
            (
                "$.data.servers.toDict($.name, $.up)",
                json!({"a": true, "b": false}),
            ),
            ("$.data.servers.any($.name = 'b')", json!(true)),
            (
                "$.data.map.items().select($[0] + '=' + str($[1]))",
                json!(["x=1", "y=2"]),
            ),
            ("$.data.map.get(z, 5)", json!(5)),
            ("$.data.map.keys()", json!(["x", "y"])),
            (
                "dict(a => 1, b => [2, 'x'])",
                json!({"a": 1, "b": [2, "x"]}),
            ),
            ("$.data.text.split('-').reverse()", json!(["b", "a"])),
            ("$.data.text.toUpper().replace('-', '')", json!("AB")),
            ("'a' in $.data.text.split('-')", json!(true)),
            ("[[1], [2, [3]]].flatten()", json!([1, 2, 3])),
            ("coalesce($.data.none, \"d\")", json!("d")),
            ("(1 + 2) * 3", json!(9)),
            ("7 mod 4", json!(3)),
            ("[].first(none)", json!("none")),
            ("$.data.map.values().len() * 0 + $.data.n.len()", json!(4)),
            (
                "concat($.data.image.rightSplit(separator => ':', maxSplits => 1)[0], ':x')",
                json!("host:5000/ns/image:x"),
            ),
            (
                "let(at => $.data.image.rightSplit(':', 1)[0]) -> regex('(?:https?://)?(.*?)/(.*)').split($at)[2]",
                json!("ns/image"),
            ),
            (
                "switch(isDict($.data.n) => 1, not $.data.n => 2, true => 3)",
                json!(3),
            ),
            (
                "[{a => {b => [1]}}, {a => {b => [2], c => 1}}].reduce($1.mergeWith($2), {})",
                json!({"a": {"b": [1, 2], "c": 1}}),
            ),
            (
                "dict($.data.pairs.groupBy($[0], $[1]))",
                json!({"a": [1, 3], "b": [2]}),
            ),
            (
                "$.data.pairs.orderBy($[0]).thenByDescending($[1]).select($[1])",
                json!([3, 1, 2]),
            ),
            (
                "$.data.n.zip($.data.pairs).select($[1][0]).join('')",
                json!("aba"),
            ),
            ("list($.data.n.where($ > 2), 5)", json!([3, 3, 5])),
            ("list($.data.n)", json!([[3, 1, 2, 3]])),
            (
                "$.data.map.deleteAll($.data.map.keys().where($ = x))",
                json!({"y": 2}),
            ),
            ("$.data.text.matches('(\\.|-)')", json!(true)),
            (
                "'a-b'.replace(regex('(a)-(b)'), '\\\\2-\\\\1')",
                json!("b-a"),
            ),
            ("regex('b(.)').search('abc', $2.value)", json!("c")),
            ("str(null) + str(true) + str([1])", json!("nulltrue(1,)")),
            ("'{0} {name}'.format(1, name => x)", json!("1 x")),
            (" ' a  b c '.split(maxSplits => 1)", json!(["a", "b c "])),
            ("[1, 2].unpack(a, b) -> $a + $b", json!(3)),
            ("{null => a, true => b}", json!({"null": "a", "true": "b"})),
        ] {
            assert_eq!(
                value(expression, data.clone()),
                Ok(expected),
                "{expression}"
            );
        }
    }

    #[test]
    fn unsupported_functions_are_refused_by_name() {
        let data = json!({"n": vec![1; 300], "map": {"x": 1}});
        let error = |expression: &str| value(expression, data.clone()).unwrap_err();
        insta::assert_snapshot!(error("now()"), @"`now` of `yaql` is not supported");
        insta::assert_snapshot!(error("$.data.map.y"), @r#"`yaql` finds no `y` in `{"x": 1}`"#);
        insta::assert_snapshot!(error("let(x => 1)"), @"`let` of `yaql` is followed by `->` and an expression");
        insta::assert_snapshot!(error("1 -> $x"), @"`->` of `yaql` follows names, such as `let(x => 1)`, not `1`");
        insta::assert_snapshot!(error("'a'.split(by => 1)"), @"`split` of `yaql` takes `separator`, `maxSplits`");
        insta::assert_snapshot!(error("$.data.n"), @"`yaql` reads lists of at most 200 items");
        insta::assert_snapshot!(error("$.data.n.where("), @"`yaql` cannot read `$.data.n.where(`: it ends too early");
        insta::assert_snapshot!(error("$.data.n.select($ + 1)"), @"`yaql` reads lists of at most 200 items");
        insta::assert_snapshot!(error("'a' + 1"), @"`+` of `yaql` cannot work with `a` and `1`");
        insta::assert_snapshot!(error("[].first()"), @"`first` of `yaql`: the list is empty");
        insta::assert_snapshot!(error(&"(".repeat(10_000)), @"an expression of `yaql` is too deep: at most 40 brackets and signs within each other; let parts of it be values of `data`");
    }

    #[test]
    fn chains_are_as_deep_as_brackets() {
        for (start, link) in [
            ("1", "+1"),
            ("1", " and 1"),
            ("$", ".a"),
            ("$", "?.a"),
            ("$", "[0]"),
            ("$", ".len()"),
        ] {
            for end in ["", " +", " )"] {
                let long = format!("{start}{}{end}", link.repeat(100_000));
                let why = value(&long, json!({})).unwrap_err();
                assert!(why.contains("is too deep"), "{start}{link}: {why}");
            }
        }
        let sum = format!("1{}", "+1".repeat(100));
        assert_eq!(value(&sum, json!({})), Ok(json!(101)));
        // The maximum depth, for each recursive form.
        let within = (0..36).fold("$".to_owned(), |inner, _| {
            format!("range(1).select({inner}).first()")
        });
        assert_eq!(value(&within, json!({})), Ok(json!(0)));
        let chain = format!("[1]{}", ".select($)".repeat(99));
        assert_eq!(value(&chain, json!({})), Ok(json!([1])));
    }

    #[test]
    fn intermediate_values_count_in_the_budget() {
        let long = json!({"text": "x".repeat(300_000), "letters": "ä".repeat(1000)});
        for expression in [
            "range(60).reduce([$1, $1], 0)",
            "range(60).reduce({a => $1, b => $1}, 0)",
            "range(40).reduce($1 + $1, [1])",
            "range(60).reduce($1.append($1), [1])",
            "['x' * 4000000] * 4000000",
            "('x' * 4000000).repeat(200)",
            "range(100).select('x' * 4000000)",
            "range(200).reduce(range(200).reduce([$1], $1), 1)",
            "range(200).reduce(range(200).reduce({a => $1}, $1), 1)",
            "range(200).reduce(range(200).reduce($1 -> let(a => 1), $1), let(a => 1))",
            "range(200).reduce(range(200).reduce(let(a => $1), $1), let(a => 1))",
            "range(200).select($.data.text).join('')",
            "range(200).join($.data.text)",
            "$.data.text.replace(regex('x+'), '\\g<0>' * 1000)",
            "$.data.letters.replace(regex('(.*)'), '\\\\1' * 10000)",
        ] {
            let expression = expression.replace("$.data", "$root");
            let expression = format!("let(root => $.data) -> {expression}");
            let Err(why) = value(&expression, long.clone()) else {
                panic!("{expression}");
            };
            let is_limit = ["at most", "more than", "too much"].iter();
            assert!(
                is_limit.clone().any(|limit| why.contains(limit)),
                "{expression}: {why}"
            );
        }
        let error = |expression: &str| value(expression, json!({})).unwrap_err();
        insta::assert_snapshot!(error("range(60).reduce([$1, $1], 0)"), @"an expression of `yaql` makes more than 64 MiB on its way: give it less `data`, or let it repeat and put together less");
        insta::assert_snapshot!(error("range(100).reduce([$1], 0)"), @"`yaql` makes at most 64 lists and maps within each other: `flatten` them, or put items side by side");
        insta::assert_snapshot!(error("range(200).reduce(range(9).reduce($1 -> let(a => 1), $1), let(a => 1))"), @"names of `yaql` are nested at most 200 times: a loop cannot pass on the names of `let` or `with`");
        insta::assert_snapshot!(error("range(200).select(range(200).select($ + $ + $))"), @"an expression of `yaql` takes more than 200000 steps: give it less `data`, or let fewer lists go through each other");
    }

    #[test]
    fn searches_are_paid_for_by_pattern_and_text() {
        for expression in [
            "('a' * 4000000) =~ 'a{30000}b'",
            "('a' * 1000000) =~ '(a{100}){9}b'",
            "('a' * 1000000) !~ '(a?){900}b'",
            "regex('(a{100}){9}b').matches('a' * 1000000)",
            "regex('a.*b|a').searchAll('a' * 1000000)",
            "('a' * 1000000).split(regex('a.*b|a'))",
            "('a' * 1000000).replace(regex('a.*b|a'), 'b')",
            "range(200).select(('a' * 20000) =~ '^b{200}')",
        ] {
            let why = value(expression, json!({})).unwrap_err();
            let is_limit = ["searches too much", "pattern that we can read"];
            assert!(
                is_limit.iter().any(|limit| why.contains(limit)),
                "{expression}: {why}"
            );
        }
        // The maximum input in Heat, with realistic patterns.
        let words = json!({"text": "word ".repeat(2000)});
        let split = "$.data.text.split(regex('[ ,;]+'), 100).len()";
        assert_eq!(value(split, words), Ok(json!(101)));
    }

    #[test]
    fn an_evaluation_can_be_cancelled() {
        let stop = cancel::CancelFlag::default();
        let one = || value("1 + 1", json!({}));
        assert_eq!(cancel::within(stop.clone(), one), Ok(json!(2)));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let why = cancel::within(stop, one).unwrap_err();
        assert_eq!(why, "the evaluation took too long and was stopped");
        assert_eq!(one(), Ok(json!(2)));
    }

    #[test]
    fn places_are_counted_in_letters_and_numbers_do_not_overflow() {
        for (expression, expected) in [
            ("regex('b').search('äb', $.start)", json!(1)),
            (
                "regex('ß(b)').searchAll('äßböß.ßb', [$.start, $2.start, $2.end])",
                json!([[1, 2, 3], [6, 7, 8]]),
            ),
            ("'äb'.replaceBy(regex('b'), str($.start))", json!("ä1")),
            ("range(3).accumulate($1 + $2)", json!([0, 1, 3])),
            ("range(3).reduce($1 + $2)", json!(3)),
            (
                "{a => {b => 1}}.mergeWith({a => {c => 2}}, maxLevels => -9223372036854775807 - 1)",
                json!({"a": {"b": 1, "c": 2}}),
            ),
            ("[1].enumerate(9223372036854775807)", json!([[i64::MAX, 1]])),
        ] {
            assert_eq!(value(expression, json!({})), Ok(expected), "{expression}");
        }
        let why = value("[1, 2].enumerate(9223372036854775807)", json!({})).unwrap_err();
        insta::assert_snapshot!(why, @"`enumerate` of `yaql` cannot work with `9223372036854775807`");
    }
}
