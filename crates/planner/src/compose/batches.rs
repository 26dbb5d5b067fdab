//! `update_policy` of a group: the size of batches, and the pause between them.
//!
//! A batch becomes an order: each member waits for all members of the previous batch. This applies to creation
//! (`batch_create`) and to updates (`rolling_update`). A pause between two batches becomes a step of the workflow if
//! both contain work. Batches of an update are small enough to leave `min_in_service` members unchanged. Source: the
//! update policy schema of Heat's `resource_group.py`.

use serde_json::Value;

use super::{Composer, Expr, Frame};

/// Batches of a group with a pause between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    /// The group's full name.
    pub group: String,
    /// Full names of the members, by batch.
    pub batches: Vec<Vec<String>>,
    pub seconds: u32,
}

/// Order of a group's members.
#[derive(Clone, Copy)]
pub(super) struct Batches {
    at_once: usize,
    pause_seconds: u32,
}

/// Batches of a group. `None` if all members can run concurrently.
pub(super) fn of(
    composer: &Composer<'_>,
    frame: &Frame<'_>,
    name: &str,
    members: usize,
) -> Option<Batches> {
    let document = match frame.file {
        Some(file) => composer.input.bundle.document(file)?,
        None => composer.input.document,
    };
    let written = document.template().resource(name)?.update_policy.as_ref()?;
    let policy = written.simplify(frame.scope).ok()?;
    let deployed = &composer.input.deployed.resources;
    let exists = deployed.contains_key(&frame.full(name));
    let kind = if exists {
        "rolling_update"
    } else {
        "batch_create"
    };
    let settings = policy.get(kind).filter(|settings| !settings.is_null())?;
    let number = |key: &str| match settings.get(key).and_then(Expr::as_data) {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    // The cast of a float saturates at the limits of the integer type.
    let whole = |key: &str, default: usize| number(key).map_or(default, |number| number as usize);
    let spare = members.saturating_sub(whole("min_in_service", 0));
    let at_once = whole("max_batch_size", 1);
    let at_once = if exists { at_once.min(spare) } else { at_once };
    Some(Batches {
        at_once: at_once.max(1),
        pause_seconds: number("pause_time").unwrap_or_default().ceil() as u32,
    })
}

impl Batches {
    /// Members of the previous batch.
    pub(super) fn before(self, number: usize, names: &[String]) -> &[String] {
        let start = number / self.at_once * self.at_once;
        &names[start.saturating_sub(self.at_once)..start]
    }

    /// Pause between the batches, if there is one.
    pub(super) fn pause(self, group: &str, names: &[String]) -> Option<Pause> {
        let full = |name: &String| format!("{group}/{name}");
        (self.pause_seconds > 0).then(|| Pause {
            group: group.to_owned(),
            batches: names
                .chunks(self.at_once)
                .map(|batch| batch.iter().map(full).collect())
                .collect(),
            seconds: self.pause_seconds,
        })
    }
}
