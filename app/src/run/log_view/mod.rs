//! The log: every line of the run, with elements only for the visible ones.
//!
//! It scrolls with new lines until the user scrolls up. Then it displays the number of new lines instead. Older lines are
//! fetched near the top of what is loaded. A link or a hit far back opens a window of lines around it, and near its bottom
//! the next lines are fetched.

mod address;
mod line;
mod marked;
mod search;
mod tools;
mod view_menu;

use leptos::{ev, html, prelude::*};
use wasm_bindgen::{JsCast, closure::Closure};

use self::{line::LineView, marked::Marked, search::Search, tools::LogTools, view_menu::Times};
use super::{
    feed::Feed,
    log_store::{Filter, Folds, LogStore, ViewSettings},
};
use crate::{browser, client::Answer, time::day};

/// Height of a row of text of the usual size in pixels, as in `log.css`.
const ROW: f64 = 20.0;
/// Width beside the text of a line with text of the usual size in pixels, as in `log.css`: time, step and padding.
const BESIDE: f64 = 272.0;
/// Number of rows above and below the visible part that are rendered too.
const SPARE: f64 = 12.0;
/// The same while the log follows new lines, which replace them all at each change.
const SPARE_AT_END: f64 = 1.0;
/// Rows above and below the visible part at which more lines are fetched.
const AHEAD: f64 = 100.0;

/// State shared by the parts of the log.
#[derive(Clone, Copy)]
pub struct LogState {
    feed: Feed,
    /// Step of the displayed lines. `None` for all steps.
    step: RwSignal<Option<String>>,
    query: RwSignal<String>,
    filter: RwSignal<Filter>,
    folds: RwSignal<Folds>,
    times: RwSignal<Times>,
    wrap: RwSignal<bool>,
    /// Lines that are marked for a link or a copy.
    marked: RwSignal<Option<Marked>>,
    /// True if the log covers the whole window.
    is_full: RwSignal<bool>,
    follow: RwSignal<bool>,
    /// Number of the newest line when following ended.
    seen: RwSignal<u64>,
    /// Number of the current hit.
    hit: RwSignal<usize>,
    /// Search in lines that are not loaded.
    search: RwSignal<Search>,
    /// Number of a line that is shown as soon as it is loaded.
    goal: RwSignal<Option<u64>>,
    scroll: NodeRef<html::Div>,
    /// Size of the user's text, relative to the usual one.
    text_scale: f64,
    place: RwSignal<Place>,
    /// Changes when the view is replaced, which rebuilds the line elements.
    view: RwSignal<u32>,
    /// Changes when the view is extended or replaced.
    changed: RwSignal<u32>,
    /// True while lines are fetched.
    is_loading: RwSignal<bool>,
}

/// Scroll position and size of the visible part, in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Place {
    top: f64,
    height: f64,
    /// Width of the text, in characters.
    columns: u32,
}

