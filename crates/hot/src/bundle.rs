//! Bundles: the files and environments beside a template.
//!
//! A template can use other files: nested templates as a `type`, texts by `get_file`. An environment can name more.
//! The client that opens or posts a template sends the files with it; none is read from a disk. They have a name or
//! relative path. A name is resolved against the folder of the file that contains it, as in Heat's clients. Browsers
//! often provide no folders. So if no path matches, a file name that is unique in the bundle is sufficient.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use crate::{document::Document, environment::Environment};

/// Files beside a template, and the names of those that are environments. Cheap to clone. Each file is parsed once, at
/// its first use.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Files by normalised path.
    files: BTreeMap<String, File>,
    /// Names of environments, in the order in which they are merged.
    environments: Vec<String>,
}

#[derive(Debug)]
struct File {
    text: String,
    document: OnceLock<Document>,
    environment: OnceLock<Environment>,
}

/// Bundles with equal texts are equal.
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
    /// Bundle of files by name or relative path, and the names of environments in order: later ones have precedence.
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

    /// True if there are no files.
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

    /// True if a file is one of the environments.
    pub fn is_environment(&self, path: &str) -> bool {
        let mut environments = self.inner.environments.iter();
        environments.any(|name| self.find(None, name) == Some(path))
    }

    /// Adds these files, replacing those of the same path. Files that look like environments become environments.
    pub fn with(&self, files: Vec<(String, String)>) -> Bundle {
        let new = files
            .iter()
            .filter(|(path, text)| {
                is_environment(text) && !self.environments().contains(&normal(path))
            })
            .map(|(path, _)| normal(path));
        let environments: Vec<String> = self.environments().iter().cloned().chain(new).collect();
        Bundle::new(self.owned().chain(files), environments)
    }

    /// Bundle without a file.
    pub fn without(&self, path: &str) -> Bundle {
        let environments = self.environments().iter();
        let environments = environments.filter(|name| self.find(None, name) != Some(path));
        Bundle::new(
            self.owned().filter(|(one, _)| one != path),
            environments.cloned(),
        )
    }

    /// Bundle in which a file is the last environment, or no environment.
    pub fn with_environment(&self, path: &str, used: bool) -> Bundle {
        let environments = self.environments().iter();
        let others = environments.filter(|name| self.find(None, name) != Some(path));
        let this = used.then(|| path.to_owned());
        Bundle::new(self.owned(), others.cloned().chain(this))
    }

    fn owned(&self) -> impl Iterator<Item = (String, String)> {
        self.files()
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
    }

    /// Path of the file with this name in `from`, which is a path, or `None` for the template itself.
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

    /// Text of a file, by the path from [`Bundle::find`].
    pub fn text(&self, path: &str) -> Option<&str> {
        self.inner.files.get(path).map(|file| file.text.as_str())
    }

    /// File as a template, by the path from [`Bundle::find`].
    pub fn document(&self, path: &str) -> Option<&Document> {
        let file = self.inner.files.get(path)?;
        Some(
            file.document
                .get_or_init(|| Document::parse(file.text.as_str())),
        )
    }

    /// File as an environment, by the path from [`Bundle::find`].
    pub fn environment(&self, path: &str) -> Option<&Environment> {
        let file = self.inner.files.get(path)?;
        Some(
            file.environment
                .get_or_init(|| Environment::parse(path, &file.text)),
        )
    }
}

/// Template among files that were opened together.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// Name of the template's file without the extension.
    pub name: String,
    /// Text of the template.
    pub template: String,
    /// The other files, by paths relative to the template's file.
    pub bundle: Bundle,
}

