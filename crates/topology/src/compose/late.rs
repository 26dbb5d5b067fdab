//! Conditions of nested templates that hang on what only a run knows.
//!
//! Heat makes the stack of a nested template when all that it is given is there, so its conditions may hang on an attribute
//! of a resource outside. We make everything flat before anything is there. A value that such a condition chooses (`if`)
//! is chosen when the run comes to it: the condition stands there in place of its name, in full names. Whether a resource
//! is there at all must be known when the plan is made; where it is not, that is said.

use super::{Composer, Diagnostic, Expr, Frame};
use crate::{expr::Function, scope::Known, template::Template};

/// A condition with those that it names put in place of their names. One in a circle keeps the name: the reader has said it.
pub(super) fn spelled_out(condition: &Expr, template: &Template) -> Expr {
    spelled(condition, template, &mut Vec::new())
}

fn spelled<'t>(condition: &Expr, template: &'t Template, within: &mut Vec<&'t str>) -> Expr {
    match condition {
        Expr::Literal(serde_json::Value::String(name)) => match template.condition(name) {
            Some(named) if !within.contains(&named.name.as_str()) => {
                within.push(&named.name);
                let value = spelled(&named.value, template, within);
                within.pop();
                value
            }
            _ => condition.clone(),
        },
        Expr::Call {
            function: function @ (Function::Not | Function::And | Function::Or),
            arguments,
        } => {
            let arguments = match arguments.as_ref() {
                Expr::List(items) => {
                    let items = items.iter();
                    Expr::List(items.map(|one| spelled(one, template, within)).collect())
                }
                one => spelled(one, template, within),
            };
            Expr::call(*function, arguments)
        }
        other => other.clone(),
    }
}

impl Frame<'_> {
    /// The resources of an outer template that a condition hangs on, with the condition in full names; nothing where it
    /// hangs on none.
    pub(super) fn late(&self, condition: &Expr) -> Option<(Expr, String)> {
        let condition = self.global_expr(&spelled_out(condition, self.template?));
        let first = condition.resources().first().map(|name| (*name).to_owned());
        Some((condition, first?))
    }
}

impl Composer<'_> {
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
