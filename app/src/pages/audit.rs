//! The audit trail of the project: logins, changes and refusals.

use api::AuditEvent;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

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
    let query = use_query_map();
    let deployment = Memo::new(move |_| query.with(|query| query.get("deployment")));
    let events = Load::new(move || {
        let (deployment, offset) = (deployment.get(), offset.get());
        async move { client::audit(deployment.as_deref(), client::PAGE, offset).await }
    });
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
                    {move || match deployment.get() {
                        None => view! { <p>"Logins, changes and refusals of this project, newest first."</p> }.into_any(),
                        Some(id) => view! {
                            <p>
                                "Changes and refusals of "<a class="link" href=format!("/deployments/{id}")>"one deployment"</a>
                                ", newest first. "
                                <a class="link" href="/audit" on:click=move |_| offset.set(0)>"Show all events"</a>
                            </p>
                        }
                        .into_any(),
                    }}
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

/// Status of the answer to a request whose work begins with the answer, such as a run.
const ACCEPTED: u32 = 202;

/// Events as a table.
#[component]
pub fn EventTable(
    /// The events, in order.
    events: Vec<AuditEvent>,
) -> impl IntoView {
    let row = |event: AuditEvent| {
        let target = target(&event.target).map(|(href, name)| view! { <a href=href>{name}</a> });
        let result = match &event.code {
            Some(code) if event.status < 500 => format!("Refused: {code}"),
            Some(code) => format!("Failed: {code}"),
            // The work goes on after the answer, and may still fail.
            None if event.status == ACCEPTED => "Accepted".to_owned(),
            None if event.status < 400 => "Done".to_owned(),
            None => event.status.to_string(),
        };
        view! {
            <tr>
                <td class="fit quiet"><Ago time=event.time /></td>
                <td class="fit">{event.user}</td>
                <td class="fit quiet">{event.address}</td>
                <td title=event.action.clone()>{action(&event.action)}</td>
                <td title=event.target>{target}</td>
                <td class="fit" title=format!("Request {}", event.request_id)>{result}</td>
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
                        <th scope="col" class="fit">"Result"</th>
                    </tr>
                </thead>
                <tbody>{events.into_iter().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
}

/// An action in words. One that has none here is shown as the API has it, with a capital letter.
fn action(action: &str) -> String {
    // The end of a terminal has its duration at the end.
    if let Some(after) =
        action.strip_prefix("CLOSE /api/v1/deployments/{id}/servers/{name}/terminal")
    {
        return format!("Close a terminal{after}");
    }
    let words = match action {
        "POST /api/v1/login" => "Log in",
        "login by X-Auth-Token" => "Log in with a token",
        "POST /api/v1/logout" => "Log out",
        "DELETE /api/v1/sessions/{id}" => "End a session",
        "POST /api/v1/designs" => "Create a design",
        "PUT /api/v1/designs/{id}" => "Save a design",
        "DELETE /api/v1/designs/{id}" => "Delete a design",
        "POST /api/v1/deployments" => "Deploy",
        "PUT /api/v1/deployments/{id}" => "Update",
        "DELETE /api/v1/deployments/{id}" => "Undeploy",
        "POST /api/v1/deployments/{id}/rollback" => "Roll back",
        "DELETE /api/v1/deployments/{id}/record" => "Remove a deployment",
        "POST /api/v1/deployments/{id}/suspend" => "Suspend",
        "POST /api/v1/deployments/{id}/resume" => "Resume",
        "POST /api/v1/deployments/{id}/snapshots" => "Take a snapshot",
        "POST /api/v1/deployments/{id}/snapshots/{snapshot}/restore" => "Restore a snapshot",
        "DELETE /api/v1/deployments/{id}/snapshots/{snapshot}" => "Delete a snapshot",
        "POST /api/v1/deployments/{id}/upgrade" => "Upgrade an item",
        "POST /api/v1/deployments/{id}/permission" => "Give a permission",
        "DELETE /api/v1/deployments/{id}/permission" => "Revoke a permission",
        "POST /api/v1/deployments/{id}/servers/{name}/power" => "Start, stop or reboot a server",
        "POST /api/v1/deployments/{id}/check" => "Check",
        "POST /api/v1/deployments/{id}/repair" => "Repair",
        "POST /api/v1/deployments/{id}/command" => "Run a command",
        "POST /api/v1/deployments/{id}/groups/{name}/scale" => "Scale a group",
        "PUT /api/v1/designs/{id}/versions/{version}" => "Label a version",
        "POST /api/v1/runs/{id}/cancel" => "Cancel a run",
        "POST /api/v1/runs/{id}/release" => "Continue a run at a hook",
        "POST /api/v1/runs/{id}/resume" => "Resume a run",
        "POST /api/v1/catalog" | "POST /api/v1/recipes" => "Publish or test a catalogue item",
        "POST /api/v1/catalog/{item}/publish" => "Publish a draft of a catalogue item",
        "DELETE /api/v1/catalog/{item}" => "Delete a draft of a catalogue item",
        "OPEN /api/v1/deployments/{id}/servers/{name}/terminal"
        | "GET /api/v1/deployments/{id}/servers/{name}/terminal" => "Open a terminal",
        "GET /api/v1/deployments/{id}/servers/{name}/console" => "Read a console",
        "POST /api/v1/deployments/{id}/servers/{name}/console" => "Open a graphical console",
        other => other,
    };
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The page of an event's target and its name, if it has a page.
fn target(path: &str) -> Option<(String, String)> {
    let (kind, rest) = path.strip_prefix("/api/v1/")?.split_once('/')?;
    let name = match kind {
        "designs" => "Design",
        "deployments" => "Deployment",
        "runs" => "Run",
        _ => return None,
    };
    let id = rest.split('/').next()?;
    Some((format!("/{kind}/{id}"), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_terminal_has_its_duration() {
        let of = |verb, after| {
            action(&format!(
                "{verb} /api/v1/deployments/{{id}}/servers/{{name}}/terminal{after}"
            ))
        };
        assert_eq!(of("OPEN", ""), "Open a terminal");
        assert_eq!(of("CLOSE", " after 75 s"), "Close a terminal after 75 s");
    }

    #[test]
    fn actions_of_machines_are_in_words() {
        for (of, words) in [
            ("login by X-Auth-Token", "Log in with a token"),
            ("signal to `ready`", "Signal to `ready`"),
            (
                "signal: `up` scales `web` from 1 to 2 members",
                "Signal: `up` scales `web` from 1 to 2 members",
            ),
        ] {
            assert_eq!(action(of), words);
        }
    }

    #[test]
    fn targets_with_a_page_have_a_link() {
        let of = |path| target(path).map(|(href, _)| href);
        let run = "/api/v1/runs/7/cancel";
        assert_eq!(of(run).as_deref(), Some("/runs/7"));
        assert_eq!(of("/api/v1/designs/3").as_deref(), Some("/designs/3"));
        assert_eq!(of("/api/v1/sessions/3"), None);
        assert_eq!(of("/api/v1/login"), None);
    }
}
