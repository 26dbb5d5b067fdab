//! Environments without the values of hidden parameters, for where they are stored in clear.
//!
//! Each such value becomes `null`, which is as if it were not given; the rest of the text stays as it is. Where a
//! value still stands somewhere else in it (behind an anchor, in a comment), the whole text is written anew.

use std::ops::Range;

use serde_json::Value;

use super::Environment;
use crate::{bundle::Bundle, template::Template, yaml};

/// The same files, with values of the template's hidden parameters taken out of the environments.
pub fn without_hidden(bundle: &Bundle, template: &Template) -> Bundle {
    let hidden: Vec<&str> = template
        .parameters
        .iter()
        .filter(|parameter| parameter.hidden)
        .map(|parameter| parameter.name.as_str())
        .collect();
    if hidden.is_empty() {
        return bundle.clone();
    }
    let files = bundle.files().map(|(path, text)| {
        let text = match bundle.is_environment(path) {
            true => cleared(path, text, &hidden),
            false => text.to_owned(),
        };
        (path.to_owned(), text)
    });
    Bundle::new(files, bundle.environments().to_vec())
}

fn cleared(file: &str, text: &str, hidden: &[&str]) -> String {
    let tree = yaml::parse(text);
    let Some(root) = &tree.root else {
        return text.to_owned();
    };
    let mut secrets = Vec::new();
    let mut spans: Vec<Range<usize>> = Vec::new();
    let sections = ["parameters", "parameter_defaults"];
    for section in sections.iter().filter_map(|name| root.entry(name)) {
        for entry in section.value.entries().unwrap_or_default() {
            if hidden.contains(&entry.key.as_str()) && !entry.value.is_null() {
                secrets.push(entry.value.to_json());
                spans.push(entry.value.span.clone());
            }
        }
    }
    if secrets.is_empty() {
        return text.to_owned();
    }
    let mut whole = root.to_json();
    for section in sections {
        if let Some(Value::Object(values)) = whole.get_mut(section) {
            for (_, value) in values
                .iter_mut()
                .filter(|(name, _)| hidden.contains(&name.as_str()))
            {
                *value = Value::Null;
            }
        }
    }
    let whole = serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n";
    let spliced = spliced(text, spans);
    let reads_the_same = {
        let of = |text: &str| {
            let read = Environment::parse(file, text);
            let values = |given: std::collections::BTreeMap<String, super::Given>| {
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
        of(&spliced) == of(&whole)
    };
    let is_told = secrets.iter().any(|secret| tells(&spliced, secret));
    match reads_the_same && !is_told {
        true => spliced,
        false => whole,
    }
}

/// The text with `null` in those places.
fn spliced(text: &str, mut spans: Vec<Range<usize>>) -> String {
    spans.sort_by_key(|span| std::cmp::Reverse(span.start));
    spans.dedup();
    let mut text = text.to_owned();
    for span in spans {
        let Some(value) = text.get(span.clone()) else {
            continue;
        };
        // A block's end may be its last line's.
        let end = if value.ends_with('\n') { "\n" } else { "" };
        text.replace_range(span, &format!("null{end}"));
    }
    text
}

/// Whether some text of a value stands in the clear. Very short ones stand everywhere.
fn tells(text: &str, secret: &Value) -> bool {
    match secret {
        Value::String(word) => word.len() >= 4 && text.contains(word.as_str()),
        Value::Array(items) => items.iter().any(|item| tells(text, item)),
        Value::Object(map) => map.values().any(|item| tells(text, item)),
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
    fn hidden_values_go_and_the_rest_stays_as_it_is() {
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
    fn what_stands_elsewhere_too_goes_with_the_text() {
        let commented = "# word is s3cret\nparameters:\n  word: s3cret\n  size: 3\n";
        let again = cleared("env.yaml", commented, &["word"]);
        assert!(!again.contains("s3cret"), "{again}");
        let read = Environment::parse("env.yaml", &again);
        assert_eq!(read.parameters["size"].value, 3);
        assert_eq!(read.parameters["word"].value, Value::Null);
    }
}
