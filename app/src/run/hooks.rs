//! The hooks at which the run waits for a user, each with a button that releases it.

use api::StepState;
use leptos::prelude::*;
use planner::workflow::StepKind;

use super::{RunView, model::Model};
use crate::{
    client,
    session::use_session,
    ui::{Icon, prose, use_toasts},
};

/// Ids of the steps of the hooks at which the run waits.
pub fn waiting(model: &Model) -> impl Iterator<Item = &str> {
    let waits = model
        .run
        .steps
        .iter()
        .filter(|step| step.kind == StepKind::Hook && step.state == StepState::Running);
    waits.map(|step| step.id.as_str())
}

/// A note for each hook at which the run waits, or nothing.
#[component]
pub fn Hooks(view: RunView) -> impl IntoView {
    let model = view.feed.model;
    let steps = Memo::new(move |_| {
        model.with(|model| {
            let ids = model.iter().flat_map(waiting);
            ids.map(str::to_owned).collect::<Vec<_>>()
        })
    });
    move || {
        let hooks = steps.get().into_iter();
        hooks
            .map(|step| view! { <HookNote view step /> })
            .collect_view()
    }
}

#[component]
fn HookNote(view: RunView, step: String) -> impl IntoView {
    let toasts = use_toasts();
    let sent = RwSignal::new(false);
    let said = said(&step);
    let session = use_session();
    let step = StoredValue::new(step);
    let go_on = move |_| {
        sent.set(true);
        let (run, step) = (view.id.get_untracked(), step.get_value());
        leptos::task::spawn_local(async move {
            if let Err(problem) = client::run_release(&run, &step).await {
                toasts.problem(&problem);
                sent.try_set(false);
            }
        });
    };
    let button = move || {
        session.can_change().then(|| {
            view! {
                <button type="button" class="button" data-look="primary" data-size="small" disabled=move || sent.get() on:click=go_on>
                    <Icon name="play" />"Continue"
                </button>
            }
        })
    };
    view! {
        <p class="run-old" role="status">
            <Icon name="hand" />
            <span>{prose(&said)}</span>
            {button}
            <span class="quiet">"An environment of the template asks for this. Cancel the run to stop here."</span>
        </p>
    }
}

/// The sentence for the step of a hook, such as `web:pre-create`.
fn said(step: &str) -> String {
    let (resource, hook) = step.rsplit_once(':').unwrap_or((step, ""));
    let done = |action: &str| match action {
        "create" => "created",
        "update" => "updated",
        _ => "removed",
    };
    match hook.split_once('-') {
        Some(("pre", action)) => {
            format!(
                "The run waits for you before `{resource}` is {}.",
                done(action)
            )
        }
        Some((_, action)) => {
            format!("The run waits for you: `{resource}` is {}.", done(action))
        }
        None => format!("The run waits for you at `{step}`."),
    }
}

#[cfg(test)]
mod tests {
    use super::said;

    #[test]
    fn a_hook_says_what_comes_next() {
        assert_eq!(
            said("site/web:pre-create"),
            "The run waits for you before `site/web` is created."
        );
        assert_eq!(
            said("web:post-update"),
            "The run waits for you: `web` is updated."
        );
    }
}