/// The log with its tools.
#[component]
pub fn LogView(
    /// The run.
    feed: Feed,
    /// Step of the displayed lines. `None` for all steps.
    step: RwSignal<Option<String>>,
) -> impl IntoView {
    let state = LogState {
        feed,
        step,
        query: RwSignal::default(),
        filter: RwSignal::default(),
        folds: RwSignal::default(),
        times: RwSignal::new(Times::Clock),
        wrap: RwSignal::new(true),
        marked: RwSignal::new(None),
        is_full: RwSignal::new(false),
        follow: RwSignal::new(true),
        seen: RwSignal::new(0),
        hit: RwSignal::new(0),
        search: RwSignal::default(),
        goal: RwSignal::new(None),
        scroll: NodeRef::new(),
        text_scale: browser::text_scale(),
        place: RwSignal::new(Place::default()),
        view: RwSignal::new(0),
        changed: RwSignal::new(0),
        is_loading: RwSignal::new(false),
    };
    Effect::new(move |_| {
        state
            .wrap
            .set(browser::remembered("log.wrap").as_deref() != Some("no"));
        state.times.set(Times::remembered());
    });
    // Before the view is shown in the address bar.
    address::follow_address(state);
    measure(state);
    rebuild_view(state);
    scroll_to_end(state);
    reach_further(state);
    search::search_older(state);
    marked::follow_goal(state);
    address::show_address(state);

    let rows = move || {
        state.changed.track();
        feed.log
            .try_with_value(|log| log.rows())
            .unwrap_or_default()
    };
    let shown = Memo::new(move |_| {
        let generation = state.view.get();
        state.changed.track();
        let place = state.place.get();
        let spare = if state.follow.get() {
            SPARE_AT_END
        } else {
            SPARE
        };
        let (first, last) = feed
            .log
            .try_with_value(|log| {
                let from = ((place.top / state.row()) - spare).max(0.0) as u32;
                let to = ((place.top + place.height) / state.row() + spare) as u32;
                (log.place_at(from), (log.place_at(to) + 1).min(log.len()))
            })
            .unwrap_or_default();
        (generation, first, last)
    });
    let lines = move || {
        let (generation, first, last) = shown.get();
        (first..last)
            .map(move |place| (generation, place))
            .collect::<Vec<_>>()
    };
    let waiting = move || {
        state.changed.track();
        let seen = state.seen.get();
        let newer = |log: &LogStore| match log.window() {
            Some(_) => 0,
            None => log.newer_than(seen),
        };
        feed.log.try_with_value(newer).unwrap_or_default()
    };
    let empty = move || {
        (rows() == 0).then(|| {
            let deleted = feed
                .model
                .with(|model| model.as_ref().map(|model| model.run.log_deleted.clone()));
            let filtered = feed.log.try_with_value(|log| log.filtered()).unwrap_or_default();
            if filtered > 0 {
                let text = match filtered {
                    1 => String::from("The filter hides the only line."),
                    many => format!("The filter hides all {many} lines."),
                };
                return view! {
                    <div class="log-none">
                        <p>{text}</p>
                        <button type="button" class="button" on:click=move |_| state.filter.set(Filter::default())>"Clear the filter"</button>
                    </div>
                }
                .into_any();
            }
            let text = match (step.get(), deleted) {
                (_, None) => String::new(),
                (_, Some(Some(time))) => format!(
                    "The log lines of this run were deleted on {}, because it ended long ago.",
                    day(&time)
                ),
                (Some(_), _) => String::from("This step has no log lines yet."),
                (None, _) => String::from("No log lines yet. They appear here during the run."),
            };
            view! { <p class="log-none">{text}</p> }.into_any()
        })
    };
    view! {
        <section
            class="log" data-wrap=move || state.wrap.get().to_string() data-full=move || state.is_full.get().then_some("true")
            aria-label="Log of the run" on:keydown=move |event| state.on_key(&event)
        >
            <LogTools state />
            <div
                class="log-scroll" role="log" aria-label="Log" tabindex="0" node_ref=state.scroll
                style=("--log-columns", move || state.place.with(|place| place.columns).to_string())
                aria-live=move || if state.follow.get() { "polite" } else { "off" }
                on:scroll=move |_| state.scrolled()
            >
                <div
                    class="log-sheet" style:height=move || format!("{}px", f64::from(rows()) * state.row())
                    style:min-width=move || if state.wrap.get() { String::from("0") } else { state.changed.track(); format!("calc({}ch + 16.25rem)", feed.log.try_with_value(|log| log.widest()).unwrap_or_default()) }
                >
                    <For each=lines key=|key| *key let:key>
                        <LineView state place=key.1 />
                    </For>
                </div>
                {empty}
            </div>
            <button
                type="button" class="follow-button" hidden=move || state.follow.get()
                on:click=move |_| state.to_end()
            >
                <crate::ui::Icon name="arrow-down-to-line" />
                {move || match waiting() {
                    0 => String::from("Follow"),
                    1 => String::from("1 new line"),
                    many => format!("{many} new lines"),
                }}
            </button>
        </section>
    }
}

