//! Conditions of nested templates that hang on what only a run knows.
//!
//! Heat makes the stack of a nested template when all that it is given is there, so its conditions may hang on an attribute
//! of a resource outside. We make everything flat before anything is there. A value that such a condition chooses (`if`)
//! is chosen when the run comes to it: the condition stands there in place of its name, in full names. Whether a resource
//! is there at all must be known when the plan is made; where it is not, that is said.

use std::cell::Cell;

use super::{Composer, Diagnostic, Expr, Frame};
use hot::{expr::Function, scope::Known, template::Template};

/// Parts of conditions that are put in place of names, in all that is made flat: names may double what they stand for at each step.
const PARTS_MAX: usize = 100_000;

/// Parts of values that are put in place of the parameters of nested templates, in all that is made flat: a template that uses a
/// parameter ten times makes ten of its value, and the next level ten of each.
pub(super) const VALUES_MAX: usize = 200_000;

/// Functions within each other in such a condition. Each is two levels of the JSON that a workflow is stored as, which
/// is read to 128 levels.
const DEPTH_MAX: usize = 40;

/// What is left for conditions in place of their names, and for values in place of parameters.
pub(super) struct Spelling {
    parts_left: Cell<usize>,
    /// One was too long, and it was not said yet.
    too_long: Cell<bool>,
    /// Parts of values that may still be put in place of parameters, in all frames together.
    values_left: Cell<usize>,
    /// One was too large, and it was not said yet.
    too_large: Cell<bool>,
    /// It was said: nothing has room after it, and once is enough.
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

    /// Whether a value of so many parts may be put in place of a parameter; where not, [`Composer::said_too_large`] says it.
    pub(super) fn has_room_for(&self, parts: usize) -> bool {
        let left = self.values_left.get().checked_sub(parts);
        self.values_left.set(left.unwrap_or_default());
        self.too_large.set(self.too_large.get() || left.is_none());
        left.is_some()
    }

    /// A condition with those that it names put in place of their names. One in a circle keeps the name: the reader has said it.
    /// Nothing where it would be too long: then [`Composer::said_too_long`] says it.
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
    /// The resources of an outer template that a condition hangs on, with the condition in full names; nothing where it
    /// hangs on none.
    pub(super) fn late(&self, condition: &Expr) -> Option<(Expr, String)> {
        let condition = self.spelling.out(condition, self.template?)?;
        let condition = self.global_expr(&condition);
        let first = condition.resources().first().map(|name| (*name).to_owned());
        Some((condition, first?))
    }
}

/// For messages.
pub(super) fn too_large(nested: &str) -> String {
    format!(
        "what `{nested}` is given or gives is used so often, level for level, that it comes to more than {VALUES_MAX} parts: use it less \
         often, or hand over the result in place of its parts"
    )
}

impl Composer<'_> {
    /// Conditions of a nested template that were too long to be put in place of their names.
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

    /// Values that were too large to be put in place of a nested template's parameters.
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

    /// Resources of which it is not known whether they are there.
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
