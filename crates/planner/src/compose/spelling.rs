//! The budget for conditions in place of their names, and for values in place of parameters.

use std::cell::Cell;

use super::Expr;
use hot::{expr::Function, template::Template};

/// Maximum number of parts of conditions that are written in place of their names, in all flattened templates together. Names may
/// double the size at each step.
pub(super) const PARTS_MAX: usize = 100_000;

/// Maximum number of parts of values that are written in place of nested templates' parameters, in all flattened templates
/// together. A template that uses a parameter ten times makes ten copies of its value, and the next level ten of each.
pub(super) const VALUES_MAX: usize = 200_000;

/// Maximum nesting of functions in such a condition. Each function is two levels of a workflow's JSON, which is read to 128
/// levels.
pub(super) const DEPTH_MAX: usize = 40;

/// The remaining size for written-out conditions, and for values in place of parameters.
pub(super) struct Spelling {
    parts_left: Cell<usize>,
    /// True if a condition was too long and that was not reported yet.
    pub too_long: Cell<bool>,
    /// Remaining parts of values in place of parameters, in all frames together.
    values_left: Cell<usize>,
    /// True if a value was too large and that was not reported yet.
    pub too_large: Cell<bool>,
    /// True if it was reported: it is reported once, because nothing fits after it.
    pub too_large_reported: Cell<bool>,
}

impl Spelling {
    pub(super) fn new() -> Spelling {
        Spelling {
            parts_left: Cell::new(PARTS_MAX),
            too_long: Cell::new(false),
            values_left: Cell::new(VALUES_MAX),
            too_large: Cell::new(false),
            too_large_reported: Cell::new(false),
        }
    }

    /// True if a value of this size may be written in place of a parameter. If not, `Composer::report_too_large` reports it.
    pub(super) fn has_room_for(&self, parts: usize) -> bool {
        let left = self.values_left.get().checked_sub(parts);
        self.values_left.set(left.unwrap_or_default());
        self.too_large.set(self.too_large.get() || left.is_none());
        left.is_some()
    }

    /// A condition with the conditions that it names written out. A condition in a circle keeps its name, because the parser has
    /// reported the circle. `None` if it would be too long: then `Composer::report_too_long` reports it.
    pub(super) fn out(&self, condition: &Expr, template: &Template) -> Option<Expr> {
        if self.parts_left.get() == 0 {
            return None;
        }
        let spelled = self.spelled(condition, template, &mut Vec::new(), 0);
        if spelled.is_none() {
            self.too_long.set(true);
        }
        spelled
    }

    fn spelled<'t>(
        &self,
        condition: &Expr,
        template: &'t Template,
        within: &mut Vec<&'t str>,
        depth: usize,
    ) -> Option<Expr> {
        self.parts_left.set(self.parts_left.get().checked_sub(1)?);
        Some(match condition {
            Expr::Literal(serde_json::Value::String(name)) => match template.condition(name) {
                Some(named) if !within.contains(&named.name.as_str()) => {
                    within.push(&named.name);
                    let value = self.spelled(&named.value, template, within, depth)?;
                    within.pop();
                    value
                }
                _ => condition.clone(),
            },
            Expr::Call {
                function: function @ (Function::Not | Function::And | Function::Or),
                arguments,
            } => {
                let depth = Some(depth + 1).filter(|depth| *depth <= DEPTH_MAX)?;
                let mut one = |one| self.spelled(one, template, within, depth);
                let arguments = match arguments.as_ref() {
                    Expr::List(items) => Expr::List(items.iter().map(one).collect::<Option<_>>()?),
                    only => one(only)?,
                };
                Expr::call(*function, arguments)
            }
            other => other.clone(),
        })
    }
}

/// The message about a value that is too large.
pub(super) fn too_large(nested: &str) -> String {
    format!(
        "what `{nested}` is given or gives is used so often, level for level, that it comes to more than {VALUES_MAX} parts: use it less \
         often, or hand over the result in place of its parts"
    )
}
