//! Values of properties in a plan: old and new, and text of several lines as a line diff.

use leptos::prelude::*;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

/// Lines around a difference.
const CONTEXT: usize = 3;

/// Old and new value of a property.
pub fn values(old: Option<&Value>, new: Option<&Value>) -> AnyView {
    let is_long = |value: &Option<String>| value.as_ref().is_some_and(|text| text.contains('\n'));
    let (old, new) = (old.map(shown), new.map(shown));
    if is_long(&old) || is_long(&new) {
        let rows = lines(&old.unwrap_or_default(), &new.unwrap_or_default());
        return diff_view(rows);
    }
    view! {
        {old.map(|old| view! { <code class="old"><span class="sr-only">"Old "</span>{old}</code> })}
        {new.map(|new| view! { <code class="new"><span class="sr-only">"New "</span>{new}</code> })}
    }
    .into_any()
}

fn diff_view(rows: Vec<Row>) -> AnyView {
    let rows = rows
        .into_iter()
        .map(|row| {
            let (tag, mark, spoken, text) = match row {
                Row::Gap(1) => ("gap", "", "", "1 line is equal".to_owned()),
                Row::Gap(count) => ("gap", "", "", format!("{count} lines are equal")),
                Row::Line(ChangeTag::Delete, text) => ("old", "-", "Removed ", text),
                Row::Line(ChangeTag::Insert, text) => ("new", "+", "Added ", text),
                Row::Line(ChangeTag::Equal, text) => ("same", " ", "", text),
            };
            view! {
                <span class="diff-line" data-tag=tag>
                    <span class="diff-mark" aria-hidden="true">{mark}</span>
                    {(!spoken.is_empty()).then(|| view! { <span class="sr-only">{spoken}</span> })}
                    <code>{text}</code>
                </span>
            }
        })
        .collect_view();
    view! { <div class="diff" role="group" aria-label="Changed lines" tabindex="0">{rows}</div> }
        .into_any()
}

/// A row of a line diff.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Row {
    Line(ChangeTag, String),
    /// Number of equal lines that are left out.
    Gap(usize),
}

/// The line diff of two texts, with some equal lines around each difference.
fn lines(old: &str, new: &str) -> Vec<Row> {
    let diff = TextDiff::from_lines(old, new);
    let all: Vec<(ChangeTag, &str)> = diff
        .iter_all_changes()
        .map(|change| (change.tag(), change.value().trim_end_matches('\n')))
        .collect();
    let mut is_near = vec![false; all.len()];
    for (at, _) in all
        .iter()
        .enumerate()
        .filter(|(_, (tag, _))| *tag != ChangeTag::Equal)
    {
        let end = (at + CONTEXT + 1).min(all.len());
        is_near[at.saturating_sub(CONTEXT)..end].fill(true);
    }
    let mut rows = Vec::new();
    for ((tag, text), is_near) in all.into_iter().zip(is_near) {
        match rows.last_mut() {
            _ if is_near => rows.push(Row::Line(tag, text.to_owned())),
            Some(Row::Gap(count)) => *count += 1,
            _ => rows.push(Row::Gap(1)),
        }
    }
    rows
}

/// Value in the notation of a user.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) if map.len() == 1 => map
            .iter()
            .map(|(key, value)| format!("{key}: {}", shown(value)))
            .collect(),
        Value::Array(items)
            if items
                .iter()
                .all(|item| !item.is_object() && !item.is_array()) =>
        {
            items.iter().map(shown).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_short() {
        assert_eq!(shown(&json!("debian-12")), "debian-12");
        assert_eq!(shown(&json!({"get_resource": "net"})), "get_resource: net");
        assert_eq!(
            shown(&json!({"get_attr": ["web", "name"]})),
            "get_attr: web, name"
        );
        assert_eq!(shown(&json!([{"a": 1}])), r#"[{"a":1}]"#);
        assert_eq!(shown(&json!(80)), "80");
    }

    #[test]
    fn a_line_diff_has_the_changed_lines_and_their_neighbours() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\n5\nsix\n7\n8\n9\n";
        let line = |tag, text: &str| Row::Line(tag, text.to_owned());
        let same = |text| line(ChangeTag::Equal, text);
        assert_eq!(
            lines(old, new),
            [
                Row::Gap(2),
                same("3"),
                same("4"),
                same("5"),
                line(ChangeTag::Delete, "6"),
                line(ChangeTag::Insert, "six"),
                same("7"),
                same("8"),
                same("9"),
            ]
        );
    }
}
