//! The services of a deployment: what its software offers, where, and whether it is healthy.

use api::{Deployment, DeploymentState, Service, ServicePort, ServiceState};
use leptos::prelude::*;

use crate::{
    load::Load,
    time::Ago,
    ui::{CopyButton, StateBadge, data_table, prose},
};

/// The section with the services. Nothing for a deployment without software that offers something.
#[component]
pub fn Services(deployment: Load<Deployment>) -> impl IntoView {
    let services = Memo::new(move |_| {
        deployment.with(|it| {
            it.filter(|it| it.state != DeploymentState::Undeployed)
                .map(|it| it.services.clone())
                .unwrap_or_default()
        })
    });
    move || {
        let services = services.get();
        (!services.is_empty()).then(|| {
            let rows = services.into_iter().map(row).collect_view();
            view! {
                <section class="section" aria-label="Services">
                    <h2>"Services"</h2>
                    {data_table(["Service", "State", "Address", "Ports", "Server"], rows)}
                </section>
            }
        })
    }
}

fn row(service: Service) -> AnyView {
    let Service {
        component,
        title,
        server,
        address,
        public_address,
        ports,
        state,
        text,
        since,
        checked,
    } = service;
    let name = component.clone();
    let addresses = [public_address, address].into_iter().flatten();
    let addresses = addresses
        .map(|address| {
            let label = format!("Copy the address {address} of {component}");
            view! {
                <div class="id-cell"><code class="id">{address.clone()}</code><CopyButton text=address label /></div>
            }
        })
        .collect_view();
    let word = match state {
        ServiceState::Healthy => "first answer ",
        _ => "",
    };
    let since = since.map(|time| view! { <span class="meta">{word}<Ago time /></span> });
    let is_asked = matches!(state, ServiceState::Healthy | ServiceState::Unchecked);
    let checked = checked.filter(|_| is_asked);
    let checked =
        checked.map(|time| view! { <span class="meta">"last answer "<Ago time /></span> });
    let text = (!text.is_empty()).then(|| view! { <p class="quiet">{prose(&text)}</p> });
    view! {
        <tr data-service=component>
            <td>{name}<p class="quiet">{title}</p></td>
            <td><div class="service-state"><StateBadge state />{since}{checked}</div>{text}</td>
            <td>{addresses}</td>
            <td>{ports.iter().map(port).collect_view()}</td>
            <td>{server}</td>
        </tr>
    }
    .into_any()
}

/// `80/tcp http`.
fn port(port: &ServicePort) -> AnyView {
    let provides = port.provides.join(", ");
    view! {
        <div>
            <code>{format!("{}/{}", port.port, port.protocol)}</code>
            <span class="quiet">" "{provides}</span>
        </div>
    }
    .into_any()
}
