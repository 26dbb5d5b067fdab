//! Badges for states: an icon and a word, with a matching colour.
//!
//! One vocabulary on all pages. A step or run succeeds; a resource is ready or removed; a deployment is deployed or
//! undeployed. Until then each of them is running, or waits. A plan creates, updates, replaces or removes a resource.
//!
//! The API's words are stable, and most names are the same word. These differ:
//!
//! | state | API | name on the pages | why |
//! | --- | --- | --- | --- |
//! | step | `ready` | Queued | "Ready" is a resource that exists |
//! | step of kind `delete` | `succeeded` | Removed | the state of its resource, as on the canvas |
//! | step of kind `delete` | `running` | Removing | the same |
//! | resource | `deleting`, `deleted` | Removing, Removed | the buttons say "Remove" |
//! | change in a plan | `delete` | Remove, removed | the state that it leads to |
//! | deployment | `busy` | Running | one of its runs is active |
//! | run | `cancelling`, `cancelled` | Being replaced, Replaced | only if an update replaces it |
//!
//! The mapping is here alone: [`StepLook`] for steps, [`look_of`] for the canvas, [`action_done`] for plans,
//! [`StateBadge`] and [`run_badge`] for the rest. `data-state` contains the API's word, `data-look` the look; the style
//! sheet sets its colour.

use std::borrow::Cow;

use api::{
    Action, DeploymentState, FindingKind, ResourceState, Run, RunKind, RunState, RunStep, Scaling,
    ServiceState, StepKind, StepState,
};
use leptos::prelude::*;

use crate::ui::Icon;

/// State that can be displayed as a badge.
pub trait DisplayState: Copy {
    /// Word of the API.
    fn word(self) -> &'static str;
    /// Name for users.
    fn title(self) -> &'static str;
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

/// The API's word of a step's state.
pub fn step_word(state: StepState) -> &'static str {
    match state {
        StepState::Waiting => "waiting",
        StepState::Ready => "ready",
        StepState::Running => "running",
        StepState::Retrying => "retrying",
        StepState::Succeeded => "succeeded",
        StepState::Failed => "failed",
        StepState::Cancelled => "cancelled",
        StepState::Skipped => "skipped",
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
    const RESOURCE: [ResourceState; 7] = [
        ResourceState::Creating,
        ResourceState::Ready,
        ResourceState::Suspended,
        ResourceState::Updating,
        ResourceState::Deleting,
        ResourceState::Deleted,
        ResourceState::Failed,
    ];
    const DAMAGE: [FindingKind; 4] = [
        FindingKind::Gone,
        FindingKind::Broken,
        FindingKind::Changed,
        FindingKind::Unhealthy,
    ];
    const STEP: [StepState; 5] = [
        StepState::Waiting,
        StepState::Running,
        StepState::Retrying,
        StepState::Cancelled,
        StepState::Skipped,
    ];
    fn find<S: DisplayState>(
        word: &str,
        mut states: impl Iterator<Item = S>,
    ) -> Option<(&'static str, &'static str)> {
        let state = states.find(|state| state.word() == word)?;
        Some((state.look(), state.title()))
    }
    let steps = STEP.into_iter().map(|state| StepLook {
        kind: StepKind::Create,
        state,
    });
    let planned = || PLANNED.into_iter().find(|(planned, _)| *planned == word);
    find(word, RESOURCE.into_iter())
        .or_else(|| find(word, steps))
        .or_else(|| find(word, DAMAGE.into_iter()))
        .or_else(planned)
        .unwrap_or(("idle", ""))
}

/// Icon of a look.
pub fn icon_of(look: &str) -> &'static str {
    match look {
        "ready" | "waiting" => "circle-dashed",
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

impl DisplayState for StepLook {
    fn word(self) -> &'static str {
        step_word(self.state)
    }

    fn title(self) -> &'static str {
        match (self.kind, self.state) {
            (StepKind::Delete, StepState::Succeeded) => ResourceState::Deleted.title(),
            (StepKind::Delete, StepState::Running) => ResourceState::Deleting.title(),
            (_, StepState::Waiting) => "Waiting",
            (_, StepState::Ready) => "Queued",
            (_, StepState::Running) => "Running",
            (_, StepState::Retrying) => "Retrying",
            (_, StepState::Succeeded) => "Succeeded",
            (_, StepState::Failed) => "Failed",
            (_, StepState::Cancelled) => "Cancelled",
            (_, StepState::Skipped) => "Skipped",
        }
    }

    fn look(self) -> &'static str {
        match (self.kind, self.state) {
            (StepKind::Delete, StepState::Succeeded) => ResourceState::Deleted.look(),
            _ => self.word(),
        }
    }
}

