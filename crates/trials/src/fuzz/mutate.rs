//! Mutations of a text: some change bytes, which tests the YAML parser. Most change lines and words, which reach
//! validation and the plan.

use super::Random;

/// Longest text, in bytes. Longer texts would only be slow.
const LENGTH_MAX: usize = 256 * 1024;

/// One of the seeds with one to six mutations.
pub fn mutate(seeds: &[String], random: &mut Random) -> String {
    let mut text = random.pick(seeds).cloned().unwrap_or_default();
    for _ in 0..=random.below(6) {
        text = match random.below(12) {
            0 => bytes(&text, random),
            1 => drop_lines(&text, random),
            2 => repeat_lines(&text, random),
            3 => swap_lines(&text, random),
            4 => indent(&text, random),
            5 => splice(&text, random.pick(seeds).map_or("", String::as_str), random),
            6 => cut(&text, random),
            7 => nest(&text, random),
            8 => value(&text, random),
            _ => words(&text, random),
        };
        if text.len() > LENGTH_MAX {
            text = text.chars().take(LENGTH_MAX / 4).collect();
        }
    }
    text
}

/// Words with a meaning in templates.
const WORDS: [&str; 64] = [
    "null",
    "~",
    "true",
    "''",
    "\"",
    "'",
    "-1",
    "0",
    "1",
    "99999999999999999999",
    "1e999",
    ".nan",
    "0x10",
    "1_000",
    "{}",
    "[]",
    "{",
    "}",
    "[",
    "]",
    ":",
    "- ",
    "? ",
    "&a",
    "*a",
    "<<: *a",
    "!!binary",
    "!foo",
    "|",
    ">-",
    "|2",
    "---",
    "...",
    "%YAML 1.2",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{0}",
    "é",
    "💥",
    "#",
    "$",
    "get_param",
    "get_resource",
    "get_attr",
    "get_file",
    "if",
    "repeat",
    "str_replace",
    "list_join",
    "map_merge",
    "yaql",
    "resource_facade",
    "depends_on",
    "condition",
    "count",
    "%index%",
    "OS::stack_name",
    "OS::Heat::ResourceGroup",
    "OS::Nova::Server",
    "2013-05-23",
    "2021-04-16",
    "self",
    "resources",
];

fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn bytes(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len());
        let new = random.below(256) as u8;
        match (random.below(3), bytes.get_mut(at)) {
            (0, Some(byte)) => *byte = new,
            (1, Some(_)) => drop(bytes.remove(at)),
            _ => bytes.insert(at, new),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn drop_lines(text: &str, random: &mut Random) -> String {
    let mut lines = lines(text);
    let part = random.part(lines.len());
    lines.drain(part);
    lines.concat()
}

fn repeat_lines(text: &str, random: &mut Random) -> String {
    let mut lines = lines(text);
    let part = random.part(lines.len());
    let copy = lines[part].to_vec();
    let at = random.below(lines.len() + 1);
    for _ in 0..=random.below(3) {
        lines.splice(at..at, copy.iter().copied());
    }
    lines.concat()
}

fn swap_lines(text: &str, random: &mut Random) -> String {
    let mut lines = lines(text);
    let (a, b) = (random.below(lines.len()), random.below(lines.len()));
    if a != b {
        lines.swap(a, b);
    }
    lines.concat()
}

fn indent(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = lines(text).into_iter().map(str::to_owned).collect();
    let part = random.part(lines.len());
    let more = random.below(2) == 0;
    for line in &mut lines[part] {
        if more {
            line.insert_str(0, "  ");
        } else if let Some(less) = line.strip_prefix("  ") {
            *line = less.to_owned();
        }
    }
    lines.concat()
}

fn splice(text: &str, other: &str, random: &mut Random) -> String {
    let mut mine = lines(text);
    let theirs = lines(other);
    let part = random.part(theirs.len());
    let at = random.below(mine.len() + 1);
    mine.splice(at..at, theirs[part].iter().copied());
    mine.concat()
}

fn cut(text: &str, random: &mut Random) -> String {
    let at = boundary(text, random.below(text.len() + 1));
    text[..at].to_owned()
}

fn nest(text: &str, random: &mut Random) -> String {
    let depth = [4, 40, 400, 4000][random.below(4)];
    let (open, close) = [
        ("[", "]"),
        ("{a: ", "}"),
        ("{get_attr: [a, ", "]}"),
        ("{not: ", "}"),
    ][random.below(4)];
    let deep = format!("{}x{}", open.repeat(depth), close.repeat(depth));
    let at = text.find(": ").map_or(0, |_| {
        let places: Vec<usize> = text.match_indices(": ").map(|(at, _)| at + 2).collect();
        random.pick(&places).copied().unwrap_or(0)
    });
    let end = text[at..]
        .find('\n')
        .map_or(text.len(), |length| at + length);
    format!("{}{deep}{}", &text[..at], &text[end..])
}

/// Replaces the value after a colon.
fn value(text: &str, random: &mut Random) -> String {
    let places: Vec<usize> = text.match_indices(": ").map(|(at, _)| at + 2).collect();
    let Some(&at) = random.pick(&places) else {
        return text.to_owned();
    };
    let end = text[at..]
        .find(['\n', ',', '}'])
        .map_or(text.len(), |length| at + length);
    let new = random.pick(&WORDS).copied().unwrap_or_default();
    format!("{}{new}{}", &text[..at], &text[end..])
}

/// Replaces a word by another one of the text, or by one with a meaning.
fn words(text: &str, random: &mut Random) -> String {
    let found: Vec<(usize, &str)> = text
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.')))
        .filter(|word| !word.is_empty())
        .map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
        .collect();
    let Some(&(at, old)) = random.pick(&found) else {
        return text.to_owned();
    };
    let new = if random.below(2) == 0 {
        random.pick(&WORDS).copied().unwrap_or_default()
    } else {
        random.pick(&found).map_or("", |(_, word)| word)
    };
    format!("{}{new}{}", &text[..at], &text[at + old.len()..])
}
