//! Conditions of nested templates that depend on values which only the run knows.
//!
//! Heat creates the stack of a nested template when all its arguments exist, so its conditions may depend on an attribute of an
//! outer resource. We flatten everything before anything exists. A value that such a condition selects (`if`) is selected during
//! the run: the condition is written there in place of its name, with full names. The existence of a resource must be known when
//! the plan is made; if it is not, an error says so.

use std::cell::Cell;

use super::{Composer, Diagnostic, Expr, Frame};
use hot::{expr::Function, scope::Known, template::Template};

/// Maximum number of parts of conditions that are written in place of their names, in all flattened templates together. Names may
/// double the size at each step.
const PARTS_MAX: usize = 100_000;

/// Maximum number of parts of values that are written in place of nested templates' parameters, in all flattened templates
/// together. A template that uses a parameter ten times makes ten copies of its value, and the next level ten of each.
pub(super) const VALUES_MAX: usize = 200_000;

/// Maximum nesting of functions in such a condition. Each function is two levels of a workflow's JSON, which is read to 128
/// levels.
const DEPTH_MAX: usize = 40;

/// The remaining size for written-out conditions, and for values in place of parameters.
pub(super) struct Spelling {
    parts_left: Cell<usize>,
    /// True if a condition was too long and that was not reported yet.
    too_long: Cell<bool>,
    /// Remaining parts of values in place of parameters, in all frames together.
    values_left: Cell<usize>,
    /// True if a value was too large and that was not reported yet.
    too_large: Cell<bool>,
    /// True if it was reported: it is reported once, because nothing fits after it.
    too_large_said: Cell<bool>,
}

impl Spelling {
    pub(super) fn new() -> Spelling {
        Spelling {
            parts_left: Cell::new(PARTS_MAX),
            too_long: Cell::new(false),
            values_left: Cell::new(VALUES_MAX),
            too_large: Cell::new(false),
            too_large_said: Cell::new(false),
        }
    }

    /// True if a value of this size may be written in place of a parameter. If not, [`Composer::said_too_large`] reports it.
    pub(super) fn has_room_for(&self, parts: usize) -> bool {
        let left = self.values_left.get().checked_sub(parts);
        self.values_left.set(left.unwrap_or_default());
        self.too_large.set(self.too_large.get() || left.is_none());
        left.is_some()
    }

    /// A condition with the conditions that it names written out. A condition in a circle keeps its name, because the parser has
    /// reported the circle. `None` if it would be too long: then [`Composer::said_too_long`] reports it.
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

impl Frame<'_> {
    /// The outer template's resources that a condition depends on, as text, with the condition in full names. `None` if it
    /// depends on none.
    pub(super) fn late(&self, condition: &Expr) -> Option<(Expr, String)> {
        let condition = self.spelling.out(condition, self.template?)?;
        let condition = self.global_expr(&condition);
        let first = condition.resources().first().map(|name| (*name).to_owned());
        Some((condition, first?))
    }
}

/// The message about a value that is too large.
pub(super) fn too_large(nested: &str) -> String {
    format!(
        "what `{nested}` is given or gives is used so often, level for level, that it comes to more than {VALUES_MAX} parts: use it less \
         often, or hand over the result in place of its parts"
    )
}

impl Composer<'_> {
    /// Reports conditions of a nested template that were too long to be written out.
    pub(super) fn said_too_long(&mut self, frame: &Frame<'_>, nested: &str) {
        if !frame.spelling.too_long.take() {
            return;
        }
        let message = format!(
            "conditions of `{nested}` hang on what only a run knows, and with those that they name they are too long (more than {PARTS_MAX} \
             parts in all, or more than {DEPTH_MAX} of `not`, `and` and `or` within each other): let them name less, or give the \
             nested template a value that is known before, such as a parameter"
        );
        self.error("condition-late", format!("resources.{nested}"), message);
    }

    /// Reports values that were too large for a nested template's parameters.
    pub(super) fn said_too_large(&mut self, frame: &Frame<'_>, nested: &str) {
        let spelling = &frame.spelling;
        if spelling.too_large.take() && !spelling.too_large_said.replace(true) {
            self.error(
                "nested-too-large",
                format!("resources.{nested}"),
                too_large(nested),
            );
        }
    }

    /// Reports resources whose existence depends on values that only the run knows.
    pub(super) fn said_too_late(
        &mut self,
        frame: &Frame<'_>,
        template: &Template,
        scope: &Known<'_>,
    ) {
        for resource in &template.resources {
            let Some(condition) = &resource.condition else {
                continue;
            };
            if resource.is_on(scope).is_some() {
                continue;
            }
            let Some((_, asked)) = frame.late(condition) else {
                continue;
            };
            let full = frame.full(&resource.name);
            let message = format!(
                "whether `{full}` is there hangs on what becomes of `{asked}`, and a plan must know it before: \
                 give the nested template a value that is known then, such as a parameter"
            );
            let path = format!("resources.{full}.condition");
            self.diagnostics
                .push(Diagnostic::error("condition-late", path, message));
        }
    }
}
