//! Badges for states: an icon and a name, with a matching colour.
//!
//! The names are those of [`Named`], which are the API's words. The looks are here: [`DisplayState::look`] for states,
//! [`look_of`] for the canvas. `data-state` contains the API's word, `data-look` the look; the style sheet sets its colour.
//!
//! Changes in a plan have verbs in the API and the states that they lead to on the pages: `delete` is "removed", see
//! [`action_done`].

use std::borrow::Cow;

use api::{
    Action, Deployment, DeploymentState, FindingKind, Named, ResourceState, Run, RunKind, RunState,
    RunStep, Scaling, ServiceState, StepKind, StepState,
};
use leptos::prelude::*;

use crate::ui::Icon;

/// State that can be displayed as a badge.
pub trait DisplayState: Named {
    /// The look, as in `data-look`: a word of [`StepState`], `paused` or `removed`.
    fn look(self) -> &'static str;
}

/// Name of a run's purpose, for users: `Deploy`, `Scale web: 2 → 5`.
pub fn run_title(run: &Run) -> Cow<'static, str> {
    if let Some(Scaling {
        group, from, to, ..
    }) = &run.scaling
    {
        return format!("Scale {group}: {from} → {to}").into();
    }
    if let Some(command) = &run.command {
        return format!("Command: {}", command.title).into();
    }
    let title = match run.kind {
        _ if run.rolls_back => "Roll back",
        RunKind::Deploy => "Deploy",
        RunKind::Update => "Update",
        RunKind::Undeploy => "Undeploy",
        RunKind::Command => "Command",
        RunKind::Suspend => "Suspend",
        RunKind::Resume => "Resume",
        RunKind::Snapshot => "Snapshot",
        RunKind::Restore => "Restore",
    };
    title.into()
}

/// State of a step with its kind, on which name and look depend: a step that has deleted its resource is `Removed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepLook {
    /// Kind of the step.
    pub kind: StepKind,
    /// State of the step.
    pub state: StepState,
}

impl From<&RunStep> for StepLook {
    fn from(step: &RunStep) -> StepLook {
        StepLook {
            kind: step.kind,
            state: step.state,
        }
    }
}

/// Name of the state of a run that waits for a user at a hook.
pub const WAITS_FOR_USER: &str = "Waits for a user";

/// State of a run, with the facts on which its name depends as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLook {
    /// State of the run.
    pub state: RunState,
    /// True if an update replaces it. It can still continue to its end.
    pub is_replaced: bool,
    /// True if it waits for a user at a hook.
    pub waits_for_user: bool,
}

impl From<&Run> for RunLook {
    fn from(run: &Run) -> RunLook {
        RunLook {
            state: run.state,
            is_replaced: run.replaced_by.is_some(),
            waits_for_user: run.waits_for_user,
        }
    }
}

/// State of a deployment. While a run is active, its name and look are those of the run: a deployment whose run is paused is
/// `Paused`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeploymentLook {
    state: DeploymentState,
    active_run: Option<RunLook>,
}

impl DeploymentLook {
    /// State of a deployment. `runs` are its runs, or its last one. If that is not loaded yet, the name is that of the
    /// deployment's own state.
    pub fn of(it: &Deployment, runs: &[Run]) -> DeploymentLook {
        let is_busy = it.state == DeploymentState::Running;
        let mut runs = runs.iter();
        let last_run = runs.find(|run| Some(&run.id) == it.last_run.as_ref());
        let active_run = last_run.filter(|run| is_busy && !run.state.is_final());
        DeploymentLook {
            state: it.state,
            active_run: active_run.map(RunLook::from),
        }
    }
}

/// Effect of a plan on a resource, in words for users: `web is replaced`.
pub fn action_done(action: Action) -> &'static str {
    match action {
        Action::Create => "created",
        Action::Update => "updated",
        Action::Replace => "replaced",
        Action::Delete => "removed",
        Action::None => "unchanged",
    }
}

/// Word and look on the canvas of a resource that a plan or a newer version changes, and the name for users.
const PLANNED: [(&str, &str); 4] = [
    ("plan-create", "New"),
    ("plan-update", "Updated"),
    ("plan-replace", "Replaced"),
    ("plan-delete", "Removed"),
];

