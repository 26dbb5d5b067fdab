//! Unused names and address ranges.

use std::collections::BTreeSet;

use hot::{expr::Expr, template::Template};
use serde_json::Value;

/// `base`, or `base_2`, `base_3` ... if it is taken.
pub fn unique_name(template: &Template, base: &str) -> String {
    let base: String = base
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.') {
                letter
            } else {
                '_'
            }
        })
        .collect();
    let base = if base.is_empty() {
        "resource".to_owned()
    } else {
        base
    };
    let taken = |name: &str| template.resource(name).is_some();
    if !taken(&base) {
        return base;
    }
    (2..)
        .map(|number| format!("{base}_{number}"))
        .find(|name| !taken(name))
        .unwrap_or(base)
}

/// The first `10.0.N.0/24` that does not occur in the template.
pub fn free_cidr(template: &Template) -> String {
    let mut taken = BTreeSet::new();
    for resource in &template.resources {
        for property in &resource.properties {
            third_octets(&property.value, &mut taken);
        }
    }
    let third = (1..=254_u8)
        .find(|number| !taken.contains(number))
        .unwrap_or(255);
    format!("10.0.{third}.0/24")
}

/// Collects N of every `10.0.N.…` in an expression.
fn third_octets(expr: &Expr, found: &mut BTreeSet<u8>) {
    match expr {
        Expr::Literal(Value::String(text)) => {
            if let Some(rest) = text.strip_prefix("10.0.")
                && let Some(third) = rest.split('.').next().and_then(|third| third.parse().ok())
            {
                found.insert(third);
            }
        }
        Expr::List(items) => items.iter().for_each(|item| third_octets(item, found)),
        Expr::Map(entries) => entries
            .iter()
            .for_each(|(_, value)| third_octets(value, found)),
        _ => {}
    }
}
