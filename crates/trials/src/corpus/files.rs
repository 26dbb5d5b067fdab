//! Which files below a folder are templates, and what a client would send with one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const ENDINGS: [&str; 4] = ["yaml", "yml", "template", "json"];

/// All HOT templates below a folder, sorted. What carries no `heat_template_version` at its top is an environment, a
/// payload or something else.
pub fn templates(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                if !entry.file_name().to_string_lossy().starts_with('.') {
                    folders.push(path);
                }
                continue;
            }
            let ending = path.extension().and_then(|ending| ending.to_str());
            if ending.is_some_and(|ending| ENDINGS.contains(&ending))
                && is_template(&String::from_utf8_lossy(&fs::read(&path)?))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether the text names a version of HOT at its top: in YAML at the start of a line, in JSON anywhere.
pub fn is_template(text: &str) -> bool {
    const KEY: &str = "heat_template_version";
    if text.trim_start().starts_with('{') {
        return text.contains(KEY);
    }
    text.trim_start_matches('\u{feff}').lines().any(|line| {
        let line = line.trim_start_matches(['"', '\'']);
        line.strip_prefix(KEY)
            .is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_names_its_version_at_the_top() {
        assert!(is_template("# note\nheat_template_version: 2013-05-23\n"));
        assert!(is_template("\"heat_template_version\" : rocky\n"));
        assert!(is_template("{\"heat_template_version\": \"rocky\"}"));
        assert!(!is_template("resource_registry: {}\n"));
        assert!(!is_template("config: |\n  heat_template_version: rocky\n"));
    }
}
