//! The timeline: a bar for each step, on one scale, with long idle gaps folded and the critical path marked.

mod scale;

use std::collections::HashSet;

use api::StepState;
use leptos::{ev, html, prelude::*};

use self::scale::Scale;
use super::{critical::critical_path, model::Model};
use crate::{
    browser, time,
    ui::{Icon, state::DisplayState},
};

/// The bar of a step.
#[derive(Clone, Debug, PartialEq)]
struct Bar {
    step: String,
    state: StepState,
    from: f64,
    to: f64,
}

/// Bars of the steps that have started, in the workflow's order. A bar of a step at work ends now.
fn bars(model: &Model, now: Option<f64>) -> Vec<Bar> {
    let parsed = |text: &Option<String>| text.as_deref().and_then(time::parse);
    let steps = model.run.steps.iter().filter_map(|step| {
        let from = parsed(&step.started)?;
        let to = parsed(&step.ended).or(now).unwrap_or(from).max(from);
        Some(Bar {
            step: step.id.clone(),
            state: step.state,
            from,
            to,
        })
    });
    steps.collect()
}

/// Element id of a step's row.
fn row_id(step: &str) -> String {
    format!("timeline-{step}")
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
            model
                .as_ref()
                .map(|model| critical_path(&model.run))
                .unwrap_or_default()
        })
    });
    let root = NodeRef::<html::Div>::new();
    let follow = RwSignal::new(true);
    // The step that started last.
    let newest = Memo::new(move |_| {
        model.with(|model| {
            let bars = bars(model.as_ref()?, None);
            let last = bars
                .into_iter()
                .max_by(|one, other| one.from.total_cmp(&other.from));
            last.map(|bar| bar.step)
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
        root.track();
        if let Some(step) = newest.get().filter(|_| follow.get() && !is_over.get()) {
            browser::on_next_frame(move || browser::scroll_in_list(&row_id(&step)));
        }
    });
    let release = move || {
        if follow.get_untracked() {
            follow.set(false);
        }
    };
    let scrolls = move |event: ev::KeyboardEvent| {
        if matches!(
            event.key().as_str(),
            "PageUp" | "PageDown" | "Home" | "End" | "ArrowUp" | "ArrowDown"
        ) {
            release();
        }
    };
    let content = move || {
        model.with(|model| {
            let bars = model.as_ref().map(|model| bars(model, clock.now()));
            match bars {
                Some(bars) if bars.is_empty() => {
                    view! { <p class="timeline-none">"No step has started yet."</p> }.into_any()
                }
                Some(bars) => path.with(|path| drawing(bars, path, selected)),
                None => ().into_any(),
            }
        })
    };
    view! {
        <div class="timeline-frame">
        <div
            class="timeline" role="group" aria-label="Timeline" node_ref=root
            on:wheel=move |_| release() on:touchmove=move |_| release() on:keydown=scrolls
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

fn drawing(bars: Vec<Bar>, path: &HashSet<String>, selected: RwSignal<Option<String>>) -> AnyView {
    let scale = Scale::of(bars.iter().map(|bar| (bar.from, bar.to)));
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
    let rows = bars
        .into_iter()
        .map(|bar| {
            let Bar {
                step,
                state,
                from,
                to,
            } = bar;
            let is_critical = path.contains(&step);
            let chosen = step.clone();
            let pressed = selected.with(|selected| selected.as_ref() == Some(&step)).to_string();
            let id = row_id(&step);
            let (left, right) = (scale.place(from), scale.place(to));
            view! {
                <button
                    type="button" class="timeline-row" id=id aria-pressed=pressed data-critical=is_critical.to_string()
                    on:click=move |_| selected.set(Some(chosen.clone()))
                >
                    <span class="timeline-name">{step}</span>
                    <span class="timeline-track">
                        <span
                            class="timeline-bar" data-look=state.look() style:left=format!("{left:.3}%")
                            style:width=format!("{:.3}%", right - left)
                        ></span>
                    </span>
                    <span class="timeline-time">{time::duration(to - from)}</span>
                    {is_critical.then(|| view! { <span class="sr-only">"On the critical path"</span> })}
                </button>
            }
        })
        .collect_view();
    view! {
        <div class="timeline-scale" aria-hidden="true">
            <span class="timeline-key">"Bold: critical path"</span>
            <div class="timeline-ticks">{ticks}{gaps}</div>
        </div>
        {rows}
    }
    .into_any()
}
