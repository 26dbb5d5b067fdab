//! Conditions of nested templates that depend on values known only during the run.
//!
//! Heat creates the stack of a nested template when all its arguments exist, so its conditions can depend on an
//! attribute of an outer resource. Stackloom flattens all templates before any resource exists. An `if` with such a
//! condition is evaluated during the run: the condition, with full names, replaces its name. The existence of a
//! resource must be known at plan time; otherwise planning fails with an error.

use super::{
    Composer, Diagnostic, Expr, Frame,
    expansion::{DEPTH_MAX, PARTS_MAX, too_large},
};
use hot::{scope::Known, template::Template};

impl Frame<'_> {
    /// Outer resource that a condition depends on, with the condition in full names. `None` if it depends on no
    /// resource.
    pub(super) fn late(&self, condition: &Expr) -> Option<(Expr, String)> {
        let condition = self.expansion.expand(condition, self.template?)?;
        let condition = self.global_expr(&condition);
        let first = condition.resources().first().map(|name| (*name).to_owned());
        Some((condition, first?))
    }
}

impl Composer<'_> {
    /// Reports conditions of a nested template that were too long to write out.
    pub(super) fn report_too_long(&mut self, frame: &Frame<'_>, nested: &str) {
        if !frame.expansion.too_long.take() {
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
        let expansion = &frame.expansion;
        if expansion.too_large.take() && !expansion.too_large_reported.replace(true) {
            self.error(
                "nested-too-large",
                format!("resources.{nested}"),
                too_large(nested),
            );
        }
    }

    /// Reports resources whose existence depends on values known only during the run.
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
            let Some((_, source)) = frame.late(condition) else {
                continue;
            };
            let full = frame.full(&resource.name);
            let message = format!(
                "whether `{full}` is there hangs on what becomes of `{source}`, and a plan must know it before: \
                 give the nested template a value that is known then, such as a parameter"
            );
            let path = format!("resources.{full}.condition");
            self.diagnostics
                .push(Diagnostic::error("condition-late", path, message));
        }
    }
}
