//! The present state of a deployment's resources in the cloud: its polling, and the state of all resources except servers.

use std::future::Future;

use api::{Deployment, DeploymentState, LiveResource, LiveResources, LiveServer};
use leptos::prelude::*;

use crate::{
    browser,
    client::{self, Answer},
    load::Load,
    ui::{Icon, prose},
};

/// Interval at which the cloud is asked while the page is visible, in milliseconds.
const REFRESH_MS: u64 = 15_000;

/// Fetches something of the deployment at an interval. An undeployed one has nothing.
pub fn polled<T, Fut>(
    deployment: Load<Deployment>,
    fetch: impl Fn(String) -> Fut + 'static,
) -> Load<T>
where
    T: Clone + Default + PartialEq + Send + Sync + 'static,
    Fut: Future<Output = Answer<T>> + 'static,
{
    let id = Memo::new(move |_| {
        deployment.with(|it| {
            let it = it.filter(|it| it.state != DeploymentState::Undeployed);
            it.map(|it| it.id.clone())
        })
    });
    let found = Load::new(move || {
        let fetched = id.get().map(&fetch);
        async move {
            match fetched {
                Some(fetched) => fetched.await,
                None => Ok(T::default()),
            }
        }
    });
    Effect::new(move |_| {
        let tick = set_interval_with_handle(
            move || {
                if browser::is_visible() {
                    found.reload();
                }
            },
            std::time::Duration::from_millis(REFRESH_MS),
        );
        on_cleanup(move || {
            if let Ok(tick) = tick {
                tick.clear();
            }
        });
    });
    found
}

/// Resources as the cloud has them, refreshed at an interval.
pub fn live_resources(deployment: Load<Deployment>) -> Load<LiveResources> {
    polled(
        deployment,
        |id| async move { client::live_resources(&id).await },
    )
}

/// A note while the cloud, or a service of it, does not report the states of its resources. A lost connection has its own
/// note.
#[component]
pub fn OutdatedNote(
    /// The servers.
    servers: Load<Vec<LiveServer>>,
    /// The resources.
    live: Load<LiveResources>,
) -> impl IntoView {
    let why = Memo::new(move |_| {
        let mut problems = [servers.problem(), live.problem()].into_iter().flatten();
        let problem = problems.find(|problem| client::outage_of(problem).is_none())?;
        Some(problem.detail)
    });
    let failed = Memo::new(move |_| {
        live.with(|live| live.map(|live| live.failed.clone()))
            .unwrap_or_default()
    });
    let note = |title: String, why: String| {
        view! {
            <div class="suspended-note deployment-way-on" role="status">
                <Icon name="triangle-alert" />
                <p><strong>{title}</strong>" "{prose(&why)}</p>
            </div>
        }
    };
    move || {
        let outdated = why.get().map(|why| {
            let title = String::from("The states and addresses may be out of date.");
            let seconds = REFRESH_MS / 1_000;
            let text = format!(
                "The page asks the cloud again every {seconds} seconds. The last request failed: {why}"
            );
            note(title, text)
        });
        let failed = failed.get().into_iter().map(|one| {
            let title = format!(
                "The {} service does not report the states of its resources:",
                one.service
            );
            note(title, one.reason)
        });
        (outdated, failed.collect_view())
    }
}

/// The state of a resource in the cloud, its addresses and its attachments. Empty for a resource without a state.
#[component]
pub fn LiveNote(
    /// Name of the resource.
    name: String,
    /// The resources.
    live: Load<LiveResources>,
) -> impl IntoView {
    move || {
        live.with(|all| {
            let all = &all?.resources;
            let found = all.binary_search_by(|one| one.name.as_str().cmp(&name));
            let one = &all[found.ok()?];
            let tone = is_trouble(one).then_some("warning");
            let state = state_of(one)
                .map(|state| view! { <span class="pill" data-tone=tone>{state}</span> });
            let addresses = (!one.addresses.is_empty())
                .then(|| view! { <span class="meta mono">{one.addresses.join(", ")}</span> });
            let attached = (!one.attached_to.is_empty())
                .then(|| view! { <span class="meta">"at "{one.attached_to.join(", ")}</span> });
            Some(view! { <span class="server-live">{state}{addresses}{attached}</span> })
        })
    }
}

/// The states in the words of the service. `None` if it has none.
fn state_of(one: &LiveResource) -> Option<String> {
    if one.is_gone {
        return Some(String::from("gone from the cloud"));
    }
    let status = one.status.as_ref()?;
    Some(match &one.operating_status {
        Some(operating) => format!("{status}, {operating}"),
        None => status.clone(),
    })
}

/// True if somebody should look at it: it is gone, broken, or serves with a part of its members.
fn is_trouble(one: &LiveResource) -> bool {
    let mut words = one.operating_status.iter().chain(&one.status);
    one.is_gone || words.any(|word| word.to_lowercase().contains("error") || word == "DEGRADED")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_states_of_a_load_balancer_are_both_told() {
        let text = |text: &str| Some(text.to_owned());
        let mut one = LiveResource {
            status: text("ACTIVE"),
            operating_status: text("ONLINE"),
            ..LiveResource::default()
        };
        assert_eq!(state_of(&one), text("ACTIVE, ONLINE"));
        assert!(!is_trouble(&one));
        one.operating_status = text("DEGRADED");
        assert!(is_trouble(&one));
        one = LiveResource {
            status: text("error_deleting"),
            ..LiveResource::default()
        };
        assert!(is_trouble(&one));
    }

    #[test]
    fn a_subnet_without_a_status_is_told_apart_from_one_that_is_gone() {
        let mut subnet = LiveResource {
            addresses: vec!["10.0.1.0/24".into()],
            ..LiveResource::default()
        };
        assert_eq!(state_of(&subnet), None);
        assert!(!is_trouble(&subnet));
        subnet = LiveResource {
            is_gone: true,
            ..LiveResource::default()
        };
        assert_eq!(state_of(&subnet).as_deref(), Some("gone from the cloud"));
        assert!(is_trouble(&subnet));
    }
}
