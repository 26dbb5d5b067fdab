//! Lines that a program had not ended when they were stored, such as those of a progress bar: the next line of the same step,
//! server and stream takes their place, as on a terminal.

use std::collections::HashMap;

use api::LogStream;

use super::{Line, LogStore};

/// The last unfinished lines.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    /// Indices of the lines, by step, server and stream.
    lines: HashMap<(u32, Option<u32>, LogStream), usize>,
}

impl Unfinished {
    /// Index of the line whose place this one takes. Its own index is `at`, and it follows all others.
    pub(super) fn replaced_by(&mut self, line: &Line, at: usize) -> Option<usize> {
        let source = (line.step, line.host, line.stream);
        if line.is_unfinished {
            self.lines.insert(source, at)
        } else if self.lines.is_empty() {
            None
        } else {
            self.lines.remove(&source)
        }
    }
}

impl LogStore {
    /// Finds the replaced ones among all lines.
    pub(super) fn find_replaced(&mut self) {
        self.unfinished = Unfinished::default();
        for at in 0..self.lines.len() {
            let replaced = self.unfinished.replaced_by(&self.lines[at], at);
            if let Some(line) = replaced.and_then(|at| self.lines.get_mut(at)) {
                line.is_replaced = true;
            }
        }
    }

    /// Removes a replaced line from the view.
    pub(super) fn replace(&mut self, at: usize) {
        let Some(line) = self.lines.get_mut(at) else {
            return;
        };
        line.is_replaced = true;
        let (seq, groups) = (line.seq, [line.play, line.task]);
        let number = at as u32;
        if let Ok(hit) = self.hits.binary_search(&seq) {
            self.hits.remove(hit);
        }
        let Ok(place) = self.view.binary_search(&number) else {
            return;
        };
        self.insertions += 1;
        let mut groups = groups.iter().flatten();
        if groups.any(|group| self.heads.get(group) == Some(&number)) {
            // Another line is the first one of the group.
            self.show_all();
            return;
        }
        let height = self.row_of(place + 1) - self.row_of(place);
        self.view.remove(place);
        self.row_count -= height;
        if place < self.rows.len() {
            self.rows.remove(place);
            for row in &mut self.rows[place..] {
                *row -= height;
            }
        }
    }
}
