//! The changes of a plan, grouped by action, each with its reason.

use std::collections::HashMap;

use api::{Action, Change, Design, Plan};
use leptos::prelude::*;
use planner::workflow::Origin;
use serde_json::Value;

use crate::{
    designer::board::Board,
    load::{Load, Loaded},
    ui::{Icon, prose},
};

/// The groups in reading order: destructive changes first.
const GROUPS: [(Action, &str, &str, &str); 5] = [
    (Action::Delete, "Delete", "to delete", "minus"),
    (Action::Replace, "Replace", "to replace", "replace"),
    (Action::Update, "Update", "to update", "pencil"),
    (Action::Create, "Create", "to create", "plus"),
    (Action::None, "Unchanged", "unchanged", "check"),
];

fn word(action: Action) -> &'static str {
    match action {
        Action::Create => "create",
        Action::Update => "update",
        Action::Replace => "replace",
        Action::Delete => "delete",
        Action::None => "none",
    }
}

/// Label, action and number for every action in the plan: `(to create, create, 12)`.
pub fn counts(plan: &Plan) -> Vec<(&'static str, &'static str, usize)> {
    GROUPS
        .iter()
        .map(|&(action, _, text, _)| {
            (
                text,
                word(action),
                plan.changes
                    .iter()
                    .filter(|change| change.action == action)
                    .count(),
            )
        })
        .filter(|(_, _, count)| *count > 0)
        .collect()
}

/// Destructive changes of an update, for its confirmation: `web OS::Nova::Server replaced`.
pub fn destructive(plan: &Loaded<Plan>) -> Vec<String> {
    let Loaded::Ready(plan) = plan else {
        return Vec::new();
    };
    let gone = plan.changes.iter().filter_map(|change| {
        let how = match (change.action, change.may) {
            (Action::Replace, false) => "replaced",
            (Action::Replace, true) => "may be replaced",
            (Action::Delete, _) => "deleted",
            _ => return None,
        };
        Some(format!(
            "{}  {}  {how}",
            change.resource, change.resource_type
        ))
    });
    gone.collect()
}

/// Drawing of the design with a mark on each changed resource.
#[component]
pub fn Drawn(
    /// The plan with the changes.
    plan: RwSignal<Loaded<Plan>>,
    /// The design.
    design: Load<Design>,
    /// The selected step.
    selected: RwSignal<Option<String>>,
) -> impl IntoView {
    let template = Memo::new(move |_| {
        let text = design.with(|design| design.map(|design| design.template.clone()));
        text.unwrap_or_default()
    });
    let layout = Memo::new(move |_| {
        let layout = design.with(|design| design.map(|design| design.layout.clone()));
        layout.unwrap_or_default()
    });
    let beside = Memo::new(move |_| {
        let beside = design.with(|design| design.map(|design| design.beside.clone()));
        beside.unwrap_or_default()
    });
    let states: Memo<HashMap<String, String>> = Memo::new(move |_| {
        plan.with(|plan| match plan {
            Loaded::Ready(plan) => plan
                .changes
                .iter()
                // Resources that a pass adds to members are not drawn.
                .filter(|change| change.origin == Origin::Drawn || !change.resource.contains('/'))
                .map(|change| {
                    let word = format!("plan-{}", word(change.action));
                    (change.resource.clone(), word)
                })
                .collect(),
            _ => HashMap::new(),
        })
    });
    let resource = RwSignal::new(None::<String>);
    // Selecting a node selects the first step of its resource, like a row of the list.
    Effect::new(move |_| {
        let Some(name) = resource.get() else { return };
        let step = plan.with_untracked(|plan| match plan {
            Loaded::Ready(plan) => step_of(plan, &name),
            _ => None,
        });
        selected.set(step);
    });
    view! { <Board template beside layout states selected=resource /> }
}

fn step_of(plan: &Plan, resource: &str) -> Option<String> {
    let steps = &plan.workflow.as_ref()?.steps;
    let first = steps
        .iter()
        .find(|step| step.resource.as_deref() == Some(resource))?;
    Some(first.id.clone())
}

