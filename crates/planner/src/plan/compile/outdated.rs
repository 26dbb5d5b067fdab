//! Components that use addresses of servers and ports which keep their ids and get other addresses.
//!
//! No address is recorded with a component, so a plan cannot tell which one it was set up with. The step that changes
//! addresses therefore makes these components incomplete: if the run ends before their own steps, the next plan sets
//! them up again.

use std::collections::{BTreeSet, HashMap};

use crate::plan::{Action, Change, Model, compare::moves};
use types::{Registry, ResourceType};

/// The changed components that need a resource with other addresses, directly or through changed ones, by the name of
/// that resource. Their steps wait for its step. A port that gets other addresses has its server in the list too.
/// `order` contains predecessors first.
pub(super) fn outdated<'a>(
    model: &'a Model,
    changes: &HashMap<&'a str, &'a Change>,
    order: &[&'a str],
    types: &Registry,
) -> HashMap<&'a str, Vec<&'a str>> {
    let mut found: HashMap<&str, Vec<&str>> = HashMap::new();
    let gets_others = |name: &str| changes.get(name).is_some_and(|change| moves(change));
    if !order.iter().any(|name| gets_others(name)) {
        return found;
    }
    // The resources with other addresses that each changed resource uses, directly or through changed ones. An unchanged
    // resource uses none.
    let mut needed: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for name in order {
        let Some(spec) = model.get(name) else {
            continue;
        };
        let mut moving: BTreeSet<&str> = BTreeSet::new();
        for required in &spec.requires {
            let before = needed.get(required.as_str());
            moving.extend(before.into_iter().flatten().copied());
            if gets_others(required) {
                moving.insert(required.as_str());
            }
        }
        let Some(action) = changes.get(name).map(|change| change.action) else {
            continue;
        };
        let described = types.get(&spec.resource_type);
        let is_component = described.is_some_and(ResourceType::is_component);
        if action == Action::Update && (is_component || gets_others(name)) {
            for other in &moving {
                found.entry(other).or_default().push(name);
            }
        }
        if action != Action::None {
            needed.insert(name, moving);
        }
    }
    found
}
