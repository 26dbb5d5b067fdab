//! The menu of the log: streams, levels and servers of its lines, how times are shown, folded plays and tasks.

use api::LogLevel;
use leptos::prelude::*;

use super::LogState;
use crate::{
    browser,
    run::{
        log_store::{Folds, STREAMS, stream_title},
        model::Model,
    },
    time,
    ui::{Icon, Menu, menu},
};

const MENU: &str = "log-view-menu";
const TIMES_KEY: &str = "log.times";

/// The choices of the lowest level, with their titles.
const LEVELS: [(Option<LogLevel>, &str); 3] = [
    (None, "All"),
    (Some(LogLevel::Warning), "Warnings, errors"),
    (Some(LogLevel::Error), "Errors"),
];

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
            // A line from before a resume of the run.
            Some(start) if time_ms < start => format!("-{}", time::duration(start - time_ms)),
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

/// Adds a member to a list, or removes it.
fn toggle<T: PartialEq>(list: &mut Vec<T>, member: T) {
    match list.iter().position(|one| *one == member) {
        Some(at) => drop(list.remove(at)),
        None => list.push(member),
    }
}

/// The menu with its button.
#[component]
pub fn ViewMenu(state: LogState) -> impl IntoView {
    let streams = STREAMS.map(|stream| {
        let is_shown = move || state.filter.with(|filter| !filter.hidden.contains(&stream));
        let set = move |_| {
            state
                .filter
                .update(|filter| toggle(&mut filter.hidden, stream))
        };
        view! {
            <label class="check">
                <input type="checkbox" prop:checked=is_shown on:change=set />
                {stream_title(stream)}
            </label>
        }
    });
    let levels = LEVELS.map(|(level, title)| {
        view! {
            <button
                type="button" aria-pressed=move || state.filter.with(|filter| filter.level == level).to_string()
                on:click=move |_| state.filter.update(|filter| filter.level = level)
            >
                {title}
            </button>
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
    let hosts = move || {
        let hosts = hosts.get();
        (hosts.len() > 1).then(|| {
            let choice = |name: String| {
                let (host, title) = (name.clone(), name.clone());
                let is_chosen = move || state.filter.with(|filter| filter.hosts.contains(&host));
                let set = move |_| {
                    state
                        .filter
                        .update(|filter| toggle(&mut filter.hosts, name.clone()))
                };
                view! {
                    <label class="check">
                        <input type="checkbox" prop:checked=is_chosen on:change=set />
                        {title}
                    </label>
                }
            };
            view! {
                <hr class="menu-rule" />
                <fieldset class="log-menu" data-hosts>
                    <legend>"Only these servers"</legend>
                    {hosts.into_iter().map(choice).collect_view()}
                </fieldset>
            }
        })
    };
    let has_groups = Memo::new(move |_| {
        state.changed.track();
        state.feed.log.try_with_value(|log| log.has_groups()) == Some(true)
    });
    let fold = move |all_plays: bool, all_tasks: bool| {
        state.folds.set(Folds {
            all_plays,
            all_tasks,
            ..Folds::default()
        });
        menu::close(MENU);
    };
    let groups = move || {
        has_groups.get().then(|| {
            view! {
                <hr class="menu-rule" />
                <button type="button" class="menu-item" on:click=move |_| fold(true, true)><Icon name="chevron-right" />"Fold all plays"</button>
                <button type="button" class="menu-item" on:click=move |_| fold(false, true)><Icon name="chevron-right" />"Fold all tasks"</button>
                <button type="button" class="menu-item" on:click=move |_| fold(false, false)><Icon name="chevron-down" />"Unfold all"</button>
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
            <fieldset class="log-menu" aria-label="Sources">{streams}</fieldset>
            <div class="menu-row"><span>"Level"</span><div class="segments" role="group" aria-label="Level">{levels}</div></div>
            {hosts}
            <hr class="menu-rule" />
            <div class="menu-row"><span>"Times"</span><div class="segments" role="group" aria-label="Times">{times}</div></div>
            {groups}
        </Menu>
    }
}