/// Look of a resource on the canvas, and the name of its state for users. `word` is the API's word of a [`ResourceState`],
/// of a [`FindingKind`] that is a damage, or of the [`StepState`] of a step that is at work on it, or `plan-` with the API's
/// word of an [`Action`].
pub fn look_of(word: &str) -> (&'static str, &'static str) {
    fn find<S: DisplayState>(word: &str, states: &[S]) -> Option<(&'static str, &'static str)> {
        let state = states.iter().find(|state| state.word() == word)?;
        Some((state.look(), state.title()))
    }
    let planned = || PLANNED.into_iter().find(|(planned, _)| *planned == word);
    find(word, ResourceState::ALL)
        .or_else(|| find(word, StepState::ALL))
        .or_else(|| find(word, FindingKind::ALL))
        .or_else(planned)
        .unwrap_or(("idle", ""))
}

/// Icon of a look.
pub fn icon_of(look: &str) -> &'static str {
    match look {
        "queued" | "waiting" => "circle-dashed",
        "running" => "loader-circle",
        "retrying" => "rotate-cw",
        "succeeded" => "circle-check",
        "failed" => "circle-x",
        "cancelled" => "ban",
        "paused" => "circle-pause",
        "skipped" => "skip-forward",
        "plan-create" => "plus",
        "plan-update" => "pencil",
        "plan-replace" => "replace",
        "plan-delete" => "minus",
        _ => "circle-minus",
    }
}

impl StepLook {
    fn shown_as(self) -> Option<ResourceState> {
        self.state.shown_as(self.kind)
    }
}

impl Named for StepLook {
    fn word(self) -> &'static str {
        self.shown_as()
            .map_or_else(|| self.state.word(), Named::word)
    }

    fn title(self) -> &'static str {
        self.shown_as()
            .map_or_else(|| self.state.title(), Named::title)
    }
}

impl DisplayState for StepLook {
    fn look(self) -> &'static str {
        self.shown_as()
            .map_or_else(|| self.state.look(), DisplayState::look)
    }
}

impl Named for RunLook {
    fn word(self) -> &'static str {
        self.state.word()
    }

    fn title(self) -> &'static str {
        match self.state {
            RunState::Running if self.waits_for_user => WAITS_FOR_USER,
            RunState::Cancelling if self.is_replaced => "Being replaced",
            RunState::Cancelled if self.is_replaced => "Replaced",
            state => state.title(),
        }
    }
}

impl DisplayState for RunLook {
    fn look(self) -> &'static str {
        match self.state {
            RunState::Running if self.waits_for_user => "paused",
            state => state.look(),
        }
    }
}

impl Named for DeploymentLook {
    fn word(self) -> &'static str {
        self.state.word()
    }

    fn title(self) -> &'static str {
        self.active_run
            .map_or_else(|| self.state.title(), Named::title)
    }
}

impl DisplayState for DeploymentLook {
    fn look(self) -> &'static str {
        self.active_run
            .map_or_else(|| self.state.look(), DisplayState::look)
    }
}

impl DisplayState for StepState {
    fn look(self) -> &'static str {
        self.word()
    }
}

impl DisplayState for RunState {
    fn look(self) -> &'static str {
        match self {
            Self::Queued => "waiting",
            Self::Running => "running",
            Self::Failing | Self::Failed => "failed",
            Self::Cancelling | Self::Cancelled => "cancelled",
            Self::Paused => "paused",
            Self::Succeeded => "succeeded",
        }
    }
}

impl DisplayState for DeploymentState {
    fn look(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Deployed => "succeeded",
            Self::Suspended => "paused",
            Self::Failed => "failed",
            Self::Undeployed => "removed",
        }
    }
}

impl DisplayState for ResourceState {
    fn look(self) -> &'static str {
        match self {
            Self::Creating | Self::Updating | Self::Removing => "running",
            Self::Ready => "succeeded",
            Self::Suspended => "paused",
            Self::Removed => "removed",
            Self::Failed => "failed",
        }
    }
}

