//! Evaluation of conditions.
//!
//! A condition is a boolean, the name of another condition, or a function of parameters. Hidden parameters are allowed,
//! because the result is only a boolean. A nested template's parameter is replaced by its argument, which can be an
//! attribute of a resource; the text of a template itself cannot contain attributes in conditions.

use std::sync::Arc;

use serde_json::Value;

use super::{Budget, Expr, Function, Scope, Unresolved, arguments};
use crate::version::Version;
use yaql::python;
use yaql::shown;

/// Scope with the values of parameters in conditions.
struct Inside<'a>(&'a dyn Scope);

impl Scope for Inside<'_> {
    fn parameter(&self, name: &str) -> Option<Value> {
        self.0.condition_parameter(name)
    }
    fn parameter_ref(&self, name: &str) -> Option<&Value> {
        self.0.condition_parameter_ref(name)
    }
    fn budget(&self) -> Option<&Arc<Budget>> {
        self.0.budget()
    }
    fn reference(&self, resource: &str) -> Option<Value> {
        self.0.reference(resource)
    }
    fn attribute(&self, resource: &str, name: &str) -> Option<Value> {
        self.0.attribute(resource, name)
    }
    fn attributes(&self, resource: &str) -> Option<Value> {
        self.0.attributes(resource)
    }
    fn condition(&self, name: &str) -> Option<bool> {
        self.0.condition(name)
    }
    fn version(&self) -> Version {
        self.0.version()
    }
}

impl Expr {
    /// Value inside a condition, with hidden parameters. For conditions only.
    ///
    /// # Errors
    /// The part that is not known yet.
    pub fn resolve_for_conditions(&self, scope: &dyn Scope) -> Result<Value, Unresolved> {
        self.resolve(&Inside(scope))
    }

    /// Evaluates the expression as a condition.
    ///
    /// # Errors
    /// The part that is not known yet, or the reason why it is not a condition.
    pub fn holds(&self, scope: &dyn Scope) -> Result<bool, Unresolved> {
        holds(self, &Inside(scope))
    }
}

fn holds(expr: &Expr, scope: &dyn Scope) -> Result<bool, Unresolved> {
    match expr {
        Expr::Literal(Value::Bool(truth)) => Ok(*truth),
        // In Heat, null means no condition.
        Expr::Literal(Value::Null) => Ok(true),
        Expr::Literal(Value::String(name)) => scope
            .condition(name)
            .ok_or_else(|| Unresolved::Condition(name.clone())),
        Expr::Call {
            function,
            arguments,
        } => call(expr, *function, arguments, scope),
        Expr::GetParam(..) | Expr::GetAttr(..) | Expr::GetResource(..) => {
            truth(expr.resolve(scope)?)
        }
        other => Err(no_condition(&other.to_json())),
    }
}

fn call(
    expr: &Expr,
    function: Function,
    arguments: &Expr,
    scope: &dyn Scope,
) -> Result<bool, Unresolved> {
    match (function, arguments) {
        (Function::Not, condition) => Ok(!holds(condition, scope)?),
        (Function::And, Expr::List(conditions)) => until(false, conditions, scope),
        (Function::Or, Expr::List(conditions)) => until(true, conditions, scope),
        (Function::Equals, Expr::List(values)) => match values.as_slice() {
            [a, b] => Ok(python::equal(&a.resolve(scope)?, &b.resolve(scope)?)),
            _ => Err(wrong(function)),
        },
        (Function::Equals | Function::And | Function::Or, _) => Err(wrong(function)),
        _ => truth(expr.resolve(scope)?),
    }
}

/// Evaluates conditions until one equals `sure`. As in Heat, later conditions are then not evaluated, except functions,
/// which Heat resolves first.
fn until(sure: bool, conditions: &[Expr], scope: &dyn Scope) -> Result<bool, Unresolved> {
    let mut known = Vec::with_capacity(conditions.len());
    for condition in conditions {
        known.push(match condition {
            Expr::Call { .. } | Expr::GetParam(..) => Some(holds(condition, scope)?),
            _ => None,
        });
    }
    // Each value is evaluated once: conditions are nested, and two evaluations per level would take exponential time.
    for (condition, known) in conditions.iter().zip(known) {
        let truth = known.map_or_else(|| holds(condition, scope), Ok)?;
        if truth == sure {
            return Ok(sure);
        }
    }
    Ok(!sure)
}

fn wrong(function: Function) -> Unresolved {
    Unresolved::Invalid(format!(
        "`{}` takes {}",
        function.name(),
        arguments::wanted(function, Version::default())
    ))
}

fn truth(value: Value) -> Result<bool, Unresolved> {
    value.as_bool().ok_or_else(|| no_condition(&value))
}

fn no_condition(value: &Value) -> Unresolved {
    Unresolved::Invalid(format!(
        "a condition is `true`, `false`, the name of a condition, or a function that gives one of the two; `{}` is not",
        shown(&python::text(value))
    ))
}
