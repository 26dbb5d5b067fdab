//! Limits on the cost of one expression, in steps and in created values.
//!
//! A short expression can create a value that doubles, or gets one level deeper, with every round of `reduce`. So every
//! value is weighed when it is created, not only the result. The sum limits the memory of one expression. The time to
//! traverse its values is at most a few times as much. Each search is subtracted from the budget before it begins, by
//! the size of the pattern and of the text. Heat allows a list of 10,000 bytes; real expressions stay far below our
//! limit.

use std::cell::Cell;

use serde_json::Value;

use crate::cancel;

/// Maximum number of steps. Nested lists are traversed item by item.
const STEPS_MAX: u32 = 200_000;

/// Maximum weight of created values, roughly in bytes.
const WEIGHT_MAX: usize = 64 << 20;

/// Maximum nesting of lists and maps, as in a template's text. Values are copied and dropped recursively.
const DEPTH_MAX: usize = 64;

/// Maximum cost of searches: the size of the compiled pattern times the bytes of the remaining text, summed over all
/// searches. One unit takes at most one to six nanoseconds.
pub(super) const SEARCH_MAX: u64 = 1 << 30;

/// Weight of a value without its text or items.
pub(super) const VALUE: usize = 32;

thread_local! {
    static STEPS: Cell<u32> = const { Cell::new(0) };
    static WEIGHT: Cell<usize> = const { Cell::new(0) };
    static SEARCH: Cell<u64> = const { Cell::new(0) };
}

/// Resets the budget for another expression.
pub(super) fn begin() {
    STEPS.set(0);
    WEIGHT.set(0);
    SEARCH.set(0);
}

/// Counts a step.
///
/// # Errors
/// If there were too many steps, or a stop is requested.
pub(super) fn step() -> Result<(), String> {
    if cancel::is_cancelled() {
        return Err(cancel::STOPPED.to_owned());
    }
    STEPS.set(STEPS.get().saturating_add(1));
    if STEPS.get() > STEPS_MAX {
        return Err(format!(
            "an expression of `yaql` takes more than {STEPS_MAX} steps: give it less `data`, or let fewer lists go through each other"
        ));
    }
    Ok(())
}

/// Subtracts `weight` from the budget.
///
/// # Errors
/// If the budget is exceeded.
pub(super) fn spend(weight: usize) -> Result<(), String> {
    WEIGHT.set(WEIGHT.get().saturating_add(weight));
    if WEIGHT.get() > WEIGHT_MAX {
        return Err(format!(
            "an expression of `yaql` makes more than {} MiB on its way: give it less `data`, or let it repeat and put together less",
            WEIGHT_MAX >> 20
        ));
    }
    Ok(())
}

/// Subtracts the cost of one search from the budget.
///
/// # Errors
/// If the budget is exceeded, or a stop is requested.
pub(super) fn search(cost: u64) -> Result<(), String> {
    if cancel::is_cancelled() {
        return Err(cancel::STOPPED.to_owned());
    }
    SEARCH.set(SEARCH.get().saturating_add(cost));
    if SEARCH.get() > SEARCH_MAX {
        return Err(
            "an expression of `yaql` searches too much: give it less text, or patterns without large repetitions".to_owned(),
        );
    }
    Ok(())
}

/// Weight of a value inside this number of lists and maps.
///
/// # Errors
/// If the value is nested too deeply.
pub(super) fn weight(value: &Value, depth: usize) -> Result<usize, String> {
    if depth > DEPTH_MAX {
        return Err(format!(
            "`yaql` makes at most {DEPTH_MAX} lists and maps within each other: `flatten` them, or put items side by side"
        ));
    }
    match value {
        Value::String(text) => Ok(VALUE + text.len()),
        Value::Array(items) => all(items.iter(), depth + 1),
        Value::Object(map) => {
            let keys: usize = map.keys().map(|key| VALUE + key.len()).sum();
            Ok(keys + all(map.values(), depth + 1)?)
        }
        _ => Ok(VALUE),
    }
}

/// Weight of several values together.
///
/// # Errors
/// If a value is nested too deeply.
pub(super) fn all<'v>(
    items: impl Iterator<Item = &'v Value>,
    depth: usize,
) -> Result<usize, String> {
    let mut sum = VALUE;
    for item in items {
        sum = sum.saturating_add(weight(item, depth)?);
    }
    Ok(sum)
}
