//! Badges for states: an icon and a word, with a matching colour.
//!
//! One vocabulary on all pages. A step or run succeeds; a resource is ready or removed; a deployment is deployed or
//! undeployed. Until then each of them is running, or waits.
//!
//! `data-state` contains the API's word; the style sheet sets its colour.

use std::borrow::Cow;

use api::{
    DeploymentState, FindingKind, ResourceState, Run, RunKind, RunState, RunStep, Scaling,
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
    /// Step state with the same look.
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
        _ if run.rolls_back => "Rollback",
        RunKind::Deploy => "Deploy",
        RunKind::Update => "Update",
        RunKind::Undeploy => "Undeploy",
        RunKind::Command => "Command",
        RunKind::Suspend => "Suspend",
        RunKind::Resume => "Resume",
    };
    title.into()
}

/// Name of a step's state, for users. A step that has deleted its resource is `Removed`.
pub fn step_title(step: &RunStep) -> &'static str {
    match (step.kind, step.state) {
        (StepKind::Delete, StepState::Succeeded) => ResourceState::Deleted.title(),
        (StepKind::Delete, StepState::Running) => ResourceState::Deleting.title(),
        (_, state) => state.title(),
    }
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
        _ => "circle-minus",
    }
}

impl DisplayState for StepState {
    fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting",
            Self::Ready => "Queued",
            Self::Running => "Running",
            Self::Retrying => "Retrying",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Cancelled => "Cancelled",
            Self::Skipped => "Skipped",
        }
    }

    fn look(self) -> &'static str {
        self.word()
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
            Self::Undeployed => "skipped",
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
            Self::Deleted => "skipped",
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
            Self::Unhealthy => "Not healthy",
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
            Self::Unhealthy => "Not healthy",
            Self::Unknown => "Not known",
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

/// Badge of a run's state. A run whose place an update has taken is `Replaced`.
pub fn run_badge(run: &Run) -> AnyView {
    match replaced_title(run) {
        Some(title) => badge(run.state.look(), title),
        None => view! { <StateBadge state=run.state /> }.into_any(),
    }
}

/// Name of the state of a run whose place an update takes. `None` if it goes on, or went on to its end.
pub fn replaced_title(run: &Run) -> Option<&'static str> {
    run.replaced_by.as_ref()?;
    match run.state {
        RunState::Cancelling => Some("Giving way"),
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
