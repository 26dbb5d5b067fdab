//! Removes secrets from text before it is stored.
//!
//! Masks exact values, also in their JSON-escaped and base64 forms. Each line of a longer secret is masked separately, since logs
//! come in lines. Very short values are not masked: masking every `a` would hide the log, and the gaps would reveal the
//! secret.
//!
//! One pass of an Aho-Corasick automaton finds all secrets, so that the time is in proportion to the text, however many
//! secrets there are and however they overlap.

use std::{
    borrow::Cow,
    collections::HashSet,
    sync::{PoisonError, RwLock},
};

use aho_corasick::{Anchored, automaton::Automaton, nfa::contiguous::NFA};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The secrets of one run. Steps add new secrets, for example a private key.
#[derive(Default)]
pub struct Mask {
    words: RwLock<Words>,
}

#[derive(Default)]
struct Words {
    all: Vec<Zeroizing<String>>,
    /// Digests of the words, so that none is kept twice.
    known: HashSet<[u8; 32]>,
    bytes: usize,
    /// Finds all words in one pass. `None` after a word was added.
    finder: Option<NFA>,
}

/// The text in place of a secret.
const HIDDEN: &str = "***";
/// Minimum length of a masked secret in characters.
const SHORTEST: usize = 4;
/// Maximum size of all words together, in bytes. With more, nothing is shown at all.
const WORDS_BYTES_MAX: usize = 4 << 20;

impl Words {
    fn is_full(&self) -> bool {
        self.bytes > WORDS_BYTES_MAX
    }

    fn add(&mut self, word: String) {
        let boundary = word.starts_with("-----");
        if self.is_full() || boundary || word.chars().count() < SHORTEST {
            return;
        }
        let bytes = word.len();
        if self.known.insert(Sha256::digest(&word).into()) {
            self.all.push(Zeroizing::new(word));
            self.bytes += bytes;
            self.finder = None;
        }
    }

    /// The finder. `None` if there are too many words.
    fn finder(&mut self) -> Option<&NFA> {
        if self.is_full() {
            return None;
        }
        if self.finder.is_none() {
            let words = self.all.iter().map(|word| word.as_bytes());
            self.finder = NFA::new(words).ok();
        }
        self.finder.as_ref()
    }
}

impl Mask {
    /// Adds a text to mask.
    pub fn add(&self, secret: &str) {
        let mut known = self.words.write().unwrap_or_else(PoisonError::into_inner);
        let whole = secret.trim();
        known.add(whole.to_owned());
        for text in [whole, secret, &format!("{whole}\n")] {
            known.add(STANDARD.encode(text));
            known.add(STANDARD_NO_PAD.encode(text));
            known.add(URL_SAFE.encode(text));
            known.add(URL_SAFE_NO_PAD.encode(text));
        }
        for line in whole.lines() {
            known.add(line.trim().to_owned());
        }
        let escaped = Value::String(whole.to_owned()).to_string();
        known.add(escaped[1..escaped.len() - 1].to_owned());
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

    /// A place near the end of a long line at which it may be split: within no secret, and none has begun before it
    /// that could continue after the end. Not 0, and at most the length. Secrets longer than half the line are not seen.
    pub fn cut(&self, line: &[u8]) -> usize {
        let known = self.words.read().unwrap_or_else(PoisonError::into_inner);
        let half = line.len() / 2;
        let words = known.all.iter().map(|word| word.as_bytes());
        let words: Vec<&[u8]> = words.filter(|word| word.len() <= half).collect();
        let longest = words
            .iter()
            .map(|word| word.len())
            .max()
            .unwrap_or(0)
            .max(4);
        let latest = line.len().saturating_sub(longest - 1);
        let mut cut = latest;
        let spanning = |cut: usize| {
            words.iter().find_map(|word| {
                let first = cut.saturating_sub(word.len() - 1);
                let last = (cut + word.len() - 1).min(line.len());
                let near = line.get(first..last)?;
                let at = near.windows(word.len()).position(|part| part == *word)?;
                Some(first + at)
            })
        };
        while let Some(start) = spanning(cut) {
            cut = start;
        }
        // A character is not split either.
        while cut > 0 && line.get(cut).is_some_and(|byte| byte & 0xc0 == 0x80) {
            cut -= 1;
        }
        // A line of nothing but secrets, or of no characters, is split where it is.
        if cut == 0 { latest.max(1) } else { cut }
    }

    /// The text with secrets masked. Where secrets overlap, the union of both is masked.
    pub fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(spans) = self.spans(text) else {
            return Cow::Borrowed(HIDDEN);
        };
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        for (start, end) in spans {
            out.push_str(&text[at..start]);
            out.push_str(HIDDEN);
            at = end;
        }
        out.push_str(&text[at..]);
        Cow::Owned(out)
    }

