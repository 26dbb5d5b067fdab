//! Two texts as one list of lines: removed, added, and some equal ones around them.

use leptos::prelude::*;
use similar::{ChangeTag, TextDiff};

/// Lines around a difference.
const CONTEXT: usize = 3;

/// The line diff of two texts.
pub fn line_diff(old: &str, new: &str) -> AnyView {
    let rows = lines(old, new)
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

#[cfg(test)]
mod tests {
    use super::*;

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
