//! `update_policy` of a group: how many members are worked on at once.
//!
//! A batch becomes order: each member waits for all of the batch before. That holds when members are
//! made (`batch_create`) and when they are changed (`rolling_update`); a pause between batches would
//! need a step that waits, and is said not to be there. Source: the update policy schema of Heat's
//! `resource_group.py`; batches of an update are at most as large as leaves `min_in_service` alone.

use serde_json::Value;

use super::{Composer, Diagnostic, Frame};

/// Members at once; nothing where all may go at once.
pub(super) fn of(
    composer: &mut Composer<'_>,
    frame: &Frame<'_>,
    name: &str,
    members: usize,
) -> Option<usize> {
    let document = match frame.file {
        Some(file) => composer.around.bundle.document(file)?,
        None => composer.around.document,
    };
    let policy = document.value(&["resources", name, "update_policy"])?;
    let full = frame.full(name);
    let exists = composer.around.deployed.resources.contains_key(&full);
    let kind = if exists {
        "rolling_update"
    } else {
        "batch_create"
    };
    let said = policy.get(kind).filter(|said| !said.is_null())?;
    let number = |key: &str| match said.get(key) {
        Some(Value::Number(number)) => number.as_u64(),
        Some(Value::String(text)) => text.parse().ok(),
        _ => None,
    };
    if number("pause_time").is_some_and(|seconds| seconds > 0) {
        let message = format!(
            "batches of `{full}` follow each other at once: the `pause_time` between them is not kept"
        );
        let path = format!("resources.{full}.update_policy.{kind}.pause_time");
        composer
            .diagnostics
            .push(Diagnostic::warning("update-policy-partly", path, message));
    }
    let at_once = number("max_batch_size").unwrap_or(1) as usize;
    let spare = members.saturating_sub(number("min_in_service").unwrap_or(0) as usize);
    let at_once = if exists { at_once.min(spare) } else { at_once };
    Some(at_once.max(1))
}

/// Members of the batch before that of the member with this number.
pub(super) fn before(
    at_once: Option<usize>,
    number: usize,
    names: &[String],
) -> impl Iterator<Item = &String> {
    let range = at_once.map_or(0..0, |at_once| {
        let start = number / at_once * at_once;
        start.saturating_sub(at_once)..start
    });
    names[range].iter()
}
