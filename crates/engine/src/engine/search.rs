//! Search in the log of a run.
//!
//! A search goes backward from a number, a page of lines at a time, and ends after [`PAGES`] pages or [`HITS`] hits. The caller
//! continues where it ended, or not: so no search costs more than a fraction of a second, and the client can stop it. Searches
//! of one project take turns, a page at a time. What a line contains is decided as the browser does it: without colours and
//! text that a carriage return replaces, and ignoring the case of ASCII letters.

use api::{EventBody, LogHits, ansi};
use store::{EventFilter, Range, Store, Tenant};

use crate::slots::Slots;

/// Number of events that are read at once.
const PAGE: u32 = 5_000;
/// Maximum number of pages that one search reads.
const PAGES: usize = 10;
/// Number of hits after which a search reads no further page.
const HITS: usize = 1_000;

/// A search in the log of a run.
#[derive(Clone, Copy, Debug)]
pub struct LogSearch<'a> {
    /// The text.
    pub text: &'a str,
    /// Step whose lines are searched. `None` for all steps.
    pub step: Option<&'a str>,
    /// Only lines with a lower number are searched.
    pub before: u64,
}

pub(super) async fn search(
    (store, reads): (&Store, &Slots<Tenant>),
    tenant: &Tenant,
    run: &str,
    search: LogSearch<'_>,
) -> store::Result<LogHits> {
    let needle = search.text.to_ascii_lowercase();
    let filter = search.step.map_or(EventFilter::All, EventFilter::LogOf);
    let mut pages = Vec::new();
    let (mut from, mut hits) = (search.before, 0);
    for _ in 0..PAGES {
        let range = Range::before(from, PAGE);
        let _turn = reads.turn(tenant).await;
        let mut page = store.event_list_in(tenant, run, range, filter).await?;
        from = page.first().map_or(1, |event| event.seq);
        page.retain(|event| {
            matches!(&event.body, EventBody::Log(line)
                if !line.is_unfinished() && ansi::contains(&ansi::plain(ansi::final_text(&line.text)), &needle))
        });
        hits += page.len();
        pages.push(page);
        if from <= 1 || hits >= HITS {
            break;
        }
    }
    pages.reverse();
    Ok(LogHits {
        lines: pages.concat(),
        from,
    })
}
