//! Removes the values of some parameters from environments.
//!
//! Each such value becomes `null`, which means not given; the rest of the text is unchanged. Values of hidden
//! parameters are removed before the text is stored in clear text. If such a value also occurs elsewhere in the text
//! (at an anchor, in a comment), the whole text is written again.

use std::{collections::BTreeSet, ops::Range};

use serde_json::Value;

use super::defaults::hidden_names;
use crate::{bundle::Bundle, environment::Environment, template::Template, yaml};

/// Bundle without values of hidden parameters in environments: those of the template and, under `parameter_defaults`,
/// also those of nested templates.
pub fn without_hidden(bundle: &Bundle, template: &Template) -> Bundle {
    let own = template.parameters.iter();
    let own = own.filter(|parameter| parameter.hidden);
    let hidden = Removed {
        own: own.map(|parameter| parameter.name.clone()).collect(),
        all: hidden_names(bundle, template),
    };
    if hidden.all.is_empty() {
        return bundle.clone();
    }
    with_environments(bundle, |path, text| {
        let redacted = Redacted::of(path, text, &hidden);
        if redacted
            .removed
            .iter()
            .any(|secret| contains_secret(&redacted.text, secret))
        {
            redacted.rewritten
        } else {
            redacted.text
        }
    })
}

/// Bundle without values of these template parameters in environments.
///
/// An update that contains a parameter and no files replaces the value of an environment: Heat stores parameters of
/// environments as values of the stack, and a request with `existing` overrides them.
pub fn without_values(bundle: &Bundle, names: BTreeSet<String>) -> Bundle {
    let removed = Removed {
        own: names,
        all: BTreeSet::new(),
    };
    with_environments(bundle, |path, text| Redacted::of(path, text, &removed).text)
}

/// Bundle with another text for each environment.
fn with_environments(bundle: &Bundle, change: impl Fn(&str, &str) -> String) -> Bundle {
    let files = bundle.files().map(|(path, text)| {
        let text = if bundle.is_environment(path) {
            change(path, text)
        } else {
            text.to_owned()
        };
        (path.to_owned(), text)
    });
    Bundle::new(files, bundle.environments().to_vec())
}

/// Names of parameters without values in the result.
struct Removed {
    /// Names under `parameters`.
    own: BTreeSet<String>,
    /// Names under `parameter_defaults`.
    all: BTreeSet<String>,
}

impl Removed {
    /// Sections of an environment, with the names whose values are removed.
    fn sections(&self) -> [(&str, &BTreeSet<String>); 2] {
        [("parameters", &self.own), ("parameter_defaults", &self.all)]
    }
}

/// Environment without the removed values.
struct Redacted {
    /// Text with `null` in place of the values; written again if that would be parsed differently.
    text: String,
    /// Text written again, without comments, anchors and formatting.
    rewritten: String,
    /// Removed values.
    removed: Vec<Value>,
}

impl Redacted {
    fn of(file: &str, text: &str, names: &Removed) -> Redacted {
        let unchanged = || Redacted {
            text: text.to_owned(),
            rewritten: text.to_owned(),
            removed: Vec::new(),
        };
        let tree = yaml::parse(text);
        let Some(root) = &tree.root else {
            return unchanged();
        };
        let mut removed = Vec::new();
        let mut spans: Vec<Range<usize>> = Vec::new();
        for (section, names) in names.sections() {
            let values = root.entry(section).and_then(|entry| entry.value.entries());
            for entry in values.unwrap_or_default() {
                if names.contains(&entry.key) && !entry.value.is_null() {
                    removed.push(entry.value.to_json());
                    spans.push(entry.value.span.clone());
                }
            }
        }
        if removed.is_empty() {
            return unchanged();
        }
        let mut rewritten = root.to_json();
        for (section, names) in names.sections() {
            if let Some(Value::Object(values)) = rewritten.get_mut(section) {
                for (_, value) in values.iter_mut().filter(|(name, _)| names.contains(*name)) {
                    *value = Value::Null;
                }
            }
        }
        let rewritten = serde_json::to_string_pretty(&rewritten).unwrap_or_default() + "\n";
        let spliced = spliced(text, spans);
        let read = |text: &str| {
            let read = Environment::parse(file, text);
            let values = |given: std::collections::BTreeMap<String, crate::environment::Given>| {
                given
                    .into_iter()
                    .map(|(name, given)| (name, given.value))
                    .collect::<Vec<_>>()
            };
            (
                values(read.parameters),
                values(read.parameter_defaults),
                read.diagnostics.len(),
            )
        };
        let reads_the_same = read(&spliced) == read(&rewritten);
        Redacted {
            text: if reads_the_same {
                spliced
            } else {
                rewritten.clone()
            },
            rewritten,
            removed,
        }
    }
}

