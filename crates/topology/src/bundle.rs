//! What is given beside a template: files and environments.
//!
//! A template names other files: nested templates as a `type`, texts by `get_file`; an environment
//! names more. None of them is read from a disk: whoever opens or posts a template gives the files
//! with it, by name or relative path. A name is resolved against the folder of the file that mentions
//! it, as Heat's clients do. Browsers often know no folders; so where that finds nothing, a name that
//! only one file has is good enough.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use crate::{document::Document, environment::Environment};

/// Files beside a template, and which of them are environments. Cheap to clone; each file is parsed
/// once, when it is first asked for.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By normalised path.
    files: BTreeMap<String, File>,
    /// Names as given, in the order in which they are merged.
    environments: Vec<String>,
}

#[derive(Debug)]
struct File {
    text: String,
    document: OnceLock<Document>,
    environment: OnceLock<Environment>,
}

/// Texts decide.
impl PartialEq for Bundle {
    fn eq(&self, other: &Self) -> bool {
        let texts = |bundle: &Bundle| -> Vec<(String, String)> {
            bundle
                .files()
                .map(|(path, text)| (path.to_owned(), text.to_owned()))
                .collect()
        };
        Arc::ptr_eq(&self.inner, &other.inner)
            || (self.inner.environments == other.inner.environments && texts(self) == texts(other))
    }
}

impl Bundle {
    /// Files by name or relative path, and the names of those that are environments, in order: what a
    /// later one says wins.
    pub fn new(
        files: impl IntoIterator<Item = (String, String)>,
        environments: impl IntoIterator<Item = String>,
    ) -> Bundle {
        let files = files.into_iter().map(|(path, text)| {
            let file = File {
                text,
                document: OnceLock::new(),
                environment: OnceLock::new(),
            };
            (normal(&path), file)
        });
        Bundle {
            inner: Arc::new(Inner {
                files: files.collect(),
                environments: environments.into_iter().collect(),
            }),
        }
    }

    /// Whether nothing is given.
    pub fn is_empty(&self) -> bool {
        self.inner.files.is_empty() && self.inner.environments.is_empty()
    }

    /// Path and text of each file.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.inner
            .files
            .iter()
            .map(|(path, file)| (path.as_str(), file.text.as_str()))
    }

    /// Names of the environments, in the order in which they are merged.
    pub fn environments(&self) -> &[String] {
        &self.inner.environments
    }

    /// The path under which a file is kept that `from` (a path, or nothing for the template itself)
    /// calls `name`.
    pub fn find(&self, from: Option<&str>, name: &str) -> Option<&str> {
        let name = name.strip_prefix("file://").unwrap_or(name);
        let folder = from
            .and_then(|from| from.rsplit_once('/'))
            .map(|(folder, _)| folder);
        let beside = folder.map(|folder| normal(&format!("{folder}/{name}")));
        let alone = normal(name);
        let files = &self.inner.files;
        let exact = beside
            .and_then(|path| files.get_key_value(&path))
            .or_else(|| files.get_key_value(&alone));
        if let Some((path, _)) = exact {
            return Some(path);
        }
        let last = base_name(&alone);
        let mut alike = files.keys().filter(|path| base_name(path) == last);
        let first = alike.next()?;
        alike.next().is_none().then_some(first.as_str())
    }

    /// A file's text, by the path that [`Bundle::find`] gave.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.inner.files.get(path).map(|file| file.text.as_str())
    }

    /// A file as a template, by the path that [`Bundle::find`] gave.
    pub fn document(&self, path: &str) -> Option<&Document> {
        let file = self.inner.files.get(path)?;
        Some(
            file.document
                .get_or_init(|| Document::parse(file.text.as_str())),
        )
    }

    /// A file as an environment, by the path that [`Bundle::find`] gave.
    pub fn environment(&self, path: &str) -> Option<&Environment> {
        let file = self.inner.files.get(path)?;
        Some(
            file.environment
                .get_or_init(|| Environment::parse(path, &file.text)),
        )
    }
}

/// Whether a text reads like an environment rather than a template: by its top keys.
pub fn is_environment(text: &str) -> bool {
    let keys = |line: &str| -> Option<String> {
        let (key, _) = line.split_once(':')?;
        let key = key.trim_matches(['"', '\'']);
        (!key.starts_with([' ', '#', '-', '{'])).then(|| key.to_owned())
    };
    let keys: Vec<String> = text.lines().filter_map(keys).collect();
    let has = |name: &str| keys.iter().any(|key| key == name);
    !has("heat_template_version")
        && !has("resources")
        && crate::environment::SECTIONS
            .iter()
            .any(|section| has(section))
}

/// `a/./b/../c` is `a/c`; what would lead above the top stays at the top.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    // An address keeps its two slashes.
    let (scheme, path) = match path.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, path),
    };
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    let path = parts.join("/");
    match scheme {
        Some(scheme) => format!("{scheme}://{path}"),
        None => path,
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(paths: &[&str]) -> Bundle {
        Bundle::new(
            paths.iter().map(|path| ((*path).to_owned(), String::new())),
            [],
        )
    }

    #[test]
    fn names_are_resolved_where_they_are_mentioned() {
        let files = bundle(&["lib/web.yaml", "lib/sub/db.yaml", "db.yaml"]);
        assert_eq!(files.find(None, "./lib/web.yaml"), Some("lib/web.yaml"));
        assert_eq!(
            files.find(Some("lib/web.yaml"), "sub/db.yaml"),
            Some("lib/sub/db.yaml")
        );
        assert_eq!(
            files.find(Some("lib/sub/db.yaml"), "../web.yaml"),
            Some("lib/web.yaml")
        );
        assert_eq!(files.find(Some("lib/web.yaml"), "db.yaml"), Some("db.yaml"));
        assert_eq!(files.find(None, "nothing.yaml"), None);
    }

    #[test]
    fn without_folders_a_name_that_one_file_has_is_enough() {
        let files = bundle(&["web.yaml", "a/same.yaml", "b/same.yaml"]);
        assert_eq!(files.find(None, "../lib/web.yaml"), Some("web.yaml"));
        assert_eq!(
            files.find(None, "file:///srv/lib/web.yaml"),
            Some("web.yaml")
        );
        assert_eq!(files.find(None, "same.yaml"), None);
    }

    #[test]
    fn an_environment_is_known_by_its_keys() {
        assert!(is_environment("# for tests\nparameters:\n  size: 3\n"));
        assert!(is_environment(
            "resource_registry:\n  My::Server: server.yaml\n"
        ));
        assert!(!is_environment(
            "heat_template_version: 2021-04-16\nparameters: {}\n"
        ));
        assert!(!is_environment("#!/bin/sh\necho parameters:\n"));
    }
}
