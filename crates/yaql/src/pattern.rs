//! Patterns with Heat's matching: by Python's rules, from the first character, and the first alternative that matches
//! must match to the end.
//!
//! So `a|abc` does not match `abc`, because its first alternative matches and ends too early; neither does `a.*?`. Our
//! regex engine finds the same first alternative, but supports neither look-around nor backreferences. Look-aheads at
//! the start (`(?=.*[A-Z])`, as in rules for passwords) become separate patterns, so they are supported. Syntax that
//! differs from Python's is rewritten.

use crate::{budget, cancel, shown};

/// Maximum length of a matched value in bytes. Longer values do not match.
const VALUE_BYTES_MAX: usize = 64 * 1024;

/// Limits on the size of compiled patterns in bytes: the first limit, and the largest one.
const SIZE_BYTES: (usize, usize) = (512, 1 << 20);

/// Compiled pattern with its look-aheads.
pub struct Pattern {
    /// Look-aheads at the start: true for positive ones, and the pattern.
    ahead: Vec<(bool, Compiled)>,
    main: Compiled,
}

/// Compiled pattern. The time of a search is proportional to the pattern's size and to the text.
struct Compiled {
    regex: regex_lite::Regex,
    /// Upper bound of the compiled size in bytes.
    size: usize,
}

impl Compiled {
    fn cost(&self, text: &str) -> u64 {
        (self.size as u64).saturating_mul(text.len() as u64)
    }
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// A sentence: the pattern is invalid, or not supported.
    pub fn new(pattern: &str) -> Result<Pattern, String> {
        let mut ahead = Vec::new();
        let mut rest = pattern;
        let bare = pattern.strip_prefix('^').unwrap_or(pattern);
        if leading(bare).is_some() && has_no_alternatives(bare) {
            rest = bare;
            while let Some((wanted, inner, behind)) = leading(rest) {
                ahead.push((wanted, regex(inner, pattern)?));
                rest = behind;
            }
        }
        Ok(Pattern {
            ahead,
            main: regex(rest, pattern)?,
        })
    }

    /// True if the whole text matches. False if the text is too long for a pattern of this size.
    pub fn fits(&self, text: &str) -> bool {
        let ahead = self.ahead.iter().map(|(_, ahead)| ahead.cost(text));
        let cost = ahead.fold(self.main.cost(text), u64::saturating_add);
        text.len() <= VALUE_BYTES_MAX
            && cost <= budget::SEARCH_MAX
            && !cancel::is_cancelled()
            && self
                .ahead
                .iter()
                .all(|(wanted, ahead)| ahead.regex.is_match(text) == *wanted)
            && self
                .main
                .regex
                .find(text)
                .is_some_and(|found| found.end() == text.len())
    }
}

fn regex(part: &str, whole: &str) -> Result<Compiled, String> {
    built(&format!("^(?:{})", rewritten(part)), whole)
}

/// Compiles a pattern and finds its size with increasing limits, because the library does not report it.
fn built(pattern: &str, whole: &str) -> Result<Compiled, String> {
    let (mut size, largest) = SIZE_BYTES;
    loop {
        let built = regex_lite::RegexBuilder::new(pattern)
            .size_limit(size)
            .build();
        match built {
            Ok(regex) => return Ok(Compiled { regex, size }),
            Err(error) if size >= largest || cancel::is_cancelled() => {
                return Err(format!(
                    "`{}` is no pattern that we can read: {error}",
                    shown(whole)
                ));
            }
            Err(_too_large) => size *= 2,
        }
    }
}

/// Splits off a look-ahead at the start: true if it is positive, its pattern, and the rest.
fn leading(pattern: &str) -> Option<(bool, &str, &str)> {
    let wanted = pattern.starts_with("(?=");
    if !wanted && !pattern.starts_with("(?!") {
        return None;
    }
    let mut depth = 0;
    for (at, c, place) in places(pattern) {
        match (c, place) {
            ('(', Place::Open) => depth += 1,
            (')', Place::Open) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((wanted, &pattern[3..at], &pattern[at + 1..]));
        }
    }
    None
}

