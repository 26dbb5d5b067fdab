//! Templates of others among the files that a person opens: the server makes HOT of them.

use api::{ExportNote, ImportRequest};

use crate::{client, export};

/// Files that are all ours now, and what was not plain, a line each.
pub struct Read {
    /// Name and text.
    pub files: Vec<(String, String)>,
    /// `left out: Resources.Web (line 12): ...`
    pub notes: Vec<String>,
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
    for (name, text) in files {
        if !ImportRequest::fits(&text) {
            read.files.push((name, text));
            continue;
        }
        let imported = client::import(&ImportRequest { text }).await?;
        read.notes.extend(imported.report.into_iter().map(|note| {
            let line = note
                .line
                .map_or(String::new(), |line| format!(" (line {line})"));
            export::line(&ExportNote {
                kind: note.kind,
                path: format!("{}{line}", note.path),
                message: note.message,
            })
        }));
        let stem = name
            .rsplit_once('.')
            .map_or(name.as_str(), |(stem, _)| stem);
        read.files.push((format!("{stem}.yaml"), imported.template));
    }
    Ok(read)
}
