//! The resources that two runs changed in different ways, by their plans.

use std::collections::HashMap;

use api::{Action, Change};
use leptos::prelude::*;

use crate::ui::{data_table, state::action_done};

/// A resource with its changes in two plans. At least one of them is there.
#[derive(Debug, PartialEq)]
struct Difference<'a> {
    resource: &'a str,
    resource_type: &'a str,
    /// `None` if the plan does not have the resource.
    earlier: Option<Action>,
    /// `None` if the plan does not have the resource.
    later: Option<Action>,
}

/// The resources whose actions differ: those of the later plan in its order, then those that only the earlier one has.
/// A resource that neither run changed is equal, although one of the plans may not have it.
fn differences<'a>(earlier: &'a [Change], later: &'a [Change]) -> Vec<Difference<'a>> {
    let by_name = |changes: &'a [Change]| -> HashMap<&'a str, Action> {
        let changes = changes.iter();
        changes
            .map(|change| (change.resource.as_str(), change.action))
            .collect()
    };
    let (before, after) = (by_name(earlier), by_name(later));
    let gone = earlier
        .iter()
        .filter(|change| !after.contains_key(change.resource.as_str()));
    let all = later.iter().chain(gone);
    all.map(|change| Difference {
        resource: &change.resource,
        resource_type: &change.resource_type,
        earlier: before.get(change.resource.as_str()).copied(),
        later: after.get(change.resource.as_str()).copied(),
    })
    .filter(|one| one.earlier.unwrap_or(Action::None) != one.later.unwrap_or(Action::None))
    .collect()
}

/// The table of the resources that the runs changed in different ways.
pub(super) fn changes(earlier: &[Change], later: &[Change]) -> AnyView {
    let differing = differences(earlier, later);
    if differing.is_empty() {
        return view! { <p class="quiet">"Both runs had the same action for each resource."</p> }
            .into_any();
    }
    let cell = |action: Option<Action>| match action {
        Some(Action::None) | None => {
            let text = action.map_or("not in this run", action_done);
            view! { <span class="quiet">{text}</span> }.into_any()
        }
        Some(action) => action_done(action).into_any(),
    };
    let rows = differing
        .into_iter()
        .map(|one| {
            view! {
                <tr data-change=one.resource.to_owned()>
                    <td>{one.resource.to_owned()}</td>
                    <td class="quiet">{one.resource_type.to_owned()}</td>
                    <td class="fit">{cell(one.earlier)}</td>
                    <td class="fit">{cell(one.later)}</td>
                </tr>
            }
        })
        .collect_view();
    data_table(["Resource", "Type", "Earlier run", "Later run"], rows).into_any()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(changes: &[(&str, &str)]) -> Vec<Change> {
        let change = |(resource, action): &(&str, &str)| {
            let change = json!({"action": action, "resource": resource, "type": "OS::Neutron::Net", "origin": {"from": "drawn"}});
            serde_json::from_value(change).unwrap()
        };
        changes.iter().map(change).collect()
    }

    #[test]
    fn resources_with_different_actions_are_shown_and_unchanged_ones_are_not() {
        let earlier = plan(&[
            ("net", "create"),
            ("spare", "create"),
            ("old", "none"),
            ("web", "replace"),
        ]);
        let later = plan(&[
            ("web", "replace"),
            ("net", "update"),
            ("db", "create"),
            ("new", "none"),
        ]);
        let shown: Vec<(&str, Option<Action>, Option<Action>)> = differences(&earlier, &later)
            .into_iter()
            .map(|one| (one.resource, one.earlier, one.later))
            .collect();
        assert_eq!(
            shown,
            [
                ("net", Some(Action::Create), Some(Action::Update)),
                ("db", None, Some(Action::Create)),
                ("spare", Some(Action::Create), None),
            ]
        );
        assert!(differences(&later, &later).is_empty());
    }
}
