//! One line of the log: time, step and text.

use api::LogLevel;
use leptos::prelude::*;

use super::{LogState, ROW};
use crate::{run::ansi, time};

/// Line at an index of the view.
#[component]
pub fn LineView(state: LogState, place: usize) -> impl IntoView {
    let offset = js_sys::Date::new_0().get_timezone_offset();
    let needle = state
        .query
        .with_untracked(|query| query.trim().to_lowercase());
    state
        .feed
        .log
        .try_with_value(|log| {
            let line = log.line(place)?;
            let top = f64::from(log.row_of(place)) * ROW;
            let level = match line.level {
                LogLevel::Debug => "debug",
                LogLevel::Info => "info",
                LogLevel::Warning => "warning",
                LogLevel::Error => "error",
            };
            let text = ansi::with_hits(ansi::stretches(&line.text), &needle)
                .into_iter()
                .map(|stretch| {
                    let plain = stretch.colour.is_none() && !stretch.bold && !stretch.hit;
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
            Some(view! {
                <div class="log-line" data-seq=line.seq data-level=level style:top=format!("{top}px")>
                    <time class="log-time">{time::time_of_day(line.time_ms, offset)}</time>
                    <span class="log-step" title=step.clone()>{step.clone()}</span>
                    <span class="log-text">{text}</span>
                </div>
            })
        })
        .flatten()
}
