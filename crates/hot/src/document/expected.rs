//! Expected value of a text after an edit. The edited text is parsed again and compared with it.
//!
//! The whole value is compared, because an edit can affect other places: a node with an anchor also occurs at its
//! aliases.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Sets the value at a path. Missing maps are created, and lists for a `0`. An index one past the end appends.
pub fn set_at(at: &mut Value, path: &[impl AsRef<str>], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *at = value;
        return;
    };
    let first = first.as_ref();
    if let Value::Array(items) = at {
        match first.parse::<usize>() {
            Ok(index) if index < items.len() => set_at(&mut items[index], rest, value),
            Ok(index) if index == items.len() => {
                items.push(Value::Null);
                set_at(&mut items[index], rest, value);
            }
            _ => {}
        }
        return;
    }
    if !at.is_object() {
        if first == "0" {
            *at = Value::Array(vec![Value::Null]);
            return set_at(&mut at[0], rest, value);
        }
        *at = Value::Object(Map::new());
    }
    set_at(&mut at[first], rest, value);
}

/// Removes the values at the paths, and maps and lists that become empty; `resources` stays as an empty map. Paths that
/// do not exist are ignored.
pub fn remove_at(root: &mut Value, paths: &[Vec<String>]) {
    let mut marks = Mark::default();
    for path in paths {
        let mut mark = &mut marks;
        for segment in path {
            mark = mark.below.entry(segment.clone()).or_default();
        }
        mark.is_removed = true;
    }
    let resources = root.get("resources").is_some();
    if strip(root, &marks) {
        *root = Value::Object(Map::new());
    }
    if resources
        && root.get("resources").is_none()
        && !paths.contains(&vec!["resources".to_owned()])
    {
        root["resources"] = Value::Null;
    }
}

#[derive(Default)]
struct Mark {
    is_removed: bool,
    below: BTreeMap<String, Mark>,
}

/// Removes marked values. True if the value becomes empty.
fn strip(value: &mut Value, mark: &Mark) -> bool {
    let gone = |key: &str, child: &mut Value| {
        let below = mark.below.get(key);
        below.is_some_and(|below| below.is_removed || strip(child, below))
    };
    match value {
        Value::Object(map) => {
            let before = map.len();
            map.retain(|key, child| !gone(key, child));
            map.is_empty() && before > 0
        }
        Value::Array(items) => {
            let before = items.len();
            let mut index = 0;
            items.retain_mut(|child| {
                index += 1;
                !gone(&(index - 1).to_string(), child)
            });
            items.is_empty() && before > 0
        }
        _ => false,
    }
}

/// True if the values are equal. Numbers are compared by value: `1.0` equals `1`.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len()
                && x.iter()
                    .all(|(key, x)| y.get(key).is_some_and(|y| same(x, y)))
        }
        _ => a == b,
    }
}

/// True if the values are equal, where all forms of an empty value are equal.
pub(super) fn same_but_empty(read: &Value, expected: &Value) -> bool {
    let is_empty = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(map)) => map.is_empty(),
        Some(_) => false,
    };
    if is_empty(Some(read)) && is_empty(Some(expected)) {
        return true;
    }
    if expected.get("resources") == Some(&Value::Null) && is_empty(read.get("resources")) {
        let without = |value: &Value| {
            let mut value = value.clone();
            if let Some(map) = value.as_object_mut() {
                map.shift_remove("resources");
            }
            value
        };
        return same(&without(read), &without(expected));
    }
    same(read, expected)
}
