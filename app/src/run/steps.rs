//! The steps of a run in the workflow's order: state, duration, attempts, and what those at work wait for. One of them can
//! be selected.

use api::{Named, RunStep, StepState};
use leptos::prelude::*;

use super::{
    model::Model,
    rows::{RowElements, Rows, RowsView},
    waiting::{is_at_work, note},
};
use crate::{
    browser,
    graph::step_verb,
    time,
    ui::{
        Icon, prose,
        state::{DisplayState, StepLook, icon_of},
    },
};

/// Height of a step with text of the usual size, in pixels.
const ROW: f64 = 28.0;
/// Additional height of an active step, for its note.
const NOTE: f64 = 16.0;

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
    let scale = browser::text_scale();
    let rows = Memo::new(move |_| {
        model.with(|model| {
            let steps = model.as_ref().map(|model| model.run.steps.as_slice());
            let steps = steps.unwrap_or_default();
            let at_work = |(at, step): (usize, &RunStep)| is_at_work(step.state).then_some(at);
            Rows {
                count: steps.len(),
                height: ROW * scale,
                extra: NOTE * scale,
                tall: steps.iter().enumerate().filter_map(at_work).collect(),
            }
        })
    });
    let list = RowsView::new(rows);
    let id_of = Callback::new(move |at: usize| {
        model.with(|model| Some(model.as_ref()?.run.steps.get(at)?.id.clone()))
    });
    let row = Callback::new(move |(at, id): (usize, String)| {
        view! { <StepRow model selected last_line list at id /> }.into_any()
    });
    keep_in_sight(model, selected, list);
    view! {
        <div
            class="steps-scroll" node_ref=list.root on:scroll=move |_| list.scrolled() on:keydown=move |event| list.on_key(&event)
            on:focusin=move |event| list.focus_came(&event) on:focusout=move |_| list.focus_left()
        >
            <ol class="steps" aria-label="Steps" style:height=move || format!("{}px", rows.with(Rows::total))>
                <RowElements list id_of row />
            </ol>
        </div>
    }
}

/// Scrolls to the selected step, otherwise to the running or failed one.
fn keep_in_sight(
    model: RwSignal<Option<Model>>,
    selected: RwSignal<Option<String>>,
    list: RowsView,
) {
    let at = Memo::new(move |_| {
        model.with(|model| {
            let model = model.as_ref()?;
            match selected.get() {
                Some(id) => model.position(&id),
                None => model.position(&model.focused_step()?.id),
            }
        })
    });
    Effect::new(move |_| {
        list.root.track();
        if let Some(at) = at.get() {
            list.reveal(at);
        }
    });
}

/// One step of the run, as a signal.
pub fn follow(model: RwSignal<Option<Model>>, id: String) -> Memo<Option<RunStep>> {
    Memo::new(move |_| {
        model.with(|model| model.as_ref().and_then(|model| model.step(&id).cloned()))
    })
}

/// The text below an active step, as a signal. Empty for other steps.
pub fn follow_note(
    model: RwSignal<Option<Model>>,
    step: Memo<Option<RunStep>>,
    last_line: Callback<String, Option<String>>,
) -> impl Fn() -> Option<String> + Copy {
    let clock = time::use_clock();
    // Only active steps depend on the clock and the log.
    let at_work = Memo::new(move |_| {
        step.with(|step| {
            let step = step.as_ref().filter(|step| is_at_work(step.state));
            step.map(|step| (step.id.clone(), step.state))
        })
    });
    move || {
        let (id, state) = at_work.get()?;
        let line = match state {
            StepState::Running => last_line.run(id.clone()),
            _ => None,
        };
        let next = model.with(|model| {
            let times = model.as_ref().map(|model| &model.next_attempts);
            times.and_then(|times| times.get(&id).cloned())
        });
        step.with(|step| note(step.as_ref()?, line, next.as_deref(), clock.now()))
    }
}

#[component]
fn StepRow(
    model: RwSignal<Option<Model>>,
    selected: RwSignal<Option<String>>,
    last_line: Callback<String, Option<String>>,
    list: RowsView,
    /// Index of the step.
    at: usize,
    id: String,
) -> impl IntoView {
    let clock = time::use_clock();
    let step = follow(model, id.clone());
    let stored = StoredValue::new(id.clone());
    let look = Memo::new(move |_| step.with(|step| step.as_ref().map(StepLook::from)));
    let icon_look = move || look.get().map_or("waiting", DisplayState::look);
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
    let note = follow_note(model, step, last_line);
    let note = move || {
        note()
            .map(|note| view! { <span class="step-note" title=note.clone()>{prose(&note)}</span> })
    };
    let top = Memo::new(move |_| list.rows.with(|rows| rows.top(at)));
    let height = Memo::new(move |_| list.rows.with(|rows| rows.top(at + 1) - rows.top(at)));
    let number = at + 1;
    let count = move || list.rows.with(|rows| rows.count);
    view! {
        <li
            data-row=at aria-posinset=number aria-setsize=count
            style:top=move || format!("{}px", top.get()) style:height=move || format!("{}px", height.get())
        >
            <button
                type="button" class="step" data-step=id data-state=move || look.get().map(|look| look.state.word()) data-look=icon_look
                aria-pressed=pressed title=stored.get_value()
                on:click=move |_| selected.update(|selected| {
                    let id = stored.get_value();
                    *selected = if selected.as_ref() == Some(&id) { None } else { Some(id) };
                })
            >
                <span class="step-line">
                    <span class="step-icon" data-look=icon_look>{move || view! { <Icon name=icon_of(icon_look()) /> }}</span>
                    <span class="step-title">{title}</span>
                    <span class="step-verb">{verb}</span>
                    {attempts}
                    <span class="sr-only">{move || look.get().map(Named::title)}</span>
                    <span class="step-time">{took}</span>
                </span>
                {note}
            </button>
        </li>
    }
}
