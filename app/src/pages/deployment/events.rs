//! The last audit events of a deployment, and the users who may change it.

use api::{CurrentUser, Deployment};
use leptos::prelude::*;

use crate::{client, load::Load, pages::audit::EventTable, session::use_session, ui::skeleton};

/// Number of events in the section. The audit log has all.
const EVENTS: usize = 10;

/// The section. Its events are for members, as is the audit log.
#[component]
pub fn EventSection(
    /// The deployment.
    deployment: Load<Deployment>,
) -> impl IntoView {
    let session = use_session();
    let id = Memo::new(move |_| deployment.with(|it| it.map(|it| it.id.clone())));
    let is_member = Memo::new(move |_| session.can_change());
    let events = Load::new(move || {
        let id = id.get().filter(|_| is_member.get());
        async move {
            match id {
                Some(id) => client::audit(Some(&id), EVENTS, 0).await,
                None => Ok(Vec::new()),
            }
        }
    });
    // A change or a check adds an event.
    let version = Memo::new(move |_| {
        deployment.with(|it| {
            let check = |it: &Deployment| it.check.as_ref().map(|check| check.id.clone());
            it.map(|it| format!("{} {:?}", it.updated, check(it)))
        })
    });
    Effect::new(move |before: Option<Option<String>>| {
        let now = version.get();
        if before.is_some_and(|before| before != now) {
            events.reload();
        }
        now
    });
    let table = move || {
        is_member.get().then(|| {
            events.view(
                || skeleton::rows(3),
                |events| {
                    if events.is_empty() {
                        view! { <p class="quiet">"No events yet."</p> }.into_any()
                    } else {
                        view! { <EventTable events /> }.into_any()
                    }
                },
            )
        })
    };
    let all = move || {
        let id = id.get().filter(|_| is_member.get())?;
        Some(view! { <a class="link" href=format!("/audit?deployment={id}")>"All events"</a> })
    };
    view! {
        <section class="section" aria-label="Events">
            <div class="section-head"><h2>"Events"</h2>{all}</div>
            <p class="quiet" data-who>{move || session.me.with(|me| me.as_ref().map(who_may_change))}</p>
            {table}
        </section>
    }
}

/// A sentence on the users who may change the deployments of the project, and on whether this user may.
fn who_may_change(me: &CurrentUser) -> String {
    let roles = match me.member_roles.as_slice() {
        [] => String::from("a role for changes"),
        [one] => format!("the role {one}"),
        [first @ .., last] => format!("the role {} or {last}", first.join(", ")),
    };
    let rest = if me.can_change {
        "You may change it."
    } else {
        "You have read access only. Events are shown to users who may change the deployment."
    };
    format!(
        "Users with {roles} in the project {} may change this deployment; all others of the project have read access. {rest}",
        me.project
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_roles_for_changes_are_named() {
        let me = |roles: &[&str], can_change: bool| -> CurrentUser {
            serde_json::from_value(json!({
                "cloud": "lab", "user": "ann", "project": "demo", "project_id": "1", "roles": ["reader"],
                "can_change": can_change, "member_roles": roles, "expires": "2026-01-01T00:00:00Z",
            }))
            .unwrap()
        };
        assert_eq!(
            who_may_change(&me(&["member", "manager", "admin"], false)),
            "Users with the role member, manager or admin in the project demo may change this deployment; all others of \
             the project have read access. You have read access only. Events are shown to users who may change the deployment."
        );
        let one = who_may_change(&me(&["member"], true));
        assert!(one.starts_with("Users with the role member in"), "{one}");
        assert!(one.ends_with("You may change it."), "{one}");
    }
}
