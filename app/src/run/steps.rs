//! The steps of a run in the workflow's order: state, duration, attempts. One of them can be selected.

use api::{RunStep, StepKind, StepState};
use leptos::{html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::model::Model;
use crate::{
    graph::step_verb,
    time,
    ui::{
        Icon, prose,
        state::{DisplayState, icon_of, step_title},
    },
};

/// The list of steps.
#[component]
pub fn StepList(
    /// The run.
    model: RwSignal<Option<Model>>,
    /// The selected step.
    selected: RwSignal<Option<String>>,
    /// The last log line of a step by its id. Tracks.
    last_line: Callback<String, Option<String>>,
) -> impl IntoView {
    let ids = Memo::new(move |_| {
        model.with(|model| {
            model
                .as_ref()
                .map(|model| {
                    model
                        .run
                        .steps
                        .iter()
                        .map(|step| step.id.clone())
                        .collect::<Vec<_>>()
                })
                .unwrap_or_default()
        })
    });
    let list = NodeRef::<html::Ol>::new();
    keep_in_sight(model, selected, list);
    view! {
        <ol class="steps" aria-label="Steps" node_ref=list>
            <For each=move || ids.get() key=Clone::clone let:id>
                <StepRow model selected last_line id />
            </For>
        </ol>
    }
}

/// Scrolls to the running or failed step, until the user selects one.
fn keep_in_sight(
    model: RwSignal<Option<Model>>,
    selected: RwSignal<Option<String>>,
    list: NodeRef<html::Ol>,
) {
    let at = Memo::new(move |_| {
        model.with(|model| {
            let model = model.as_ref()?;
            model
                .run
                .steps
                .iter()
                .position(|step| Some(step) == model.focused_step())
        })
    });
    Effect::new(move |_| {
        let (Some(at), Some(list)) = (at.get(), list.get()) else {
            return;
        };
        let row = list
            .children()
            .item(at as u32)
            .and_then(|row| row.dyn_into::<HtmlElement>().ok());
        if let (Some(row), Some(pane)) = (row, list.parent_element())
            && selected.with_untracked(Option::is_none)
        {
            let (top, height) = (row.offset_top() - list.offset_top(), pane.client_height());
            let (from, to) = (
                pane.scroll_top(),
                pane.scroll_top() + height - row.offset_height(),
            );
            if top < from || top > to {
                pane.set_scroll_top(top - height / 2);
            }
        }
    });
}

/// One step of the run, as a signal.
pub fn follow(model: RwSignal<Option<Model>>, id: String) -> Memo<Option<RunStep>> {
    Memo::new(move |_| {
        model.with(|model| model.as_ref().and_then(|model| model.step(&id).cloned()))
    })
}

#[component]
fn StepRow(
    model: RwSignal<Option<Model>>,
    selected: RwSignal<Option<String>>,
    last_line: Callback<String, Option<String>>,
    id: String,
) -> impl IntoView {
    let clock = time::use_clock();
    let step = follow(model, id.clone());
    let stored = StoredValue::new(id.clone());
    let state = Memo::new(move |_| {
        step.with(|step| step.as_ref().map_or(StepState::Waiting, |step| step.state))
    });
    let look = move || state.get().look();
    let pressed = move || {
        selected
            .with(|selected| stored.with_value(|id| selected.as_ref() == Some(id)))
            .to_string()
    };
    let (title, verb) = step.with_untracked(|step| match step {
        Some(RunStep {
            resource: Some(resource),
            kind,
            ..
        }) => (resource.clone(), step_verb(*kind)),
        Some(step) => (step_verb(step.kind).to_owned(), ""),
        None => (id.clone(), ""),
    });
    let took = move || {
        step.with(|step| {
            let step = step.as_ref()?;
            // Only running steps depend on the clock.
            let now = if step.ended.is_none() {
                clock.now()
            } else {
                None
            };
            time::span(step.started.as_deref(), step.ended.as_deref(), now)
        })
    };
    let attempts = move || {
        step.with(|step| {
            step.as_ref()
                .map(|step| step.attempts)
                .filter(|attempts| *attempts > 1)
        })
        .map(|attempts| view! { <span class="pill">{format!("attempt {attempts}")}</span> })
    };
    // A wait has something to say: the reason of the last attempt. Others only run.
    let note = move || {
        let (kind, state, error) = step.with(|step| {
            let step = step.as_ref()?;
            Some((step.kind, step.state, step.error.clone()))
        })?;
        let note = match (state, kind) {
            (StepState::Retrying, _) => error,
            (
                StepState::Running,
                StepKind::WaitForSsh | StepKind::Pause | StepKind::Hook | StepKind::Sweep,
            ) => last_line.run(stored.get_value()),
            _ => None,
        }?;
        Some(view! { <span class="step-note" title=note.clone()>{prose(&note)}</span> })
    };
    view! {
        <li>
            <button
                type="button" class="step" data-step=id data-state=move || state.get().word() data-look=look aria-pressed=pressed
                title=stored.get_value()
                on:click=move |_| selected.update(|selected| {
                    let id = stored.get_value();
                    *selected = if selected.as_ref() == Some(&id) { None } else { Some(id) };
                })
            >
                <span class="step-icon" data-look=look>{move || view! { <Icon name=icon_of(look()) /> }}</span>
                <span class="step-title">{title}</span>
                <span class="step-verb">{verb}</span>
                {attempts}
                <span class="sr-only">{move || step.with(|step| step.as_ref().map(step_title))}</span>
                <span class="step-time">{took}</span>
                {note}
            </button>
        </li>
    }
}
