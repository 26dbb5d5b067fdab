//! The menu of the log: what it has, how times are shown, folded tasks.

use leptos::prelude::*;

use super::LogState;
use crate::{
    browser,
    run::{
        log_store::{Folds, Source},
        model::Model,
    },
    time,
    ui::{Icon, Menu, menu},
};

const MENU: &str = "log-view-menu";
const TIMES_KEY: &str = "log.times";

/// The time in front of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Time of day in the browser's zone.
    Clock,
    /// Time since the start of the run.
    SinceRun,
    /// Time since the start of the line's step.
    SinceStep,
}

impl Times {
    const ALL: [Times; 3] = [Times::Clock, Times::SinceRun, Times::SinceStep];

    /// The last choice in this browser.
    pub fn remembered() -> Times {
        let key = browser::remembered(TIMES_KEY);
        let found = Times::ALL
            .into_iter()
            .find(|times| Some(times.key()) == key.as_deref());
        found.unwrap_or(Times::Clock)
    }

    fn key(self) -> &'static str {
        match self {
            Times::Clock => "clock",
            Times::SinceRun => "run",
            Times::SinceStep => "step",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Times::Clock => "Clock",
            Times::SinceRun => "Run",
            Times::SinceStep => "Step",
        }
    }
}

impl LogState {
    /// The time of a line as text. Tracks.
    pub fn time_text(self, time_ms: f64, step: &str) -> String {
        let times = self.times.get();
        // A change of the run redraws relative times only.
        let start = (times != Times::Clock)
            .then(|| {
                self.feed
                    .model
                    .with(|model| start_of(model.as_ref()?, times, step))
            })
            .flatten();
        match start {
            Some(start) => format!("+{}", time::duration(time_ms - start)),
            None => time::time_of_day(time_ms, js_sys::Date::new_0().get_timezone_offset()),
        }
    }
}

/// Start of the run or step that the times are relative to, in ms.
fn start_of(model: &Model, times: Times, step: &str) -> Option<f64> {
    let started = match times {
        Times::Clock => None,
        Times::SinceRun => model.run.started.as_deref(),
        Times::SinceStep => model.step(step)?.started.as_deref(),
    };
    time::parse(started?)
}

/// The menu with its button.
#[component]
pub fn ViewMenu(state: LogState) -> impl IntoView {
    let sources = Source::ALL.map(|source| {
        let is_shown = move || state.filter.with(|filter| !filter.hidden.contains(&source));
        let set = move |_| {
            state.filter.update(|filter| {
                if let Some(at) = filter.hidden.iter().position(|one| *one == source) {
                    filter.hidden.remove(at);
                } else {
                    filter.hidden.push(source);
                }
            });
        };
        view! {
            <label class="check">
                <input type="checkbox" prop:checked=is_shown on:change=set />
                {source.title()}
            </label>
        }
    });
    let times = Times::ALL.map(|times| {
        view! {
            <button
                type="button" aria-pressed=move || (state.times.get() == times).to_string()
                on:click=move |_| { state.times.set(times); browser::remember(TIMES_KEY, times.key()); }
            >
                {times.title()}
            </button>
        }
    });
    let hosts = Memo::new(move |_| {
        state.changed.track();
        let hosts = state.feed.log.try_with_value(|log| log.hosts());
        hosts.unwrap_or_default()
    });
    let host = move || {
        let hosts = hosts.get();
        (hosts.len() > 1).then(|| {
            let option = |name: String| {
                let value = name.clone();
                let is_chosen = move || state.filter.with(|filter| filter.host.as_ref() == Some(&value));
                view! { <option value=name.clone() prop:selected=is_chosen>{name.clone()}</option> }
            };
            view! {
                <label class="menu-row">
                    "Server"
                    <select
                        class="input"
                        on:change=move |event| {
                            let host = event_target_value(&event);
                            state.filter.update(|filter| filter.host = (!host.is_empty()).then_some(host));
                        }
                    >
                        <option value="" prop:selected=move || state.filter.with(|filter| filter.host.is_none())>"All"</option>
                        {hosts.into_iter().map(option).collect_view()}
                    </select>
                </label>
            }
        })
    };
    let has_tasks = Memo::new(move |_| {
        state.changed.track();
        state.feed.log.try_with_value(|log| log.has_tasks()) == Some(true)
    });
    let fold = move |all: bool| {
        state.folds.set(Folds {
            all,
            ..Folds::default()
        });
        menu::close(MENU);
    };
    let tasks = move || {
        has_tasks.get().then(|| {
            view! {
                <hr class="menu-rule" />
                <button type="button" class="menu-item" on:click=move |_| fold(true)><Icon name="chevron-right" />"Fold all tasks"</button>
                <button type="button" class="menu-item" on:click=move |_| fold(false)><Icon name="chevron-down" />"Unfold all tasks"</button>
            }
        })
    };
    let is_filtered = move || state.filter.with(|filter| !filter.is_empty());
    let button = view! {
        <Icon name="sliders-horizontal" />
        {move || is_filtered().then_some("Filtered")}
    };
    view! {
        <Menu id=MENU label="Filter and times" button=button.into_any()>
            <fieldset class="log-menu" aria-label="Sources">{sources}</fieldset>
            <label class="check">
                <input
                    type="checkbox" prop:checked=move || state.filter.with(|filter| filter.only_problems)
                    on:change=move |event| state.filter.update(|filter| filter.only_problems = event_target_checked(&event))
                />
                "Warnings and errors only"
            </label>
            {host}
            <hr class="menu-rule" />
            <div class="menu-row"><span>"Times"</span><div class="segments" role="group" aria-label="Times">{times}</div></div>
            {tasks}
        </Menu>
    }
}
