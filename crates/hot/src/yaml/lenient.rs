//! YAML that Heat's parser accepts and ours does not.
//!
//! Heat parses YAML with libyaml, which requires no indentation inside quotes and brackets and no space before a
//! comment after a bracket or quote, and accepts a tab after a colon. Users write such text. So if our parser stops at
//! such a position, spaces without meaning are inserted, and parsing starts again. All positions are those of the
//! original text.

/// Maximum total number of bytes that the parser reads, over all starts.
const BYTES_MAX: usize = 32 << 20;

/// Maximum number of starts for a text of this size in bytes.
pub(super) fn tries(bytes: usize) -> usize {
    BYTES_MAX / (bytes + 1024) + 1
}

/// Inserted spaces for the parser, by their positions in the text.
#[derive(Clone, Debug, Default)]
pub(super) struct Padding {
    /// Byte offset in the text and number of spaces, in order; each position occurs once.
    places: Vec<(usize, usize)>,
    /// For each position, the index of its first space in the parser's text, and the index in the original text.
    letters: Vec<(usize, usize)>,
}

impl Padding {
    /// Text with the spaces inserted.
    pub(super) fn applied(&mut self, text: &str) -> String {
        let mut padded = String::with_capacity(text.len() + 64 * self.places.len());
        self.letters.clear();
        let (mut at, mut letter, mut added) = (0, 0, 0);
        for (place, count) in &self.places {
            padded.push_str(&text[at..*place]);
            letter += text[at..*place].chars().count();
            self.letters.push((letter + added, letter));
            padded.extend(std::iter::repeat_n(' ', *count));
            at = *place;
            added += count;
        }
        padded.push_str(&text[at..]);
        padded
    }

    /// Converts a character index in the parser's text to an index in the original text.
    pub(super) fn letter(&self, seen: usize) -> usize {
        let before = self.letters.partition_point(|(start, _)| *start <= seen);
        let Some(last) = before.checked_sub(1) else {
            return seen;
        };
        let ((start, letter), count) = (self.letters[last], self.places[last].1);
        letter + (seen - start).saturating_sub(count)
    }

    /// Adds spaces that avoid the parser's error at `at`. False if that is not possible. `flow` is the position of the
    /// outermost open bracket.
    pub(super) fn repair(
        &mut self,
        text: &str,
        info: &str,
        at: usize,
        flow: Option<usize>,
    ) -> bool {
        let new = match info {
            "invalid indentation in quoted scalar" => lines(text, at, quoted_end(text, at)),
            "comments must be separated from other tokens by whitespace"
                if text[at..].starts_with('#') =>
            {
                vec![(at, 1)]
            }
            "':' must be followed by a valid YAML whitespace" => {
                let colon = text[..at].rfind(':');
                colon.map(|colon| (colon + 1, 1)).into_iter().collect()
            }
            "invalid indentation"
            | "invalid indentation in flow construct"
            | "tabs disallowed within this context (block indentation)" => match flow {
                Some(start) => lines(text, start, flow_end(text, start).max(at)),
                None => Vec::new(),
            },
            _ => Vec::new(),
        };
        let before = self.places.len();
        for (place, count) in new {
            if let Err(index) = self.places.binary_search_by_key(&place, |(at, _)| *at) {
                self.places.insert(index, (place, count));
            }
        }
        self.places.len() > before
    }
}

/// Further lines between `start` and `end`, with the number of spaces to indent them beyond the start.
fn lines(text: &str, start: usize, end: usize) -> Vec<(usize, usize)> {
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let column = text[line..start].chars().count() + 1;
    text[start..end]
        .match_indices('\n')
        .map(|(at, _)| start + at + 1)
        .filter(|at| {
            !text[*at..]
                .trim_start_matches([' ', '\t'])
                .starts_with(['\n', '\r'])
        })
        .map(|at| (at, column))
        .collect()
}

/// Position after the quoted text that begins at `start`.
fn quoted_end(text: &str, start: usize) -> usize {
    let mut letters = text[start..].char_indices().peekable();
    let Some((_, quote)) = letters.next() else {
        return text.len();
    };
    while let Some((at, c)) = letters.next() {
        if c == '\\' && quote == '"' {
            letters.next();
        } else if c == quote {
            let doubled = quote == '\'' && letters.peek().is_some_and(|(_, next)| *next == quote);
            if !doubled {
                return start + at + 1;
            }
            letters.next();
        }
    }
    text.len()
}

/// Position after the brackets that begin at `start`.
fn flow_end(text: &str, start: usize) -> usize {
    let mut depth = 0usize;
    let mut at = start;
    // `fresh`: a quote would begin a quoted text. `blank`: a `#` would begin a comment.
    let (mut fresh, mut blank) = (true, false);
    while let Some(c) = text[at..].chars().next() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            '\'' | '"' if fresh => {
                at = quoted_end(text, at);
                (fresh, blank) = (false, false);
                continue;
            }
            '#' if blank => {
                at += text[at..].find('\n').unwrap_or(text.len() - at);
                continue;
            }
            _ => {}
        }
        blank = c.is_whitespace();
        fresh = matches!(c, '[' | '{' | ',' | ':') || (blank && fresh);
        at += c.len_utf8();
    }
    text.len()
}
