//! The audit trail of the project: logins, changes and refusals.

use api::AuditEvent;
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    client,
    frame::{Crumb, use_frame},
    load::Load,
    time::Ago,
    ui::{Empty, skeleton},
};

/// The newest events as a table.
#[component]
pub fn AuditPage() -> impl IntoView {
    use_frame().crumbs(|| vec![Crumb::here("Audit log")]);
    let events = Load::new(client::audit);
    let list = events.view(
        || skeleton::rows(8),
        |events: Vec<AuditEvent>| {
            if events.is_empty() {
                return view! {
                    <Empty icon="eye" title="No events yet" text="Logins, changes and refusals of this project appear here." />
                }
                .into_any();
            }
            view! { <EventTable events /> }.into_any()
        },
    );
    view! {
        <Title text="Audit log" />
        <div class="page">
            <header class="page-head">
                <div>
                    <h1>"Audit log"</h1>
                    <p>"Logins, changes and refusals of this project, newest first."</p>
                </div>
            </header>
            {list}
        </div>
    }
}

#[component]
fn EventTable(events: Vec<AuditEvent>) -> impl IntoView {
    let row = |event: AuditEvent| {
        let result = match &event.code {
            Some(code) => format!("{} {code}", event.status),
            None => event.status.to_string(),
        };
        view! {
            <tr>
                <td class="fit quiet"><Ago time=event.time /></td>
                <td class="fit">{event.user}</td>
                <td class="fit quiet">{event.address}</td>
                <td><code>{event.action}</code></td>
                <td><code>{event.target}</code></td>
                <td class="fit">{result}</td>
                <td class="fit quiet"><code>{event.request_id}</code></td>
            </tr>
        }
    };
    view! {
        <div class="table">
            <table>
                <thead>
                    <tr>
                        <th scope="col" class="fit">"Time"</th><th scope="col" class="fit">"User"</th>
                        <th scope="col" class="fit">"Address"</th><th scope="col">"Action"</th><th scope="col">"Target"</th>
                        <th scope="col" class="fit">"Result"</th><th scope="col" class="fit">"Request"</th>
                    </tr>
                </thead>
                <tbody>{events.into_iter().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
}
