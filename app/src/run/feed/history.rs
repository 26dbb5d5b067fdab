//! The part of a run that lies before the page was opened.
//!
//! The page opens a run at its end: the last lines, and all moves, which are few. The last line of a running step is fetched
//! apart if it is older. Other older lines are fetched when a user scrolls up to them. For a link or a hit far back, only the
//! lines around it are fetched, and from there the lines in both directions. The lines of a step are fetched apart from the
//! others when only they are shown. A download comes from the server as a file, see [`client::log_file`].

use api::{Event, StepState};
use leptos::prelude::*;

use super::Feed;
use crate::{
    client::{self, Answer},
    run::log_store::LogStore,
};

/// Lines that are fetched when a run is opened.
const END: u32 = 2_000;
/// Events per further request.
const PAGE: u32 = 5_000;
/// Events that are fetched around a line far back.
const WINDOW: u32 = 2_000;
/// A number beyond every end.
const BEYOND: u64 = u64::MAX;

/// The last lines of a run, and all its moves.
pub struct End {
    /// The last events.
    pub tail: Vec<Event>,
    /// The moves up to the last event.
    pub moves: Vec<Event>,
}

impl End {
    /// Fetches the end of a run.
    pub async fn fetch(run: &str) -> Answer<End> {
        let tail = client::events_before(run, BEYOND, END, None).await?;
        let last = tail.last().map_or(0, |event| event.seq);
        let mut moves: Vec<Event> = Vec::new();
        loop {
            let after = moves.last().map_or(0, |event| event.seq);
            let page = client::moves(run, after, PAGE).await?;
            let is_all = page.len() < PAGE as usize;
            // The socket sends those that have come meanwhile.
            moves.extend(page.into_iter().filter(|event| event.seq <= last));
            if is_all {
                return Ok(End { tail, moves });
            }
        }
    }

    /// The number of the last event.
    pub fn last(&self) -> u64 {
        self.tail.last().map_or(0, |event| event.seq)
    }
}

/// The number from which on all events are here, after a backward page.
pub fn first(page: &[Event]) -> u64 {
    page.first().map_or(1, |event| event.seq)
}

impl Feed {
    /// Fetches a page of lines before those at the end, of one step or of all.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn load_older(self, step: Option<String>) -> Answer<()> {
        let Some((run, generation)) = self.at() else {
            return Ok(());
        };
        let before = self.log.try_with_value(|log| log.from(step.as_deref()));
        let before = before.unwrap_or(1);
        if before <= 1 {
            return Ok(());
        }
        let page = client::events_before(&run, before, PAGE, step.as_deref()).await?;
        self.update_log(generation, |log| {
            let from = first(&page);
            log.insert(page, step.as_deref(), from);
        });
        Ok(())
    }

    /// Fetches the last line of each running step that has none at the end: it tells what the step waits for.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn load_last_lines(self) -> Answer<()> {
        let Some((run, generation)) = self.at() else {
            return Ok(());
        };
        let running = self.model.try_with_untracked(|model| {
            let steps = model.iter().flat_map(|model| &model.run.steps);
            let running = steps.filter(|step| step.state == StepState::Running);
            running.map(|step| step.id.clone()).collect::<Vec<_>>()
        });
        let reads = running.unwrap_or_default().into_iter().filter_map(|step| {
            let before = self.log.try_with_value(|log| {
                let is_missing = log.last_line(&step).is_none();
                is_missing.then(|| log.from(Some(step.as_str())))
            });
            let before = before.flatten().filter(|before| *before > 1)?;
            let run = &run;
            Some(async move {
                let page = client::events_before(run, before, 1, Some(step.as_str())).await?;
                Answer::Ok((step, page))
            })
        });
        for (step, page) in futures::future::try_join_all(reads).await? {
            self.update_log(generation, |log| {
                let from = first(&page);
                log.insert(page, Some(step.as_str()), from);
            });
        }
        Ok(())
    }

    /// Shows a line far before the end with the lines around it, of one step or of all.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn open_window(self, number: u64, step: Option<String>) -> Answer<()> {
        let Some((run, generation)) = self.at() else {
            return Ok(());
        };
        let to = number + u64::from(WINDOW / 2);
        let page = client::events_before(&run, to, WINDOW, step.as_deref()).await?;
        self.update_log(generation, |log| {
            let is_all = page.len() < WINDOW as usize;
            let from = if is_all { 1 } else { first(&page) };
            log.open_window(page, step.as_deref(), from..to);
        });
        Ok(())
    }

    /// Fetches a page of lines before those of the view: of the window, or else at the end.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn extend_up(self, step: Option<String>) -> Answer<()> {
        let window = self.log.try_with_value(|log| log.window()).flatten();
        let (Some((run, generation)), Some(window)) = (self.at(), window) else {
            return self.load_older(step).await;
        };
        let page = client::events_before(&run, window.start, PAGE, step.as_deref()).await?;
        self.update_log(generation, |log| {
            let from = first(&page);
            log.extend_window(page, step.as_deref(), from..window.start);
        });
        Ok(())
    }

    /// Fetches a page of lines after those of the window.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn extend_down(self, step: Option<String>) -> Answer<()> {
        let window = self.log.try_with_value(|log| log.window()).flatten();
        let (Some((run, generation)), Some(window)) = (self.at(), window) else {
            return Ok(());
        };
        let page = client::events_after(&run, window.end - 1, PAGE, step.as_deref()).await?;
        self.update_log(generation, |log| {
            let last = page.last().map(|event| event.seq + 1);
            let is_full = page.len() == PAGE as usize;
            let to = last.filter(|_| is_full).unwrap_or(BEYOND);
            log.extend_window(page, step.as_deref(), window.end..to);
        });
        Ok(())
    }

    /// Shows the lines at the end again.
    pub fn leave_window(self) {
        if self.log.try_with_value(|log| log.window().is_some()) == Some(true) {
            self.log.try_update_value(|log| log.leave_window());
            self.log_version.try_update(|version| *version += 1);
        }
    }

    /// Changes the lines, unless the page shows another run now.
    fn update_log(self, generation: u32, change: impl FnOnce(&mut LogStore)) {
        if self.is_current(generation) {
            self.log.try_update_value(change);
            self.log_version.try_update(|version| *version += 1);
        }
    }

    /// Searches lines that are not loaded, on the server: a part of them, the newest first. Returns true if some are left.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub async fn search_older(self, needle: &str, step: Option<&str>) -> Answer<bool> {
        let before = self.log.try_with_value(|log| log.search_before()).flatten();
        let (Some((run, generation)), Some(before)) = (self.at(), before) else {
            return Ok(false);
        };
        let hits = client::search_log(&run, needle, before, step).await?;
        if !self.is_current(generation) {
            return Ok(false);
        }
        let is_more = hits.from > 1;
        self.log
            .try_update_value(|log| log.add_older_hits(needle, step, hits));
        Ok(is_more)
    }
}