    /// The beginning of a text, of at most this many bytes. It does not end within a secret, half of which would not be masked.
    pub fn beginning<'a>(&self, text: &'a str, bytes_max: usize) -> &'a str {
        let latest = text.floor_char_boundary(bytes_max);
        // Without spans, the text is hidden as a whole.
        let spans = self.spans(text).unwrap_or_default();
        let mut spans = spans.into_iter();
        let cut = spans.find(|(start, end)| *start < latest && latest < *end);
        &text[..cut.map_or(latest, |(start, _)| start)]
    }

    /// The bounds of secrets in a text, in order. Secrets that overlap are one. `None` if there are too many words.
    fn spans(&self, text: &str) -> Option<Vec<(usize, usize)>> {
        let known = self.words.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(finder) = &known.finder {
            return find(finder, text);
        }
        drop(known);
        let mut known = self.words.write().unwrap_or_else(PoisonError::into_inner);
        known.finder().and_then(|finder| find(finder, text))
    }
}

fn find(finder: &NFA, text: &str) -> Option<Vec<(usize, usize)>> {
    let mut state = finder.start_state(Anchored::No).ok()?;
    // Words have whole characters, so their bounds are bounds of characters.
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        state = finder.next_state(Anchored::No, state, byte);
        if !finder.is_match(state) {
            continue;
        }
        // The first pattern of a state is the longest word that ends here; the others are inside it.
        let end = at + 1;
        let mut start = end - finder.pattern_len(finder.match_pattern(state, 0));
        while let Some((before, _)) = spans.pop_if(|(_, end)| *end > start) {
            start = start.min(before);
        }
        spans.push((start, end));
    }
    Some(spans)
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
    fn a_text_is_shortened_beside_a_secret() {
        let mask = Mask::default();
        mask.add("hunter2");
        let beginning = |bytes_max| mask.beginning("über hunter2 all", bytes_max);
        assert_eq!(beginning(100), "über hunter2 all");
        assert_eq!(beginning(13), "über hunter2");
        for within in 6..13 {
            assert_eq!(beginning(within), "über ");
        }
        assert_eq!(beginning(1), "", "within a character");
    }

    #[test]
    fn very_short_secrets_are_not_masked() {
        assert_eq!(masked(&["a", ""], "a banana"), "a banana");
    }

    #[test]
    fn overlapping_secrets_leave_nothing_behind() {
        assert_eq!(masked(&["abcdef", "efghij"], "-abcdefghij-"), "-***-");
        assert_eq!(masked(&["cdef", "abcdefgh", "ghij"], "abcdefghij"), "***");
        assert_eq!(masked(&["bcde", "abcde"], "abcdef"), "***f");
    }

    #[test]
    fn many_secrets_do_not_slow_a_log_down_and_too_many_hide_it() {
        let mask = Mask::default();
        for number in 0..10_000 {
            mask.add(&format!("secret-number-{number}"));
        }
        let begun = std::time::Instant::now();
        for _ in 0..10_000 {
            let line = "a line of a log with secret-number-1234.";
            assert_eq!(mask.apply(line), "a line of a log with ***.");
        }
        // One pass a line takes milliseconds in all; a pass for each secret took minutes.
        assert!(begun.elapsed() < std::time::Duration::from_secs(20));
        // Words that end with each other are all found at each byte; only the longest counts.
        for length in SHORTEST..500 {
            mask.add(&"a".repeat(length));
        }
        assert_eq!(mask.apply(&"a".repeat(1_000_000)), "***");
        mask.add(&"x".repeat(WORDS_BYTES_MAX));
        assert_eq!(mask.apply("anything"), "***");
    }

    #[test]
    fn secrets_nested_in_values_are_masked() {
        let mask = Mask::default();
        mask.add_value(&json!({"users": [{"password": "s3cret"}], "pin": 123456}));
        assert_eq!(mask.apply("s3cret 123456"), "*** ***");
    }
}
