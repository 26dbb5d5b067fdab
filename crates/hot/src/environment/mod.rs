//! Environment files: parameter values, type aliases and hooks for a template.
//!
//! An environment is stored beside the template and is never part of it: the same template can be deployed with a small
//! environment in a test and a large one in production. Several environments are merged in order ([`Merged`]):
//! parameters by a strategy that a file can choose per parameter; for all other values the last environment has
//! precedence. Their parameters have precedence over those of a request. Parsing never fails: invalid parts are
//! reported in a diagnostic with file, line and column, and the rest is used. Rules: Heat's `environment.py` and
//! `environment_util.py`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    diagnostic::Diagnostic,
    text::{Lines, Position, did_you_mean, listed},
    yaml::{self, Entry, Node},
};
use yaql::shown;

mod registry;

pub use registry::{Aliases, Target};
pub use registry::{is_file, matches};

/// Top-level keys of an environment.
pub const SECTIONS: [&str; 6] = [
    "parameters",
    "parameter_defaults",
    "parameter_merge_strategies",
    "resource_registry",
    "encrypted_param_names",
    "event_sinks",
];

const HOOKS: [&str; 6] = [
    "pre-create",
    "pre-update",
    "pre-delete",
    "post-create",
    "post-update",
    "post-delete",
];
const RESTRICTED: [&str; 2] = ["update", "replace"];

/// Environment file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    /// Path in the bundle. Names in the file are resolved against its folder.
    pub file: String,
    /// Values for the template's parameters.
    pub parameters: BTreeMap<String, Given>,
    /// Values for parameters of these names in the template and all nested templates. They have precedence over a
    /// template's own defaults.
    pub parameter_defaults: BTreeMap<String, Given>,
    /// Merge strategies by parameter.
    pub strategies: BTreeMap<String, Strategy>,
    /// Type aliases, for all or some resources, in the order of the text.
    pub registry: Vec<Alias>,
    /// Hooks and locks of resources, by name or wildcard.
    pub rules: Vec<Rule>,
    /// Problems of the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Value and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Value as written.
    pub value: Value,
    /// Position of the name.
    pub at: Position,
}

/// Strategy that merges values of one parameter from several environments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The later value replaces the earlier one.
    #[default]
    Overwrite,
    /// Texts and lists are concatenated, numbers added, maps merged by key.
    Merge,
    /// Like `Merge`, also inside maps.
    DeepMerge,
}

/// Entry of `resource_registry`.
#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    /// Name of the resources. Can contain `*`. `None` for all resources.
    pub resource: Option<String>,
    /// Type in templates. Can end in `*`.
    pub name: String,
    /// Type or file that replaces the type. `None` removes an earlier alias.
    pub target: Option<String>,
    /// Environment file of the alias.
    pub file: String,
    /// Position of the name.
    pub at: Position,
}

/// Rule for resources under `resource_registry: {resources: ...}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Name of the resources. Can contain `*`.
    pub resource: String,
    /// Hooks, at which a run waits for a person: `pre-create` and similar ones.
    pub hooks: Vec<String>,
    /// Forbidden actions: `update`, `replace`.
    pub restricted_actions: Vec<String>,
    /// Environment file of the rule.
    pub file: String,
    /// Position of the rule.
    pub at: Position,
}

impl Environment {
    /// Parses an environment. Never fails: see [`Environment::diagnostics`].
    pub fn parse(file: &str, text: &str) -> Environment {
        let tree = yaml::parse(text);
        let mut reader = Reader {
            text,
            lines: Lines::of(text),
            path: Vec::new(),
            encrypted: Vec::new(),
            environment: Environment {
                file: file.to_owned(),
                ..Environment::default()
            },
        };
        for problem in &tree.problems {
            let diagnostic = Diagnostic {
                severity: problem.severity,
                ..Diagnostic::error(problem.code, "", problem.message.clone())
            };
            reader.say(diagnostic, problem.at);
        }
        if let Some(root) = &tree.root {
            reader.environment(root);
            reader.encrypted();
        }
        reader.environment
    }
}

const ENCRYPTED: &str = "encrypted parameters can only be opened by the Heat that made them; give the values in clear, \
     as parameters of the deployment";

