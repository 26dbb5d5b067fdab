//! Tests of `docs/yaql.md`, the page for authors: the signature and example of each function are correct, and the page
//! is complete.

use serde_json::{Value, json};

use super::{query, signatures};

const PAGE: &str = include_str!("../../../docs/yaql.md");

/// The three cells of each row of a table: call or operator, expression, result.
fn examples() -> Vec<[String; 3]> {
    let lines = PAGE.lines().filter(|line| line.starts_with("| `"));
    lines
        .map(|line| {
            let cells = line.trim_matches(['|', ' ']).split(" | ");
            let cells: Vec<String> = cells
                .map(|cell| cell.trim_matches('`').to_owned())
                .collect();
            <[String; 3]>::try_from(cells).unwrap_or_else(|cells| panic!("{cells:?}"))
        })
        .collect()
}

#[test]
fn examples_give_what_the_page_says() {
    let (_, rest) = PAGE.split_once("```json\n").unwrap();
    let (data, _) = rest.split_once("\n```").unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let mut wrong = Vec::new();
    for [_, expression, expected] in examples() {
        let expected: Value = serde_json::from_str(&expected).unwrap();
        let got = query(json!({"expression": expression, "data": data}));
        if got.as_ref() != Ok(&expected) {
            wrong.push(format!("{expression}: {got:?}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_function_is_on_the_page() {
    let page: Vec<String> = examples().into_iter().map(|[call, ..]| call).collect();
    let calls: Vec<&String> = page.iter().filter(|call| call.ends_with(')')).collect();
    let known = signatures::signatures();
    for signature in &known {
        assert!(calls.contains(&signature), "{signature} is not on the page");
    }
    for call in calls {
        assert!(known.contains(call), "{call} is none");
    }
}
