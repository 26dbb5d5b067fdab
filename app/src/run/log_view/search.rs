//! Search in the log: hits of the loaded lines at once, those of older lines from the server, which keep arriving until all
//! lines are searched or the search changes.

use leptos::prelude::*;

use super::LogState;
use crate::browser;

/// Pause between the last key and the first request, in milliseconds.
const PAUSE_MS: i32 = 250;

/// State of the search in lines that are not loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// There is nothing to search, or all lines are searched.
    #[default]
    Done,
    /// The server searches.
    Running,
    /// The server could not be reached.
    Failed,
}

/// Searches, on the server, the lines that are not loaded.
pub fn search_older(state: LogState) {
    // Number of the current search. An answer to another one ends that one.
    let current = StoredValue::new(0_u32);
    Effect::new(move |_| {
        let (needle, step) = (state.needle(), state.step.get());
        current.update_value(|number| *number += 1);
        let number = current.get_value();
        let is_current = move || current.try_get_value() == Some(number);
        state.search.set(Search::Done);
        if needle.is_empty() {
            return;
        }
        browser::after_ms(PAUSE_MS, move || {
            if is_current() {
                leptos::task::spawn_local(async move {
                    loop {
                        state.search.try_set(Search::Running);
                        let is_more = state.feed.search_older(&needle, step.as_deref()).await;
                        if !is_current() {
                            return;
                        }
                        state.changed.try_update(|changed| *changed += 1);
                        let search = match is_more {
                            Ok(true) => continue,
                            Ok(false) => Search::Done,
                            Err(_) => Search::Failed,
                        };
                        state.search.try_set(search);
                        return;
                    }
                });
            }
        });
    });
}

impl LogState {
    /// The searched text: hits ignore the case of ASCII letters.
    pub(super) fn needle(self) -> String {
        self.query.with(|query| query.trim().to_ascii_lowercase())
    }

    pub(super) fn hits(self) -> usize {
        self.changed.track();
        self.feed
            .log
            .try_with_value(|log| log.hits())
            .unwrap_or_default()
    }

    /// Moves to another hit, `step` hits ahead. Wraps around at both ends.
    pub(super) fn to_hit(self, step: isize) {
        let count = self.feed.log.try_with_value(|log| log.hits());
        let count = count.unwrap_or_default();
        if count == 0 {
            return;
        }
        let next = (self.hit.get_untracked() as isize + step).rem_euclid(count as isize) as usize;
        self.hit.set(next);
        let hit = self.feed.log.try_with_value(|log| log.hit(next)).flatten();
        if hit.is_some() {
            self.follow.set(false);
            self.goal.set(hit);
        }
    }
}
