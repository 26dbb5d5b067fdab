//! What is wrong with the document, as the page shows it.

use std::collections::HashMap;

use api::{Diagnostic, Severity};
use topology::{compose, plan::Plan};

use crate::designer::stage::Tally;

/// What the passes decided, beside what validation found.
pub(super) fn with_decisions(mut found: Vec<Diagnostic>, plan: Option<&Plan>) -> Vec<Diagnostic> {
    for one in plan.iter().flat_map(|plan| &plan.diagnostics) {
        let known = found.iter().any(|other| {
            other.code == one.code && other.path == one.path && other.message == one.message
        });
        // Values of parameters are asked for when it is deployed.
        if !known && !one.path.starts_with("parameters") {
            found.push(one.clone());
        }
    }
    found.sort_by_key(|one| {
        let line = one.line.unwrap_or(u32::MAX);
        (one.file.is_some(), line, one.severity)
    });
    found
}

/// How many of them each resource has.
pub(super) fn tallies(problems: &[Diagnostic]) -> HashMap<String, Tally> {
    let mut tallies: HashMap<String, Tally> = HashMap::new();
    for problem in problems
        .iter()
        .filter(|problem| problem.severity != Severity::Info)
    {
        if let Some(name) = problem.resource() {
            tallies
                .entry(compose::drawn(name).to_owned())
                .or_default()
                .count(problem.severity);
        }
    }
    tallies
}
