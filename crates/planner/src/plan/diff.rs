//! Differences between the deployed and the planned resources.
//!
//! Both sides are resources after the passes, so a change in a pass's result appears like any other change. Order and
//! reasons (`requires`, `origin`) are not compared. Resources are compared in the order of their dependencies, because
//! the change of one decides the values of others.
//!
//! An unfinished update can leave two copies of a resource. The copy that is closer to the plan is kept, and gets its
//! name back if the other copy has it. A roll-back thus finds the resource that worked before.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use super::{
    compare::{Comparison, ResourceChange, change, moves, why},
    *,
};
use crate::{
    deployed::Damage,
    workflow::{Origin, copy_of},
};
use hot::template::{DeletionPolicy, Template};
use types::{ResourceType, SSH_KEY};

/// Result of [`changes`].
pub(super) struct Diff<'a> {
    /// One change per resource: planned ones in their order, then deleted ones.
    pub changes: Vec<Change>,
    /// Deployed resources; under each name the copy that is kept.
    pub deployed: Cow<'a, Deployed>,
    /// Names that return to an older copy, with the present name of the other copy.
    pub restores: BTreeMap<String, String>,
}

/// Compares the deployed resources with the model, whose `requires` must be filled.
pub(super) fn changes<'a>(model: &Model, deployed: &'a Deployed, types: &Registry) -> Diff<'a> {
    if deployed.resources.is_empty() {
        let changes = model.iter().map(|(name, spec)| {
            change(
                Action::Create,
                name,
                spec,
                why(spec).or(external_reason(spec)),
            )
        });
        return Diff {
            changes: changes.collect(),
            deployed: Cow::Borrowed(deployed),
            restores: BTreeMap::new(),
        };
    }
    let mut current = Cow::Borrowed(deployed);
    let mut restores = BTreeMap::new();
    let mut changes: HashMap<String, Change> = HashMap::new();
    let mut keys: HashSet<String> = model
        .iter()
        .chain(
            deployed
                .resources
                .iter()
                .map(|(name, spec)| (name.as_str(), spec)),
        )
        .filter(|(_, spec)| spec.resource_type == SSH_KEY)
        .map(|(name, _)| name.to_owned())
        .collect();
    let mut of: HashMap<String, ResourceChange> = HashMap::new();
    // A circle has no order; the plan reports it later.
    let in_order = ordering::order(model.iter())
        .unwrap_or_else(|_circle| model.iter().map(|(name, _)| name).collect());
    for name in in_order {
        let Some(spec) = model.get(name) else {
            continue;
        };
        let comparison = Comparison {
            deployed: &current,
            types,
            of,
            keys,
            model,
        };
        let (found, copy) = closest_copy(&comparison, name, spec);
        let moves = moves(&found);
        (of, keys) = (comparison.of, comparison.keys);
        if let Some(copy) = copy {
            current.to_mut().swap(name, &copy);
            restores.insert(name.to_owned(), copy);
        }
        let is_component = types
            .get(&spec.resource_type)
            .is_some_and(ResourceType::runs_on_server);
        of.insert(
            name.to_owned(),
            ResourceChange {
                action: found.action,
                may: found.may,
                moves,
                component: is_component,
            },
        );
        changes.insert(name.to_owned(), found);
    }
    let drawn = model.iter().filter_map(|(name, _)| changes.remove(name));
    let mut changes: Vec<Change> = drawn.collect();
    let gone = current
        .resources
        .iter()
        .filter(|(name, _)| model.get(name).is_none());
    changes.extend(gone.map(|(name, spec)| deletion(name, spec)));
    Diff {
        changes,
        deployed: current,
        restores,
    }
}

/// Change of a resource, for the copy that is closest to the plan, with the name of an older copy.
fn closest_copy(
    comparison: &Comparison<'_>,
    name: &str,
    spec: &ResourceSpec,
) -> (Change, Option<String>) {
    let deployed = comparison.deployed;
    let Some(old) = deployed.resources.get(name) else {
        let because = why(spec).or(external_reason(spec));
        return (change(Action::Create, name, spec, because), None);
    };
    let found = comparison.compare(name, name, old, spec);
    let stays = |found: &Change| matches!(found.action, Action::None | Action::Update);
    if !(stays(&found) && deployed.is_in_order(name)) {
        for copy in deployed
            .copies(name)
            .filter(|copy| deployed.is_in_order(copy))
        {
            let older = comparison.compare(name, copy, &deployed.resources[copy], spec);
            if stays(&older) {
                let because = "the copy from before is still there and is taken back";
                let taken_back = Change {
                    action: Action::Update,
                    may: false,
                    because: Some(because.to_owned()),
                    ..older
                };
                return (taken_back, Some(copy.to_owned()));
            }
        }
    }
    if !deployed.exists(name) {
        let because = if deployed.is_gone(name) {
            "it is gone from the cloud: it is created again"
        } else {
            // A response may have been lost: the resource then exists, with the properties of that time.
            "it was not made yet"
        };
        let because = Some(because.to_owned());
        return (change(Action::Create, name, spec, because), None);
    }
    match deployed.damage.get(name) {
        Some(Damage::Broken(why)) if stays(&found) => {
            let because = format!("it cannot be used ({why}): it will be replaced");
            return (change(Action::Replace, name, spec, Some(because)), None);
        }
        Some(Damage::Changed(values)) if stays(&found) => {
            return (restored(comparison, found, spec, values), None);
        }
        _ => {}
    }
    let mend = match deployed.damage.get(name) {
        Some(Damage::Unhealthy(why)) => {
            Some(format!("it is not healthy ({why}): it is set up again"))
        }
        _ if deployed.is_in_order(name) => None,
        _ => Some("the last step on it did not end well: it is brought in order".to_owned()),
    };
    if let Some(because) = mend.filter(|_| stays(&found)) {
        let mended = Change {
            action: Action::Update,
            may: false,
            because: Some(because),
            ..found
        };
        return (mended, None);
    }
    (found, None)
}

