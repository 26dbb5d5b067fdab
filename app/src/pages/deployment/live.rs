//! The present state of a deployment's resources in the cloud: its polling, and the state of floating IPs, load balancers
//! and volumes.

use std::future::Future;

use api::{Deployment, DeploymentState, LiveResource};
use leptos::prelude::*;

use crate::{
    browser,
    client::{self, Answer},
    load::Load,
};

/// Interval at which the cloud is asked while the page is visible, in milliseconds.
const REFRESH_MS: u64 = 15_000;

/// Types of the resources that [`live_resources`] has.
const TYPES: [&str; 3] = [
    "OS::Neutron::FloatingIP",
    "OS::Octavia::LoadBalancer",
    "OS::Cinder::Volume",
];

/// Fetches something of the deployment at an interval. An undeployed one, and one that does not fit, has nothing.
pub fn polled<T, Fut>(
    deployment: Load<Deployment>,
    fits: fn(&Deployment) -> bool,
    fetch: impl Fn(String) -> Fut + 'static,
) -> Load<Vec<T>>
where
    T: Clone + PartialEq + Send + Sync + 'static,
    Fut: Future<Output = Answer<Vec<T>>> + 'static,
{
    let id = Memo::new(move |_| {
        deployment.with(|it| {
            let it = it.filter(|it| it.state != DeploymentState::Undeployed && fits(it));
            it.map(|it| it.id.clone())
        })
    });
    let found = Load::new(move || {
        let fetched = id.get().map(&fetch);
        async move {
            match fetched {
                Some(fetched) => fetched.await,
                None => Ok(Vec::new()),
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

/// True if the cloud tells the state of resources of this type.
pub fn is_told(resource_type: &str) -> bool {
    TYPES.contains(&resource_type)
}

/// Floating IPs, load balancers and volumes as the cloud has them, refreshed at an interval.
pub fn live_resources(deployment: Load<Deployment>) -> Load<Vec<LiveResource>> {
    polled(
        deployment,
        |it| it.resources.iter().any(|one| is_told(&one.resource_type)),
        |id| async move { client::live_resources(&id).await },
    )
}

/// The state of a resource in the cloud, its address, and what it is attached to.
#[component]
pub fn LiveNote(
    /// Name of the resource.
    name: String,
    /// The resources.
    live: Load<Vec<LiveResource>>,
) -> impl IntoView {
    move || {
        live.with(|all| {
            let one = all?.iter().find(|one| one.name == name)?;
            let state = state_of(one);
            let tone = is_trouble(one).then_some("warning");
            let attached = (!one.attached_to.is_empty())
                .then(|| view! { <span class="meta">"at "{one.attached_to.join(", ")}</span> });
            let address = one.address.clone();
            Some(view! {
                <span class="server-live">
                    <span class="pill" data-tone=tone>{state}</span>
                    {address.map(|address| view! { <span class="meta mono">{address}</span> })}
                    {attached}
                </span>
            })
        })
    }
}

/// The states in the words of the service.
fn state_of(one: &LiveResource) -> String {
    match (&one.status, &one.operating_status) {
        (None, _) => String::from("gone from the cloud"),
        (Some(status), Some(operating)) => format!("{status}, {operating}"),
        (Some(status), None) => status.clone(),
    }
}

/// True if somebody should look at it: it is gone, broken, or serves with a part of its members.
fn is_trouble(one: &LiveResource) -> bool {
    let Some(status) = &one.status else {
        return true;
    };
    let mut words = one.operating_status.iter().chain([status]);
    words.any(|word| word.to_lowercase().contains("error") || word == "DEGRADED")
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
        assert_eq!(state_of(&one), "ACTIVE, ONLINE");
        assert!(!is_trouble(&one));
        one.operating_status = text("DEGRADED");
        assert!(is_trouble(&one));
        one.status = None;
        assert_eq!(state_of(&one), "gone from the cloud");
        one = LiveResource {
            status: text("error_deleting"),
            ..LiveResource::default()
        };
        assert!(is_trouble(&one));
    }
}
