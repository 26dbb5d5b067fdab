//! Filters, order and pages of lists.

use std::cmp::Reverse;

use serde_json::Value;

/// A query string, in order, with repeats.
pub type Query = axum::extract::Query<Vec<(String, String)>>;

/// The fields of a list's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// A summary.
    Bare,
    /// All fields.
    Full,
}

/// The first value of a name.
pub fn value<'a>(query: &'a [(String, String)], name: &str) -> Option<&'a str> {
    query
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.as_str())
}

/// Whether an attribute has this value, as text.
pub fn attribute_is(document: &Value, name: &str, wanted: &str) -> bool {
    is(&document[name], wanted)
}

fn is(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => text == wanted,
        Value::Bool(flag) => match wanted.to_lowercase().as_str() {
            "true" | "1" => *flag,
            "false" | "0" => !*flag,
            _ => false,
        },
        Value::Number(number) => number.to_string() == wanted,
        Value::Null => wanted.is_empty(),
        // A list of objects is filtered by `ip_address=10.0.0.5`; a list of texts by one of them.
        Value::Array(items) => items
            .iter()
            .any(|item| match (item, wanted.split_once('=')) {
                (Value::Object(fields), Some((name, wanted))) => {
                    fields.get(name).is_some_and(|field| is(field, wanted))
                }
                _ => is(item, wanted),
            }),
        Value::Object(_) => false,
    }
}

/// Whether a resource's tags match the four tag filters.
pub fn tags_fit(document: &Value, query: &[(String, String)]) -> bool {
    let tags: Vec<&str> = document["tags"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let wanted = |name: &str| {
        value(query, name).map(|list| list.split(',').map(str::to_owned).collect::<Vec<_>>())
    };
    let has = |tag: &String| tags.contains(&tag.as_str());
    wanted("tags").is_none_or(|all| all.iter().all(has))
        && wanted("tags-any").is_none_or(|any| any.iter().any(has))
        && wanted("not-tags").is_none_or(|all| !all.iter().all(has))
        && wanted("not-tags-any").is_none_or(|any| !any.iter().any(has))
}

/// Sorts by `sort_key` and `sort_dir`.
pub fn sort(documents: &mut [Value], query: &[(String, String)]) {
    let all = |name: &str| {
        query
            .iter()
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value.clone())
            .collect::<Vec<_>>()
    };
    let (keys, directions) = (all("sort_key"), all("sort_dir"));
    for (at, key) in keys.iter().enumerate().rev() {
        let by = |document: &Value| match &document[key] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        // `reverse` after an ascending sort would also reverse rows with equal keys, and so the order by the following
        // keys.
        if directions.get(at).is_some_and(|way| way == "desc") {
            documents.sort_by_cached_key(|document| Reverse(by(document)))
        } else {
            documents.sort_by_cached_key(by)
        }
    }
}

/// One page of a list.
pub struct Page {
    /// The items of the page.
    pub items: Vec<Value>,
    /// The last id, which is the marker of the next page. `None` on the last page.
    pub next: Option<String>,
}

/// Cuts out a page by `limit` and `marker`. `None` if the marker does not exist.
pub fn page(documents: Vec<Value>, query: &[(String, String)], limit_max: usize) -> Option<Page> {
    let start = match value(query, "marker") {
        None => 0,
        Some(marker) => {
            documents
                .iter()
                .position(|document| document["id"] == marker)?
                + 1
        }
    };
    let limit = value(query, "limit")
        .and_then(|text| text.parse::<usize>().ok())
        .filter(|limit| *limit > 0);
    let limit = limit.unwrap_or(limit_max).min(limit_max);
    let more = documents.len() > start + limit;
    let items: Vec<Value> = documents.into_iter().skip(start).take(limit).collect();
    let next = items
        .last()
        .filter(|_| more)
        .and_then(|last| last["id"].as_str())
        .map(str::to_owned);
    Some(Page { items, next })
}

/// Sorts by `sort=name:desc,id`, or by `sort_key` with `sort_dir`. The sort is stable.
pub fn sort_rows<T>(rows: &mut [&T], query: &[(String, String)], by: impl Fn(&T, &str) -> String) {
    let sort = value(query, "sort").map(|list| {
        let one = |one: &str| match one.split_once(':') {
            Some((key, direction)) => (key.to_owned(), direction != "asc"),
            None => (one.to_owned(), true),
        };
        list.split(',').map(one).collect::<Vec<(String, bool)>>()
    });
    let keys = sort.unwrap_or_else(|| {
        let directions: Vec<&str> = all_of(query, "sort_dir").collect();
        let keys = all_of(query, "sort_key").enumerate();
        keys.map(|(at, key)| {
            let descending = directions.get(at).is_none_or(|way| *way != "asc");
            (key.to_owned(), descending)
        })
        .collect()
    });
    for (key, descending) in keys.iter().rev() {
        if *descending {
            rows.sort_by_cached_key(|row| Reverse(by(row, key)))
        } else {
            rows.sort_by_cached_key(|row| by(row, key))
        }
    }
}

fn all_of<'a>(query: &'a [(String, String)], name: &'a str) -> impl Iterator<Item = &'a str> {
    query
        .iter()
        .filter(move |(key, _)| key == name)
        .map(|(_, value)| value.as_str())
}

/// One page of rows by `limit` and `marker`, and the last id if more rows follow. `None` if the marker does not exist.
/// Rows are paged before they are rendered.
pub fn page_rows<'a, T>(
    rows: Vec<&'a T>,
    query: &[(String, String)],
    limit_max: usize,
    id: impl Fn(&T) -> &str,
) -> Option<(Vec<&'a T>, Option<String>)> {
    let start = match value(query, "marker") {
        None => 0,
        Some(marker) => rows.iter().position(|row| id(row) == marker)? + 1,
    };
    let limit = value(query, "limit").and_then(|text| text.parse::<usize>().ok());
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(limit_max);
    let limit = limit.min(limit_max);
    let more = rows.len() > start + limit;
    let page: Vec<&T> = rows.into_iter().skip(start).take(limit).collect();
    let next = page.last().filter(|_| more);
    let next = next.map(|last| id(last).to_owned());
    Some((page, next))
}

/// Whether `pairs` contains all pairs of a filter in Python notation (`{'a': 'b'}`).
pub fn pairs_fit(pairs: &std::collections::BTreeMap<String, String>, wanted: &str) -> bool {
    let words: Vec<&str> = wanted.split(['\'', '"']).skip(1).step_by(2).collect();
    words
        .chunks_exact(2)
        .all(|pair| pairs.get(pair[0]).is_some_and(|value| value == pair[1]))
}

/// The same query with another marker, for the link to the next page.
pub fn with_marker(query: &[(String, String)], marker: &str) -> String {
    let mut words: Vec<(String, String)> = query
        .iter()
        .filter(|(key, _)| key != "marker")
        .cloned()
        .collect();
    words.push(("marker".into(), marker.into()));
    encoded(&words)
}

/// A URL-encoded query.
pub fn encoded(query: &[(String, String)]) -> String {
    let pairs: Vec<String> = query
        .iter()
        .map(|(key, value)| format!("{}={}", escape(key), escape(value)))
        .collect();
    pairs.join("&")
}

fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
