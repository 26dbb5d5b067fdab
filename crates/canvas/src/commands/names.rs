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
    let third = free_thirds(template).next().unwrap_or(255);
    format!("10.0.{third}.0/24")
}

/// Free ranges to propose for a subnet: small ones, and larger ones of other private networks.
pub fn free_cidrs(template: &Template) -> Vec<String> {
    let mut ranges: Vec<String> = free_thirds(template)
        .take(2)
        .map(|third| format!("10.0.{third}.0/24"))
        .collect();
    let mut texts = Vec::new();
    for resource in &template.resources {
        for property in &resource.properties {
            property.value.walk(&mut |part| texts.extend(part.as_str()));
        }
    }
    let is_free = |start: &str| !texts.iter().any(|text| text.starts_with(start));
    let larger = [
        ("172.16.", "172.16.0.0/16"),
        ("192.168.0.", "192.168.0.0/24"),
    ];
    let larger = larger.into_iter().filter(|(start, _)| is_free(start));
    ranges.extend(larger.map(|(_, range)| range.to_owned()));
    ranges
}

/// N of every `10.0.N.0/24` that does not occur in the template.
fn free_thirds(template: &Template) -> impl Iterator<Item = u8> {
    let mut taken = BTreeSet::new();
    for resource in &template.resources {
        for property in &resource.properties {
            third_octets(&property.value, &mut taken);
        }
    }
    (1..=254_u8).filter(move |number| !taken.contains(number))
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