/// Measures the visible part.
fn measure(state: LogState) {
    Effect::new(move |_| {
        let Some(element) = state.scroll.get() else {
            return;
        };
        let look = move || {
            let Some(element) = state.scroll.try_get_untracked().flatten() else {
                return;
            };
            let character_px = character_px(&element).unwrap_or(7.2);
            let text_px = f64::from(element.client_width()) - BESIDE * state.text_scale;
            let columns = (text_px / character_px).floor().max(20.0) as u32;
            let height = f64::from(element.client_height());
            state
                .place
                .try_update(|place| (place.height, place.columns) = (height, columns));
        };
        look();
        let on_resize = Closure::<dyn FnMut()>::new(look);
        if let Ok(observer) = web_sys::ResizeObserver::new(on_resize.as_ref().unchecked_ref()) {
            observer.observe(&element);
            let kept = StoredValue::new_local((observer, on_resize));
            on_cleanup(move || {
                kept.try_with_value(|(observer, _)| observer.disconnect());
            });
        }
    });
}

/// Width of one character in the log's font, averaged over 100 characters.
fn character_px(element: &web_sys::HtmlDivElement) -> Option<f64> {
    let probe = browser::document()?.create_element("span").ok()?;
    probe.set_class_name("log-probe");
    probe.set_text_content(Some(&"0".repeat(100)));
    element.append_child(&probe).ok()?;
    let width = probe.get_bounding_client_rect().width() / 100.0;
    probe.remove();
    (width > 1.0).then_some(width)
}

/// Rebuilds the view after a change of filter, search or width.
fn rebuild_view(state: LogState) {
    let columns = Memo::new(move |_| state.place.with(|place| place.columns));
    Effect::new(move |_| {
        let settings = ViewSettings {
            step: state.step.get(),
            filter: state.filter.get(),
            folds: state.folds.get(),
            needle: state.needle(),
            wrap: state
                .wrap
                .get()
                .then(|| columns.get())
                .filter(|columns| *columns > 0),
        };
        state
            .feed
            .log
            .try_update_value(|log| log.set_view(settings));
        state.hit.set(0);
        state.view.update(|view| *view += 1);
        state.lines_changed();
    });
    Effect::new(move |before: Option<(u32, u32)>| {
        state.feed.log_version.track();
        let now = state.feed.log.try_with_value(|log| log.insertions());
        let (insertions, moved) = now.unwrap_or_default();
        let (insertions_before, moved_before) = before.unwrap_or_default();
        if insertions != insertions_before {
            // Every line has another index.
            state.view.update(|view| *view += 1);
            state.stay(moved.saturating_sub(moved_before));
        }
        state.lines_changed();
        (insertions, moved)
    });
}

/// Keeps the end visible while the log follows new lines.
fn scroll_to_end(state: LogState) {
    Effect::new(move |_| {
        state.changed.track();
        if !state.follow.get() {
            return;
        }
        let newest = state.feed.log.try_with_value(|log| log.newest());
        state.seen.set(newest.unwrap_or_default());
        leptos::task::spawn_local(async move {
            // By then the container has its new height. It is still the same frame.
            leptos::task::tick().await;
            if state.follow.try_get_untracked() == Some(true)
                && let Some(element) = state.scroll.try_get_untracked().flatten()
            {
                element.set_scroll_top(element.scroll_height());
            }
        });
    });
}

/// Fetches more lines when the top of what is here comes into sight, or the bottom of a window.
fn reach_further(state: LogState) {
    Effect::new(move |_| {
        state.changed.track();
        let follows = state.follow.get();
        let log = |log: &LogStore| (log.rows(), log.shown());
        let (rows, shown) = state.feed.log.try_with_value(log).unwrap_or((0, 0..0));
        let height = f64::from(rows) * state.row();
        let place = state.place.get();
        let is_near_top = height <= place.height || !follows && place.top < AHEAD * state.row();
        let is_near_end = place.top + place.height > height - AHEAD * state.row();
        let step = state.step.get();
        // A goal loads what it needs.
        if place.height <= 0.0 || state.goal.get().is_some() {
            return;
        }
        let feed = state.feed;
        if is_near_top && shown.start > 1 {
            state.fetch(move || feed.extend_up(step));
        } else if is_near_end && shown.end < u64::MAX {
            state.fetch(move || feed.extend_down(step));
        }
    });
}