/// Text with `null` in these ranges.
fn spliced(text: &str, mut spans: Vec<Range<usize>>) -> String {
    spans.sort_by_key(|span| std::cmp::Reverse(span.start));
    spans.dedup();
    let mut text = text.to_owned();
    for span in spans {
        let Some(value) = text.get(span.clone()) else {
            continue;
        };
        // The end of a block can be the end of its last line.
        let end = if value.ends_with('\n') { "\n" } else { "" };
        text.replace_range(span, &format!("null{end}"));
    }
    text
}

/// True if `text` contains a text of the value. Texts under 4 bytes are ignored, because they occur everywhere.
fn contains_secret(text: &str, secret: &Value) -> bool {
    match secret {
        Value::String(word) => word.len() >= 4 && text.contains(word.as_str()),
        Value::Array(items) => items.iter().any(|item| contains_secret(text, item)),
        Value::Object(map) => map.values().any(|item| contains_secret(text, item)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    const TEMPLATE: &str = "\
heat_template_version: 2021-04-16
parameters:
  word: {type: string, hidden: true}
  key: {type: string, hidden: true}
  size: {type: number}
";

    fn check(before: &str, after: &str) {
        let bundle = Bundle::new(
            [
                ("env.yaml".to_owned(), before.to_owned()),
                ("other.txt".to_owned(), "word: s3cret".to_owned()),
            ],
            ["env.yaml".to_owned()],
        );
        let document = Document::parse(TEMPLATE);
        let cleared = without_hidden(&bundle, document.template());
        assert_eq!(cleared.text("env.yaml"), Some(after));
        assert_eq!(cleared.text("other.txt"), Some("word: s3cret"));
        assert_eq!(cleared.environments(), bundle.environments());
    }

    #[test]
    fn hidden_values_are_removed_and_the_rest_is_unchanged() {
        check(
            "# mine\nparameters:\n  word: s3cret # it\n  size:   3\nparameter_defaults: {key: 'k3y!', size: 4}\n",
            "# mine\nparameters:\n  word: null # it\n  size:   3\nparameter_defaults: {key: null, size: 4}\n",
        );
        check(
            "parameters:\n  key: |\n    line one\n    line two\n  size: 3\n",
            "parameters:\n  key: null\n  size: 3\n",
        );
        check("parameters: {size: 3}\n", "parameters: {size: 3}\n");
    }

    #[test]
    fn values_for_hidden_parameters_of_nested_templates_are_removed() {
        let nested = "\
heat_template_version: 2021-04-16
parameters:
  inner: {type: string, hidden: true}
  size: {type: number, hidden: true}
";
        let bundle = Bundle::new(
            [
                ("lib/db.yaml".to_owned(), nested.to_owned()),
                (
                    "env.yaml".to_owned(),
                    "parameters: {inner: seen}\nparameter_defaults: {inner: 'k3y!', word: s3cret, size: 4}\n"
                        .to_owned(),
                ),
            ],
            ["env.yaml".to_owned()],
        );
        let document = Document::parse(TEMPLATE);
        // An open parameter of the template itself is kept.
        assert_eq!(
            without_hidden(&bundle, document.template()).text("env.yaml"),
            Some(
                "parameters: {inner: seen}\nparameter_defaults: {inner: null, word: null, size: 4}\n"
            )
        );
    }

    #[test]
    fn copies_of_a_hidden_value_are_removed_with_the_text() {
        let commented = "# word is s3cret\nparameters:\n  word: s3cret\n  size: 3\n";
        let files = [("env.yaml".to_owned(), commented.to_owned())];
        let bundle = Bundle::new(files, ["env.yaml".to_owned()]);
        let bundle = without_hidden(&bundle, Document::parse(TEMPLATE).template());
        let again = bundle.text("env.yaml").unwrap();
        assert!(!again.contains("s3cret"), "{again}");
        let read = Environment::parse("env.yaml", again);
        assert_eq!(read.parameters["size"].value, 3);
        assert_eq!(read.parameters["word"].value, Value::Null);
    }

    #[test]
    fn comments_that_mention_a_removed_parameter_stay() {
        let text =
            "parameters:\n  size: 3000 # 3000 is usual\n  word: x\nparameter_defaults: {size: 1}\n";
        let files = [("env.yaml".to_owned(), text.to_owned())];
        let bundle = Bundle::new(files, ["env.yaml".to_owned()]);
        let bundle = without_values(&bundle, BTreeSet::from(["size".to_owned()]));
        assert_eq!(
            bundle.text("env.yaml"),
            Some(
                "parameters:\n  size: null # 3000 is usual\n  word: x\nparameter_defaults: {size: 1}\n"
            )
        );
    }
}
