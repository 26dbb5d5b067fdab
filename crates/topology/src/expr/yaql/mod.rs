//! `yaql`: a query over data, in the part of YAQL that templates use.
//!
//! There are
//! - `$`, keys and indices: `$.data.servers[0].name`; a key of a list is taken of each item;
//! - numbers, texts in `'` or `"`, `true`, `false`, `null`, lists `[1, 2]`, maps `{a => 1}`;
//! - `or`, `and`, `not`, `=`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `+`, `-`, `*`, `/`, `mod`;
//! - on lists `len`, `sum`, `min`, `max`, `first`, `last`, `select`, `where`, `selectMany`, `flatten`, `distinct`,
//!   `reverse`, `orderBy`, `skip`, `take`, `limit`, `any`, `all`, `join`, `toList`, `toDict`, `contains`;
//! - on maps `get`, `keys`, `values`, `items`, `containsKey`, `len`;
//! - on texts `split`, `replace`, `toUpper`, `toLower`, `trim`, `startsWith`, `endsWith`, `len`;
//! - and `len`, `str`, `int`, `bool`, `list`, `dict`, `coalesce`, `min` and `max` as functions.
//!
//! In the argument of `select` and its like `$` is the item. Anything else is refused by its name. As in
//! Heat no list of more than 200 items is gone through.

use serde_json::{Value, json};

mod evaluate;
mod methods;
mod parse;

/// Items of a list that is gone through.
const ITEMS_MAX: usize = 200;

/// The value of an expression over `data`. The error is a sentence.
pub(super) fn yaql(mut arguments: Value) -> Result<Value, String> {
    let Value::String(expression) = arguments["expression"].take() else {
        return Err("`expression` of `yaql` is a text".to_owned());
    };
    let tree = parse::parse(&expression)?;
    // Without `data` there is an empty map.
    let data = match arguments.get_mut("data") {
        Some(data) => data.take(),
        None => json!({}),
    };
    evaluate::evaluate(&tree, &json!({"data": data}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(expression: &str, data: Value) -> Result<Value, String> {
        yaql(json!({"expression": expression, "data": data}))
    }

    #[test]
    fn data_is_queried() {
        let data = json!({
            "n": [3, 1, 2, 3],
            "servers": [{"name": "a", "up": true, "ips": ["1", "2"]}, {"name": "b", "up": false, "ips": ["3"]}],
            "map": {"x": 1, "y": 2},
            "text": "a-b",
        });
        for (expression, expected) in [
            ("$.data.n[0]", json!(3)),
            ("$.data.n[-1]", json!(3)),
            ("$.data.map.missing", json!(null)),
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
        ] {
            assert_eq!(
                value(expression, data.clone()),
                Ok(expected),
                "{expression}"
            );
        }
    }

    #[test]
    fn the_rest_is_refused_by_name() {
        let said = |expression: &str| value(expression, json!({"n": vec![1; 300]})).unwrap_err();
        insta::assert_snapshot!(said("$.data.n.groupBy($)"), @"`groupBy` of `yaql` is not supported");
        insta::assert_snapshot!(said("let(x => 1) -> $x"), @"`yaql` cannot read `-> $x`");
        insta::assert_snapshot!(said("$.data.n.where("), @"`yaql` cannot read `$.data.n.where(`: it ends too early");
        insta::assert_snapshot!(said("$.data.n.select($ + 1)"), @"`yaql` goes through lists of at most 200 items");
        insta::assert_snapshot!(said("'a' + 1"), @"`+` of `yaql` cannot work with `a` and `1`");
        insta::assert_snapshot!(said("[].first()"), @"`first` of `yaql`: the list is empty");
        assert!(said(&"(".repeat(10_000)).contains("too deep"));
    }
}
