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
    let offset = RwSignal::new(0);
    let events = Load::new(move || client::audit(offset.get()));
    let list = events.view(
        || skeleton::rows(8),
        move |events: Vec<AuditEvent>| {
            if events.is_empty() && offset.get_untracked() == 0 {
                return view! {
                    <Empty icon="eye" title="No events yet" text="Logins, changes and refusals of this project appear here." />
                }
                .into_any();
            }
            let is_full = events.len() >= client::PAGE;
            view! { <EventTable events /> <Turner offset is_full /> }.into_any()
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

/// Buttons to newer and older events, where there may be some.
#[component]
fn Turner(offset: RwSignal<usize>, is_full: bool) -> impl IntoView {
    let turn = move |to: usize| move |_| offset.set(to);
    let at = offset.get_untracked();
    let newer = (at > 0).then(|| {
        let to = at.saturating_sub(client::PAGE);
        view! { <button type="button" class="button" on:click=turn(to)>"Newer events"</button> }
    });
    let older = is_full.then(|| {
        let to = at + client::PAGE;
        view! { <button type="button" class="button" on:click=turn(to)>"Older events"</button> }
    });
    view! { {newer} {older} }
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
