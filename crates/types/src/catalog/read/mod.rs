//! Parser of `item.yml` and `meta/argument_specs.yml`, with error messages for authors of items.

mod health;
mod manifest;
mod specs;

use super::CatalogItem;
use hot::{
    diagnostic::Diagnostic,
    text::{Lines, did_you_mean, listed},
    yaml::{self, Entry, Kind, Node},
};
use yaql::shown;

#[cfg(test)]
pub(super) use manifest::MANIFEST_KEYS;
pub(super) use manifest::{is_item_name, is_version};

const MANIFEST: &str = "item.yml";
const SPECS: &str = "argument_specs.yml";

/// Parses the item from both texts.
pub(super) fn item(manifest: &str, specs: &str) -> Result<CatalogItem, Vec<Diagnostic>> {
    let mut manifest_reader = Reader::new(MANIFEST, manifest);
    let mut item = manifest_reader.manifest();
    let mut specs_reader = Reader::new(SPECS, specs);
    let inputs = specs_reader.specs();
    // An option with the name of a requirement or of a list of consumers gets its value from connections, not from input.
    item.inputs = inputs
        .into_iter()
        .filter(|input| !item.is_from_connections(&input.name))
        .collect();
    specs_reader.reserved(&item);
    manifest_reader.ports(&item);
    let mut diagnostics = manifest_reader.diagnostics;
    diagnostics.extend(specs_reader.diagnostics);
    if diagnostics.is_empty() {
        Ok(item)
    } else {
        Err(diagnostics)
    }
}

struct Reader<'t> {
    file: &'static str,
    text: &'t str,
    lines: Lines,
    root: Option<Node>,
    diagnostics: Vec<Diagnostic>,
}

impl<'t> Reader<'t> {
    fn new(file: &'static str, text: &'t str) -> Reader<'t> {
        let tree = yaml::parse(text);
        let mut reader = Reader {
            file,
            text,
            lines: Lines::of(text),
            root: None,
            diagnostics: Vec::new(),
        };
        for problem in &tree.problems {
            let mut one =
                Diagnostic::error(problem.code, file, format!("{file}: {}", problem.message));
            let position = reader.lines.position(text, problem.at);
            (one.line, one.column) = (Some(position.line), Some(position.column));
            reader.diagnostics.push(one);
        }
        reader.root = tree.root;
        reader
    }

    fn error(&mut self, path: &str, at: usize, message: String) {
        let path = if path.is_empty() {
            self.file.to_owned()
        } else {
            format!("{}.{path}", self.file)
        };
        let mut one = Diagnostic::error("item-invalid", path, format!("{}: {message}", self.file));
        let position = self.lines.position(self.text, at);
        (one.line, one.column) = (Some(position.line), Some(position.column));
        self.diagnostics.push(one);
    }

    fn unknown_keys(&mut self, path: &str, entries: &[Entry], known: &[&str]) {
        for entry in entries
            .iter()
            .filter(|entry| !known.contains(&entry.key.as_str()))
        {
            let near = did_you_mean(&entry.key, known.iter().copied());
            self.error(
                path,
                entry.key_span.start,
                format!(
                    "`{}` is no key here{near}; there are {}",
                    shown(&entry.key),
                    listed(known)
                ),
            );
        }
    }

    fn text(&mut self, node: &Node, key: &str, at: &str) -> Option<String> {
        let entry = node.entry(key)?;
        match &entry.value.target().kind {
            Kind::Scalar(text) if !text.is_empty() => Some(text.clone()),
            _ => {
                self.error(at, entry.key_span.start, format!("`{key}` takes text"));
                None
            }
        }
    }

    fn required(&mut self, node: &Node, key: &str, at: &str) -> String {
        if node.entry(key).is_none() {
            self.error(at, node.span.start, format!("`{key}` is missing"));
        }
        self.text(node, key, at).unwrap_or_default()
    }

    fn items<'n>(&mut self, node: &'n Node, key: &str) -> Vec<&'n Node> {
        let Some(entry) = node.entry(key).filter(|entry| !entry.value.is_null()) else {
            return Vec::new();
        };
        match entry.value.items() {
            Some(items) => items.iter().map(|item| &item.value).collect(),
            None => {
                self.error(key, entry.value.span.start, format!("`{key}` takes a list"));
                Vec::new()
            }
        }
    }

    fn texts(&mut self, node: &Node, key: &str, at: &str, what: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for item in self.items(node, key) {
            match &item.kind {
                Kind::Scalar(text) => texts.push(text.clone()),
                _ => self.error(at, item.span.start, format!("`{key}` takes {what}")),
            }
        }
        texts
    }

    fn number(&mut self, node: &Node, key: &str, at: &str) -> Option<u32> {
        let entry = node.entry(key)?;
        let number = entry
            .value
            .scalar()
            .and_then(|value| value.as_u64())
            .and_then(|number| u32::try_from(number).ok());
        if number.is_none() {
            self.error(
                at,
                entry.value.span.start,
                format!("`{key}` takes a whole number from 0 up"),
            );
        }
        number
    }
}
