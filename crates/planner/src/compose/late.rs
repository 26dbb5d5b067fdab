//! Conditions of nested templates that depend on values which only the run knows.
//!
//! Heat creates the stack of a nested template when all its arguments exist, so its conditions may depend on an attribute of an
//! outer resource. We flatten everything before anything exists. A value that such a condition selects (`if`) is selected during
//! the run: the condition is written there in place of its name, with full names. The existence of a resource must be known when
//! the plan is made; if it is not, an error says so.

use super::{
    Composer, Diagnostic, Expr, Frame,
    spelling::{DEPTH_MAX, PARTS_MAX, too_large},
};
use hot::{scope::Known, template::Template};

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

impl Composer<'_> {
    /// Reports conditions of a nested template that were too long to be written out.
    pub(super) fn report_too_long(&mut self, frame: &Frame<'_>, nested: &str) {
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
    pub(super) fn report_too_large(&mut self, frame: &Frame<'_>, nested: &str) {
        let spelling = &frame.spelling;
        if spelling.too_large.take() && !spelling.too_large_reported.replace(true) {
            self.error(
                "nested-too-large",
                format!("resources.{nested}"),
                too_large(nested),
            );
        }
    }

    /// Reports resources whose existence depends on values that only the run knows.
    pub(super) fn report_too_late(
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