/// True if there is no `|` outside of groups, so that a look-ahead applies to the whole pattern.
fn has_no_alternatives(pattern: &str) -> bool {
    let mut depth = 0;
    places(pattern).all(|(_, c, place)| {
        match (c, place) {
            ('(', Place::Open) => depth += 1,
            (')', Place::Open) => depth -= 1,
            ('|', Place::Open) => return depth > 0,
            _ => {}
        }
        true
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Open,
    /// After a backslash.
    Escaped,
    /// Between `[` and `]`, without the brackets.
    Class,
}

/// Each character with its context.
fn places(pattern: &str) -> impl Iterator<Item = (usize, char, Place)> {
    let mut escaped = false;
    // Number of characters in the class so far.
    let mut class: Option<usize> = None;
    pattern.char_indices().map(move |(at, c)| {
        if std::mem::take(&mut escaped) {
            class = class.map(|count| count + 1);
            return (at, c, Place::Escaped);
        }
        if c == '\\' {
            escaped = true;
            return (at, c, class.map_or(Place::Open, |_| Place::Class));
        }
        match (class, c) {
            (None, '[') => class = Some(0),
            (None, _) => {}
            (Some(0), '^') => return (at, c, Place::Class),
            (Some(count), ']') if count > 0 => class = None,
            (Some(count), _) => {
                class = Some(count + 1);
                return (at, c, Place::Class);
            }
        }
        (at, c, Place::Open)
    })
}

/// Rewrites syntax with a different meaning in Python and in our engine.
fn rewritten(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    for (at, c, place) in places(pattern) {
        match (place, c) {
            // Python has no nested sets and no set operations.
            (Place::Class, '[' | '&' | '~') => {
                out.push('\\');
                out.push(c);
            }
            (Place::Escaped, 'Z') => out.push('z'),
            (Place::Open, '{') => {
                let inner = pattern[at + 1..].split('}').next().unwrap_or_default();
                let digits = inner.chars().all(|c| c.is_ascii_digit() || c == ',');
                let counts = digits
                    && inner.contains(|c: char| c.is_ascii_digit())
                    && inner.matches(',').count() < 2
                    && at + 1 + inner.len() < pattern.len();
                match (counts, inner.starts_with(',')) {
                    (true, true) => out.push_str("{0"),
                    (true, false) => out.push('{'),
                    (false, _) => out.push_str("\\{"),
                }
            }
            _ => out.push(c),
        }
    }
    out
}

/// Pattern with Python's syntax, for searches in texts. Searches are subtracted from the expression's budget.
pub(crate) struct Regex(Compiled);

impl Regex {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// A sentence: the pattern is invalid, or not supported.
    pub(crate) fn new(
        pattern: &str,
        ignore_case: bool,
        multi_line: bool,
        dot_all: bool,
    ) -> Result<Regex, String> {
        let flags: String = [(ignore_case, 'i'), (multi_line, 'm'), (dot_all, 's')]
            .into_iter()
            .filter_map(|(is, flag)| is.then_some(flag))
            .collect();
        let flags = match flags.as_str() {
            "" => String::new(),
            flags => format!("(?{flags})"),
        };
        built(&format!("{flags}{}", rewritten(pattern)), pattern).map(Regex)
    }

    /// True if the pattern is found in the text.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool, String> {
        budget::search(self.0.cost(text))?;
        Ok(self.0.regex.is_match(text))
    }

    /// First match.
    pub(crate) fn captures<'t>(
        &self,
        text: &'t str,
    ) -> Result<Option<regex_lite::Captures<'t>>, String> {
        budget::search(self.0.cost(text))?;
        Ok(self.0.regex.captures(text))
    }

    /// All matches. Each search can read up to the end of the text, even for a short match.
    pub(crate) fn captures_iter<'r, 't: 'r>(
        &'r self,
        text: &'t str,
    ) -> impl Iterator<Item = Result<regex_lite::Captures<'t>, String>> + 'r {
        let mut at = 0;
        let mut all = self.0.regex.captures_iter(text);
        std::iter::from_fn(move || {
            if let Err(why) = budget::search(self.0.cost(&text[at..])) {
                return Some(Err(why));
            }
            let captures = all.next()?;
            at = captures.get(0).map_or(text.len(), |whole| whole.end());
            Some(Ok(captures))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results were confirmed with Heat.
    #[test]
    fn patterns_match_as_in_python() {
        for (pattern, right, wrong) in [
            ("[a-z]+", "abc", "abc1"),
            ("^[a-z]+$", "abc", "Abc"),
            ("a|abc", "a", "abc"),
            ("abc|a", "abc", "ab"),
            ("a.*?", "a", "abc"),
            ("[a-z]{,3}", "abc", "abcd"),
            ("(a)(b)c\\Z", "abc", "abcd"),
            ("(?i)ABC", "abc", "abd"),
            ("[[a]+", "[a", "b"),
            ("[]a-z]+", "a]", "A"),
            ("[[:alpha:]]+", "a]", "abc"),
            ("(?=.*[A-Z])(?=.*[0-9]).{4,}", "aB3d", "ab3d"),
            ("^(?!root)[a-z]+$", "user", "rooted"),
            ("a{b}", "a{b}", "ab"),
            ("\\$\\{a\\}", "${a}", "a"),
            ("", "", "a"),
        ] {
            let tried = Pattern::new(pattern).unwrap();
            assert!(tried.fits(right), "{pattern} {right}");
            assert!(!tried.fits(wrong), "{pattern} {wrong}");
        }
    }

    #[test]
    fn a_search_that_would_take_too_long_is_not_made() {
        let costly = Pattern::new("(a?){2000}.*b").unwrap();
        assert!(costly.fits("aab"));
        let long = format!("{}b", "a".repeat(60_000));
        assert!(!costly.fits(&long), "it would match");
        assert!(Pattern::new(".*b").unwrap().fits(&long));
    }

    #[test]
    fn unsupported_patterns_are_refused() {
        for pattern in ["a(?!b)", "(a)\\1", "(?=a)b|c", "[a"] {
            assert!(Pattern::new(pattern).is_err(), "{pattern}");
        }
    }
}
