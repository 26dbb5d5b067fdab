//! The log's toolbar: step, search, filter, wrap, copy, download, full window.

use std::ops::RangeInclusive;

use leptos::{ev::KeyboardEvent, prelude::*};

use super::{LogState, marked::Marked, search::Search, view_menu::ViewMenu};
use crate::{
    browser, client,
    run::log_store::plain_text,
    ui::{Icon, Menu, menu, use_toasts},
};

const DOWNLOAD: &str = "log-download-menu";

/// Maximum number of lines that are copied.
const COPIED_MAX: usize = 100_000;

/// The toolbar.
#[component]
pub fn LogTools(state: LogState) -> impl IntoView {
    let toasts = use_toasts();
    let run = Memo::new(move |_| {
        let model = &state.feed.model;
        model.with(|model| (model.as_ref()).map(|model| model.run.id.clone()))
    });
    let copy = move |_| {
        let marked = state.marked.get_untracked();
        let filter = untrack(|| state.query_of(marked.map(Marked::numbers)));
        let Some(run) = run.get_untracked() else {
            return;
        };
        leptos::task::spawn_local(async move {
            let lines = client::log_lines(&run, &filter, COPIED_MAX).await;
            let Ok(lines) = lines else {
                toasts.warn("The lines could not be fetched. Try again.");
                return;
            };
            if !browser::copy(&plain_text(&lines)).await {
                toasts.warn("The browser did not allow copying. Use Download instead.");
            } else if lines.len() == COPIED_MAX {
                toasts.warn("Only the first 100,000 lines were copied. Use Download for all.");
            } else {
                toasts.done(match marked {
                    Some(_) => "The marked lines were copied.",
                    None => "The log was copied.",
                });
            }
        });
    };
    let file = move |format: &'static str, icon: &'static str, title: &'static str| {
        let address = move || {
            run.get()
                .map(|run| client::log_file(&run, format, &state.query_of(None)))
        };
        // The server names the file. `rel` keeps the pages' router away from the link.
        view! {
            <a class="menu-item" rel="external" download="" href=address on:click=move |_| menu::close(DOWNLOAD)><Icon name=icon />{title}</a>
        }
    };
    let on_key = move |event: KeyboardEvent| {
        if event.key() == "Enter" {
            event.prevent_default();
            state.to_hit(if event.shift_key() { -1 } else { 1 });
        }
    };
    let filter = move || {
        match state.step.get() {
        Some(step) => view! {
            <span class="log-filter">
                <Icon name="terminal" />
                <span class="mono truncate">{step}</span>
                <button type="button" aria-label="Show all steps" title="Show all steps" on:click=move |_| state.step.set(None)>
                    <Icon name="x" />
                </button>
            </span>
        }
        .into_any(),
        None => view! { <span class="log-filter" data-all><Icon name="terminal" />"All steps"</span> }.into_any(),
    }
    };
    let hits = move || {
        if state.needle().is_empty() {
            return None;
        }
        let count = state.hits();
        let shown = match count {
            0 => String::from("none"),
            count => format!("{} of {count}", state.hit.get().min(count - 1) + 1),
        };
        let (shown, title) = match state.search.get() {
            Search::Done => (shown, ""),
            Search::Running if count == 0 => (String::from("searching…"), ""),
            Search::Running => (format!("{shown} so far"), ""),
            Search::Failed => (
                format!("{shown} in loaded lines"),
                "The older lines could not be searched. Change the text to try again.",
            ),
        };
        Some(view! {
            <span class="log-hits" role="status" title=title>{shown}</span>
            <button type="button" class="button" data-look="ghost" data-size="icon-small" aria-label="Previous hit" on:click=move |_| state.to_hit(-1)>
                <Icon name="chevron-up" />
            </button>
            <button type="button" class="button" data-look="ghost" data-size="icon-small" aria-label="Next hit" on:click=move |_| state.to_hit(1)>
                <Icon name="chevron-down" />
            </button>
        })
    };
    let toggle_wrap = move |_| {
        let wrap = !state.wrap.get_untracked();
        state.wrap.set(wrap);
        browser::remember("log.wrap", if wrap { "yes" } else { "no" });
    };
    view! {
        <header class="log-tools">
            {filter}
            <span class="grow"></span>
            <label class="search">
                <Icon name="search" />
                <input
                    class="input" type="search" aria-label="Search the log" placeholder="Search the log" prop:value=move || state.query.get()
                    on:input=move |event| state.query.set(event_target_value(&event)) on:keydown=on_key
                />
            </label>
            {hits}
            <ViewMenu state />
            <button
                type="button" class="button" data-look="ghost" data-size="icon-small" aria-label="Wrap long lines" title="Wrap long lines"
                aria-pressed=move || state.wrap.get().to_string() on:click=toggle_wrap
            >
                <Icon name="wrap-text" />
            </button>
            <button type="button" class="button" data-look="ghost" data-size="icon-small" aria-label="Copy the log" title="Copy the marked lines, or the whole log" on:click=copy>
                <Icon name="copy" />
            </button>
            <Menu id=DOWNLOAD label="Download the log" button=view! { <Icon name="download" /> }.into_any()>
                {file("text", "file-text", "As text")}
                {file("json", "code", "As JSON lines")}
            </Menu>
            <button
                type="button" class="button" data-look="ghost" data-size="icon-small" title="Full window (Escape leaves)"
                aria-label="Full window" aria-pressed=move || state.is_full.get().to_string()
                on:click=move |_| state.is_full.update(|is_full| *is_full = !*is_full)
            >
                {move || view! { <Icon name=if state.is_full.get() { "minimize" } else { "maximize" } /> }}
            </button>
        </header>
    }
}

impl LogState {
    /// The lines of the view with these numbers, or all of its lines, as a query of the log's file. Tracks.
    pub(super) fn query_of(self, numbers: Option<RangeInclusive<u64>>) -> String {
        let step = self.step.get();
        self.filter
            .with(|filter| filter.query(step.as_deref(), numbers))
    }
}
