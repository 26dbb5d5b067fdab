//! Completed maps and lists, and the final tree.

use std::sync::Arc;

use super::{Builder, Entry, Frame, Kind, Node, Severity, Style, Tree, YamlProblem, merge};

impl Builder<'_> {
    /// Completed tree. After a syntax error some frames are still open: their content so far is kept.
    pub(super) fn finished(mut self) -> Tree {
        while let Some(frame) = self.frames.pop() {
            let end = self.cursor;
            self.close(frame, end);
        }
        let mut tree = Tree {
            root: self.root,
            problems: self.problems,
        };
        if tree
            .root
            .as_ref()
            .is_some_and(|root| root.weight > self.limits.nodes_max)
        {
            let message = format!(
                "unfolding its aliases would give more than {} values",
                self.limits.nodes_max
            );
            tree = Tree::refused("alias-bomb", message);
        }
        tree
    }

    pub(super) fn close(&mut self, frame: Frame, event_end: usize) {
        let (node, anchor) = match frame {
            Frame::Map {
                start,
                style,
                anchor,
                entries,
                key,
            } => {
                let mut entries = entries;
                if let Some((key, key_span, after_colon)) = key {
                    // Only after a syntax error: a key whose value was not read.
                    let value = Node::new(
                        Kind::Scalar(String::new()),
                        Style::Plain,
                        after_colon..after_colon,
                        1,
                    );
                    entries.push(Entry {
                        key,
                        key_span,
                        after_colon,
                        value,
                    });
                }
                let last = entries.last().map_or(self.cursor, |entry| {
                    entry.value.span.end.max(entry.after_colon)
                });
                let end = if style == Style::Flow {
                    event_end
                } else {
                    last
                };
                self.drop_duplicates(&mut entries);
                let merged = self.merge(&entries);
                let weight = merged
                    .as_deref()
                    .unwrap_or(&entries)
                    .iter()
                    .fold(1u64, |sum, entry| sum.saturating_add(entry.value.weight));
                let mut node = Node::new(Kind::Map(entries), style, start..end.max(start), weight);
                node.merged = merged;
                (node, anchor)
            }
            Frame::List {
                start,
                style,
                anchor,
                items,
                ..
            } => {
                let last = items.last().map_or(self.cursor, |item| item.value.span.end);
                let end = if style == Style::Flow {
                    event_end
                } else {
                    last
                };
                let weight = items
                    .iter()
                    .fold(1u64, |sum, item| sum.saturating_add(item.value.weight));
                let node = Node::new(Kind::List(items), style, start..end.max(start), weight);
                (node, anchor)
            }
        };
        self.cursor = node.span.end;
        self.attach(node, anchor);
    }

    /// Entries that merge keys add to a map.
    fn merge(&mut self, entries: &[Entry]) -> Option<Arc<[Entry]>> {
        let left = self.limits.nodes_max;
        match self.merger.merge(self.text, entries, left) {
            Ok(merged) => merged,
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

    /// Drops entries with duplicate keys: the last one is used, as in Heat. Such a map cannot be edited, because the
    /// intended entry is unclear.
    fn drop_duplicates(&mut self, entries: &mut Vec<Entry>) {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        order.sort_by(|a, b| entries[*a].key.cmp(&entries[*b].key).then(a.cmp(b)));
        let mut doubled: Vec<(usize, usize)> = order
            .windows(2)
            .filter(|pair| entries[pair[0]].key == entries[pair[1]].key)
            .filter(|pair| entries[pair[0]].key != merge::KEY)
            .map(|pair| (pair[0], entries[pair[1]].key_span.start))
            .collect();
        doubled.sort_unstable();
        let mut doubled = doubled.into_iter().peekable();
        let mut gone = Vec::new();
        for (index, entry) in std::mem::take(entries).into_iter().enumerate() {
            match doubled.next_if(|(double, _)| *double == index) {
                Some((_, at)) => gone.push((entry.key, at)),
                None => entries.push(entry),
            }
        }
        for (key, at) in gone.into_iter().rev() {
            let message = format!(
                "the key `{}` occurs twice in this map; only the last one counts",
                yaql::shown(&key)
            );
            self.problems.push(YamlProblem {
                code: "duplicate-key",
                severity: Severity::Warning,
                message,
                at,
                fatal: false,
            });
        }
    }
}
