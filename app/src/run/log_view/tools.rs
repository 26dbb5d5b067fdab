//! The log's toolbar: step, search, filter, wrap, copy, download, full window.

use leptos::{ev::KeyboardEvent, prelude::*};

use super::{LogState, search::Search, view_menu::ViewMenu};
use crate::{
    browser,
    ui::{Icon, Menu, menu, use_toasts},
};

const DOWNLOAD: &str = "log-download-menu";

/// Format of a downloaded log.
#[derive(Clone, Copy)]
enum Format {
    Text,
    JsonLines,
}

/// The toolbar.
#[component]
pub fn LogTools(state: LogState) -> impl IntoView {
    let toasts = use_toasts();
    let text = move || {
        state
            .feed
            .log
            .try_with_value(|log| {
                let marked = state.marked.get_untracked();
                log.text(marked.map(|marked| marked.numbers()))
            })
            .unwrap_or_default()
    };
    let is_complete = async move || {
        let loaded = state.feed.load_all(state.step.get_untracked()).await;
        if loaded.is_err() {
            toasts.warn("The older lines could not be fetched. Try again.");
        }
        loaded.is_ok()
    };
    let copy = move |_| {
        leptos::task::spawn_local(async move {
            if !is_complete().await {
                return;
            }
            if browser::copy(&text()).await {
                toasts.done(match state.marked.get_untracked() {
                    Some(_) => "The marked lines were copied.",
                    None => "The log was copied.",
                });
            } else {
                toasts.warn("The browser did not allow copying. Use Download instead.");
            }
        });
    };
    let download = move |format: Format| {
        menu::close(DOWNLOAD);
        let name = state
            .step
            .get_untracked()
            .map_or_else(|| String::from("run"), |step| step.replace(':', "-"));
        leptos::task::spawn_local(async move {
            if !is_complete().await {
                return;
            }
            let log = state.feed.log;
            match format {
                Format::Text => {
                    let text = log.try_with_value(|log| log.text(None));
                    browser::download(
                        &format!("{name}.log"),
                        "text/plain",
                        &text.unwrap_or_default(),
                    );
                }
                Format::JsonLines => {
                    let text = log.try_with_value(|log| log.json_lines());
                    browser::download(
                        &format!("{name}.jsonl"),
                        "application/jsonl",
                        &text.unwrap_or_default(),
                    );
                }
            }
        });
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
                <button type="button" class="menu-item" on:click=move |_| download(Format::Text)><Icon name="file-text" />"As text"</button>
                <button type="button" class="menu-item" on:click=move |_| download(Format::JsonLines)><Icon name="code" />"As JSON lines"</button>
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
