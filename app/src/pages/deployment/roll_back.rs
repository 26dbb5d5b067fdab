//! Roll-back of a deployment to the state before its failed change.
//!
//! It starts after a confirmation that lists the changes of its plan.

use api::{Deployment, Plan, Run};
use leptos::prelude::*;

use super::runs::last_good;
use crate::{
    client, consequences,
    load::{Load, Loaded},
    operations::proposal::{Proposals, changed, problems},
    session::use_session,
    time::moment,
    ui::{Icon, Question, state::run_title},
};

/// Button that plans the roll-back, starts it after a confirmation, and opens its page.
#[component]
pub fn RollBackButton(
    /// The deployment.
    deployment: Load<Deployment>,
    /// Its runs.
    runs: Load<Vec<Run>>,
) -> impl IntoView {
    let session = use_session();
    let proposals = Proposals::new();
    let ask = move |_| {
        let Some(it) = deployment.peek() else {
            return;
        };
        let goal = runs.peek().as_deref().and_then(last_good).map(in_words);
        let (planned, id) = (it.id.clone(), it.id);
        proposals.propose_plan(
            move || {
                let id = planned.clone();
                async move { client::roll_back_plan(&id).await }
            },
            move |plan| question(&it.name, goal.as_deref(), plan),
            move |plan| {
                let id = id.clone();
                async move { client::roll_back(&id, &plan).await }
            },
        );
    };
    let is_loading = move || matches!(runs.state(), Loaded::Loading);
    view! {
        <button
            type="button" class="button" on:click=ask
            disabled=move || !session.can_change() || is_loading()
        >
            <Icon name="undo-2" />
            "Roll back"
        </button>
    }
}

fn in_words(run: &Run) -> String {
    let (title, time) = (run_title(run), moment(&run.created));
    format!("{title} by {}, {time}", run.author)
}

/// The confirmation with the plan's changes, losses and problems. `goal` is the run whose content comes back, in words.
fn question(name: &str, goal: Option<&str>, plan: &Plan) -> Question {
    let goal = goal.map(|goal| format!(": {goal}")).unwrap_or_default();
    let mut body = vec![
        format!(
            "The deployment returns to the template and the parameters of its last successful change{goal}."
        ),
        String::from("Resources that it had and that still exist are kept."),
    ];
    let items: Vec<String> = changed(plan).map(consequences::line).collect();
    if items.is_empty() {
        body.push(String::from("No resource has to change."));
    }
    body.extend(consequences::losses(plan));
    body.extend(problems(plan));
    Question {
        title: format!("Roll back {name}?"),
        body,
        items,
        action: String::from("Roll back"),
        danger: true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn plan(changes: &[Value]) -> Plan {
        serde_json::from_value(json!({"diagnostics": [], "changes": changes, "workflow": null}))
            .unwrap()
    }

    fn change(resource: &str, resource_type: &str, action: &str) -> Value {
        json!({"action": action, "resource": resource, "type": resource_type, "origin": {"from": "drawn"}})
    }

    #[test]
    fn the_confirmation_lists_what_changes_and_what_is_lost() {
        let net = change("net", "OS::Neutron::Net", "none");
        let disk = change("disk", "OS::Cinder::Volume", "delete");
        let asked = question("shop", Some("Deploy by ann, 10:00:00"), &plan(&[disk, net]));
        assert_eq!(asked.title, "Roll back shop?");
        assert!(asked.body[0].ends_with("last successful change: Deploy by ann, 10:00:00."));
        assert_eq!(asked.items, ["disk  OS::Cinder::Volume  removed"]);
        assert_eq!(
            asked.body.last().map(String::as_str),
            Some("`disk`: Its data is lost, and its snapshots with it.")
        );
    }

    #[test]
    fn a_roll_back_without_changes_says_so() {
        let net = change("net", "OS::Neutron::Net", "none");
        let asked = question("shop", None, &plan(&[net]));
        assert!(asked.items.is_empty());
        assert!(asked.body[0].ends_with("last successful change."));
        assert!(asked.body.iter().any(|text| text.contains("No resource")));
    }
}
