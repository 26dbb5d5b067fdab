//! Budget for conditions written in place of their names, and for values in place of parameters.

use std::cell::Cell;

use super::Expr;
use hot::{expr::Function, template::Template};

/// Maximum number of parts of conditions that are written in place of their names, in all flattened templates together.
/// Nested conditions can double the size at each step.
pub(super) const PARTS_MAX: usize = 100_000;

/// Maximum number of parts of values that are written in place of nested templates' parameters, in all flattened
/// templates together. A template that uses a parameter ten times makes ten copies of its value, and the next level ten
/// copies of each.
pub(super) const VALUES_MAX: usize = 200_000;

/// Maximum nesting of functions in such a condition. Each function adds two levels to the workflow's JSON, whose parser
/// is limited to 128 levels.
pub(super) const DEPTH_MAX: usize = 40;

/// Remaining size for written-out conditions, and for values in place of parameters.
pub(super) struct ExpansionBudget {
    parts_left: Cell<usize>,
    /// True if a condition was too long and this is not reported yet.
    pub too_long: Cell<bool>,
    /// Remaining parts of values in place of parameters, in all frames together.
    values_left: Cell<usize>,
    /// True if a value was too large and this is not reported yet.
    pub too_large: Cell<bool>,
    /// True after the first report. There is only one, because no further value fits.
    pub too_large_reported: Cell<bool>,
}

impl ExpansionBudget {
    pub(super) fn new() -> ExpansionBudget {
        ExpansionBudget {
            parts_left: Cell::new(PARTS_MAX),
            too_long: Cell::new(false),
            values_left: Cell::new(VALUES_MAX),
            too_large: Cell::new(false),
            too_large_reported: Cell::new(false),
        }
    }

    /// True if a value of this size can be written in place of a parameter. Otherwise `Composer::report_too_large`
    /// reports it.
    pub(super) fn has_room_for(&self, parts: usize) -> bool {
        let left = self.values_left.get().checked_sub(parts);
        self.values_left.set(left.unwrap_or_default());
        self.too_large.set(self.too_large.get() || left.is_none());
        left.is_some()
    }

    /// A condition with the named conditions written out. A condition in a circle keeps its name, because the parser
    /// has reported the circle. `None` if the result would be too long: then `Composer::report_too_long` reports it.
    pub(super) fn expand(&self, condition: &Expr, template: &Template) -> Option<Expr> {
        if self.parts_left.get() == 0 {
            return None;
        }
        let expanded = self.expanded(condition, template, &mut Vec::new(), 0);
        if expanded.is_none() {
            self.too_long.set(true);
        }
        expanded
    }

    fn expanded<'t>(
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
                    let value = self.expanded(&named.value, template, within, depth)?;
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
                let mut one = |one| self.expanded(one, template, within, depth);
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

/// Message about a value that is too large.
pub(super) fn too_large(nested: &str) -> String {
    format!(
        "what `{nested}` is given or gives is used so often, level for level, that it comes to more than {VALUES_MAX} parts: use it less \
         often, or hand over the result in place of its parts"
    )
}
