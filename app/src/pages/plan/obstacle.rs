//! Obstacles to an update of a deployment: a run that works on it, whose place the update can take, or its suspension.

use api::{Deployment, DeploymentState, Run, RunKind};
use leptos::prelude::*;

use super::Page;
use crate::{
    time::Ago,
    ui::{Icon, state::run_title},
};

/// Interval at which the deployment is read again while a run works on it.
const REFRESH: std::time::Duration = std::time::Duration::from_secs(4);

/// The obstacle, with the deployment's name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Obstacle {
    /// A run works on it.
    AtWork(String, Box<Run>),
    /// The servers of the deployment are suspended.
    Suspended(String),
}

impl Obstacle {
    fn of(it: &Deployment) -> Option<Obstacle> {
        match it.state {
            DeploymentState::Suspended => Some(Obstacle::Suspended(it.name.clone())),
            DeploymentState::Running => {
                let run = it.summary.as_ref()?.run.clone()?;
                Some(Obstacle::AtWork(it.name.clone(), Box::new(run)))
            }
            _ => None,
        }
    }

    /// The run whose place the update can take.
    fn replaceable(&self) -> Option<&Run> {
        match self {
            Obstacle::AtWork(_, run) if matches!(run.kind, RunKind::Deploy | RunKind::Update) => {
                Some(run)
            }
            _ => None,
        }
    }
}

impl Page {
    /// The obstacle of the deployment to update. Tracks.
    pub(super) fn obstacle(self) -> Option<Obstacle> {
        let target = self.target.get()?;
        self.deployments
            .with(|all| Obstacle::of(all?.iter().find(|it| it.id == target)?))
    }

    /// Id of the run whose place the update takes, if the user has chosen that. Tracks.
    pub(super) fn instead_of(self) -> Option<String> {
        let run = self.obstacle()?.replaceable()?.id.clone();
        self.replaces.get().then_some(run)
    }

    /// True if the update can begin, now or in place of the active run. Tracks.
    pub(super) fn is_free(self) -> bool {
        self.obstacle().is_none() || self.instead_of().is_some()
    }
}

/// The obstacle in words, and the choice to replace the active run.
#[component]
pub(super) fn ObstacleNote(page: Page) -> impl IntoView {
    let obstacle = Memo::new(move |_| page.obstacle());
    Effect::new(move |_| {
        if !matches!(obstacle.get(), Some(Obstacle::AtWork(..))) {
            page.replaces.set(false);
            return;
        }
        let tick = set_interval_with_handle(move || page.deployments.reload(), REFRESH);
        on_cleanup(move || {
            if let Ok(tick) = tick {
                tick.clear();
            }
        });
    });
    move || {
        let obstacle = obstacle.get()?;
        let (icon, text) = match &obstacle {
            Obstacle::Suspended(name) => (
                "circle-pause",
                view! {
                    <p><strong>{format!("{name} is suspended.")}</strong>" Resume its servers on "
                    <a class="link" href=format!("/deployments/{}", page.target.get_untracked().unwrap_or_default())>"its page"</a>
                    " before you change it."</p>
                }
                .into_any(),
            ),
            Obstacle::AtWork(name, run) => (
                "loader-circle",
                view! {
                    <p><strong>{format!("A run works on {name}: ")}</strong>
                    <a class="link" href=format!("/runs/{}", run.id)>{run_title(run)}" by "{run.author.clone()}</a>
                    ", "<Ago time=run.created.clone() />"."</p>
                }
                .into_any(),
            ),
        };
        let choice = match &obstacle {
            Obstacle::Suspended(_) => ().into_any(),
            _ if obstacle.replaceable().is_some() => view! {
                <label class="check">
                    <input
                        type="checkbox" prop:checked=move || page.replaces.get()
                        on:change=move |event| page.replaces.set(event_target_checked(&event))
                    />
                    "Replace it: it begins no further step, its active steps end, and the update is planned from what exists then"
                </label>
                {move || page.replaces.get().then(|| view! {
                    <p class="quiet">
                        "The plan on this page is of the present state. The changes that are carried out can differ from it for resources on which that run works: what it creates until its end is then kept, updated or removed. The update's run shows its changes under Plan."
                    </p>
                })}
            }
            .into_any(),
            _ => view! { <p class="quiet">"It cannot be replaced. Wait for its end, or cancel it on its page."</p> }.into_any(),
        };
        Some(view! {
            <div class="plan-obstacle" role="note">
                <Icon name=icon />
                <div>{text}{choice}</div>
            </div>
        })
    }
}
