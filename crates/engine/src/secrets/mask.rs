//! Removes secrets from text before it is stored.
//!
//! Masks exact values, and their JSON-escaped and base64 forms. Each line of a longer secret is masked separately,
//! because logs consist of lines. Very short values are not masked: masking every `a` would hide the log, and the gaps
//! would reveal the secret.

use std::{
    borrow::Cow,
    sync::{PoisonError, RwLock},
};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use serde_json::Value;
use zeroize::Zeroizing;

/// The secrets of one run. Steps add new secrets, for example a private key.
#[derive(Default)]
pub struct Mask {
    /// Longest first, so that no part of a longer secret remains.
    words: RwLock<Vec<Zeroizing<String>>>,
}

/// The text in place of a secret.
const HIDDEN: &str = "***";
/// Minimum length of a masked secret in characters.
const SHORTEST: usize = 4;

impl Mask {
    /// Adds a text to mask.
    pub fn add(&self, secret: &str) {
        let mut known = self.words.write().unwrap_or_else(PoisonError::into_inner);
        let whole = secret.trim();
        let mut words = vec![whole.to_owned()];
        for text in [whole, secret, &format!("{whole}\n")] {
            words.push(STANDARD.encode(text));
            words.push(STANDARD_NO_PAD.encode(text));
            words.push(URL_SAFE.encode(text));
            words.push(URL_SAFE_NO_PAD.encode(text));
        }
        words.extend(whole.lines().map(|line| line.trim().to_owned()));
        let escaped = Value::String(whole.to_owned()).to_string();
        words.push(escaped[1..escaped.len() - 1].to_owned());
        for word in words {
            let boundary = word.starts_with("-----");
            if word.chars().count() >= SHORTEST
                && !boundary
                && !known.iter().any(|known| known.as_str() == word)
            {
                known.push(Zeroizing::new(word));
            }
        }
        known.sort_by_key(|word| std::cmp::Reverse(word.len()));
    }

    /// Adds every text and number inside a value.
    pub fn add_value(&self, secret: &Value) {
        match secret {
            Value::String(text) => self.add(text),
            Value::Number(number) => self.add(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add_value(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.add_value(field)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// The text with secrets masked.
    pub fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        for word in self
            .words
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
        {
            if masked.contains(word.as_str()) {
                masked = Cow::Owned(masked.replace(word.as_str(), HIDDEN));
            }
        }
        masked
    }
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mask(***)")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn masked(secrets: &[&str], text: &str) -> String {
        let mask = Mask::default();
        secrets.iter().for_each(|secret| mask.add(secret));
        mask.apply(text).into_owned()
    }

    #[test]
    fn secrets_are_masked_plain_in_json_and_in_base64() {
        assert_eq!(
            masked(&["hunter2"], "password=hunter2;hunter2"),
            "password=***;***"
        );
        assert_eq!(
            masked(&["say \"hi\""], r#"{"p": "say \"hi\""}"#),
            r#"{"p": "***"}"#
        );
        assert_eq!(masked(&["hunter2"], "aHVudGVyMg=="), "***");
        assert_eq!(
            masked(&["hunter2"], "aHVudGVyMgo="),
            "***",
            "with its line's end"
        );
        assert_eq!(
            masked(&["?>?>?>"], "x=Pz4_Pj8-"),
            "x=***",
            "as in an address"
        );
        assert_eq!(masked(&["hunter2"], "nothing here"), "nothing here");
    }

    #[test]
    fn each_line_of_a_private_key_is_masked() {
        let key = "-----BEGIN KEY-----\nb3BlbnNzaC1rZXk\nAAAAC3NzaC1lZDI\n-----END KEY-----\n";
        assert_eq!(
            masked(&[key], "found AAAAC3NzaC1lZDI there"),
            "found *** there"
        );
        assert_eq!(masked(&[key], "-----BEGIN KEY-----"), "-----BEGIN KEY-----");
    }

    #[test]
    fn the_longer_of_two_secrets_is_masked_first() {
        assert_eq!(
            masked(&["pass", "passphrase"], "my passphrase, my pass"),
            "my ***, my ***"
        );
    }

    #[test]
    fn very_short_secrets_are_not_masked() {
        assert_eq!(masked(&["a", ""], "a banana"), "a banana");
    }

    #[test]
    fn secrets_nested_in_values_are_masked() {
        let mask = Mask::default();
        mask.add_value(&json!({"users": [{"password": "s3cret"}], "pin": 123456}));
        assert_eq!(mask.apply("s3cret 123456"), "*** ***");
    }
}
