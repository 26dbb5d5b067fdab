//! Corrects names of files, so that Heat's client finds the same files.
//!
//! The client resolves a name only relative to the folder of the file that contains it. This program is more lenient
//! with files from a browser, which have no folders (`bundle`), so a name can resolve here but not there. Such names
//! are changed to the relative path. All others stay unchanged.

use hot::bundle::Bundle;
use hot::document::{Document, Edit};
use serde_json::{Value, json};

use super::edited_with_notes;
use crate::export::Report;
use crate::export::expand::call;

/// A file name in a template, with its place.
struct Mention {
    at: Vec<String>,
    name: String,
}

/// Edits for the names in a template, which is the file `from` or the main template.
pub(super) fn repair(
    document: &Document,
    bundle: &Bundle,
    from: Option<&str>,
    edits: &mut Vec<Edit>,
    report: &mut Report,
) {
    let mut mentions = Vec::new();
    for section in ["resources", "outputs"] {
        if let Some(value) = document.value(&[section]) {
            find(&value, &mut vec![section.to_owned()], &mut mentions);
        }
    }
    mend_all(mentions, bundle, from, edits, report);
}

/// An environment with corrected names.
pub(super) fn environment(bundle: &Bundle, path: &str, text: &str) -> (String, Report) {
    let mut report = Report::default();
    let document = Document::parse(text);
    let mut mentions = Vec::new();
    if let Some(value) = document.value(&["resource_registry"]) {
        registry(
            &value,
            &mut vec!["resource_registry".to_owned()],
            &mut mentions,
        );
    }
    let mut edits = Vec::new();
    mend_all(mentions, bundle, Some(path), &mut edits, &mut report);
    if edits.is_empty() {
        return (text.to_owned(), report);
    }
    let edited = edited_with_notes(&document, &edits, &mut report);
    (edited.text().to_owned(), report)
}

fn mend_all(
    mentions: Vec<Mention>,
    bundle: &Bundle,
    from: Option<&str>,
    edits: &mut Vec<Edit>,
    report: &mut Report,
) {
    for Mention { at, name } in mentions {
        let is_remote = name.contains("://") && !name.starts_with("file://");
        match bundle.find(from, &name) {
            _ if is_remote => {}
            None => report.needed(
                at.join("."),
                format!("The template reads the file `{name}`, which the design does not have. Put it at that path, relative to this file"),
            ),
            Some(path) => {
                let led = resolve(from, &name);
                if led.as_deref() != Some(path) {
                    let value = json!(relative(from, path));
                    edits.push(Edit::Set { path: at, value });
                }
            }
        }
    }
}

/// Finds the names in `get_file` and in resource types.
fn find(value: &Value, at: &mut Vec<String>, found: &mut Vec<Mention>) {
    if let Some(("get_file", Value::String(name))) = call(value) {
        found.push(mention(at, "get_file", name));
        return;
    }
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push(index.to_string());
                // The members of a chain.
                match item.as_str().filter(|name| is_file(name)) {
                    Some(name) if at.len() == 5 && at[3] == "resources" => found.push(Mention {
                        at: at.clone(),
                        name: name.to_owned(),
                    }),
                    _ => find(item, at, found),
                }
                at.pop();
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                // A resource, or the definition of a group's members: `properties.resource_def`, `properties.resource`.
                let is_resource = at.first().is_some_and(|section| section == "resources")
                    && (at.len() == 2
                        || (at.len() == 4
                            && matches!(at[3].as_str(), "resource_def" | "resource")));
                match value.as_str().filter(|name| is_file(name)) {
                    Some(name) if is_resource && key == "type" => {
                        found.push(mention(at, key, name));
                    }
                    _ => {
                        at.push(key.clone());
                        find(value, at, found);
                        at.pop();
                    }
                }
            }
        }
        _ => {}
    }
}

/// Finds the files in a resource registry, including entries for single resources.
fn registry(value: &Value, at: &mut Vec<String>, found: &mut Vec<Mention>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        match value.as_str().filter(|name| is_file(name)) {
            Some(name) => found.push(mention(at, key, name)),
            None => {
                at.push(key.clone());
                registry(value, at, found);
                at.pop();
            }
        }
    }
}

fn mention(at: &[String], key: &str, name: &str) -> Mention {
    Mention {
        at: at.iter().cloned().chain([key.to_owned()]).collect(),
        name: name.to_owned(),
    }
}

fn is_file(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".template")
}

fn folders(path: Option<&str>) -> Vec<&str> {
    let folder = path.and_then(|path| path.rsplit_once('/'));
    folder.map_or(Vec::new(), |(folder, _)| folder.split('/').collect())
}

/// The path that a name resolves to, relative to a file. `None` above the top folder.
fn resolve(from: Option<&str>, name: &str) -> Option<String> {
    if name.starts_with('/') || name.starts_with("file://") || name.contains('\\') {
        return None;
    }
    let mut parts = folders(from);
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The path relative to a file's folder.
fn relative(from: Option<&str>, path: &str) -> String {
    let mut here = folders(from).into_iter().peekable();
    let mut there: Vec<&str> = path.split('/').collect();
    while there.len() > 1 && here.peek() == there.first() {
        here.next();
        there.remove(0);
    }
    "../".repeat(here.count()) + &there.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_relative_to_the_file_that_has_them() {
        assert_eq!(resolve(None, "./a/b.sh").as_deref(), Some("a/b.sh"));
        assert_eq!(
            resolve(Some("lib/x.yaml"), "../b.sh").as_deref(),
            Some("b.sh")
        );
        assert_eq!(resolve(None, "../b.sh"), None);
        assert_eq!(resolve(None, "/b.sh"), None);
        assert_eq!(relative(None, "a/b.sh"), "a/b.sh");
        assert_eq!(relative(Some("lib/x.yaml"), "lib/b.sh"), "b.sh");
        assert_eq!(relative(Some("lib/x.yaml"), "a/b.sh"), "../a/b.sh");
        assert_eq!(relative(Some("a/b/x.yaml"), "a/c/d.sh"), "../c/d.sh");
    }
}