/// Sorts files that are opened together: returns each template that is not used by another one, with the other files as
/// its bundle. Files that look like environments are environments. If there is no template, the first file is treated
/// as one, so that its problems can be displayed.
pub fn open(files: Vec<(String, String)>) -> Vec<Opened> {
    let all = Bundle::new(files.iter().cloned(), []);
    let is_template = |text: &str| {
        text.lines().any(|line| {
            line.trim_start_matches(['"', '{', ' '])
                .starts_with("heat_template_version")
        })
    };
    let used: BTreeSet<&str> = all
        .files()
        .flat_map(|(path, text)| {
            let names = if is_environment(text) {
                let environment = all.environment(path);
                let aliases = environment.map_or(&[][..], |one| &one.registry);
                aliases
                    .iter()
                    .filter_map(|alias| alias.target.clone())
                    .collect()
            } else {
                all.document(path).map(nested_files).unwrap_or_default()
            };
            let found = names
                .into_iter()
                .filter_map(|name| all.find(Some(path), &name));
            // A template that uses itself is still a separate template.
            found.filter(|used| *used != path).collect::<Vec<_>>()
        })
        .collect();
    let mut tops: Vec<&str> = all
        .files()
        .filter(|(path, text)| is_template(text) && !used.contains(path))
        .map(|(path, _)| path)
        .collect();
    if tops.is_empty() {
        let first = |wanted: &dyn Fn(&str) -> bool| {
            let mut texts = all.files().filter(|(_, text)| wanted(text));
            texts.next().map(|(path, _)| path)
        };
        tops.extend(
            first(&is_template)
                .or_else(|| first(&|text| !is_environment(text)))
                .or_else(|| first(&|_| true)),
        );
    }
    let opened = tops.iter().map(|top| {
        let folder = top.rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
        let relative = |path: &str| {
            let below = folder
                .as_deref()
                .and_then(|folder| path.strip_prefix(folder));
            below.unwrap_or(path).to_owned()
        };
        let others = || all.files().filter(|(path, _)| !tops.contains(path));
        let environments = others().filter(|(_, text)| is_environment(text));
        Opened {
            name: stem(top).to_owned(),
            template: all.text(top).unwrap_or_default().to_owned(),
            bundle: Bundle::new(
                others().map(|(path, text)| (relative(path), text.to_owned())),
                environments.map(|(path, _)| relative(path)),
            ),
        }
    });
    opened.collect()
}

/// Names of the files that a template uses as types.
fn nested_files(document: &Document) -> Vec<String> {
    let resources = document.template().resources.iter();
    let types = resources.flat_map(crate::template::Resource::types);
    types
        .filter(|name| crate::environment::is_file(name))
        .map(str::to_owned)
        .collect()
}

fn stem(path: &str) -> &str {
    let file = base_name(path);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// True if a text looks like an environment rather than a template, according to its top-level keys.
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

/// Normalised path: `a/./b/../c` becomes `a/c`. A path that would leave the top folder stays in it.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    // A URL keeps its two slashes.
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
    fn file_names_are_relative_to_the_file_that_has_them() {
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
    fn a_unique_file_name_is_found_without_its_folder() {
        let files = bundle(&["web.yaml", "a/same.yaml", "b/same.yaml"]);
        assert_eq!(files.find(None, "../lib/web.yaml"), Some("web.yaml"));
        assert_eq!(
            files.find(None, "file:///srv/lib/web.yaml"),
            Some("web.yaml")
        );
        assert_eq!(files.find(None, "same.yaml"), None);
    }

    #[test]
    fn opened_files_are_sorted_into_template_environments_and_files() {
        let head = "heat_template_version: 2021-04-16\n";
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let site = format!("{head}resources: {{web: {{type: lib/web.yaml}}}}\n");
        let web = format!("{head}resources: {{db: {{type: My::Db}}}}\n");
        let opened = open(vec![
            file("app/lib/web.yaml", &web),
            file("app/env.yaml", "resource_registry: {My::Db: lib/db.yaml}\n"),
            file("app/site.yaml", &site),
            file("app/lib/db.yaml", head),
            file("app/init.sh", "#!/bin/sh\n"),
        ]);
        assert_eq!(opened.len(), 1);
        assert_eq!(
            (opened[0].name.as_str(), &opened[0].template),
            ("site", &site)
        );
        let paths: Vec<&str> = opened[0].bundle.files().map(|(path, _)| path).collect();
        assert_eq!(
            paths,
            ["env.yaml", "init.sh", "lib/db.yaml", "lib/web.yaml"]
        );
        assert_eq!(opened[0].bundle.environments(), ["env.yaml"]);

        let two = open(vec![
            file("a.yaml", head),
            file("b.yaml", head),
            file("e.yaml", "parameters: {}\n"),
        ]);
        let names: Vec<&str> = two.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(two[1].bundle.environments(), ["e.yaml"]);
        assert_eq!(open(vec![file("x.txt", "nonsense")])[0].name, "x");
        assert_eq!(open(vec![]), []);
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
