//! Locks that environments define for resources (`restricted_actions`).
//!
//! A plan that would change a locked resource is refused, while Heat would fail in the middle of the update.

use hot::{diagnostic::Diagnostic, environment::matches, merged::Merged};

use super::{Action, Change};

/// Errors for changes that a lock forbids. Names of members are compared level by level: `web/server`.
pub(super) fn locked(environments: &Merged, changes: &[Change]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for change in changes {
        let (word, verb) = match change.action {
            Action::Update => ("update", "changed"),
            Action::Replace => ("replace", "replaced"),
            Action::Create | Action::Delete | Action::None => continue,
        };
        let lock = environments.rules.iter().find(|rule| {
            rule.restricted_actions.iter().any(|one| one == word)
                && is_of(&rule.resource, &change.resource)
        });
        let Some(lock) = lock else { continue };
        let may = if change.may { "may be" } else { "would be" };
        let because = change.because.as_deref();
        let because = because.map(|why| format!(" ({why})")).unwrap_or_default();
        let message = format!(
            "`{}` {may} {verb}{because}, which `restricted_actions` in `{}` (line {}) forbids; remove that rule, or do not change `{}`",
            change.resource, lock.file, lock.at.line, change.resource
        );
        let path = format!("resources.{}", change.resource);
        found.push(Diagnostic::error("action-restricted", path, message));
    }
    found
}

/// True if a rule applies to a resource: on each level of names, with `*` for anything.
pub(super) fn is_of(pattern: &str, resource: &str) -> bool {
    let levels = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
    let (patterns, names) = (levels(pattern), levels(resource));
    patterns.len() == names.len()
        && patterns
            .iter()
            .zip(&names)
            .all(|(pattern, name)| matches(pattern, name))
}