/// Texts of a list, with their positions.
fn names(node: &Node) -> Vec<(String, usize)> {
    let items = node.items().unwrap_or_default().iter();
    items
        .filter_map(|item| match item.value.scalar() {
            Some(Value::String(name)) => Some((name, item.value.span.start)),
            _ => None,
        })
        .collect()
}

struct Reader<'a> {
    text: &'a str,
    lines: Lines,
    path: Vec<String>,
    environment: Environment,
    /// Parameters that are marked as encrypted, with the positions of the marks.
    encrypted: Vec<(String, usize)>,
}

impl Reader<'_> {
    fn error(&mut self, code: &str, at: usize, message: String) {
        self.say(Diagnostic::error(code, self.path.join("."), message), at);
    }

    fn say(&mut self, mut diagnostic: Diagnostic, at: usize) {
        let position = self.at(at);
        (diagnostic.line, diagnostic.column) = (Some(position.line), Some(position.column));
        diagnostic.file = Some(self.environment.file.clone());
        self.environment.diagnostics.push(diagnostic);
    }

    fn at(&self, at: usize) -> Position {
        self.lines.position(self.text, at)
    }

    fn below<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(key.to_owned());
        let result = read(self);
        self.path.pop();
        result
    }

    fn entries<'n>(&mut self, node: &'n Node, wanted: &str) -> &'n [Entry] {
        match node.entries() {
            Some(entries) => entries,
            None if node.is_null() => &[],
            None => {
                let message = format!("{wanted} belongs here, not {}", node.describe());
                self.error("wrong-shape", node.span.start, message);
                &[]
            }
        }
    }

    fn environment(&mut self, root: &Node) {
        for entry in self.entries(root, "a map with `parameters` or `resource_registry`") {
            let Entry {
                key,
                key_span,
                value,
                ..
            } = entry;
            let at = key_span.start;
            self.below(key, |reader| match key.as_str() {
                "parameters" => reader.environment.parameters = reader.values(value),
                "parameter_defaults" => {
                    reader.environment.parameter_defaults = reader.values(value);
                }
                "parameter_merge_strategies" => reader.strategies(value),
                "resource_registry" => reader.registry(value),
                "encrypted_parameters" | "encrypted_param_names" if value.is_null() => {}
                "encrypted_param_names" if value.items().is_some_and(<[_]>::is_empty) => {}
                // The names alone are allowed; the values are checked when the whole file is parsed.
                "encrypted_param_names" => reader.encrypted = names(value),
                "encrypted_parameters" => {
                    reader.error("environment-encrypted", at, ENCRYPTED.to_owned())
                }
                "event_sinks" if value.is_null() => {}
                "event_sinks" => {
                    let message =
                        "event sinks are not used: a run's events are read from the run itself";
                    let path = reader.path.join(".");
                    reader.say(Diagnostic::info("environment-ignored", path, message), at);
                }
                _ => {
                    let near = did_you_mean(key, SECTIONS);
                    reader.error(
                        "unknown-key",
                        at,
                        format!("`{}` is no key of an environment{near}", shown(key)),
                    );
                }
            });
        }
    }

    /// Reports values encrypted by Heat: pairs of a method and a ciphertext. For other values the mark has no effect.
    fn encrypted(&mut self) {
        for name in std::mem::take(&mut self.encrypted) {
            let given = self.environment.parameters.get(&name.0).cloned();
            let is_made = given.as_ref().is_some_and(|given| {
                matches!(&given.value, Value::Array(parts) if parts.len() == 2 && parts.iter().all(Value::is_string))
            });
            self.path = vec!["encrypted_param_names".to_owned()];
            if is_made {
                self.error("environment-encrypted", name.1, ENCRYPTED.to_owned());
            } else {
                let message = format!(
                    "`{}` is marked as encrypted, but its value is not: it is used as written",
                    shown(&name.0)
                );
                let path = self.path.join(".");
                self.say(
                    Diagnostic::info("environment-ignored", path, message),
                    name.1,
                );
            }
        }
    }

    fn values(&mut self, node: &Node) -> BTreeMap<String, Given> {
        let entries = self.entries(node, "a map from parameters to values");
        let given = entries.iter().map(|entry| {
            let given = Given {
                value: entry.value.to_json(),
                at: self.at(entry.key_span.start),
            };
            (entry.key.clone(), given)
        });
        given.collect()
    }

    fn strategies(&mut self, node: &Node) {
        for entry in self.entries(node, "a map from parameters to strategies") {
            let strategy = match entry.value.scalar() {
                Some(Value::String(word)) if word == "overwrite" => Strategy::Overwrite,
                Some(Value::String(word)) if word == "merge" => Strategy::Merge,
                Some(Value::String(word)) if word == "deep_merge" => Strategy::DeepMerge,
                _ => {
                    let message = format!(
                        "a strategy is one of {}",
                        listed(&["overwrite", "merge", "deep_merge"])
                    );
                    self.below(&entry.key, |reader| {
                        reader.error("wrong-shape", entry.value.span.start, message);
                    });
                    continue;
                }
            };
            self.environment
                .strategies
                .insert(entry.key.clone(), strategy);
        }
    }

    fn registry(&mut self, node: &Node) {
        for entry in self.entries(node, "a map from types to types or files") {
            match entry.key.as_str() {
                "resources" => self.below("resources", |reader| reader.overrides(&entry.value)),
                // Base URL of Heat's client for files. Here names are resolved within the bundle.
                "base_url" => {}
                _ => self.alias(None, entry),
            }
        }
    }

    fn overrides(&mut self, node: &Node) {
        for resource in self.entries(node, "a map from resource names to aliases and hooks") {
            self.below(&resource.key, |reader| reader.overrides_of(resource));
        }
    }

    fn overrides_of(&mut self, resource: &Entry) {
        let mut rule = Rule {
            resource: resource.key.clone(),
            hooks: Vec::new(),
            restricted_actions: Vec::new(),
            file: self.environment.file.clone(),
            at: self.at(resource.key_span.start),
        };
        for entry in self.entries(
            &resource.value,
            "a map with types, `hooks` or `restricted_actions`",
        ) {
            match entry.key.as_str() {
                "hooks" => rule.hooks = self.words(entry, &HOOKS),
                "restricted_actions" => rule.restricted_actions = self.words(entry, &RESTRICTED),
                "base_url" => {}
                // Rules for members of a nested template are below its name.
                _ if entry.value.entries().is_some() => {
                    let name = format!("{}/{}", resource.key, entry.key);
                    let nested = Entry {
                        key: name,
                        ..entry.clone()
                    };
                    self.below(&entry.key, |reader| reader.overrides_of(&nested));
                }
                _ => self.alias(Some(resource.key.clone()), entry),
            }
        }
        if !rule.hooks.is_empty() || !rule.restricted_actions.is_empty() {
            self.environment.rules.push(rule);
        }
    }

    fn words(&mut self, entry: &Entry, known: &[&str]) -> Vec<String> {
        let words: Vec<Option<Value>> = match entry.value.items() {
            Some(items) => items.iter().map(|item| item.value.scalar()).collect(),
            None => vec![entry.value.scalar()],
        };
        let mut read = Vec::new();
        for word in words {
            match word {
                Some(Value::String(word)) if known.contains(&word.as_str()) => read.push(word),
                _ => {
                    let message = format!("`{}` takes {}", entry.key, listed(known));
                    self.below(&entry.key, |reader| {
                        reader.error("wrong-shape", entry.value.span.start, message);
                    });
                }
            }
        }
        read
    }

    fn alias(&mut self, resource: Option<String>, entry: &Entry) {
        let target = match entry.value.scalar() {
            Some(Value::String(target)) => Some(target),
            Some(Value::Null) => None,
            _ => {
                let message = "the name of a type or of a file belongs here".to_owned();
                return self.below(&entry.key, |reader| {
                    reader.error("wrong-shape", entry.value.span.start, message);
                });
            }
        };
        let alias = Alias {
            resource,
            name: entry.key.clone(),
            target,
            file: self.environment.file.clone(),
            at: self.at(entry.key_span.start),
        };
        self.environment.registry.push(alias);
    }
}
