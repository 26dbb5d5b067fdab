//! Batches of a group's members: their size, and the pause between them.
//!
//! A batch becomes an order: each member waits for all members of the previous batch. A `ResourceGroup` has batches for
//! creation (`batch_create`) and for updates (`rolling_update`) in its `update_policy`, an `AutoScalingGroup` for updates
//! only, in its property `rolling_updates`. An `InstanceGroup` has `RollingUpdate` in its `update_policy`. A pause
//! between two batches becomes a step of the workflow if both contain work. Batches of an update are small enough to
//! leave `min_in_service` members unchanged. Source: Heat's `resource_group.py`, `instance_group.py` and
//! `autoscaling_group.py`.

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
    /// Number of members in batches. Members after them wait for none.
    members: usize,
    at_once: usize,
    pause_seconds: u32,
}

/// Batches of a `ResourceGroup`. `None` if all members can run concurrently.
pub(super) fn of_policy(
    composer: &Composer<'_>,
    frame: &Frame<'_>,
    name: &str,
    members: usize,
) -> Option<Batches> {
    let policy = update_policy(composer, frame, name)?;
    let deployed = &composer.input.deployed.resources;
    let exists = deployed.contains_key(&frame.full(name));
    let kind = if exists {
        "rolling_update"
    } else {
        "batch_create"
    };
    let settings = policy.get(kind).filter(|settings| !settings.is_null())?;
    let in_service = if exists { "min_in_service" } else { "" };
    Some(Batches::of(settings, in_service, members))
}

/// Batches of an `InstanceGroup`: existing members are changed in batches, if it has a policy for that.
pub(super) fn of_instances(
    composer: &mut Composer<'_>,
    frame: &Frame<'_>,
    name: &str,
    existing: usize,
) -> Option<Batches> {
    let policy = update_policy(composer, frame, name)?;
    let given = policy
        .get("RollingUpdate")
        .filter(|given| !given.is_null())?;
    let numbers = [
        ("MinInstancesInService", "min_in_service"),
        ("MaxBatchSize", "max_batch_size"),
    ];
    let numbers = numbers.iter().filter_map(|(key, setting)| {
        let value = given.get(key)?.clone();
        Some(((*setting).to_owned(), value))
    });
    let mut settings: Vec<(String, Expr)> = numbers.collect();
    if let Some(pause) = given.get("PauseTime").and_then(Expr::as_str) {
        let Some(seconds) = seconds(pause) else {
            let full = frame.full(name);
            let message = format!(
                "`PauseTime` of `{full}` is not a duration of hours, minutes and seconds: write it like `PT1M30S`"
            );
            let path = format!("resources.{full}.update_policy.RollingUpdate.PauseTime");
            composer.error("property-constraint", path, message);
            return None;
        };
        settings.push(("pause_time".to_owned(), Expr::Literal(seconds.into())));
    }
    Some(Batches::of(
        &Expr::Map(settings),
        "min_in_service",
        existing,
    ))
}

/// The `update_policy` of a group.
fn update_policy(composer: &Composer<'_>, frame: &Frame<'_>, name: &str) -> Option<Expr> {
    let document = match frame.file {
        Some(file) => composer.input.bundle.document(file)?,
        None => composer.input.document,
    };
    let written = document.template().resource(name)?.update_policy.as_ref()?;
    written.simplify(frame.scope).ok()
}

/// Seconds of an ISO 8601 duration of hours, minutes and seconds. `None` for any other text, as in Heat.
fn seconds(text: &str) -> Option<u32> {
    let mut rest = text.strip_prefix("PT")?;
    let mut sum: u32 = 0;
    for (unit, in_seconds) in [('H', 3600), ('M', 60), ('S', 1)] {
        let Some((number, after)) = rest.split_once(unit) else {
            continue;
        };
        let number: u32 = number.parse().ok()?;
        sum = sum.checked_add(number.checked_mul(in_seconds)?)?;
        rest = after;
    }
    rest.is_empty().then_some(sum)
}

impl Batches {
    /// Batches of a scaling group: existing members are changed in batches, and new ones are created concurrently.
    pub(super) fn rolling(settings: Option<&Expr>, existing: usize) -> Batches {
        let defaults = Expr::Map(Vec::new());
        Batches::of(settings.unwrap_or(&defaults), "min_in_service", existing)
    }

    fn of(settings: &Expr, in_service: &str, members: usize) -> Batches {
        let number = |key: &str| match settings.get(key).and_then(Expr::as_data) {
            Some(Value::Number(number)) => number.as_f64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            _ => None,
        };
        // The cast of a float saturates at the limits of the integer type.
        let whole =
            |key: &str, default: usize| number(key).map_or(default, |number| number as usize);
        let spare = members.saturating_sub(whole(in_service, 0));
        Batches {
            members,
            at_once: whole("max_batch_size", 1).min(spare).max(1),
            pause_seconds: number("pause_time").unwrap_or_default().ceil() as u32,
        }
    }

    /// Members of the previous batch.
    pub(super) fn before(self, number: usize, names: &[String]) -> &[String] {
        if number >= self.members {
            return &[];
        }
        let start = number / self.at_once * self.at_once;
        &names[start.saturating_sub(self.at_once)..start]
    }

    /// Pause between the batches, if there is one.
    pub(super) fn pause(self, group: &str, names: &[String]) -> Option<Pause> {
        let full = |name: &String| format!("{group}/{name}");
        (self.pause_seconds > 0).then(|| Pause {
            group: group.to_owned(),
            batches: names[..self.members]
                .chunks(self.at_once)
                .map(|batch| batch.iter().map(full).collect())
                .collect(),
            seconds: self.pause_seconds,
        })
    }
}
