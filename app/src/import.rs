//! Templates of others among the files that a person opens: the server makes HOT of them.

use std::collections::HashSet;

use api::{ExportNote, ExportNoteKind, ImportRequest};

use crate::client;

/// Files that are all ours now, and what was not plain.
pub struct Read {
    /// Name and text.
    pub files: Vec<(String, String)>,
    /// Their paths say the line, too: `Resources.Web, line 12`.
    pub notes: Vec<ExportNote>,
}

/// The files with HOT in place of each template of others, under its name with `.yaml`, which is how a nested one is asked for.
///
/// # Errors
/// Where the server cannot read one, or cannot be asked.
pub async fn read(files: Vec<(String, String)>) -> client::Answer<Read> {
    let mut read = Read {
        files: Vec::new(),
        notes: Vec::new(),
    };
    let (imported, own): (Vec<_>, Vec<_>) = files
        .iter()
        .partition(|(_, text)| ImportRequest::fits(text));
    let mut taken: HashSet<String> = own.into_iter().map(|(name, _)| name.clone()).collect();
    // One that keeps its name has it before another is renamed.
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
                message: format!("it is called `{new}`: another file has its name already"),
                path: name,
            });
        }
        taken.insert(new.clone());
        read.files.push((new, imported.template));
    }
    Ok(read)
}

/// A file's name without what tells its kind.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}
