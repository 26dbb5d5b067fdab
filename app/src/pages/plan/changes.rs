//! The changes of a plan, grouped by action, each with its reason.

use std::collections::HashMap;

use api::{Action, CatalogEntry, Change, Plan};
use leptos::prelude::*;
use planner::workflow::Origin;

use super::{
    change_row::{ChangeRow, Row},
    source::Source,
};
use crate::{
    client::Types,
    designer::board::Board,
    links::LinkedDesign,
    load::{Load, Loaded},
    pages::consequences,
    ui::Icon,
};

/// The groups in reading order: destructive changes first.
const GROUPS: [(Action, &str, &str, &str); 5] = [
    (Action::Delete, "Remove", "to remove", "minus"),
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
    let gone = plan.changes.iter();
    gone.filter(|change| matches!(change.action, Action::Replace | Action::Delete))
        .map(consequences::line)
        .collect()
}

/// Drawing of the design with a mark on each changed resource.
#[component]
pub fn Drawn(
    /// The plan with the changes.
    plan: RwSignal<Loaded<Plan>>,
    /// The planned content.
    source: Load<Source>,
    /// The selected step.
    selected: RwSignal<Option<String>>,
) -> impl IntoView {
    let template = Memo::new(move |_| {
        let text = source.with(|source| source.map(|source| source.template.clone()));
        text.unwrap_or_default()
    });
    let layout = Memo::new(move |_| {
        let layout = source.with(|source| source.map(|source| source.layout.clone()));
        layout.unwrap_or_default()
    });
    let beside = Memo::new(move |_| {
        let beside = source.with(|source| source.map(|source| source.beside.clone()));
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
    /// Resource types, for the properties of created resources.
    types: Types,
    /// The catalogue, for the uploaders of the project's items. Empty for a plan of the past.
    #[prop(optional)]
    catalog: Vec<CatalogEntry>,
    /// The design, for links to the changed resources. `None` if the content is of no design.
    design: Option<LinkedDesign>,
    /// The step selected in the graph. A change selects the first step of its resource.
    selected: RwSignal<Option<String>>,
) -> impl IntoView {
    let workflow = plan.workflow.as_ref();
    let properties = |change: &Change| match (change.action, workflow) {
        (Action::Create, Some(workflow)) => workflow
            .resources
            .get(&change.resource)
            .map(|spec| planner::plan::properties(spec, &types.0))
            .unwrap_or_default(),
        _ => change.properties.clone(),
    };
    let href = |change: &Change| {
        let design = design.as_ref()?;
        let resource = match (&change.origin, change.action) {
            (_, Action::Delete) => return None,
            (Origin::Drawn, _) => change.resource.as_str(),
            (Origin::Derived { serves, .. }, _) => serves.as_deref()?,
        };
        Some(design.resource(resource, None))
    };
    let uploader = |change: &Change| {
        let is_of_type = |entry: &&CatalogEntry| entry.item.type_name() == change.resource_type;
        let entry = catalog.iter().find(is_of_type)?;
        let author = &entry.uploaded.as_ref()?.author;
        Some(format!(
            "An item of this project. Its newest version was uploaded by {author}."
        ))
    };
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
                    let row = Row {
                        step: step_of(&plan, &change.resource),
                        consequences: consequences::of(&change, &plan),
                        properties: properties(&change),
                        design: href(&change),
                        uploader: uploader(&change),
                        change,
                    };
                    view! { <ChangeRow row selected /> }
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
