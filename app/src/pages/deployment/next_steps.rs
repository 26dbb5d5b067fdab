//! Notes on a deployment that is not simply deployed: its run failed, was cancelled, is paused or waits for a user, its servers
//! are suspended, or it is undeployed.

use api::{Deployment, DeploymentState, Run, RunState};
use leptos::prelude::*;

use super::suspension::SuspendedNote;
use crate::{load::Load, ui::Icon};

/// The end of the last run that did not succeed, and what its page is for.
fn bad_ending(state: Option<RunState>) -> (&'static str, &'static str) {
    match state {
        Some(RunState::Cancelled) => (
            "The last run was cancelled.",
            " Open its page to see what was done and to resume it.",
        ),
        _ => (
            "The last run failed.",
            " Open its page to see the reason and to resume it.",
        ),
    }
}

/// The note for the deployment's state. The buttons of its next steps are above and on the run's page.
#[component]
pub fn NextSteps(
    /// The deployment.
    it: Deployment,
    /// Its runs.
    runs: Load<Vec<Run>>,
) -> impl IntoView {
    if it.state == DeploymentState::Suspended {
        return view! { <SuspendedNote /> }.into_any();
    }
    if it.state == DeploymentState::Running {
        return view! { <WaitingNote run=it.last_run runs /> }.into_any();
    }
    if it.state == DeploymentState::Undeployed {
        return view! {
            <div class="suspended-note deployment-way-on" role="note">
                <Icon name="history" />
                <p><strong>"It is undeployed."</strong>" The drawing shows what was deployed last."</p>
            </div>
        }
        .into_any();
    }
    if it.state != DeploymentState::Failed {
        return ().into_any();
    }
    let back = if it.can_roll_back {
        "A roll-back returns to the state before the change. "
    } else {
        ""
    };
    let run = it.last_run.clone().map(|run| format!("/runs/{run}"));
    let last = it.last_run;
    let ending = move || {
        let state = runs.with(|runs| {
            let run = runs?.iter().find(|run| Some(&run.id) == last.as_ref())?;
            Some(run.state)
        });
        let (end, what_next) = bad_ending(state);
        view! { <strong>{end}</strong>{what_next} }
    };
    view! {
        <div class="problem-note deployment-way-on" role="note">
            <Icon name="circle-x" />
            <div>
                <p>{ending}</p>
                <p class="quiet">{back}"An undeploy removes all its resources."</p>
            </div>
            {run.map(|run| view! { <a class="button" href=run><Icon name="eye" />"Show the run"</a> })}
        </div>
    }
    .into_any()
}

/// The reason why an active run needs a user, and what to do. `None` if it needs none.
fn need_of_user(run: &Run) -> Option<(&'static str, &'static str)> {
    match run.state {
        RunState::Paused => Some((
            "The run is paused.",
            " The session that it used has ended. Open its page to resume it.",
        )),
        RunState::Running if run.waits_for_user => Some((
            "The run waits for a user.",
            " An environment of the template asks for this. Open its page to continue it.",
        )),
        _ => None,
    }
}

/// The note on the page of a deployment whose run waits for a login, or for a user at a hook.
#[component]
fn WaitingNote(
    /// Id of the last run.
    run: Option<String>,
    /// The runs of the deployment.
    runs: Load<Vec<Run>>,
) -> impl IntoView {
    let need = Memo::new(move |_| {
        runs.with(|runs| {
            let mut runs = runs?.iter();
            runs.find(|one| Some(&one.id) == run.as_ref())
                .and_then(need_of_user)
        })
    });
    move || {
        need.get().map(|(need, what_next)| {
            view! {
                <div class="suspended-note deployment-way-on" role="note">
                    <span class="state" data-look="paused"><Icon name="circle-pause" /></span>
                    <p><strong>{need}</strong>{what_next}</p>
                </div>
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_run_is_not_called_a_failure() {
        assert_eq!(
            bad_ending(Some(RunState::Cancelled)).0,
            "The last run was cancelled."
        );
        assert_eq!(bad_ending(Some(RunState::Failed)).0, "The last run failed.");
    }
}
