//! Hits of a search: in the lines at the end, and in older lines that the server has searched.

use api::LogHits;

use super::{Line, LogStore};

/// Hits in lines before those at the end.
#[derive(Debug, Default)]
pub(super) struct OlderHits {
    /// The lines, in order.
    lines: Vec<Line>,
    /// The server has searched all lines from this number on. `None` before its first answer.
    from: Option<u64>,
}

impl LogStore {
    /// Number of lines with a hit, apart from those that the filter hides.
    pub fn hits(&self) -> usize {
        self.shown_older_hits().count() + self.hits.len()
    }

    /// The number of the line with a hit, counted from the oldest hit.
    pub fn hit(&self, number: usize) -> Option<u64> {
        let older = self.shown_older_hits().map(|line| line.seq);
        older.chain(self.hits.iter().copied()).nth(number)
    }

    fn shown_older_hits(&self) -> impl Iterator<Item = &Line> {
        let loaded_from = self.from(self.settings.step.as_deref());
        let older = self.older_hits.lines.iter();
        older.filter(move |line| line.seq < loaded_from && self.passes(line))
    }

    /// The number before which the server has lines that the view's search has not reached. `None` if there are none.
    pub fn search_before(&self) -> Option<u64> {
        let loaded_from = self.from(self.settings.step.as_deref());
        let before = self
            .older_hits
            .from
            .map_or(loaded_from, |from| from.min(loaded_from));
        (!self.settings.needle.is_empty() && before > 1).then_some(before)
    }

    /// Adds the server's answer to a search from [`LogStore::search_before`] on. One to another search is dropped.
    pub fn add_older_hits(&mut self, needle: &str, step: Option<&str>, hits: LogHits) {
        if needle != self.settings.needle || step != self.settings.step.as_deref() {
            return;
        }
        let mut lines: Vec<Line> = (hits.lines.into_iter())
            .filter_map(|event| self.line_of(event))
            .collect();
        lines.append(&mut self.older_hits.lines);
        self.older_hits = OlderHits {
            lines,
            from: Some(hits.from),
        };
    }
}