/// Update that also restores properties that were changed in the cloud.
fn restored(
    comparison: &Comparison<'_>,
    found: Change,
    spec: &ResourceSpec,
    values: &[(String, Option<Value>)],
) -> Change {
    let described = comparison.types.get(&spec.resource_type);
    let mut properties = found.properties;
    for (property, value) in values {
        let known = described.and_then(|described| described.property(property));
        let planned = spec.properties.get(property);
        properties.retain(|one| one.name.split('.').next() != Some(property));
        properties.push(PropertyChange {
            old: value.clone(),
            because: Some("it was changed in the cloud".to_owned()),
            ..nested::whole(property.clone(), known, None, planned)
        });
    }
    let names: Vec<String> = values.iter().map(|(name, _)| format!("`{name}`")).collect();
    let verb = if names.len() == 1 { "was" } else { "were" };
    let because = format!("{} {verb} changed in the cloud: restored", names.join(", "));
    Change {
        action: Action::Update,
        may: false,
        because: Some(because),
        properties,
        repairs: true,
        ..found
    }
}

fn external_reason(spec: &ResourceSpec) -> Option<String> {
    let because = "it exists already (`external_id`): it is only read, and never changed";
    spec.external_id.as_ref().map(|_| because.to_owned())
}

fn deletion(name: &str, spec: &ResourceSpec) -> Change {
    let because = match (copy_of(name), spec.deletion_policy) {
        _ if spec.external_id.is_some() => Some(
            "it is not ours (`external_id`): it stays in the cloud, and is forgotten here"
                .to_owned(),
        ),
        (_, DeletionPolicy::Retain) => Some(
            "`deletion_policy: Retain`: it stays in the cloud, and is forgotten here".to_owned(),
        ),
        (_, DeletionPolicy::Snapshot) => {
            Some("`deletion_policy: Snapshot`: a snapshot of it is kept".to_owned())
        }
        (Some(resource), DeletionPolicy::Delete) => Some(format!(
            "another copy of `{resource}`, left by an update that did not end"
        )),
        (None, DeletionPolicy::Delete) => None,
    };
    change(Action::Delete, name, spec, because)
}

/// Adds reasons that need the whole plan: a resource that its condition excludes, and one that looks renamed.
pub(super) fn explain(
    changes: &mut [Change],
    model: &Model,
    deployed: &Deployed,
    template: &Template,
) {
    let goes = |change: &Change| {
        change.action == Action::Delete
            && change.because.is_none()
            && change.origin == Origin::Drawn
    };
    let mut gone: HashMap<&str, Vec<(&str, &ResourceSpec)>> = HashMap::new();
    for change in changes.iter().filter(|change| goes(change)) {
        let row = deployed.resources.get_key_value(&change.resource);
        if let Some((name, spec)) = row {
            let of_type = gone.entry(spec.resource_type.as_str()).or_default();
            of_type.push((name.as_str(), spec));
        }
    }
    for change in changes {
        let name = change.resource.as_str();
        if goes(change) && template.resources.iter().any(|one| one.name == name) {
            change.because = Some("its condition does not hold any more".to_owned());
        } else if change.action == Action::Create
            && change.because.is_none()
            && let Some(new) = model.get(name)
            && let Some(others) = gone.get(new.resource_type.as_str())
            && let Some((before, _)) = others
                .iter()
                .find(|(_, old)| !new.properties.is_empty() && old.properties == new.properties)
        {
            change.because = Some(format!(
                "it is what `{before}` was: another name is another resource, so `{before}` goes and `{name}` is made"
            ));
        }
    }
}

/// Problems of changes that cannot be carried out, or that can have unexpected effects.
pub(super) fn problems(
    changes: &[Change],
    model: &Model,
    deployed: &Deployed,
    types: &Registry,
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for change in changes {
        let path = format!("resources.{}", change.resource);
        let old = deployed.resources.get(&change.resource);
        let new = model.get(&change.resource);
        if let (Some(old), Some(new)) = (old, new)
            && old.external_id != new.external_id
        {
            let message = format!(
                "`external_id` of `{}` cannot be changed; give the resource another name",
                change.resource
            );
            diagnostics.push(Diagnostic::error("external-id-changed", path, message));
            continue;
        }
        let described = types.get(&change.resource_type);
        let Some(described) = described.filter(|described| described.is_component()) else {
            continue;
        };
        let host = |spec: Option<&ResourceSpec>| {
            let host = spec?.host()?;
            Some(host.to_owned())
        };
        let (before, after) = (host(old), host(new));
        let leaves = match change.action {
            Action::Delete => !described.has_removal(),
            _ => before.is_some() && before != after,
        };
        if let Some(host) = before.filter(|host| leaves && model.get(host).is_some()) {
            let message = match change.action {
                Action::Delete => format!(
                    "`{}` is forgotten, but its software stays installed on `{host}`",
                    change.resource
                ),
                _ => format!(
                    "`{}` moves to another server, but its software stays installed on `{host}`",
                    change.resource
                ),
            };
            diagnostics.push(Diagnostic::warning("software-stays", path, message));
        }
    }
    diagnostics
}
