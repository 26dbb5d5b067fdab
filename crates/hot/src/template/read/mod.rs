//! Builds the model from the positioned tree, and reports all problems of structure at once.
//!
//! Invalid parts are left out of the model and reported. Parts that the template's version does not support are
//! reported with the version that does. One file per section.
//!
//! Model and problems are read separately: pages that draw need the model at every keystroke, and get the problems from
//! their worker. The reader of the model contains neither the checks nor the texts of problems.

use std::collections::HashSet;

use serde_json::Value;

use super::{Position, Template};
use crate::{
    constraint::is_boolean_word,
    diagnostic::Diagnostic,
    text::{Lines, did_you_mean, listed},
    version::Version,
    yaml::{Entry, Node, Tree, scalar},
};
use yaql::shown;

pub mod conditions;
mod constraints;
mod outputs;
mod parameters;
mod resources;
mod values;

/// Maximum length of a name in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Keys of a map in the template, each with its first version.
pub type Keys<'k> = &'k [(&'k str, Version)];

pub use outputs::KEYS as OUTPUT_KEYS;
pub use parameters::KEYS as PARAMETER_KEYS;
pub use resources::KEYS as RESOURCE_KEYS;

/// Keys of a template.
pub const SECTIONS: [(&str, Version); 7] = [
    ("heat_template_version", Version::V2013_05_23),
    ("description", Version::V2013_05_23),
    ("parameter_groups", Version::V2013_05_23),
    ("parameters", Version::V2013_05_23),
    ("conditions", Version::V2016_10_14),
    ("resources", Version::V2013_05_23),
    ("outputs", Version::V2013_05_23),
];

/// Model of a tree.
pub fn template(text: &str, lines: &Lines, tree: &Tree) -> Template {
    Reader::<false>::new(text, lines).template(tree.root.as_ref())
}

/// Problems of the tree and of its model.
pub fn problems(text: &str, lines: &Lines, tree: &Tree) -> Vec<Diagnostic> {
    let mut reader = Reader::<true>::new(text, lines);
    for problem in &tree.problems {
        let diagnostic = Diagnostic {
            severity: problem.severity,
            ..Diagnostic::error(problem.code, "", problem.message.clone())
        };
        reader.say(diagnostic, problem.at);
    }
    reader.template(tree.root.as_ref());
    // After a syntax error sections are incomplete, so missing parts are not reported.
    if tree.problems.iter().any(|problem| problem.fatal) {
        reader.diagnostics.retain(|one| {
            !matches!(
                one.code.as_str(),
                "version-missing" | "resource-type-missing" | "wrong-shape"
            )
        });
    }
    reader.diagnostics
}

#[derive(Clone, Copy)]
enum Segment<'a> {
    Key(&'a str),
    Index(usize),
}

/// The reader of a tree. With `REPORTS`, it collects the problems. The model is the same without.
struct Reader<'a, const REPORTS: bool> {
    text: &'a str,
    lines: &'a Lines,
    /// Keys and indices of the current entry. Empty without `REPORTS`.
    path: Vec<Segment<'a>>,
    diagnostics: Vec<Diagnostic>,
    version: Version,
    /// Names of all resources, for `Ref`.
    resources: HashSet<&'a str>,
}

impl<'a, const REPORTS: bool> Reader<'a, REPORTS> {
    fn new(text: &'a str, lines: &'a Lines) -> Self {
        Reader {
            text,
            lines,
            path: Vec::new(),
            diagnostics: Vec::new(),
            version: Version::default(),
            resources: HashSet::new(),
        }
    }

    fn error<M: Into<String>>(&mut self, code: &str, at: usize, message: impl FnOnce() -> M) {
        if REPORTS {
            let path = self.path();
            self.say(Diagnostic::error(code, path, message()), at);
        }
    }

    fn warning<M: Into<String>>(&mut self, code: &str, at: usize, message: impl FnOnce() -> M) {
        if REPORTS {
            let path = self.path();
            self.say(Diagnostic::warning(code, path, message()), at);
        }
    }

    fn say(&mut self, mut diagnostic: Diagnostic, at: usize) {
        let position = self.position(at);
        (diagnostic.line, diagnostic.column) = (Some(position.line), Some(position.column));
        self.diagnostics.push(diagnostic);
    }

    fn position(&self, at: usize) -> Position {
        self.lines.position(self.text, at)
    }

    /// Dotted path of the current entry.
    fn path(&self) -> String {
        let segments: Vec<String> = self
            .path
            .iter()
            .map(|segment| match segment {
                Segment::Key(key) => (*key).to_owned(),
                Segment::Index(index) => index.to_string(),
            })
            .collect();
        segments.join(".")
    }

    fn below<T>(&mut self, key: &'a str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.inside(Segment::Key(key), read)
    }

    fn at_index<T>(&mut self, index: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        self.inside(Segment::Index(index), read)
    }

    fn inside<T>(&mut self, segment: Segment<'a>, read: impl FnOnce(&mut Self) -> T) -> T {
        if !REPORTS {
            return read(self);
        }
        self.path.push(segment);
        let result = read(self);
        self.path.pop();
        result
    }

    fn wrong_shape(&mut self, node: &Node, wanted: &str) {
        let message = || {
            let function = match node.entries() {
                Some([only]) if crate::expr::is_function(&only.key) => {
                    format!("; the function `{}` is not allowed here", only.key)
                }
                _ => String::new(),
            };
            format!("{wanted} belongs here, not {}{function}", node.describe())
        };
        self.error("wrong-shape", node.span.start, message);
    }

    /// Entries of a section. Values that are false in Python are an empty section, as in Heat.
    fn section(&mut self, node: &'a Node, wanted: &str) -> &'a [Entry] {
        let empty = match node.scalar() {
            Some(Value::Bool(truth)) => !truth,
            Some(Value::Number(number)) => number.as_f64() == Some(0.0),
            Some(Value::String(text)) => text.is_empty(),
            _ => node.items().is_some_and(<[_]>::is_empty),
        };
        if empty {
            &[]
        } else {
            self.entries(node, wanted)
        }
    }

    /// Reports a section or key with an empty value. Heat requires a value there, or no key.
    fn filled(&mut self, node: &Node, wanted: &str) -> bool {
        if node.is_null() {
            let message = || {
                format!("{wanted} belongs here, not nothing; leave the key out where there is none")
            };
            self.error("wrong-shape", node.span.start, message);
        }
        !node.is_null()
    }

    /// Entries of a map. An empty value is an empty map; other values are reported.
    fn entries(&mut self, node: &'a Node, wanted: &str) -> &'a [Entry] {
        match node.entries() {
            Some(entries) => entries,
            None if node.is_null() => &[],
            None => {
                self.wrong_shape(node, wanted);
                &[]
            }
        }
    }

    /// Reports keys that are unknown, or not supported by the version.
    fn known_keys(&mut self, entries: &'a [Entry], known: Keys<'_>, of: &str) {
        let version = self.version;
        for entry in entries {
            let key = entry.key.as_str();
            let found = known.iter().find(|(known, _)| *known == key);
            if found.is_some_and(|(_, since)| *since <= version) {
                continue;
            }
            let message = || match found {
                Some((_, since)) => format!(
                    "`{key}` came with version {since} of HOT, and this template is of version {version}"
                ),
                None => {
                    let near = did_you_mean(key, known.iter().map(|(known, _)| *known));
                    format!("`{}` is no key of {of}{near}", shown(key))
                }
            };
            self.below(key, |reader| {
                reader.error("unknown-key", entry.key_span.start, message)
            });
        }
    }

    /// Checks a name. Heat accepts nearly any text. A resource's name is also part of our ids and paths, so it must not
    /// contain their separators.
    fn name(&mut self, entry: &Entry, of: &str) {
        if REPORTS && let Some(problem) = self.problem_of_name(entry, of) {
            self.error("bad-name", entry.key_span.start, || problem);
        }
    }

    fn problem_of_name(&self, entry: &Entry, of: &str) -> Option<String> {
        let name = entry.key.as_str();
        let written = self.text.get(entry.key_span.clone()).unwrap_or_default();
        let not_text = written == name && !matches!(scalar::resolve(name), Value::String(_));
        let reserved = |c: char| of == "a resource" && matches!(c, '/' | ':' | '@');
        if not_text {
            Some(format!(
                "`{name}` without quotes is no text in YAML, so it cannot name {of}; write it in quotes"
            ))
        } else if name.chars().any(reserved) {
            Some(format!(
                "`{}` cannot name {of}: a name has no `/`, `:` or `@`",
                shown(name)
            ))
        } else if name.len() > NAME_BYTES_MAX || (of == "a resource" && name.is_empty()) {
            Some(format!(
                "`{}` cannot name {of}: a name has from 1 to {NAME_BYTES_MAX} letters",
                shown(name)
            ))
        } else {
            None
        }
    }

    /// Text for users. Heat accepts any value here; a value that is not text is left out.
    fn words_of(&mut self, node: &Node) -> Option<String> {
        if node.entries().is_some() || node.items().is_some() {
            let message = || format!("text belongs here, not {}", node.describe());
            self.warning("wrong-shape", node.span.start, message);
            return None;
        }
        self.text_of(node)
    }

    fn text_of(&mut self, node: &Node) -> Option<String> {
        match node.scalar() {
            Some(Value::String(text)) => Some(text),
            Some(Value::Null) => None,
            // `description: 2.0` and similar values are text in Heat.
            Some(other) => Some(other.to_string()),
            None => {
                self.wrong_shape(node, "text");
                None
            }
        }
    }

    fn boolean(&mut self, node: &Node) -> bool {
        match node.scalar() {
            Some(Value::Bool(value)) => value,
            Some(Value::String(text)) if is_boolean_word(&text).is_some() => {
                is_boolean_word(&text) == Some(true)
            }
            _ => {
                self.wrong_shape(node, "`true` or `false`");
                false
            }
        }
    }

    fn template(&mut self, root: Option<&'a Node>) -> Template {
        let mut template = Template::default();
        let Some(root) = root else {
            if self.diagnostics.is_empty() {
                self.version_missing(0);
            }
            return template;
        };
        if self.is_cloud_formation(root) {
            return template;
        }
        let sections = self.entries(root, "a map with `heat_template_version` and `resources`");
        match root.entry("heat_template_version") {
            Some(entry) => {
                template.version = self.below("heat_template_version", |reader| {
                    reader.version(&entry.value)
                });
                self.version = template.hot();
            }
            None => self.version_missing(root.span.start),
        }
        if root.entries().is_some() || root.is_null() {
            self.known_keys(sections, &SECTIONS, "a template");
        }
        if let Some(resources) = root
            .entry("resources")
            .and_then(|entry| entry.value.entries())
        {
            self.resources = resources.iter().map(|entry| entry.key.as_str()).collect();
        }
        for Entry { key, value, .. } in sections {
            self.below(key, |reader| match key.as_str() {
                "description" => template.description = reader.words_of(value).unwrap_or_default(),
                "parameters" => template.parameters = reader.parameters(value),
                "conditions" => template.conditions = reader.conditions(value),
                "resources" => template.resources = reader.resources(value),
                "outputs" => template.outputs = reader.outputs(value),
                _ => {}
            });
        }
        if let Some(groups) = root.entry("parameter_groups") {
            template.parameter_groups = self.below("parameter_groups", |reader| {
                reader.parameter_groups(&groups.value, &template.parameters)
            });
        }
        template
    }

    /// True for a CloudFormation template. Reported once, because no part of it can be read.
    fn is_cloud_formation(&mut self, root: &Node) -> bool {
        let named = |key: &&str| root.entry(key).is_some();
        let found = ["AWSTemplateFormatVersion", "HeatTemplateFormatVersion"]
            .into_iter()
            .find(named)
            .filter(|_| root.entry("heat_template_version").is_none());
        let Some(key) = found else {
            return false;
        };
        let at = root
            .entry(key)
            .map_or(root.span.start, |entry| entry.key_span.start);
        let message = || {
            format!(
                "this is a CloudFormation template, by its `{key}`, and Stackloom reads HOT: deploy it with Heat as it is, or write it as HOT, beginning with `heat_template_version: 2021-04-16`"
            )
        };
        self.below(key, |reader| {
            reader.error("cloudformation-template", at, message)
        });
        true
    }

    fn version_missing(&mut self, at: usize) {
        let message = "the template must say `heat_template_version`, such as `heat_template_version: 2021-04-16`";
        self.error("version-missing", at, || message);
    }

    fn version(&mut self, node: &Node) -> String {
        let version = self.text_of(node).unwrap_or_default();
        if Version::of(&version).is_none() {
            let message = || {
                let words: Vec<&str> = Version::words().collect();
                format!(
                    "`{}` is no version of HOT; there are {}",
                    shown(&version),
                    listed(&words)
                )
            };
            self.error("version-unknown", node.span.start, message);
        }
        version
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{constraint::Constraint, yaml};

    #[test]
    fn the_model_is_the_same_with_and_without_problems() {
        let text = "heat_template_version: 2018-08-31
colour: red
parameters:
  'no': {type: sting, default: 1, constraints: [{lenght: {min: 1}}, {modulo: {step: 0, offset: 0}}]}
  list: [a]
parameter_groups: [{parameters: ['no', other], hint: x}]
conditions:
  a: b
  b: {or: [c, {not: b}]}
  c: {equals: [1]}
resources:
  web/1: {type: OS::Nova::Server, deletion_policy: Keep, properties: {name: {get_attr: x}, flavor: {get_param: size}}}
  none: {depends_on: [{a: b}], metadata: {stackloom: {public: perhaps}}, description: [x]}
outputs:
  url: {valu: 1}
  ip: {value: {equals: [a, b]}, colour: red}
";
        let (lines, tree) = (Lines::of(text), yaml::parse(text));
        let mut reader = Reader::<true>::new(text, &lines);
        let reported = reader.template(tree.root.as_ref());
        assert!(reader.diagnostics.len() > 12, "{:?}", reader.diagnostics);
        assert_eq!(template(text, &lines, &tree), reported);
    }

    #[test]
    fn a_pattern_that_cannot_be_tried_is_reported_and_stays_in_the_model() {
        let text = r"heat_template_version: 2018-08-31
parameters:
  word: {type: string, constraints: [{allowed_pattern: '(a)\1'}]}
";
        let (lines, tree) = (Lines::of(text), yaml::parse(text));
        let parameters = template(text, &lines, &tree).parameters;
        let pattern = Constraint::AllowedPattern(r"(a)\1".to_owned());
        assert_eq!(parameters[0].constraints[0].constraint, pattern);
        let problems = problems(text, &lines, &tree);
        let codes: Vec<_> = problems.iter().map(|one| one.code.as_str()).collect();
        assert_eq!(codes, ["constraint-invalid"]);
    }
}