impl DisplayState for FindingKind {
    fn look(self) -> &'static str {
        match self {
            Self::Gone | Self::Broken | Self::Unhealthy => "failed",
            Self::Changed => "retrying",
            Self::InTransition => "running",
            Self::NotCompared => "waiting",
        }
    }
}

impl DisplayState for ServiceState {
    fn look(self) -> &'static str {
        match self {
            Self::Starting | Self::Removing => "running",
            Self::Healthy | Self::Installed => "succeeded",
            Self::Unhealthy | Self::Failed => "failed",
            Self::Unknown | Self::Unchecked => "waiting",
        }
    }
}

/// Icon and name of a state.
#[component]
pub fn StateBadge<S: DisplayState>(
    /// The state.
    state: S,
) -> impl IntoView {
    badge(state.look(), state.title())
}

/// Badge with this look and name.
pub fn badge(look: &'static str, title: &'static str) -> AnyView {
    view! {
        <span class="state" data-look=look>
            <Icon name=icon_of(look) />
            {title}
        </span>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_removed_resource_is_called_and_looks_the_same_on_canvas_and_in_steps() {
        let step = |kind, state| {
            let look = StepLook { kind, state };
            (look.look(), look.title())
        };
        assert_eq!(look_of("removed"), ("removed", "Removed"));
        assert_eq!(
            step(StepKind::Delete, StepState::Succeeded),
            look_of("removed")
        );
        assert_eq!(
            step(StepKind::Delete, StepState::Running),
            look_of("removing")
        );
        assert_eq!(
            step(StepKind::Create, StepState::Succeeded),
            ("succeeded", "Succeeded")
        );
        let skipped = step(StepKind::Delete, StepState::Skipped);
        assert_ne!(icon_of(skipped.0), icon_of("removed"), "not done, and done");
    }

    #[test]
    fn a_deployment_is_called_as_its_active_run() {
        let run = |state: &str| -> Run {
            serde_json::from_value(json!({
                "id": "r", "deployment": "d", "kind": "update", "state": state, "author": "demo",
                "created": "2026-01-01T00:00:00Z", "started": null, "ended": null,
            }))
            .unwrap()
        };
        let mut deployment: Deployment = serde_json::from_value(json!({
            "id": "d", "name": "shop", "state": "running", "created": "1", "updated": "2", "author": "demo", "last_run": "r",
        }))
        .unwrap();
        let active = |run: &Run| {
            let look = DeploymentLook::of(&deployment, std::slice::from_ref(run));
            assert_eq!(look.title(), RunLook::from(run).title(), "one name");
            (look.look(), look.title())
        };
        let mut working = run("running");
        assert_eq!(active(&working), ("running", "Running"));
        working.waits_for_user = true;
        assert_eq!(active(&working), ("paused", "Waits for a user"));
        assert_eq!(active(&run("paused")), ("paused", "Paused"));
        let mut replaced = run("cancelling");
        replaced.replaced_by = Some("ann".to_owned());
        assert_eq!(active(&replaced), ("cancelled", "Being replaced"));

        assert_eq!(DeploymentLook::of(&deployment, &[]).title(), "Running");
        deployment.state = DeploymentState::Deployed;
        let last = [run("succeeded")];
        assert_eq!(DeploymentLook::of(&deployment, &last).title(), "Deployed");
    }

    #[test]
    fn what_a_plan_removes_is_called_as_its_state_afterwards() {
        let removed = ResourceState::Removed.title();
        assert_eq!(look_of("plan-delete").1, removed);
        assert_eq!(action_done(Action::Delete), removed.to_lowercase());
    }

    #[test]
    fn a_word_of_the_canvas_means_the_resource_first() {
        assert_eq!(look_of("ready"), ("succeeded", "Ready"));
        assert_eq!(look_of("waiting"), ("waiting", "Waiting"));
        assert_eq!(look_of("queued"), ("queued", "Queued"));
        assert_eq!(look_of("retrying"), ("retrying", "Retrying"));
        assert_eq!(look_of("gone"), ("failed", "Gone"));
        assert_eq!(look_of("plan-replace"), ("plan-replace", "Replaced"));
        assert_eq!(look_of("idle"), ("idle", ""));
    }
}
