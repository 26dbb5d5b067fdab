//! Lines and columns of a text, and similar words.

/// Position in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Line, 1-based.
    pub line: u32,
    /// Column, 1-based, in characters.
    pub column: u32,
}

/// Starts of lines, to convert a byte offset to a line and a column.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    /// The line starts of a text.
    pub fn of(text: &str) -> Lines {
        let mut starts = vec![0];
        starts.extend(
            text.bytes()
                .enumerate()
                .filter(|(_, byte)| *byte == b'\n')
                .map(|(at, _)| at + 1),
        );
        Lines { starts }
    }

    /// The 1-based line of a byte offset.
    pub fn line(&self, byte: usize) -> u32 {
        self.starts.partition_point(|start| *start <= byte) as u32
    }

    /// The position of a byte offset. Columns count characters, not bytes.
    pub fn position(&self, text: &str, byte: usize) -> Position {
        let byte = byte.min(text.len());
        let line = self.line(byte);
        let start = self.starts.get(line as usize - 1).copied().unwrap_or(0);
        let column = text
            .get(start..byte)
            .map_or(byte - start, |part| part.chars().count());
        Position {
            line,
            column: column as u32 + 1,
        }
    }
}

/// `; did you mean `x`?` for the most similar of `known`. Empty if none is similar.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known)
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default()
}

/// Most similar known word: at most a third of the letters differ, ignoring case.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower: Vec<char> = word.to_lowercase().chars().take(100).collect();
    known
        .into_iter()
        .filter_map(|candidate| {
            let other: Vec<char> = candidate.to_lowercase().chars().take(100).collect();
            let allowed = lower.len().max(other.len()).div_ceil(3);
            if lower.len().abs_diff(other.len()) > allowed {
                return None;
            }
            let distance = distance(&lower, &other);
            (distance <= allowed && distance < other.len()).then_some((distance, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Edit distance between two words. Two swapped neighbours count once.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// List for messages: `a`, `b` and `c`.
pub fn listed<S: AsRef<str>>(items: &[S]) -> String {
    match items {
        [] => "nothing".to_owned(),
        [one] => format!("`{}`", one.as_ref()),
        [first @ .., last] => {
            let first: Vec<String> = first
                .iter()
                .map(|item| format!("`{}`", item.as_ref()))
                .collect();
            format!("{} and `{}`", first.join(", "), last.as_ref())
        }
    }
}

/// Shortened list for messages: `a`, `b`, `c` and 4 more.
pub fn few(items: &[&str]) -> String {
    const SHOWN: usize = 5;
    match items.len() {
        ..=SHOWN => listed(items),
        all => {
            let first: Vec<String> = items[..SHOWN - 1]
                .iter()
                .map(|item| format!("`{item}`"))
                .collect();
            format!("{} and {} more", first.join(", "), all + 1 - SHOWN)
        }
    }
}

/// A number with its noun, for messages: `1 member`, `2 members`. The plural of the noun ends with an s.
pub fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        many => format!("{many} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_is_plural_unless_there_is_one() {
        let words = [0, 1, 2].map(|count| counted(count, "resource"));
        assert_eq!(words, ["0 resources", "1 resource", "2 resources"]);
    }

    #[test]
    fn similar_words_are_suggested_and_others_are_not() {
        assert_eq!(
            nearest("flavour", ["image", "flavor", "name"]),
            Some("flavor")
        );
        assert_eq!(
            nearest("m1.smal", ["m1.small", "m1.large"]),
            Some("m1.small")
        );
        assert_eq!(
            nearest("OS::Nova::Sever", ["OS::Nova::Server", "OS::Neutron::Net"]),
            Some("OS::Nova::Server")
        );
        assert_eq!(nearest("zebra", ["image", "flavor"]), None);
        assert_eq!(did_you_mean("wbe", ["web", "db"]), "; did you mean `web`?");
    }

    #[test]
    fn columns_count_characters() {
        let text = "a: 1\nö: x";
        assert_eq!(
            Lines::of(text).position(text, 9),
            Position { line: 2, column: 4 }
        );
    }
}
