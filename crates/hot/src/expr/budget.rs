//! A limit on the total size of values that are inserted into a template.
//!
//! A template of some hundred KiB can insert one long text ten thousand times, and nested templates can repeat that on each
//! level. So the size of inserted values and of functions' results is subtracted from a budget, which one reader of the template
//! (a check, a plan, a step of a run) has in total. The size of the text itself is limited already and costs nothing here.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde_json::Value;

use super::Expr;
use crate::diagnostic::{Diagnostic, TOO_MUCH};

/// The size of a new budget, roughly in bytes. Two thousand servers with 16 KiB of user data each, put together from a file, need
/// 96 MiB.
pub const WEIGHT_MAX: usize = 128 << 20;

/// Memory of a value without its text or items, in bytes.
const VALUE: usize = 128;

/// The rest of the budget. Shared by all parts that are read together.
#[derive(Debug)]
pub struct Budget(AtomicUsize);

impl Default for Budget {
    fn default() -> Budget {
        Budget(AtomicUsize::new(WEIGHT_MAX))
    }
}

impl Budget {
    /// Takes `weight` from the budget. False if it does not fit, or if the work shall end (`yaql::stop`); then nothing is
    /// left.
    #[must_use]
    pub fn take(&self, weight: usize) -> bool {
        if yaql::stop::is_wanted() {
            self.0.store(0, Relaxed);
            return false;
        }
        let left = self.0.load(Relaxed).checked_sub(weight);
        self.0.store(left.unwrap_or_default(), Relaxed);
        left.is_some()
    }

    /// Adds [`budget_exceeded`] if the budget was exceeded and no diagnostic reports it: most callers of simplify ignore its
    /// error and keep the value.
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

/// The diagnostic of a value that is too large.
pub fn budget_exceeded(path: impl Into<String>) -> Diagnostic {
    Diagnostic::error(TOO_MUCH, path, super::too_much())
}

/// The weight of a value.
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

/// The weight of an expression.
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
