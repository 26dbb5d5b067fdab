//! One line of the log: time, step and text. The first line of a play or task can fold the others.

use api::{LogLevel, LogStream, ansi};
use leptos::prelude::*;

use super::LogState;
use crate::{
    run::log_store::{Group, GroupId},
    time,
    ui::{Icon, prose},
};

/// Line at an index of the view.
#[component]
pub fn LineView(state: LogState, place: usize) -> impl IntoView {
    let needle = untrack(|| state.needle());
    state
        .feed
        .log
        .try_with_value(|log| {
            let line = log.line(place)?;
            let top = f64::from(log.row_of(place)) * state.row();
            let level = match line.level {
                LogLevel::Debug => "debug",
                LogLevel::Info => "info",
                LogLevel::Warning => "warning",
                LogLevel::Error => "error",
            };
            // The engine names things in backticks, as in its other messages. A program's output stays as it is.
            let is_prose = line.stream == LogStream::Engine;
            let text = ansi::with_hits(ansi::stretches(&line.text), &needle)
                .into_iter()
                .map(|stretch| {
                    let plain = stretch.colour.is_none() && !stretch.bold && !stretch.hit;
                    if plain && is_prose {
                        return prose(&stretch.text);
                    }
                    if plain {
                        return stretch.text.into_any();
                    }
                    view! {
                        <span data-colour=stretch.colour data-bold=stretch.bold.then_some("true") data-hit=stretch.hit.then_some("true")>
                            {stretch.text}
                        </span>
                    }
                    .into_any()
                })
                .collect_view();
            let step = log.step_name(line.step).to_owned();
            let (seq, time_ms) = (line.seq, line.time_ms);
            let shown_time = {
                let step = step.clone();
                move || state.time_text(time_ms, &step)
            };
            let is_marked = move || {
                state.marked.with(|marked| marked.is_some_and(|marked| marked.numbers().contains(&seq)))
            };
            let mark = move |event: leptos::ev::MouseEvent| {
                event.prevent_default();
                state.mark(seq, event.shift_key());
            };
            let moment = String::from(js_sys::Date::new(&time_ms.into()).to_string());
            let title = format!("{moment}. Link to this line. Shift: to all lines up to it.");
            let head = log.group_at(place).map(|(id, _)| view! { <GroupHead state place id /> });
            Some(view! {
                <div class="log-line" data-seq=seq data-level=level data-marked=move || is_marked().then_some("true") style:top=format!("{top}px")>
                    <a class="log-time" href=format!("#L{seq}") tabindex="-1" title=title on:click=mark>{shown_time}</a>
                    <span class="log-step" title=step.clone()>{step.clone()}</span>
                    <span class="log-text">{text}</span>
                    {head}
                </div>
            })
        })
        .flatten()
}

/// Fold button, duration and results of a play or task, beside its first line.
#[component]
fn GroupHead(state: LogState, place: usize, id: GroupId) -> impl IntoView {
    let group = Memo::new(move |_| {
        state.changed.track();
        let found = state.feed.log.try_with_value(|log| {
            let (_, group) = log.group_at(place)?;
            Some((group.clone(), log.is_folded(id)))
        });
        found.flatten()
    });
    let is_open = move || group.with(|group| group.as_ref().is_none_or(|(_, folded)| !folded));
    let facts = move || group.with(|group| group.as_ref().map(|(group, _)| facts_of(group)));
    view! {
        <button
            type="button" class="log-fold" aria-expanded=move || is_open().to_string() aria-label=format!("Lines of the {}", id.word())
            on:click=move |_| state.folds.update(|folds| folds.toggle(id))
        >
            {move || view! { <Icon name=if is_open() { "chevron-down" } else { "chevron-right" } /> }}
        </button>
        <span class="log-facts" data-failed=move || group.with(|group| group.as_ref().is_some_and(|(group, _)| group.failed > 0)).then_some("true")>
            {facts}
        </span>
    }
}

/// The duration, unless the beginning is not loaded, and the results.
fn facts_of(group: &Group) -> String {
    if !group.has_heading {
        return group.summary();
    }
    let took = time::duration(group.span_ms.1 - group.span_ms.0);
    format!("{took}, {}", group.summary())
}
