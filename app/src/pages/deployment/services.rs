//! The services of a deployment: what its software offers, where, and whether it is healthy.

use api::{Deployment, DeploymentState, Service};
use leptos::prelude::*;

use crate::{
    load::Load,
    operations::service,
    ui::{CopyButton, data_table},
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
    let state = service::state(&service);
    let Service {
        component,
        title,
        server,
        address,
        public_address,
        ports,
        ..
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
    view! {
        <tr data-service=component>
            <td>{name}<p class="quiet">{title}</p></td>
            <td>{state}</td>
            <td>{addresses}</td>
            <td>{ports.iter().map(service::port).collect_view()}</td>
            <td>{server}</td>
        </tr>
    }
    .into_any()
}
