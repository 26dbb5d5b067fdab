//! Surrogate pairs in JSON escapes: characters beyond the first 65,536 as `\ud83d\ude00`.
//!
//! YAML does not support surrogates, and Heat tries to parse a text as JSON before YAML. So each pair in a JSON text is
//! joined (`\U0001f600`) for the YAML parser only; positions stay those of the original text.

use serde::de::IgnoredAny;

/// True if a text is JSON with a map at the top.
pub fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Text with its pairs joined, and the byte offset in `text` of each of its characters. `None` if there is no pair, or
/// the text is not JSON.
pub(super) fn joined(text: &str) -> Option<(String, Vec<u32>)> {
    let may_have = text.contains("\\ud") || text.contains("\\uD");
    if !may_have || !is_json(text) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let (new, length) = match pair(&text[at..]) {
            Some(letter) => (format!("\\U{:08x}", u32::from(letter)), 12),
            // A character after a backslash does not begin an escape.
            None if first == '\\' => (text[at..].chars().take(2).collect(), 2),
            None => (first.to_string(), first.len_utf8()),
        };
        // Each character of the new text maps to a character of the old text, in order; surplus old characters are
        // skipped.
        bytes.extend((0..new.chars().count()).map(|letter| (at + letter.min(length - 1)) as u32));
        out.push_str(&new);
        at += length;
    }
    bytes.push(text.len() as u32);
    Some((out, bytes))
}

/// Character of the two escapes at the beginning of a text.
fn pair(text: &str) -> Option<char> {
    let half = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let halves = [half(0)?, half(6)?];
    char::decode_utf16(halves)
        .next()?
        .ok()
        .filter(|letter| letter.len_utf16() == 2)
}

#[cfg(test)]
mod tests {
    use crate::document::Document;

    #[test]
    fn surrogate_pairs_in_json_are_joined_and_positions_stay() {
        let text = r#"{"heat_template_version": "2021-04-16", "resources": {"a": {"type": "OS::Heat::Value",
  "properties": {"value": "\ud83d\uDE00 \\ud83d\n\u00e9"}}, "b": {"kind": "x"}}}"#;
        let document = Document::parse(text);
        assert_eq!(document.text(), text);
        let value = document.value(&["resources", "a", "properties", "value"]);
        assert_eq!(
            value.as_ref().and_then(|value| value.as_str()),
            Some("😀 \\ud83d\né")
        );
        let at = document
            .position("resources.b.kind")
            .map(|at| (at.line, at.column));
        let column = text.lines().nth(1).and_then(|line| line.find("\"kind\""));
        assert_eq!(at, Some((2, column.unwrap() as u32 + 1)));
    }

    #[test]
    fn surrogates_in_yaml_are_refused() {
        let document = Document::parse("a: \"\\ud83d\\ude00\"\n");
        assert!(!document.is_readable());
    }
}
