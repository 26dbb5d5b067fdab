//! The output in a task's result, as far as it is not in the log yet. Pure.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use api::{LogLevel, LogStream};

/// A line of output in a task's result.
pub type ResultLine = (LogStream, LogLevel, String);

/// Maximum number of different lines that are compared. Further ones count as new.
const LINES_MAX: usize = 100_000;

/// The lines behind those that are logged: a number of bytes of a program's output, and of its errors.
pub fn unlogged(lines: Vec<ResultLine>, logged: [u64; 2]) -> Vec<ResultLine> {
    let mut ends = [0; 2];
    let mut rest = Vec::new();
    for (stream, level, mut line) in lines {
        let nth = usize::from(stream == LogStream::Stderr);
        let skipped = usize::try_from(logged[nth].saturating_sub(ends[nth])).unwrap_or(usize::MAX);
        ends[nth] += line.len() as u64 + 1;
        if skipped == 0 || skipped < line.len() {
            let text = line.split_off(line.floor_char_boundary(skipped));
            rest.push((stream, level, text));
        } else if is_cut(&line) && logged[nth] != u64::MAX {
            rest.push((stream, level, line));
        }
    }
    rest
}

/// True for the sandbox's last line of a long output, of which it sends the beginning only.
fn is_cut(line: &str) -> bool {
    line.starts_with('(') && line.ends_with(" more characters)")
}

/// Lines that come twice: in a package manager's log, and in the results of its tasks. Each is logged where it comes first.
#[derive(Debug, Default)]
pub struct Repeated {
    /// Occurrences of each line in the log, less its occurrences in results.
    surplus: HashMap<u64, i64>,
}

impl Repeated {
    /// True if a line of the package manager's log was in no result.
    pub fn is_new(&mut self, line: &str) -> bool {
        self.count(line, 1)
    }

    /// The lines of a result that were not in the package manager's log.
    pub fn unlogged(&mut self, mut lines: Vec<ResultLine>) -> Vec<ResultLine> {
        lines.retain(|(_, _, line)| self.count(line, -1));
        lines
    }

    /// Counts a line on one of both sides. False if it makes up for one of the other side.
    fn count(&mut self, line: &str, by: i64) -> bool {
        let mut hasher = DefaultHasher::new();
        line.trim().hash(&mut hasher);
        let key = hasher.finish();
        if self.surplus.len() >= LINES_MAX && !self.surplus.contains_key(&key) {
            return true;
        }
        let surplus = self.surplus.entry(key).or_default();
        let before = *surplus;
        *surplus += by;
        before * by >= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<ResultLine> {
        let line = |text: &&str| (LogStream::Stdout, LogLevel::Info, (*text).to_owned());
        texts.iter().map(line).collect()
    }

    #[test]
    fn a_result_is_logged_from_the_byte_at_which_its_output_broke_off() {
        let whole = || lines(&["one", "", "zwölf"]);
        assert_eq!(unlogged(whole(), [0, 0]), whole());
        assert_eq!(unlogged(whole(), [4, 0]), lines(&["", "zwölf"]));
        assert_eq!(unlogged(whole(), [5, 0]), lines(&["zwölf"]));
        // A long line is logged in pieces.
        assert_eq!(unlogged(whole(), [7, 0]), lines(&["ölf"]));
        assert!(unlogged(whole(), [u64::MAX; 2]).is_empty());
    }

    #[test]
    fn a_long_output_that_broke_off_still_tells_what_is_missing() {
        let cut = || lines(&["one", "(12 more characters)"]);
        assert_eq!(unlogged(cut(), [500, 0]), cut()[1..]);
        assert!(unlogged(cut(), [u64::MAX; 2]).is_empty());
    }

    #[test]
    fn output_and_errors_are_counted_apart() {
        let both = vec![
            (LogStream::Stdout, LogLevel::Info, "out".to_owned()),
            (LogStream::Stderr, LogLevel::Error, "err".to_owned()),
        ];
        assert_eq!(unlogged(both.clone(), [4, 0]), both[1..]);
        assert_eq!(unlogged(both.clone(), [0, 4]), both[..1]);
    }

    #[test]
    fn a_line_of_a_package_manager_is_logged_once_wherever_it_comes_first() {
        let mut repeated = Repeated::default();
        assert!(repeated.is_new("Unpacking nginx"));
        let result = lines(&["Reading lists", "Unpacking nginx", "Setting up nginx"]);
        assert_eq!(
            repeated.unlogged(result),
            lines(&["Reading lists", "Setting up nginx"])
        );
        assert!(!repeated.is_new("Setting up nginx\r"), "it comes late");
        assert!(repeated.is_new("Setting up nginx"), "another one");
        assert!(repeated.is_new("Log ended"));
    }
}
