//! A service beside its component, on the canvas and in the list of services.

use api::{Deployment, DeploymentState, Service, ServicePort, ServiceState};
use leptos::prelude::*;

use crate::{
    load::Load,
    time::Ago,
    ui::{StateBadge, prose},
};

/// The service of a component: its state, address and ports. Nothing for other resources.
#[component]
pub fn ServiceNote(
    /// The deployment.
    deployment: Load<Deployment>,
    /// Name of the resource.
    #[prop(into)]
    name: Signal<String>,
) -> impl IntoView {
    let found = Memo::new(move |_| {
        deployment.with(|it| {
            let it = it.filter(|it| it.state != DeploymentState::Undeployed)?;
            let mut services = it.services.iter();
            services
                .find(|service| name.with(|name| service.component == *name))
                .cloned()
        })
    });
    move || {
        let service = found.get()?;
        let address = service.public_address.as_ref().or(service.address.as_ref());
        let address = address.map(|address| view! { <code class="id">{address.clone()}</code> });
        let ports = service.ports.iter().map(port).collect_view();
        Some(view! {
            <div class="service-note" role="group" aria-label="Service">
                {state(&service)}
                {address}
                {ports}
            </div>
        })
    }
}

/// The state of a service, its times, and the reason of a state that is not in order.
pub fn state(service: &Service) -> AnyView {
    let word = match service.state {
        ServiceState::Healthy => "first answer ",
        _ => "",
    };
    let since = service.since.clone();
    let since = since.map(|time| view! { <span class="meta">{word}<Ago time /></span> });
    let is_asked = matches!(
        service.state,
        ServiceState::Healthy | ServiceState::Unchecked
    );
    let checked = service.checked.clone().filter(|_| is_asked);
    let checked =
        checked.map(|time| view! { <span class="meta">"last answer "<Ago time /></span> });
    let text = &service.text;
    let text = (!text.is_empty()).then(|| view! { <p class="quiet">{prose(text)}</p> });
    view! {
        <div class="service-state"><StateBadge state=service.state />{since}{checked}</div>
        {text}
    }
    .into_any()
}

/// `80/tcp http`.
pub fn port(port: &ServicePort) -> AnyView {
    let provides = port.provides.join(", ");
    view! {
        <div>
            <code>{format!("{}/{}", port.port, port.protocol)}</code>
            <span class="quiet">" "{provides}</span>
        </div>
    }
    .into_any()
}
