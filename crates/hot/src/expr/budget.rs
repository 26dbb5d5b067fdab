//! Limit on the total size of values that are inserted into a template.
//!
//! A template of some hundred KiB can insert one long text ten thousand times, and nested templates can repeat that on
//! each level. The size of inserted values and of functions' results is therefore subtracted from a budget. Each check,
//! plan or step has one budget. The size of the text itself is limited already and is not subtracted.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde_json::Value;

use super::Expr;
use crate::diagnostic::{Diagnostic, TOO_MUCH};

/// Size of a new budget, roughly in bytes. Two thousand servers with 16 KiB of user data from a file each need 96 MiB.
pub const WEIGHT_MAX: usize = 128 << 20;

/// Memory of a value without its text or items, in bytes.
const VALUE: usize = 128;

/// Remaining budget. Shared by all parts that are processed together.
#[derive(Debug)]
pub struct Budget(AtomicUsize);

impl Default for Budget {
    fn default() -> Budget {
        Budget(AtomicUsize::new(WEIGHT_MAX))
    }
}

impl Budget {
    /// Subtracts `weight` from the budget. False if it does not fit, or if a stop is requested (`yaql::cancel`); the
    /// budget is then empty.
    #[must_use]
    pub fn take(&self, weight: usize) -> bool {
        if yaql::cancel::is_cancelled() {
            self.0.store(0, Relaxed);
            return false;
        }
        let left = self.0.load(Relaxed).checked_sub(weight);
        self.0.store(left.unwrap_or_default(), Relaxed);
        left.is_some()
    }

    /// Adds [`budget_exceeded`] if the budget was exceeded and no diagnostic reports it. Most callers of `simplify`
    /// ignore its error and keep the value.
    pub fn report(&self, diagnostics: &mut Vec<Diagnostic>) {
        if self.is_spent() && !diagnostics.iter().any(Diagnostic::is_too_much) {
            diagnostics.push(budget_exceeded(""));
        }
    }

    /// True if the budget was exceeded.
    pub fn is_spent(&self) -> bool {
        self.0.load(Relaxed) == 0
    }
}

/// Diagnostic for values that are too large.
pub fn budget_exceeded(path: impl Into<String>) -> Diagnostic {
    Diagnostic::error(TOO_MUCH, path, super::too_much())
}

/// Weight of a value, roughly in bytes.
pub fn weight(value: &Value) -> usize {
    VALUE
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(weight).sum(),
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| key.len() + weight(value))
                .sum(),
            _ => 0,
        }
}

/// Weight of an expression, roughly in bytes.
pub fn weight_of(expr: &Expr) -> usize {
    let mut sum = 0;
    expr.walk(&mut |part| {
        sum += VALUE
            + match part {
                Expr::Literal(Value::String(text)) => text.len(),
                Expr::Map(entries) => entries.iter().map(|(key, _)| key.len()).sum(),
                _ => 0,
            };
    });
    sum
}
