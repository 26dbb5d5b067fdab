//! Paths inside a property at which two values differ, so that a user sees `networks.0.network` and not two lists.

use serde_json::Value;

use hot::expr::Expr;
use types::{Property, PropertyKind, Registry};

use super::PropertyChange;
use crate::workflow::ResourceSpec;

/// Maximum depth of paths. A deeper value is compared as a whole.
const DEPTH_MAX: usize = 6;
/// Maximum number of differing paths in one property. With more, the whole value is shown.
const PLACES_MAX: usize = 8;

/// Differences inside a property.
pub(super) fn places(
    name: &str,
    known: Option<&Property>,
    before: Option<&Expr>,
    after: Option<&Expr>,
) -> Vec<PropertyChange> {
    let mut found = Vec::new();
    walk(name.to_owned(), known, before, after, 0, &mut found);
    if found.len() > PLACES_MAX {
        return vec![whole(name.to_owned(), known, before, after)];
    }
    found
}

/// One change with both complete values.
pub(super) fn whole(
    name: String,
    known: Option<&Property>,
    before: Option<&Expr>,
    after: Option<&Expr>,
) -> PropertyChange {
    PropertyChange {
        name,
        old: shown(known, before),
        new: shown(known, after),
        known_after: mentioned(after),
        ..PropertyChange::default()
    }
}

/// All properties of a planned resource, each with its whole value as `new`.
pub fn properties(spec: &ResourceSpec, types: &Registry) -> Vec<PropertyChange> {
    let described = types.get(&spec.resource_type);
    let properties = spec.properties.iter().map(|(name, value)| {
        let known = described.and_then(|described| described.property(name));
        whole(name.clone(), known, None, Some(value))
    });
    properties.collect()
}

/// The resources that a value refers to.
fn mentioned(value: Option<&Expr>) -> Vec<String> {
    let mut names: Vec<String> = value
        .map(Expr::resources)
        .unwrap_or_default()
        .into_iter()
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

fn walk(
    path: String,
    known: Option<&Property>,
    before: Option<&Expr>,
    after: Option<&Expr>,
    depth: usize,
    found: &mut Vec<PropertyChange>,
) {
    if before == after || found.len() > PLACES_MAX {
        return;
    }
    let secret = known.is_some_and(|known| known.secret);
    match (before, after) {
        (Some(Expr::Map(one)), Some(Expr::Map(other))) if depth < DEPTH_MAX && !secret => {
            let mut keys: Vec<&String> = one.iter().chain(other).map(|(key, _)| key).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let of = |entries: &'_ [(String, Expr)]| {
                    entries.iter().position(|(name, _)| name == key)
                };
                let (old, new) = (
                    of(one).map(|at| &one[at].1),
                    of(other).map(|at| &other[at].1),
                );
                walk(
                    format!("{path}.{key}"),
                    key_of(known, key),
                    old,
                    new,
                    depth + 1,
                    found,
                );
            }
        }
        (Some(Expr::List(one)), Some(Expr::List(other))) if depth < DEPTH_MAX && !secret => {
            for index in 0..one.len().max(other.len()) {
                let (old, new) = (one.get(index), other.get(index));
                walk(
                    format!("{path}.{index}"),
                    item_of(known),
                    old,
                    new,
                    depth + 1,
                    found,
                );
            }
        }
        _ => found.push(whole(path, known, before, after)),
    }
}

fn key_of<'a>(known: Option<&'a Property>, key: &str) -> Option<&'a Property> {
    match &known?.kind {
        PropertyKind::Map { of } => of.iter().find(|property| property.name == key),
        _ => None,
    }
}

fn item_of(known: Option<&Property>) -> Option<&Property> {
    match &known?.kind {
        PropertyKind::List { of } => of.as_deref(),
        _ => None,
    }
}

/// Value to show. A secret in the text is masked; a secret from a parameter appears only as the parameter's name.
fn shown(known: Option<&Property>, value: Option<&Expr>) -> Option<Value> {
    let value = value?;
    let mut masked = value.to_json();
    hide(known, value, &mut masked);
    Some(masked)
}

fn hide(known: Option<&Property>, value: &Expr, shown: &mut Value) {
    match (value, shown) {
        (Expr::Literal(_), shown) if known.is_some_and(|known| known.secret) => {
            *shown = Value::from("***");
        }
        (Expr::Map(entries), Value::Object(map)) => {
            for (key, entry) in entries {
                if let Some(shown) = map.get_mut(key) {
                    let inner = key_of(known, key).or(known.filter(|known| known.secret));
                    hide(inner, entry, shown);
                }
            }
        }
        (Expr::List(items), Value::Array(all)) => {
            for (item, shown) in items.iter().zip(all) {
                let inner = item_of(known).or(known.filter(|known| known.secret));
                hide(inner, item, shown);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(before: Value, after: Value, expected: &[(&str, Value, Value)]) {
        let read = |value: &Value| Expr::from_json(value).unwrap();
        let found = places("p", None, Some(&read(&before)), Some(&read(&after)));
        let differences: Vec<_> = found
            .iter()
            .map(|one| {
                let of = |value: &Option<Value>| value.clone().unwrap_or_default();
                (one.name.as_str(), of(&one.old), of(&one.new))
            })
            .collect();
        assert_eq!(differences, expected);
    }

    #[test]
    fn a_nested_difference_has_its_path() {
        check(
            json!([{"network": "a", "tag": "x"}]),
            json!([{"network": "b", "tag": "x"}, {"network": "c"}]),
            &[
                ("p.0.network", json!("a"), json!("b")),
                ("p.1", json!(null), json!({"network": "c"})),
            ],
        );
        check(
            json!({"a": 1, "b": 2}),
            json!({"a": 1}),
            &[("p.b", json!(2), json!(null))],
        );
        check(
            json!("a"),
            json!({"get_param": "x"}),
            &[("p", json!("a"), json!({"get_param": "x"}))],
        );
    }

    #[test]
    fn the_properties_of_a_planned_resource_show_no_secret() {
        let spec = json!({
            "type": "OS::Nova::Server", "origin": {"from": "drawn"},
            "properties": {"flavor": "m1.small", "admin_pass": "very secret"},
        });
        let spec: ResourceSpec = serde_json::from_value(spec).unwrap();
        let shown: Vec<_> = properties(&spec, &Registry::openstack())
            .into_iter()
            .map(|one| (one.name, one.old, one.new.unwrap()))
            .collect();
        assert_eq!(
            shown,
            [
                ("admin_pass".to_owned(), None, json!("***")),
                ("flavor".to_owned(), None, json!("m1.small"))
            ]
        );
    }

    #[test]
    fn many_nested_differences_are_shown_as_the_whole_value() {
        let all = |from: i32| (from..from + 20).collect::<Vec<_>>();
        check(
            json!(all(0)),
            json!(all(1)),
            &[("p", json!(all(0)), json!(all(1)))],
        );
    }
}