impl LogState {
    /// Height of a row of text, in pixels.
    fn row(self) -> f64 {
        ROW * self.text_scale
    }

    /// Escape leaves the full window. In the search field it clears the search first.
    fn on_key(self, event: &ev::KeyboardEvent) {
        if event.key() == "Escape" && self.is_full.get_untracked() && !event.default_prevented() {
            event.prevent_default();
            self.is_full.set(false);
        }
    }

    /// Displays other lines. While the log follows new ones, those at the end get their elements now, and not only after
    /// the event of the scrolling.
    fn lines_changed(self) {
        let rows = self.feed.log.try_with_value(|log| log.rows());
        if self.follow.get_untracked() {
            let end = f64::from(rows.unwrap_or_default()) * self.row();
            self.place
                .update(|place| place.top = (end - place.height).max(0.0));
        }
        self.changed.update(|changed| *changed += 1);
    }

    /// Keeps the visible lines in sight after this many rows were inserted above them.
    fn stay(self, rows: u32) {
        browser::on_next_frame(move || {
            if self.follow.try_get_untracked() == Some(false)
                && let Some(element) = self.scroll.try_get_untracked().flatten()
            {
                element
                    .set_scroll_top(element.scroll_top() + (f64::from(rows) * self.row()) as i32);
            }
        });
    }

    /// Fetches lines, unless others are being fetched.
    fn fetch<F>(self, lines: impl FnOnce() -> F)
    where
        F: Future<Output = Answer<()>> + 'static,
    {
        if self.is_loading.get_untracked() {
            return;
        }
        self.is_loading.set(true);
        let lines = lines();
        leptos::task::spawn_local(async move {
            // After an error, the next move of the view tries again.
            if lines.await.is_err() {
                self.goal.try_set(None);
            }
            self.is_loading.try_set(false);
        });
    }

    fn scrolled(self) {
        let Some(element) = self.scroll.get_untracked() else {
            return;
        };
        let top = f64::from(element.scroll_top());
        let before = self.place.with_untracked(|place| place.top);
        if top != before {
            self.place.update(|place| place.top = top);
        }
        let at_end = top + f64::from(element.client_height())
            >= f64::from(element.scroll_height()) - self.row() / 2.0;
        let log = self.feed.log;
        let has_window = log.try_with_value(|log| log.window().is_some());
        if at_end && has_window == Some(false) {
            if !self.follow.get_untracked() {
                self.follow.set(true);
            }
        } else if top < before - 1.0 && self.follow.get_untracked() {
            let newest = log.try_with_value(|log| log.newest());
            self.seen.set(newest.unwrap_or_default());
            self.follow.set(false);
        }
    }

    fn to_end(self) {
        self.goal.set(None);
        self.feed.leave_window();
        self.follow.set(true);
        if let Some(element) = self.scroll.get_untracked() {
            element.set_scroll_top(element.scroll_height());
            let _ = element.focus();
        }
    }

    /// Scrolls so that the line with this index of the view is in the middle.
    fn scroll_to(self, place: usize) {
        let row = self.feed.log.try_with_value(|log| log.row_of(place));
        if let (Some(row), Some(element)) = (row, self.scroll.get_untracked()) {
            self.follow.set(false);
            let middle = f64::from(element.client_height()) / 2.0;
            let top = (f64::from(row) * self.row() - middle).max(0.0);
            element.set_scroll_top(top as i32);
            // The scroll event comes later; until then the old place could look like the end of a window.
            self.place.update(|place| place.top = top);
        }
    }
}
