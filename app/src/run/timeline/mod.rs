//! The timeline: a bar for each step, on one scale, with long idle gaps folded and the critical path marked.
//!
//! Only rows in view have elements, and only bars of active steps follow the clock.

mod scale;

use std::collections::HashSet;

use api::Named;
use leptos::{ev, prelude::*};

use self::scale::Scale;
use super::{
    critical::critical_path,
    model::Model,
    rows::{RowElements, Rows, RowsView},
    waiting::is_at_work,
};
use crate::{
    browser, time,
    ui::{
        Icon,
        state::{DisplayState, StepLook},
    },
};

/// Height of a row with text of the usual size in pixels, as in `timeline.css`.
const ROW: f64 = 24.0;

/// The bar of a step.
#[derive(Clone, Debug, PartialEq)]
struct Bar {
    step: String,
    look: StepLook,
    from: f64,
    to: f64,
}

/// Bars of the steps that have started, in the workflow's order. A bar of an active step ends now.
fn bars(model: &Model, now: Option<f64>) -> Vec<Bar> {
    let parsed = |text: &Option<String>| text.as_deref().and_then(time::parse);
    let steps = model.run.steps.iter().filter_map(|step| {
        let from = parsed(&step.started)?;
        let to = parsed(&step.ended).or(now).unwrap_or(from).max(from);
        Some(Bar {
            step: step.id.clone(),
            look: StepLook::from(step),
            from,
            to,
        })
    });
    steps.collect()
}

/// The bars, their scale and the critical path.
#[derive(Clone, Debug, PartialEq)]
struct Chart {
    bars: Vec<Bar>,
    scale: Scale,
    path: HashSet<String>,
}

impl Chart {
    fn of(model: &Model, path: HashSet<String>, now: Option<f64>) -> Chart {
        let bars = bars(model, now);
        Chart {
            scale: Scale::of(bars.iter().map(|bar| (bar.from, bar.to))),
            bars,
            path,
        }
    }

    fn row(&self, at: usize) -> Option<Row> {
        let bar = self.bars.get(at)?;
        let (left, right) = (self.scale.place(bar.from), self.scale.place(bar.to));
        Some(Row {
            look: bar.look,
            is_critical: self.path.contains(&bar.step),
            left: format!("{left:.3}%"),
            width: format!("{:.3}%", right - left),
            took: time::duration(bar.to - bar.from),
        })
    }
}

/// A row as it is drawn.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    look: StepLook,
    is_critical: bool,
    left: String,
    width: String,
    took: String,
}

/// The timeline of a run, from left to right.
#[component]
pub fn Timeline(
    /// The run.
    model: RwSignal<Option<Model>>,
    /// The selected step.
    selected: RwSignal<Option<String>>,
) -> impl IntoView {
    let clock = time::use_clock();
    let path = Memo::new(move |_| {
        model.with(|model| {
            let model = model.as_ref()?;
            Some(critical_path(&model.run))
        })
    });
    let chart = Memo::new(move |_| {
        model.with(|model| {
            let model = model.as_ref()?;
            let steps = &model.run.steps;
            let now = steps.iter().any(|step| is_at_work(step.state));
            let now = if now { clock.now() } else { None };
            Some(Chart::of(model, path.get().unwrap_or_default(), now))
        })
    });
    let height = ROW * browser::text_scale();
    let rows = Memo::new(move |_| Rows {
        count: chart.with(|chart| chart.as_ref().map_or(0, |chart| chart.bars.len())),
        height,
        ..Rows::default()
    });
    let list = RowsView::new(rows);
    let id_of = Callback::new(move |at: usize| {
        chart.with(|chart| Some(chart.as_ref()?.bars.get(at)?.step.clone()))
    });
    let row = Callback::new(move |(at, step): (usize, String)| {
        let top = rows.with_untracked(|rows| rows.top(at));
        view! { <TimelineRow chart selected at top step /> }.into_any()
    });
    let follow = RwSignal::new(true);
    // The row of the step that started last.
    let newest = Memo::new(move |_| {
        chart.with(|chart| {
            let bars = chart.as_ref()?.bars.iter().enumerate();
            let last = bars.max_by(|(_, one), (_, other)| one.from.total_cmp(&other.from));
            last.map(|(at, _)| at)
        })
    });
    let is_over = Memo::new(move |_| {
        model.with(|model| {
            model
                .as_ref()
                .is_none_or(|model| model.run.state.is_final())
        })
    });
    Effect::new(move |_| {
        list.root.track();
        if let Some(row) = newest.get().filter(|_| follow.get() && !is_over.get()) {
            list.reveal(row);
        }
    });
    let release = move || {
        if follow.get_untracked() {
            follow.set(false);
        }
    };
    let on_key = move |event: ev::KeyboardEvent| {
        if matches!(
            event.key().as_str(),
            "PageUp" | "PageDown" | "Home" | "End" | "ArrowUp" | "ArrowDown"
        ) {
            release();
        }
        list.on_key(&event);
    };
    let is_empty = Memo::new(move |_| chart.with(|chart| Some(chart.as_ref()?.bars.is_empty())));
    let content = move || {
        match is_empty.get() {
        None => ().into_any(),
        Some(true) => {
            view! { <p class="timeline-none">"No step has started yet."</p> }.into_any()
        }
        Some(false) => view! {
            <div class="timeline-scale" aria-hidden="true">
                <span class="timeline-key">"Bold: critical path"</span>
                <div class="timeline-ticks">{move || chart.with(|chart| chart.as_ref().map(|chart| marks(&chart.scale)))}</div>
            </div>
            <div class="timeline-rows" style:height=move || format!("{}px", rows.with(Rows::total))>
                <RowElements list id_of row />
            </div>
        }
        .into_any(),
    }
    };
    view! {
        <div class="timeline-frame">
        <div
            class="timeline" role="group" aria-label="Timeline" node_ref=list.root
            on:wheel=move |_| release() on:touchmove=move |_| release() on:keydown=on_key on:scroll=move |_| list.scrolled()
            on:focusin=move |event| list.focus_came(&event) on:focusout=move |_| list.focus_left()
        >
            {content}
        </div>
        <button
            type="button" class="follow-button" hidden=move || follow.get() || is_over.get() on:click=move |_| follow.set(true)
        >
            <Icon name="arrow-down-to-line" />
            "Follow"
        </button>
        </div>
    }
}

