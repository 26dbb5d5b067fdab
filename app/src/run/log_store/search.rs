//! Hits of a search: in the lines of the view, and in older lines that the server has searched and that are not loaded.

use api::LogHits;

use super::{Line, LogStore};

/// Hits in lines that are not loaded.
#[derive(Debug, Default)]
pub(super) struct OlderHits {
    /// The lines, in order.
    lines: Vec<Line>,
    /// The server has searched all lines from this number on. `None` before its first answer.
    from: Option<u64>,
}

/// A line with a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// A line of the view, by its index.
    Loaded(usize),
    /// A line that is not loaded, by its number.
    Older(u64),
}

impl LogStore {
    /// Number of lines with a hit, apart from those that the filter hides.
    pub fn hits(&self) -> usize {
        self.shown_older_hits().count() + self.hits.len()
    }

    /// The hit with this number, counted from the oldest.
    pub fn hit(&self, number: usize) -> Option<Hit> {
        let mut older = self.shown_older_hits();
        let count = self.shown_older_hits().count();
        match number.checked_sub(count) {
            None => older.nth(number).map(|line| Hit::Older(line.seq)),
            Some(number) => (self.hits.get(number)).map(|place| Hit::Loaded(*place as usize)),
        }
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
