//! Colours in log lines: SGR sequences of terminals.
//!
//! A line becomes segments of text with one style each. Other escape sequences and control characters are dropped. A
//! carriage return has the effect of a terminal: the text after it replaces the text before it.

/// Segment of text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The text.
    pub text: String,
    /// The colour's number, 0 to 15. `None` for the default colour.
    pub colour: Option<u8>,
    /// True for bold text.
    pub bold: bool,
    /// True for a part of a search hit.
    pub hit: bool,
}

#[derive(Clone, Copy, Default, PartialEq)]
struct Style {
    colour: Option<u8>,
    bold: bool,
}

/// Final text of a line on a terminal.
pub fn final_text(line: &str) -> &str {
    let line = line.trim_end_matches(['\r', '\n']);
    line.rsplit('\r').next().unwrap_or(line)
}

/// Text without escape sequences.
pub fn plain(line: &str) -> String {
    if line.contains(char::is_control) {
        stretches(line).into_iter().map(|it| it.text).collect()
    } else {
        line.to_owned()
    }
}

/// Splits a line into segments of one style.
pub fn stretches(line: &str) -> Vec<Segment> {
    let mut found = Vec::new();
    let mut style = Style::default();
    let mut rest = line;
    while let Some(at) = rest.find('\u{1b}') {
        push(&mut found, &rest[..at], style);
        rest = &rest[at + 1..];
        let Some(body) = rest.strip_prefix('[') else {
            // Two-character sequences. An operating system command ends at BEL.
            rest = match rest.strip_prefix(']') {
                Some(command) => command.split_once('\u{7}').map_or("", |(_, after)| after),
                None => rest
                    .get(rest.chars().next().map_or(0, char::len_utf8)..)
                    .unwrap_or(""),
            };
            continue;
        };
        // Parameters, then one letter.
        let end = body
            .find(|letter: char| ('@'..='~').contains(&letter))
            .unwrap_or(body.len());
        if body[end..].starts_with('m') {
            style = restyled(style, &body[..end]);
        }
        rest = body.get(end + 1..).unwrap_or("");
    }
    push(&mut found, rest, style);
    found
}

fn push(found: &mut Vec<Segment>, text: &str, style: Style) {
    let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
    if !text.is_empty() {
        found.push(Segment {
            text,
            colour: style.colour,
            bold: style.bold,
            hit: false,
        });
    }
}

fn restyled(mut style: Style, codes: &str) -> Style {
    let mut codes = codes.split(';').map(|code| code.parse::<u8>().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            0 => style = Style::default(),
            1 => style.bold = true,
            22 => style.bold = false,
            30..=37 => style.colour = Some(code - 30),
            90..=97 => style.colour = Some(code - 90 + 8),
            39 => style.colour = None,
            // 256 colours and true colour: the first sixteen colours are supported, others become the default.
            38 | 48 => {
                let colour = match codes.next() {
                    Some(5) => codes.next().filter(|colour| *colour < 16),
                    Some(2) => {
                        codes.by_ref().take(3).for_each(drop);
                        None
                    }
                    _ => None,
                };
                if code == 38 {
                    style.colour = colour;
                }
            }
            _ => {}
        }
    }
    style
}

/// Marks the hits of `needle` (lower case) in the segments.
pub fn with_hits(found: Vec<Segment>, needle: &str) -> Vec<Segment> {
    if needle.is_empty() {
        return found;
    }
    let whole: String = found.iter().map(|segment| segment.text.as_str()).collect();
    let hits = hits(&whole, needle);
    if hits.is_empty() {
        return found;
    }
    let mut cut = Vec::new();
    let mut start = 0;
    for segment in found {
        let end = start + segment.text.len();
        // Positions in the whole line at which a hit starts or ends within this segment.
        let mut places: Vec<usize> = hits
            .iter()
            .flat_map(|&(from, to)| [from, to])
            .filter(|at| (start + 1..end).contains(at))
            .collect();
        places.insert(0, start);
        places.push(end);
        for pair in places.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if let Some(text) = segment.text.get(from - start..to - start)
                && !text.is_empty()
            {
                let hit = hits
                    .iter()
                    .any(|&(hit_from, hit_to)| hit_from <= from && to <= hit_to);
                cut.push(Segment {
                    text: text.to_owned(),
                    hit,
                    ..segment.clone()
                });
            }
        }
        start = end;
    }
    cut
}

/// Positions of `needle` (lower case) in `text`, ignoring the case of ASCII letters.
pub fn hits(text: &str, needle: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = find(&text.as_bytes()[from..], needle.as_bytes()) {
        found.push((from + at, from + at + needle.len()));
        from += at + needle.len();
    }
    found
}

/// True if `text` contains `needle` (lower case), ignoring the case of ASCII letters.
pub fn contains(text: &str, needle: &str) -> bool {
    find(text.as_bytes(), needle.as_bytes()).is_some()
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() {
        return None;
    }
    text.windows(needle.len()).position(|window| {
        window
            .iter()
            .zip(needle)
            .all(|(one, other)| one.to_ascii_lowercase() == *other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief(line: &str) -> Vec<(String, Option<u8>, bool)> {
        stretches(line)
            .into_iter()
            .map(|it| (it.text, it.colour, it.bold))
            .collect()
    }

    #[test]
    fn colours_are_styles() {
        assert_eq!(
            brief("\u{1b}[0;32mok: [web]\u{1b}[0m done"),
            [
                ("ok: [web]".into(), Some(2), false),
                (" done".into(), None, false)
            ]
        );
        assert_eq!(
            brief("\u{1b}[1;91mno\u{1b}[22m!"),
            [("no".into(), Some(9), true), ("!".into(), Some(9), false)]
        );
        assert_eq!(
            brief("\u{1b}[38;5;3ma\u{1b}[38;2;1;2;3mb"),
            [("a".into(), Some(3), false), ("b".into(), None, false)]
        );
    }

    #[test]
    fn other_sequences_are_dropped() {
        assert_eq!(
            plain("\u{1b}[2K\u{1b}[1Ga\u{1b}]0;title\u{7}b\u{1b}(Bc"),
            "abBc"
        );
        assert_eq!(plain("bell\u{7} and back\u{8}space"), "bell and backspace");
        assert_eq!(plain("broken \u{1b}[31"), "broken ");
        assert_eq!(plain("broken \u{1b}"), "broken ");
    }

    #[test]
    fn a_carriage_return_replaces() {
        assert_eq!(final_text("10 %\r50 %\r100 %"), "100 %");
        assert_eq!(final_text("text\r\n"), "text");
    }

    #[test]
    fn search_results_are_found_across_styles() {
        let marked = with_hits(stretches("Error: \u{1b}[31mERR\u{1b}[0mor"), "error");
        let hits: Vec<_> = marked.iter().map(|it| (it.text.as_str(), it.hit)).collect();
        assert_eq!(
            hits,
            [("Error", true), (": ", false), ("ERR", true), ("or", true)]
        );
        assert!(contains("FAILED!", "failed"));
        assert!(!contains("x", ""));
        assert_eq!(super::hits("äERRä", "err"), [(2, 5)]);
    }
}
