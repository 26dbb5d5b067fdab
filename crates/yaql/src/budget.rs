//! What one expression may cost, in steps and in what it makes on its way.
//!
//! A short expression can make a value that is twice as large with every round of `reduce`, or nest it once more. So all that is
//! made is weighed when it is made, not only what comes out: the sum is what one expression can ever hold, and what it is gone
//! through costs no more than a few times that. Heat allows a list 10 000 bytes; no real expression comes near to our limit.

use std::cell::Cell;

use serde_json::Value;

/// Steps; lists in lists are gone through item by item.
const STEPS_MAX: u32 = 200_000;

/// What may be made, in bytes, nearly.
const WEIGHT_MAX: usize = 64 << 20;

/// Lists and maps in each other, as in a template's text: values are copied and dropped level by level, on the stack.
const DEPTH_MAX: usize = 64;

/// A value without its text or items.
pub(super) const VALUE: usize = 32;

thread_local! {
    static STEPS: Cell<u32> = const { Cell::new(0) };
    static WEIGHT: Cell<usize> = const { Cell::new(0) };
}

/// Another expression begins.
pub(super) fn begin() {
    STEPS.set(0);
    WEIGHT.set(0);
}

/// # Errors
/// There were too many.
pub(super) fn step() -> Result<(), String> {
    STEPS.set(STEPS.get().saturating_add(1));
    if STEPS.get() > STEPS_MAX {
        return Err(format!(
            "an expression of `yaql` takes more than {STEPS_MAX} steps: give it less `data`, or let fewer lists go through each other"
        ));
    }
    Ok(())
}

/// Take so much off.
///
/// # Errors
/// So much is not left.
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

/// The weight of a value that stands in so many lists and maps.
///
/// # Errors
/// It is too deep.
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

/// The weight of some values together.
///
/// # Errors
/// One of them is too deep.
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
