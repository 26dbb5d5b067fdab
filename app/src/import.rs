//! Import: the server converts opened templates in other formats to HOT.

use std::collections::HashSet;

use api::{ExportNote, ExportNoteKind, ImportRequest};

use crate::client;

/// Opened files, all in HOT, and notes on the conversion.
pub struct Read {
    /// Name and text.
    pub files: Vec<(String, String)>,
    /// Notes on the conversion. Their paths include the line: `Resources.Web, line 12`.
    pub notes: Vec<ExportNote>,
}

/// Files, with each template in another format replaced by HOT. The new name ends in `.yaml`, like references to nested
/// templates.
///
/// # Errors
/// The server cannot parse a template, or is unreachable.
pub async fn read(files: Vec<(String, String)>) -> client::Answer<Read> {
    let mut read = Read {
        files: Vec::new(),
        notes: Vec::new(),
    };
    let (imported, own): (Vec<_>, Vec<_>) = files
        .iter()
        .partition(|(_, text)| ImportRequest::fits(text));
    let mut taken: HashSet<String> = own.into_iter().map(|(name, _)| name.clone()).collect();
    // Unchanged names are reserved before other files are renamed.
    let keep = imported.into_iter().map(|(name, _)| name.clone());
    let keep: HashSet<String> = keep.filter(|name| name.ends_with(".yaml")).collect();
    for (name, text) in files {
        if !ImportRequest::fits(&text) {
            read.files.push((name, text));
            continue;
        }
        let imported = client::import(&ImportRequest { text }).await?;
        read.notes.extend(imported.report.into_iter().map(|note| {
            let line = note
                .line
                .map_or(String::new(), |line| format!(", line {line}"));
            ExportNote {
                kind: note.kind,
                path: format!("{}{line}", note.path),
                message: note.message,
            }
        }));
        let new = ImportRequest::name_for(&name, |one| {
            taken.contains(one) || (one != name && keep.contains(one))
        });
        if new.rsplit_once('.').map(|(stem, _)| stem) != Some(stem(&name)) {
            read.notes.push(ExportNote {
                kind: ExportNoteKind::Changed,
                message: format!("renamed to `{new}`, because another file has its name"),
                path: name,
            });
        }
        taken.insert(new.clone());
        read.files.push((new, imported.template));
    }
    Ok(read)
}

/// A file's name without its extension.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}
