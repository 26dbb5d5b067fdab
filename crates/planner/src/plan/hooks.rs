//! Hooks of environments (`hooks: pre-create`), as steps that wait for a person.
//!
//! The step of a hook comes before the first step that works on the resource or on a member of it, or after the last
//! one; the others wait for it. Rules: Heat's `environment.py`. A replacement has the hooks of a creation, and the
//! deletion of the older copy those of a deletion. A group or nested template has the hooks of an update also if only
//! its members change.

use std::collections::HashSet;

use hot::environment::Rule;

use super::{Action, Change, locks::is_of, time_limits::HOOK_SECONDS};
use crate::{
    members::is_parent,
    workflow::{Step, StepKind, copy_of},
};

/// Inserts the hooks into the steps, which stay in order.
pub(super) fn insert(rules: &[Rule], changes: &[Change], steps: &mut Vec<Step>) {
    for change in changes {
        let resource = change.resource.as_str();
        let has = |hook: &str| {
            let mut rules = rules.iter();
            rules.any(|rule| {
                rule.hooks.iter().any(|one| one == hook) && is_of(&rule.resource, resource)
            })
        };
        let is_inside = |step: &Step| {
            let rest = step
                .resource
                .as_deref()
                .and_then(|name| name.strip_prefix(resource));
            rest.is_some_and(|rest| match rest.strip_prefix('/') {
                // Hooks of members are within those of their parent.
                Some(_) => works(step) || step.kind == StepKind::Hook,
                None => works(step) && rest.is_empty(),
            })
        };
        let is_of_copy = |step: &Step| {
            step.kind == StepKind::Delete
                && step.resource.as_deref().and_then(copy_of) == Some(resource)
        };
        let word = match change.action {
            Action::Create | Action::Replace => "create",
            Action::Update => "update",
            Action::Delete => "delete",
            Action::None if is_parent(&change.resource_type) => "update",
            Action::None => continue,
        };
        hold(resource, word, has, steps, is_inside);
        if change.action == Action::Replace {
            hold(resource, "delete", has, steps, is_of_copy);
        }
    }
}

/// True if a step works on its resource.
fn works(step: &Step) -> bool {
    matches!(
        step.kind,
        StepKind::Create
            | StepKind::Update
            | StepKind::Install
            | StepKind::Configure
            | StepKind::Delete
    )
}

/// Inserts the hooks around the steps that do an action to a resource.
fn hold(
    resource: &str,
    action: &str,
    has: impl Fn(&str) -> bool,
    steps: &mut Vec<Step>,
    is_held: impl Fn(&Step) -> bool,
) {
    let pre = format!("pre-{action}");
    if has(&pre)
        && let Some(first) = steps.iter().position(&is_held)
    {
        let id = format!("{resource}:{pre}");
        let waited_for = std::mem::take(&mut steps[first].after);
        for step in steps.iter_mut().filter(|step| is_held(step)) {
            step.after.push(id.clone());
        }
        steps.insert(first, hook(id, resource, waited_for));
    }
    let post = format!("post-{action}");
    if has(&post)
        && let Some(last) = steps.iter().rposition(&is_held)
    {
        let id = format!("{resource}:{post}");
        let held: Vec<&Step> = steps.iter().filter(|step| is_held(step)).collect();
        let waited_for: HashSet<&String> = held.iter().flat_map(|step| &step.after).collect();
        let ends = held.iter().map(|step| &step.id);
        let ends = ends.filter(|end| !waited_for.contains(end));
        let ends: Vec<String> = ends.cloned().collect();
        let held: HashSet<String> = held.iter().map(|step| step.id.clone()).collect();
        for step in &mut steps[last + 1..] {
            for name in step
                .after
                .iter_mut()
                .filter(|name| held.contains(name.as_str()))
            {
                name.clone_from(&id);
            }
            let mut seen = HashSet::new();
            step.after.retain(|name| seen.insert(name.clone()));
        }
        steps.insert(last + 1, hook(id, resource, ends));
    }
}

fn hook(id: String, resource: &str, after: Vec<String>) -> Step {
    Step::new(id, StepKind::Hook, Some(resource), after, HOOK_SECONDS)
}
