//! Position of a run among the runs of its deployment, and the note on the page of an older one.
//!
//! Only the newest run can be resumed, rolled back or followed by an undeploy, so the page of an older run shows the
//! past and leads to the newest. Commands, snapshots and restorations are not replaced, but a later change of the
//! deployment makes their pages show the past, too.

use api::Run;
use leptos::prelude::*;

use super::RunView;
use crate::{
    pages::deployment::runs::{can_roll_back_to, roll_back_href},
    time::Ago,
    ui::{
        Icon, StateBadge,
        state::{RunLook, run_title},
    },
};

/// Position of a run among the runs of its deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Number of the run, from 1.
    pub number: usize,
    /// Number of runs.
    pub count: usize,
    /// The newest change of the deployment, if it came after this run. Commands and snapshots are no changes.
    pub newest: Option<Run>,
    /// True for a command, a snapshot or a restoration: it does not change the deployment's state, so that nothing follows from
    /// its failure, and it is not resumed.
    pub keeps_deployment: bool,
    /// Address of the plan that rolls the deployment back to this run's content, if that is possible.
    pub rolls_back_to: Option<String>,
}

impl Standing {
    /// Position of the run `id` in a list, newest first. `None` if the list does not contain it.
    pub fn of(runs: &[Run], id: &str) -> Option<Standing> {
        let newer = runs.iter().position(|run| run.id == id)?;
        let keeps_deployment = runs[newer].kind.keeps_deployment();
        Some(Standing {
            number: runs.len() - newer,
            count: runs.len(),
            newest: runs[..newer]
                .iter()
                .find(|run| !run.kind.keeps_deployment())
                .cloned(),
            keeps_deployment,
            rolls_back_to: can_roll_back_to(&runs[newer], runs)
                .then(|| roll_back_href(&runs[newer])),
        })
    }

    /// True if no newer run has replaced this one.
    pub fn is_latest(&self) -> bool {
        self.keeps_deployment || self.is_current()
    }

    /// True if the deployment was not changed after this run, so that its resources are those of the run.
    pub fn is_current(&self) -> bool {
        self.newest.is_none()
    }
}

/// Note with a link to the newest change, or nothing if the deployment was not changed after this run.
#[component]
pub fn OldRunNote(view: RunView) -> impl IntoView {
    move || {
        let Standing {
            number,
            count,
            newest,
            rolls_back_to,
            ..
        } = view.standing.get()?;
        let back = rolls_back_to.filter(|_| view.can_change()).map(|href| view! {
            <a class="button" data-size="small" href=href><Icon name="undo-2" />"Roll back to this"</a>
        });
        newest.map(|newest| {
            view! {
                <p class="run-old" role="note">
                    <Icon name="history" />
                    <span>
                        {format!("Run {number} of {count}; the newest is ")}
                        <a class="link" href=format!("/runs/{}", newest.id)>{run_title(&newest)}" by "{newest.author.clone()}</a>
                        ", "<Ago time=newest.created.clone() />"."
                    </span>
                    <StateBadge state=RunLook::from(&newest) />
                    {back}
                    <span class="quiet">"This page shows the past: drawing, plan, steps and log are those of this run."</span>
                </p>
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use api::{RunKind, RunState};

    use super::*;

    fn run(id: &str) -> Run {
        Run {
            id: id.to_owned(),
            deployment: String::from("d"),
            kind: RunKind::Update,
            rolls_back: false,
            scaling: None,
            command: None,
            state: RunState::Succeeded,
            reason: None,
            author: String::from("demo"),
            created: String::from("2026-01-01T00:00:00Z"),
            started: None,
            ended: None,
            log_deleted: None,
            replaced_by: None,
            waits_for_user: false,
            steps: Vec::new(),
        }
    }

    #[test]
    fn runs_are_counted_from_the_oldest() {
        let runs = [run("c"), run("b"), run("a")];
        let standing = |id| Standing::of(&runs, id);
        let a = standing("a").expect("it is in the list");
        assert_eq!((a.number, a.count, a.is_latest()), (1, 3, false));
        assert_eq!(a.newest.map(|run| run.id).as_deref(), Some("c"));
        assert!(standing("c").expect("it is in the list").is_latest());
        assert_eq!(standing("d"), None);
    }

    #[test]
    fn a_command_does_not_replace_the_change_before_it() {
        let command = Run {
            kind: RunKind::Command,
            ..run("c")
        };
        let runs = [command, run("b"), run("a")];
        let standing = |id| Standing::of(&runs, id).expect("it is in the list");
        assert!(standing("b").is_latest());
        assert_eq!(standing("a").newest.map(|run| run.id).as_deref(), Some("b"));
        assert!(standing("c").is_latest() && standing("c").keeps_deployment);
        let later = [run("d"), runs[0].clone()];
        let old = Standing::of(&later, "c").expect("it is in the list");
        assert!(old.is_latest(), "nothing replaces a command");
        assert!(!old.is_current(), "the deployment was changed after it");
        assert_eq!(old.newest.map(|run| run.id).as_deref(), Some("d"));
    }
}
