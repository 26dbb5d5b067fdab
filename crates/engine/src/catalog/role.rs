//! Roles without a manifest: their draft, and the files that are added to them.

use std::collections::BTreeMap;

use types::catalog::role::{self, MANIFEST_FILE, RoleDraft};

use super::Files;

/// The draft of a manifest for a role.
pub fn draft(files: &Files) -> RoleDraft {
    RoleDraft::of(&texts(files))
}

/// Adds this manifest to a role that has none, and the options if it describes none. True if something was added.
pub fn complete(files: &mut Files, manifest: &str) -> bool {
    if files.contains_key(MANIFEST_FILE) {
        return false;
    }
    for (path, text) in role::complete(&texts(files), manifest) {
        files.insert(path.to_owned(), text.into_bytes());
    }
    true
}

/// The files that are text.
fn texts(files: &Files) -> BTreeMap<String, String> {
    let texts = files.iter().filter_map(|(path, content)| {
        let text = std::str::from_utf8(content).ok()?;
        Some((path.clone(), text.to_owned()))
    });
    texts.collect()
}
