//! Marked lines: a click on the time of a line marks it, with Shift all lines up to it. The address then leads to them.

use std::ops::RangeInclusive;

use leptos::prelude::*;

use super::LogState;
use crate::browser;

/// Marked lines, by the number of their events. The first number is the line that was clicked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked {
    anchor: u64,
    head: u64,
}

impl Marked {
    /// Numbers of the lines.
    pub fn numbers(self) -> RangeInclusive<u64> {
        self.anchor.min(self.head)..=self.anchor.max(self.head)
    }

    /// The part of an address after `#`: `L12` or `L12-L20`.
    pub(super) fn fragment(self) -> String {
        let numbers = self.numbers();
        if self.anchor == self.head {
            format!("L{}", numbers.start())
        } else {
            format!("L{}-L{}", numbers.start(), numbers.end())
        }
    }

    pub(super) fn parse(fragment: &str) -> Option<Marked> {
        let number = |text: &str| text.strip_prefix('L')?.parse::<u64>().ok();
        let (anchor, head) = fragment.split_once('-').unwrap_or((fragment, fragment));
        Some(Marked {
            anchor: number(anchor)?,
            head: number(head)?,
        })
    }
}

impl LogState {
    /// Marks a line, or all lines between the marked one and this one. A second click on the only marked line unmarks it.
    pub fn mark(self, number: u64, extends: bool) {
        let before = self.marked.get_untracked();
        let only = Marked {
            anchor: number,
            head: number,
        };
        let marked = match before {
            Some(before) if extends => Some(Marked {
                head: number,
                ..before
            }),
            Some(before) if before == only => None,
            _ => Some(only),
        };
        self.marked.set(marked);
    }
}

/// Scrolls to the lines of the address or to a hit, once they are loaded. If they are far before the lines of the view, only
/// the lines around them are loaded.
pub fn follow_goal(state: LogState) {
    Effect::new(move |_| {
        state.changed.track();
        state.is_loading.track();
        let is_measured = state.place.with(|place| place.height > 0.0);
        let (Some(number), true) = (state.goal.get(), is_measured) else {
            return;
        };
        let step = state.step.get();
        let log = state.feed.log;
        let is_empty = log.try_with_value(|log| log.total() == 0).unwrap_or(true);
        if is_empty {
            return;
        }
        let from = log.try_with_value(|log| log.from(step.as_deref()));
        let is_at_end = from.is_some_and(|from| from <= number.max(1));
        if is_at_end {
            state.feed.leave_window();
        } else if log.try_with_value(|log| log.shown().contains(&number)) != Some(true) {
            let feed = state.feed;
            state.fetch(move || feed.open_window(number, step));
            return;
        }
        let place = log.try_with_value(|log| log.place_of(number));
        // The sheet has its new height at the next frame. Until then the old place says nothing about what to load.
        browser::on_next_frame(move || {
            if let Some(place) = place {
                state.scroll_to(place);
            }
            state.goal.try_set(None);
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_line_or_a_range() {
        for (text, numbers) in [("L7", 7..=7), ("L7-L12", 7..=12)] {
            let marked = Marked::parse(text).unwrap();
            assert_eq!(marked.numbers(), numbers);
            assert_eq!(marked.fragment(), text);
        }
        let backwards = Marked::parse("L12-L7").unwrap();
        assert_eq!(backwards.fragment(), "L7-L12");
        for other in ["", "L", "7", "L7-12", "Lx-L2", "L7-L8-L9"] {
            assert_eq!(Marked::parse(other), None, "{other}");
        }
    }
}
