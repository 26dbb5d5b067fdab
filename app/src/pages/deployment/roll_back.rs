//! Roll-back of a deployment to the state before its failed change.
//!
//! It starts after a confirmation that lists the changes of its plan.

use api::{Action, Plan};
use leptos::prelude::*;

use super::proposal::{Proposals, changed, problems};
use crate::{
    client,
    session::use_session,
    ui::{Icon, Question},
};

/// Button that plans the roll-back, starts it after a confirmation, and opens its page.
#[component]
pub fn RollBackButton(
    /// Id of the deployment. `None` if it is not loaded yet.
    #[prop(into)]
    deployment: Signal<Option<String>>,
) -> impl IntoView {
    let session = use_session();
    let proposals = Proposals::new();
    let ask = move |_| {
        let Some(id) = deployment.get_untracked() else {
            return;
        };
        let planned = id.clone();
        proposals.propose_plan(
            move || {
                let id = planned.clone();
                async move { client::roll_back_plan(&id).await }
            },
            question,
            move |plan| {
                let id = id.clone();
                async move { client::roll_back(&id, &plan).await }
            },
        );
    };
    view! {
        <button
            type="button" class="button" on:click=ask
            disabled=move || !session.can_change() || deployment.with(Option::is_none)
        >
            <Icon name="undo-2" />
            "Roll back"
        </button>
    }
}

/// The confirmation with the plan's changes and problems.
fn question(plan: &Plan) -> Question {
    let mut body = vec![String::from(
        "The deployment returns to the template and the parameters of its last successful change. Resources that it had \
         and that still exist are kept.",
    )];
    if changed(plan).next().is_none() {
        body.push(String::from("No resource has to change."));
    }
    body.extend(problems(plan));
    let items = changed(plan).map(|change| {
        let how = match change.action {
            Action::Create => "created",
            Action::Update => "updated",
            Action::Replace => "replaced",
            Action::Delete => "deleted",
            Action::None => "unchanged",
        };
        format!("{}  {}  {how}", change.resource, change.resource_type)
    });
    Question {
        title: String::from("Roll back?"),
        body,
        items: items.collect(),
        action: String::from("Roll back"),
        danger: true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_confirmation_lists_what_changes() {
        let change = |resource: &str, action: &str| json!({"action": action, "resource": resource, "type": "OS::Neutron::Net", "origin": {"from": "drawn"}});
        let plan = |changes: &[serde_json::Value]| -> Plan {
            serde_json::from_value(json!({"diagnostics": [], "changes": changes, "workflow": null}))
                .unwrap()
        };
        let asked = question(&plan(&[change("side", "delete"), change("net", "none")]));
        assert_eq!(asked.items, ["side  OS::Neutron::Net  deleted"]);
        let asked = question(&plan(&[change("net", "none")]));
        assert!(asked.items.is_empty());
        assert!(asked.body.iter().any(|text| text.contains("No resource")));
    }
}