/// The list of all changes.
#[component]
pub fn Changes(
    /// The plan.
    plan: Plan,
    /// The step selected in the graph. A change selects the first step of its resource.
    selected: RwSignal<Option<String>>,
) -> impl IntoView {
    GROUPS
        .into_iter()
        .filter_map(|(action, title, _, icon)| {
            let changes: Vec<Change> = plan.changes.iter().filter(|change| change.action == action).cloned().collect();
            if changes.is_empty() {
                return None;
            }
            let count = changes.len();
            let rows = changes
                .into_iter()
                .map(|change| {
                    let step = step_of(&plan, &change.resource);
                    view! { <ChangeRow change step selected /> }
                })
                .collect_view();
            Some(view! {
                <details class="changes" data-action=word(action) open=action != Action::None>
                    <summary><Icon name=icon /><h2>{title}</h2><span class="meta">{count}</span></summary>
                    <ul>{rows}</ul>
                </details>
            })
        })
        .collect_view()
}

#[component]
fn ChangeRow(
    change: Change,
    step: Option<String>,
    selected: RwSignal<Option<String>>,
) -> impl IntoView {
    let (derived, why) = match &change.origin {
        Origin::Drawn => (false, None),
        Origin::Derived { why, .. } => (true, Some(why.clone())),
    };
    let because = change.because.clone().or(why);
    let step = StoredValue::new(step);
    let is_selected = move || {
        step.with_value(|step| step.is_some() && selected.with(|selected| selected == step))
            .to_string()
    };
    view! {
        <li class="change" data-change=change.resource.clone() data-derived=derived.to_string()>
            <button
                type="button" class="change-head" aria-pressed=is_selected disabled=step.with_value(Option::is_none)
                on:click=move |_| selected.update(|selected| {
                    let step = step.get_value();
                    *selected = if *selected == step { None } else { step };
                })
            >
                <span class="change-name">{change.resource.clone()}</span>
                <span class="change-type">{change.resource_type}</span>
                {change.may.then(|| view! { <span class="pill">"may change"</span> })}
                {change.old_goes_first.then(|| view! { <span class="pill">"the old one is removed first"</span> })}
                {derived.then(|| view! { <span class="pill" data-tone="derived">"added for you"</span> })}
            </button>
            {because.map(|because| view! { <p class="change-because">{prose(&because)}</p> })}
            {(!change.properties.is_empty()).then(|| view! {
                <details class="change-properties">
                    <summary>
                        {match change.properties.len() { 1 => String::from("1 property"), many => format!("{many} properties") }}
                    </summary>
                    <dl>
                        {change.properties.into_iter().map(|property| view! {
                            <dt class="mono" data-replaces=property.replaces.to_string()>{property.name}</dt>
                            <dd>
                                {property.because.map(|because| view! { <span class="quiet">{prose(&because)}</span> })}
                                {property.old.map(|old| view! { <code class="old"><span class="sr-only">"Old "</span>{shown(&old)}</code> })}
                                {property.new.map(|new| view! { <code class="new"><span class="sr-only">"New "</span>{shown(&new)}</code> })}
                            </dd>
                        }).collect_view()}
                    </dl>
                </details>
            })}
        </li>
    }
}

/// Value on one line, in the notation of a user.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) if map.len() == 1 => map
            .iter()
            .map(|(key, value)| format!("{key}: {}", shown(value)))
            .collect(),
        Value::Array(items)
            if items
                .iter()
                .all(|item| !item.is_object() && !item.is_array()) =>
        {
            items.iter().map(shown).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::shown;

    #[test]
    fn values_are_short() {
        assert_eq!(shown(&json!("debian-12")), "debian-12");
        assert_eq!(shown(&json!({"get_resource": "net"})), "get_resource: net");
        assert_eq!(
            shown(&json!({"get_attr": ["web", "name"]})),
            "get_attr: web, name"
        );
        assert_eq!(shown(&json!([{"a": 1}])), r#"[{"a":1}]"#);
        assert_eq!(shown(&json!(80)), "80");
    }
}