impl DisplayState for RunState {
    fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Failing => "failing",
            Self::Cancelling => "cancelling",
            Self::Paused => "paused",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Queued => "Queued",
            Self::Running => "Running",
            Self::Failing => "Failing",
            Self::Cancelling => "Cancelling",
            Self::Paused => "Paused",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Cancelled => "Cancelled",
        }
    }

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
    fn word(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Deployed => "deployed",
            Self::Suspended => "suspended",
            Self::Failed => "failed",
            Self::Undeployed => "undeployed",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Busy => "Running",
            Self::Deployed => "Deployed",
            Self::Suspended => "Suspended",
            Self::Failed => "Failed",
            Self::Undeployed => "Undeployed",
        }
    }

    fn look(self) -> &'static str {
        match self {
            Self::Busy => "running",
            Self::Deployed => "succeeded",
            Self::Suspended => "paused",
            Self::Failed => "failed",
            Self::Undeployed => "removed",
        }
    }
}

impl DisplayState for ResourceState {
    fn word(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Ready => "ready",
            Self::Suspended => "suspended",
            Self::Updating => "updating",
            Self::Deleting => "deleting",
            Self::Deleted => "deleted",
            Self::Failed => "failed",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Creating => "Creating",
            Self::Ready => "Ready",
            Self::Suspended => "Suspended",
            Self::Updating => "Updating",
            Self::Deleting => "Removing",
            Self::Deleted => "Removed",
            Self::Failed => "Failed",
        }
    }

    fn look(self) -> &'static str {
        match self {
            Self::Creating | Self::Updating | Self::Deleting => "running",
            Self::Ready => "succeeded",
            Self::Suspended => "paused",
            Self::Deleted => "removed",
            Self::Failed => "failed",
        }
    }
}

impl DisplayState for FindingKind {
    fn word(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Broken => "broken",
            Self::Changed => "changed",
            Self::Unhealthy => "unhealthy",
            Self::Transition => "transition",
            Self::Unknown => "unknown",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Gone => "Gone",
            Self::Broken => "Broken",
            Self::Changed => "Changed",
            Self::Unhealthy => "Unhealthy",
            Self::Transition => "In transition",
            Self::Unknown => "Not compared",
        }
    }

    fn look(self) -> &'static str {
        match self {
            Self::Gone | Self::Broken | Self::Unhealthy => "failed",
            Self::Changed => "retrying",
            Self::Transition => "running",
            Self::Unknown => "waiting",
        }
    }
}

impl DisplayState for ServiceState {
    fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Healthy => "healthy",
            Self::Unchecked => "unchecked",
            Self::Installed => "installed",
            Self::Unhealthy => "unhealthy",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
            Self::Removing => "removing",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Starting => "Starting",
            Self::Healthy => "Healthy",
            Self::Unchecked => "Not checked",
            Self::Installed => "Installed",
            Self::Unhealthy => "Unhealthy",
            Self::Unknown => "Unknown",
            Self::Failed => "Failed",
            Self::Removing => "Removing",
        }
    }

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

/// Badge of a run's state. A run that an update has replaced is `Replaced`.
pub fn run_badge(run: &Run) -> AnyView {
    match replaced_title(run) {
        Some(title) => badge(run.state.look(), title),
        None => view! { <StateBadge state=run.state /> }.into_any(),
    }
}

/// Name of the state of a run that an update replaces. `None` if it continues, or continued to its end.
pub fn replaced_title(run: &Run) -> Option<&'static str> {
    run.replaced_by.as_ref()?;
    match run.state {
        RunState::Cancelling => Some("Being replaced"),
        RunState::Cancelled => Some("Replaced"),
        _ => None,
    }
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
    use super::*;

    #[test]
    fn a_removed_resource_is_called_and_looks_the_same_on_canvas_and_in_steps() {
        let step = |kind, state| {
            let look = StepLook { kind, state };
            (look.look(), look.title())
        };
        assert_eq!(look_of("deleted"), ("removed", "Removed"));
        assert_eq!(
            step(StepKind::Delete, StepState::Succeeded),
            look_of("deleted")
        );
        assert_eq!(
            step(StepKind::Delete, StepState::Running),
            look_of("deleting")
        );
        assert_eq!(
            step(StepKind::Create, StepState::Succeeded),
            ("succeeded", "Succeeded")
        );
        let skipped = step(StepKind::Delete, StepState::Skipped);
        assert_ne!(icon_of(skipped.0), icon_of("removed"), "not done, and done");
    }

    #[test]
    fn what_a_plan_removes_is_called_as_its_state_afterwards() {
        let removed = ResourceState::Deleted.title();
        assert_eq!(look_of("plan-delete").1, removed);
        assert_eq!(action_done(Action::Delete), removed.to_lowercase());
    }

    #[test]
    fn a_word_of_the_canvas_means_the_resource_first() {
        assert_eq!(look_of("ready"), ("succeeded", "Ready"));
        assert_eq!(look_of("waiting"), ("waiting", "Waiting"));
        assert_eq!(look_of("retrying"), ("retrying", "Retrying"));
        assert_eq!(look_of("gone"), ("failed", "Gone"));
        assert_eq!(look_of("plan-replace"), ("plan-replace", "Replaced"));
        assert_eq!(look_of("idle"), ("idle", ""));
    }
}
