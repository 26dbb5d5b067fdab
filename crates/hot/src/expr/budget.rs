//! What the values that are put into a template may come to.
//!
//! A template of some hundred KiB can name one long text ten thousand times, and nested templates can do so again level for level.
//! What is asked for and what functions give is therefore weighed when it is put in, and taken from what one reader of the template
//! (its check, its plan, a step of a run) has in all. The text itself is limited already and costs nothing here.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde_json::Value;

use super::Expr;
use crate::diagnostic::{Diagnostic, TOO_MUCH};

/// In bytes, nearly. Two thousand servers with 16 KiB of user data each, put together from a file, need 96 MiB.
pub const WEIGHT_MAX: usize = 128 << 20;

/// A value without its text or items, as it lies in the memory.
const VALUE: usize = 128;

/// What is left. Shared by all that is read together.
#[derive(Debug)]
pub struct Budget(AtomicUsize);

impl Default for Budget {
    fn default() -> Budget {
        Budget(AtomicUsize::new(WEIGHT_MAX))
    }
}

impl Budget {
    /// Whether there is room for so much, which is taken. Where there is none, nothing is left afterwards.
    #[must_use]
    pub fn take(&self, weight: usize) -> bool {
        let left = self.0.load(Relaxed).checked_sub(weight);
        self.0.store(left.unwrap_or_default(), Relaxed);
        left.is_some()
    }

    /// Adds [`budget_exceeded`] where something had no room and no diagnostic says so: most readers that
    /// simplify values leave them as they are where that fails.
    pub fn report(&self, diagnostics: &mut Vec<Diagnostic>) {
        if self.is_spent() && !diagnostics.iter().any(Diagnostic::is_too_much) {
            diagnostics.push(budget_exceeded(""));
        }
    }

    /// Whether something had no room.
    pub fn is_spent(&self) -> bool {
        self.0.load(Relaxed) == 0
    }
}

/// The diagnostic of a value that is too large.
pub fn budget_exceeded(path: impl Into<String>) -> Diagnostic {
    Diagnostic::error(TOO_MUCH, path, super::too_much())
}

/// What a value weighs.
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

/// What an expression weighs.
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
