//! Problems of the document, for display.

use std::collections::HashMap;

use api::{Diagnostic, Severity};
use planner::{members, preview::Preview};

use crate::designer::stage::Tally;

/// Problems of a preview: the results of validation and the decisions of the passes. Those of the template come first,
/// by line.
pub(super) fn of_preview(preview: &Preview) -> Vec<Diagnostic> {
    // Parameter values are entered at deployment. A default that violates its own constraints is a problem of the
    // template.
    let asked_later = |one: &Diagnostic| {
        let of_value = matches!(one.code.as_str(), "parameter-missing" | "parameter-invalid");
        of_value && !one.path.ends_with(".default")
    };
    let diagnostics = preview.diagnostics.iter();
    let mut found: Vec<_> = diagnostics
        .filter(|one| !asked_later(one))
        .cloned()
        .collect();
    found.sort_by_key(|one| {
        let line = one.line.unwrap_or(u32::MAX);
        (one.file.is_some(), line, one.severity)
    });
    found
}

/// Adds the problems of resources in folded frames to the frames. `frame_of` is the folded frame of a resource.
pub(super) fn add_hidden<'a>(
    tallies: &mut HashMap<String, Tally>,
    frame_of: impl Fn(&str) -> Option<&'a str>,
) {
    let hidden: Vec<(String, Tally)> = tallies
        .iter()
        .filter_map(|(name, tally)| Some((frame_of(name)?.to_owned(), *tally)))
        .collect();
    for (frame, tally) in hidden {
        let of_frame = tallies.entry(frame).or_default();
        of_frame.errors += tally.errors;
        of_frame.warnings += tally.warnings;
    }
}

/// Number of problems of each resource.
pub(super) fn tallies(problems: &[Diagnostic]) -> HashMap<String, Tally> {
    let mut tallies: HashMap<String, Tally> = HashMap::new();
    for problem in problems
        .iter()
        .filter(|problem| problem.severity != Severity::Info)
    {
        if let Some(name) = problem.resource() {
            tallies
                .entry(members::drawn(name).to_owned())
                .or_default()
                .count(problem.severity);
        }
    }
    tallies
}