/// Ticks and folded gaps of a scale.
fn marks(scale: &Scale) -> impl IntoView + use<> {
    let ticks = scale
        .ticks()
        .into_iter()
        .map(|(place, tick)| view! { <span class="timeline-tick" style:left=format!("{place:.3}%")>{time::duration(tick)}</span> })
        .collect_view();
    let gaps = scale
        .gaps()
        .into_iter()
        .map(|gap| {
            let title = format!("Nothing ran for {}", time::duration(gap.took));
            view! { <span class="timeline-gap" style:left=format!("{:.3}%", gap.at) title=title>"⋯"</span> }
        })
        .collect_view();
    view! { {ticks}{gaps} }
}

#[component]
fn TimelineRow(
    chart: Memo<Option<Chart>>,
    selected: RwSignal<Option<String>>,
    /// Index of the row.
    at: usize,
    /// Upper edge of the row, in pixels.
    top: f64,
    /// Id of the step.
    step: String,
) -> impl IntoView {
    let row = Memo::new(move |_| chart.with(|chart| chart.as_ref()?.row(at)));
    let id = StoredValue::new(step.clone());
    let pressed = move || {
        selected
            .with(|selected| id.with_value(|id| selected.as_ref() == Some(id)))
            .to_string()
    };
    let is_critical =
        Memo::new(move |_| row.with(|row| row.as_ref().is_some_and(|row| row.is_critical)));
    let look = Memo::new(move |_| row.with(|row| row.as_ref().map(|row| row.look)));
    let left = move || row.with(|row| row.as_ref().map(|row| row.left.clone()).unwrap_or_default());
    let width = move || {
        row.with(|row| {
            row.as_ref()
                .map(|row| row.width.clone())
                .unwrap_or_default()
        })
    };
    let took = move || row.with(|row| row.as_ref().map(|row| row.took.clone()));
    view! {
        <button
            type="button" class="timeline-row" data-row=at aria-pressed=pressed
            data-critical=move || is_critical.get().to_string() style:top=format!("{top}px")
            on:click=move |_| selected.set(Some(id.get_value()))
        >
            <span class="timeline-name">{step}</span>
            <span class="timeline-track">
                <span class="timeline-bar" data-look=move || look.get().map(DisplayState::look) style:left=left style:width=width></span>
            </span>
            <span class="timeline-time">{took}</span>
            <span class="sr-only">{move || look.get().map(Named::title)}</span>
            {move || is_critical.get().then(|| view! { <span class="sr-only">"On the critical path"</span> })}
        </button>
    }
}

#[cfg(test)]
mod tests {
    use api::Run;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_bars_at_work_follow_the_clock_and_a_removed_resource_is_called_so() {
        let run: Run = serde_json::from_value(json!({
            "id": "r", "deployment": "d", "kind": "update", "state": "running", "author": "demo",
            "created": "2026-01-01T00:00:00Z", "started": null, "ended": null,
            "steps": [
                {"id": "old:delete", "kind": "delete", "state": "succeeded", "after": [], "attempts": 1,
                    "started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:00:10Z", "error": null},
                {"id": "web:create", "kind": "create", "state": "running", "after": [], "attempts": 1,
                    "started": "2026-01-01T00:00:10Z", "ended": null, "error": null},
                {"id": "db:create", "kind": "create", "state": "waiting", "after": [], "attempts": 0,
                    "started": null, "ended": null, "error": null},
            ],
        }))
        .unwrap();
        let model = Model::new(run);
        let start = time::parse("2026-01-01T00:00:00Z").unwrap();
        let took = |second: f64| -> Vec<String> {
            let chart = Chart::of(&model, HashSet::new(), Some(start + second * 1e3));
            (0..3).filter_map(|at| Some(chart.row(at)?.took)).collect()
        };
        assert_eq!(took(12.0), ["10 s", "2.0 s"]);
        assert_eq!(took(40.0), ["10 s", "30 s"]);
        let chart = Chart::of(&model, HashSet::new(), None);
        assert_eq!(chart.row(0).unwrap().look.title(), "Removed");
    }
}
