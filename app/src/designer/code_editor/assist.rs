//! Completion, help and problems for the script of the editor, as JSON. It counts in UTF-16 units, the crates in bytes.

use api::{Diagnostic, Severity};
use canvas::completion::{self, CompletionInput};
use hot::{document::Document, template::Template};
use leptos::prelude::*;
use serde::Serialize;

use super::Source;
use crate::designer::store::Workspace;

/// Proposals at an offset of a text. Empty for none.
pub fn complete(
    workspace: Workspace,
    source: &Source,
    text: &str,
    offset: u32,
    asked: bool,
) -> String {
    let Some(offset) = byte_at(text, offset) else {
        return String::new();
    };
    let found = with_input(workspace, source, text, |input| {
        completion::complete(input, text, offset, asked)
    });
    json(found.flatten().map(|mut found| {
        found.from = units(&text[..found.from]);
        for offer in &mut found.options {
            offer.caret = units(&offer.insert[..offer.caret]);
        }
        found
    }))
}

/// Help about the word at an offset of a text. Empty for none.
pub fn explain(workspace: Workspace, source: &Source, text: &str, offset: u32) -> String {
    let Some(offset) = byte_at(text, offset) else {
        return String::new();
    };
    let found = with_input(workspace, source, text, |input| {
        completion::explain(input, text, offset)
    });
    json(found.flatten().map(|mut found| {
        found.from = units(&text[..found.from]);
        found.to = units(&text[..found.to]);
        found
    }))
}

#[derive(Serialize)]
struct Mark<'a> {
    line: u32,
    column: u32,
    severity: Severity,
    message: &'a str,
}

/// A list of problems. Those without a line stand on the first.
pub fn marks(problems: &[Diagnostic]) -> String {
    let marks = problems.iter().map(|problem| Mark {
        line: problem.line.unwrap_or(1),
        column: problem.column.unwrap_or(0),
        severity: problem.severity,
        message: &problem.message,
    });
    json(Some(marks.collect::<Vec<_>>()))
}

/// Calls `ask` with what proposals are made of. `None` for a script, and if the page is disposed.
fn with_input<T>(
    workspace: Workspace,
    source: &Source,
    text: &str,
    ask: impl FnOnce(&CompletionInput<'_>) -> T,
) -> Option<T> {
    let types = workspace.types.try_get_untracked()?;
    let cloud = workspace.cloud.try_get_untracked()?;
    workspace.editor.try_with_untracked(|editor| {
        let of_file;
        let template: &Template = match source {
            Source::Template => editor.template(),
            Source::File(_) => {
                of_file = Document::parse(text);
                of_file.template()
            }
            Source::Value { .. } => return None,
        };
        Some(ask(&CompletionInput {
            template,
            types: &types,
            cloud: &cloud,
            bundle: editor.bundle(),
        }))
    })?
}

fn json(value: Option<impl Serialize>) -> String {
    let text = value.map(|value| serde_json::to_string(&value));
    text.and_then(Result::ok).unwrap_or_default()
}

/// Length in UTF-16 units.
fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Position in bytes of a position in UTF-16 units. `None` behind the end or within a character.
fn byte_at(text: &str, units: u32) -> Option<usize> {
    let mut left = units as usize;
    for (at, letter) in text.char_indices() {
        if left == 0 {
            return Some(at);
        }
        left = left.checked_sub(letter.len_utf16())?;
    }
    (left == 0).then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::{byte_at, units};

    #[test]
    fn offsets_of_the_browser_are_places_between_characters() {
        let text = "aä🙂b";
        let places: Vec<_> = (0..7).map(|at| byte_at(text, at)).collect();
        assert_eq!(
            places,
            [Some(0), Some(1), Some(3), None, Some(7), Some(8), None]
        );
        assert_eq!(units("aä🙂"), 4);
    }
}
