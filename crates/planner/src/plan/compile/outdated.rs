//! Components that are set up again because what they use changes under the same name or id: servers and ports that get
//! other addresses, and components that are set up.
//!
//! Neither an address nor another component's settings are recorded with a component, so a plan cannot tell what it was
//! set up with. If a run ends between such a step and those of these components, they are incomplete, and the next plan
//! sets them up again.

use std::collections::{BTreeSet, HashMap};

use crate::plan::{Action, Change, Model, compare::moves};
use types::{Registry, ResourceType};

/// The changed components that need such a resource, directly or through changed ones, by the name of that resource.
/// Their steps wait for its step. A port that gets other addresses has its server in the list too. `order` contains
/// predecessors first.
pub(super) fn outdated<'a>(
    model: &'a Model,
    changes: &HashMap<&'a str, &'a Change>,
    order: &[&'a str],
    types: &Registry,
) -> HashMap<&'a str, Vec<&'a str>> {
    let mut found: HashMap<&str, Vec<&str>> = HashMap::new();
    let is_component = |resource_type: &str| {
        let described = types.get(resource_type);
        described.is_some_and(ResourceType::is_component)
    };
    let gets_others = |name: &str| changes.get(name).is_some_and(|change| moves(change));
    let is_set_up = |name: &str| {
        let change = changes.get(name);
        change.is_some_and(|it| it.action != Action::None && is_component(&it.resource_type))
    };
    // The resources of that kind that each changed resource uses, directly or through changed ones. An unchanged
    // resource uses none.
    let mut used: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for name in order {
        let Some(spec) = model.get(name) else {
            continue;
        };
        let mut uses: BTreeSet<&str> = BTreeSet::new();
        for required in &spec.requires {
            let before = used.get(required.as_str());
            uses.extend(before.into_iter().flatten().copied());
            if gets_others(required) || is_set_up(required) {
                uses.insert(required.as_str());
            }
        }
        let Some(action) = changes.get(name).map(|change| change.action) else {
            continue;
        };
        if action == Action::Update && (is_component(&spec.resource_type) || gets_others(name)) {
            for other in &uses {
                found.entry(other).or_default().push(name);
            }
        }
        if action != Action::None {
            used.insert(name, uses);
        }
    }
    found
}
