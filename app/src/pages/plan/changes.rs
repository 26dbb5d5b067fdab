//! The changes of a plan, grouped by action, each with its reason.

use std::collections::{BTreeSet, HashMap};

use api::{Action, CatalogEntry, Change, Plan};
use leptos::prelude::*;
use planner::workflow::{Origin, Workflow};

use super::{
    change_row::{ChangeRow, Row},
    source::Source,
};
use crate::{
    client::Types,
    consequences,
    designer::board::Board,
    links::LinkedDesign,
    load::{Load, Loaded},
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

/// The versions of the items that a plan sets up or removes, by the name of the item.
pub(super) fn item_versions(plan: &Loaded<Plan>) -> BTreeSet<(String, String)> {
    let workflow = match plan {
        Loaded::Ready(plan) => plan.workflow.as_ref(),
        _ => None,
    };
    let specs = workflow.into_iter().flat_map(|one| one.resources.values());
    specs
        .filter_map(|spec| {
            let name = spec.resource_type.strip_prefix(types::CATALOG)?;
            Some((name.to_owned(), spec.version.clone()?))
        })
        .collect()
}

/// The uploader of the version that a component is set up with.
fn uploader(
    change: &Change,
    workflow: Option<&Workflow>,
    catalog: &[CatalogEntry],
) -> Option<String> {
    let spec = workflow?.resources.get(&change.resource)?;
    let version = spec.version.as_ref()?;
    let is_it = |entry: &&CatalogEntry| {
        entry.item.type_name() == spec.resource_type && entry.item.version == *version
    };
    let author = &catalog.iter().find(is_it)?.uploaded.as_ref()?.author;
    Some(format!(
        "An item of this project. Its version {version} was uploaded by {author}."
    ))
}

/// The list of all changes.
#[component]
pub fn Changes(
    /// The plan.
    plan: Plan,
    /// Resource types, for the properties of created resources.
    types: Types,
    /// The catalogue with the versions of items that the plan uses, for their uploaders. Empty for a plan of the past.
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
                        uploader: uploader(&change, workflow, &catalog),
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use types::catalog::CatalogItem;

    use super::*;

    /// A version of the project's item, as the catalogue lists it.
    fn entry(version: &str, author: &str) -> CatalogEntry {
        let manifest = format!(
            "name: greeter\ntitle: Greeter\nversion: {version}\nsummary: It greets.\ncategory: web\n"
        );
        CatalogEntry {
            item: CatalogItem::parse(&manifest, "argument_specs: {main: {}}\n").unwrap(),
            uploaded: Some(api::Uploaded {
                author: author.into(),
                time: "2026-01-01T00:00:00Z".into(),
                versions: vec!["2.0.0".into(), "1.0.0".into()],
                from_form: false,
                test: None,
            }),
        }
    }

    #[test]
    fn the_uploader_is_that_of_the_version_that_is_set_up() {
        let plan: Plan = serde_json::from_value(json!({
            "diagnostics": [],
            "changes": [
                {"action": "create", "resource": "hello", "type": "Stackloom::Catalog::greeter", "origin": {"from": "drawn"}},
            ],
            "workflow": {"steps": [], "resources": {
                "hello": {"type": "Stackloom::Catalog::greeter", "origin": {"from": "drawn"}, "version": "1.0.0"},
                "net": {"type": "OS::Neutron::Net", "origin": {"from": "drawn"}},
            }},
        }))
        .unwrap();
        let catalog = [entry("2.0.0", "ann"), entry("1.0.0", "bob")];
        assert_eq!(
            uploader(&plan.changes[0], plan.workflow.as_ref(), &catalog).unwrap(),
            "An item of this project. Its version 1.0.0 was uploaded by bob."
        );
        let used = [("greeter".to_owned(), "1.0.0".to_owned())];
        assert_eq!(item_versions(&Loaded::Ready(plan)), BTreeSet::from(used));
        assert_eq!(item_versions(&Loaded::Loading), BTreeSet::new());
    }
}
