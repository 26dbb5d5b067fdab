//! The timeline: a bar for each step, on one scale.

use leptos::prelude::*;

use super::model::Model;
use crate::{time, ui::state::DisplayState};

/// The timeline of a run, from left to right.
#[component]
pub fn Timeline(
    /// The run.
    model: RwSignal<Option<Model>>,
    /// The selected step.
    selected: RwSignal<Option<String>>,
) -> impl IntoView {
    let clock = time::use_clock();
    let rows = move || {
        model.with(|model| {
            let Some(model) = model else { return ().into_any() };
            let started = |text: &Option<String>| text.as_deref().and_then(time::parse);
            let bars: Vec<_> = model
                .run
                .steps
                .iter()
                .filter_map(|step| {
                    let from = started(&step.started)?;
                    let to = started(&step.ended).or(clock.now()).unwrap_or(from).max(from);
                    Some((step.id.clone(), step.state, from, to))
                })
                .collect();
            let first = bars.iter().map(|bar| bar.2).fold(f64::INFINITY, f64::min);
            let last = bars.iter().map(|bar| bar.3).fold(f64::NEG_INFINITY, f64::max);
            if bars.is_empty() {
                return view! { <p class="timeline-none">"No step has started yet."</p> }.into_any();
            }
            let whole = (last - first).max(1.0);
            let ticks = ticks(whole)
                .into_iter()
                .map(|tick| view! {
                    <span class="timeline-tick" style:left=format!("{:.3}%", tick / whole * 100.0)>{time::duration(tick)}</span>
                })
                .collect_view();
            let rows = bars
                .into_iter()
                .map(|(id, state, from, to)| {
                    let chosen = id.clone();
                    let pressed = selected.with(|selected| selected.as_ref() == Some(&id)).to_string();
                    view! {
                        <button
                            type="button" class="timeline-row" aria-pressed=pressed
                            on:click=move |_| selected.set(Some(chosen.clone()))
                        >
                            <span class="timeline-name">{id}</span>
                            <span class="timeline-track">
                                <span
                                    class="timeline-bar" data-look=state.look()
                                    style:left=format!("{:.3}%", (from - first) / whole * 100.0)
                                    style:width=format!("{:.3}%", (to - from) / whole * 100.0)
                                ></span>
                            </span>
                            <span class="timeline-time">{time::duration(to - from)}</span>
                        </button>
                    }
                })
                .collect_view();
            view! {
                <div class="timeline-scale" aria-hidden="true"><div class="timeline-ticks">{ticks}</div></div>
                {rows}
            }
            .into_any()
        })
    };
    view! { <div class="timeline" role="group" aria-label="Timeline">{rows}</div> }
}

/// Ticks at round values within a span in milliseconds, at most eight.
fn ticks(whole_ms: f64) -> Vec<f64> {
    let seconds = [
        0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0,
        3_600.0, 7_200.0, 21_600.0,
    ];
    let step_ms = seconds
        .into_iter()
        .map(|it| it * 1000.0)
        .find(|step| whole_ms / step <= 8.0)
        .unwrap_or(86_400_000.0);
    (1..=8)
        .map(|count| f64::from(count) * step_ms)
        .take_while(|tick| *tick <= whole_ms * 0.97)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn time_marks_are_round_numbers_and_few() {
        assert_eq!(
            ticks(6_500.0),
            [1_000.0, 2_000.0, 3_000.0, 4_000.0, 5_000.0, 6_000.0]
        );
        assert_eq!(
            ticks(90_000.0),
            [15_000.0, 30_000.0, 45_000.0, 60_000.0, 75_000.0]
        );
        assert!(ticks(1e12).len() <= 8);
    }
}
