//! Parameter values and the address of a plan: the address contains short values, and names the other parameters. Pure.

use std::collections::{BTreeMap, BTreeSet};

use hot::parameter::Parameter;
use serde_json::Value;

use super::values::plain;

/// Maximum length of a value in the page's address, in bytes. Longer ones are omitted.
const VALUE_BYTES_MAX: usize = 100;
/// Maximum length of all names and values in the page's address, in bytes. Servers and proxies accept 8 KiB.
const ALL_BYTES_MAX: usize = 2_000;

/// Place of a parameter's value in the page's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The address contains the entered text.
    Text(String),
    /// The parameter is hidden.
    Hidden,
    /// The entered text is too long for an address.
    TooLong,
    /// The address that opened the page omits the value, and the user has not entered it yet.
    Missing,
}

/// Entered and missing values with their place in the page's address. A text that a field had at first is neither.
pub fn sharing<'a>(
    parameters: impl Iterator<Item = &'a Parameter>,
    typed: &BTreeMap<String, String>,
    preset: &BTreeMap<String, Value>,
    omitted: &BTreeSet<String>,
) -> Vec<(String, Sharing)> {
    let mut left = ALL_BYTES_MAX;
    let mut found = Vec::new();
    for parameter in parameters {
        let name = &parameter.name;
        let first = preset.get(name).map(plain).unwrap_or_default();
        let sharing = match typed.get(name).filter(|text| **text != first) {
            None if omitted.contains(name) => Sharing::Missing,
            None => continue,
            Some(_) if parameter.hidden => Sharing::Hidden,
            Some(text) => {
                let bytes = name.len() + text.len();
                if text.len() <= VALUE_BYTES_MAX && bytes <= left {
                    left -= bytes;
                    Sharing::Text(text.clone())
                } else {
                    Sharing::TooLong
                }
            }
        };
        found.push((name.clone(), sharing));
    }
    found
}

/// Entered parameters that the address omits, with the reasons: "`code` (hidden), `key` (too long)". `None` without one.
pub fn omitted(sharing: &[(String, Sharing)]) -> Option<String> {
    list(sharing, |name, sharing| match sharing {
        Sharing::Hidden => Some(format!("`{name}` (hidden)")),
        Sharing::TooLong => Some(format!("`{name}` (too long)")),
        Sharing::Text(_) | Sharing::Missing => None,
    })
}

/// Parameters whose values are missing: "`code`, `key`". `None` without one.
pub fn missing(sharing: &[(String, Sharing)]) -> Option<String> {
    list(sharing, |name, sharing| {
        (*sharing == Sharing::Missing).then(|| format!("`{name}`"))
    })
}

fn list(
    sharing: &[(String, Sharing)],
    word: impl Fn(&str, &Sharing) -> Option<String>,
) -> Option<String> {
    let words = sharing
        .iter()
        .filter_map(|(name, sharing)| word(name, sharing));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use hot::document::Document;
    use serde_json::json;

    use super::*;

    const TEMPLATE: &str = "\
heat_template_version: 2021-04-16
parameters:
  code: {type: string, hidden: true}
  key: {type: string}
  name: {type: string}
  note: {type: string}
  other: {type: string}
  size: {type: number}
";

    /// The sharing of what a user has entered into fields that first had the values of an earlier run.
    fn shared(entered: Value, earlier: Value, omitted: &[&str]) -> Vec<(String, Sharing)> {
        let document = Document::parse(TEMPLATE);
        let parameters = document.template().parameters.iter();
        let entered = serde_json::from_value(entered).unwrap();
        let earlier = serde_json::from_value(earlier).unwrap();
        let omitted = omitted.iter().map(|&name| name.to_owned()).collect();
        sharing(parameters, &entered, &earlier, &omitted)
    }

    fn pair(name: &str, sharing: Sharing) -> (String, Sharing) {
        (name.to_owned(), sharing)
    }

    fn text(name: &str, text: &str) -> (String, Sharing) {
        pair(name, Sharing::Text(text.to_owned()))
    }

    #[test]
    fn an_address_has_short_values_that_were_entered_and_the_page_lists_the_others() {
        let long = "x".repeat(VALUE_BYTES_MAX + 1);
        let found = shared(
            json!({"size": "3", "name": "web", "note": "", "key": long, "code": "1234"}),
            json!({"name": "web", "note": "old"}),
            &[],
        );
        let expected = [
            pair("code", Sharing::Hidden),
            pair("key", Sharing::TooLong),
            text("note", ""),
            text("size", "3"),
        ];
        assert_eq!(found, expected);
        assert_eq!(
            omitted(&found).unwrap(),
            "`code` (hidden), `key` (too long)"
        );
        assert_eq!(missing(&found), None);
    }

    #[test]
    fn a_value_that_the_address_omits_is_missing_until_it_is_entered() {
        let found = shared(
            json!({"name": "web", "size": "3"}),
            json!({"name": "web"}),
            &["code", "name", "size"],
        );
        let expected = [
            pair("code", Sharing::Missing),
            pair("name", Sharing::Missing),
            text("size", "3"),
        ];
        assert_eq!(found, expected);
        assert_eq!(missing(&found).unwrap(), "`code`, `name`");
        assert_eq!(omitted(&found), None);
    }

    #[test]
    fn an_address_stays_short_with_many_values() {
        let document: String = (0..100)
            .map(|number| format!("  p{number:02}: {{type: string}}\n"))
            .collect();
        let document = format!("heat_template_version: 2021-04-16\nparameters:\n{document}");
        let document = Document::parse(document);
        let parameters = &document.template().parameters;
        let typed = parameters
            .iter()
            .map(|one| (one.name.clone(), "x".repeat(97)));
        let typed = typed.collect();
        let found = sharing(
            parameters.iter(),
            &typed,
            &BTreeMap::new(),
            &BTreeSet::new(),
        );
        let shared = found
            .iter()
            .filter(|(_, sharing)| matches!(sharing, Sharing::Text(_)));
        assert_eq!(shared.count(), ALL_BYTES_MAX / 100);
        assert!(omitted(&found).unwrap().ends_with("`p99` (too long)"));
    }
}
