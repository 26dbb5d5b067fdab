//! Values in templates: literals, and functions that are resolved later.
//!
//! A value is resolved in phases. At plan time, [`Expr::simplify`] inserts known values: parameters, conditions, files,
//! and all results that follow from them. When a step starts, and again when an output is read, [`Expr::resolve`]
//! inserts the rest: ids and attributes of resources. All phases use the same functions; only the [`Scope`] contains
//! more values each time.
//!
//! References are separate variants, because order, drawing and renaming depend on them. All other functions are an
//! [`Expr::Call`] of a [`Function`] with one argument, as in the text.
//!
//! An expression serialises to the HOT form that it was parsed from (`{"get_attr": ["web", "name"]}`), so a stored
//! workflow reads like the template.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::version::Version;

mod arguments;
mod budget;
mod condition;
mod evaluate;
mod function;
mod reading;
mod resolve;
mod rewrite;
mod select;
mod store;

pub use arguments::{build, check, facade};
pub use budget::{Budget, WEIGHT_MAX, budget_exceeded, weight_of};
pub use function::{Function, Place, functions, is_function};
pub use reading::{Reading, reading};
pub use select::select;

/// Value that can depend on parameters, other resources, or their attributes.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Null, boolean, number or string.
    Literal(Value),
    /// A list.
    List(Vec<Expr>),
    /// A map, in the order of the text.
    Map(Vec<(String, Expr)>),
    /// `get_param`: the name, then keys and indices into the value.
    GetParam(String, Vec<Expr>),
    /// `get_resource`: the resource's name.
    GetResource(String),
    /// `get_attr`: the resource's name, then the attribute and keys and indices into it. Without an attribute, a map of
    /// all attributes.
    GetAttr(String, Vec<Expr>),
    /// Any other function with its argument as written, usually a list or a map.
    Call {
        /// The function.
        function: Function,
        /// The argument.
        arguments: Box<Expr>,
    },
}

/// Values for resolution. `None` means unknown.
pub trait Scope {
    /// Value of a parameter, if it is known and can be used now.
    fn parameter(&self, name: &str) -> Option<Value>;
    /// Reference to a parameter's value, if the scope contains it.
    fn parameter_ref(&self, _name: &str) -> Option<&Value> {
        None
    }
    /// Result of `get_resource`, usually the cloud id. `None` while the resource does not exist.
    fn reference(&self, resource: &str) -> Option<Value>;
    /// Whole attribute. `None` if the resource does not exist yet, or has no such attribute.
    fn attribute(&self, resource: &str, name: &str) -> Option<Value>;
    /// True if the resource exists and has no value for an attribute of its type.
    fn lacks_attribute(&self, _resource: &str, _name: &str) -> bool {
        false
    }
    /// All attributes, as a map. `None` while the resource does not exist.
    fn attributes(&self, _resource: &str) -> Option<Value> {
        None
    }
    /// True if a condition of the template holds.
    fn condition(&self, _name: &str) -> Option<bool> {
        None
    }
    /// Value of a parameter inside a condition. Hidden parameters are allowed there, because the result is only a
    /// boolean.
    fn condition_parameter(&self, name: &str) -> Option<Value> {
        self.parameter(name)
    }
    /// [`Scope::parameter_ref`] inside a condition.
    fn condition_parameter_ref(&self, name: &str) -> Option<&Value> {
        self.parameter_ref(name)
    }
    /// Budget for inserted values. `None`: only the limits of each function apply.
    fn budget(&self) -> Option<&Arc<Budget>> {
        None
    }
    /// Content of a file beside the template.
    fn file(&self, _name: &str) -> Option<String> {
        None
    }
    /// `metadata`, `deletion_policy` or `update_policy` of the resource that this template implements.
    fn facade(&self, _what: &str) -> Option<Value> {
        None
    }
    /// Version of the template: some functions accept fewer arguments in older ones.
    fn version(&self) -> Version {
        Version::default()
    }
    /// Availability zones for servers.
    fn zones(&self) -> Vec<String> {
        vec!["nova".to_owned()]
    }
}

/// Reason why an expression has no value yet, or will never have one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unresolved {
    /// A resource that does not exist yet.
    #[error("`{0}` does not exist yet")]
    Resource(String),
    /// An attribute of the resource's type without a value in the cloud.
    #[error(
        "`{resource}` has no value for its attribute `{attribute}`: the cloud gives none. Use another attribute, or a parameter"
    )]
    Attribute {
        /// The resource's name.
        resource: String,
        /// The attribute's name.
        attribute: String,
    },
    /// A parameter without a value.
    #[error("parameter `{}` has no value", crate::parameter::plain_name(.0))]
    Parameter(String),
    /// A condition that is unknown, or depends on a parameter without a value.
    #[error("it is not known whether the condition `{0}` holds")]
    Condition(String),
    /// A file that is missing from the bundle.
    #[error("the file `{0}` was not given with the template")]
    File(String),
    /// Only available in nested templates.
    #[error("`{0}` of the resource that uses this template is not known here")]
    Facade(String),
    /// The [`Budget`] is exceeded.
    #[error("{}", too_much())]
    TooMuch,
    /// Arguments that the function does not support.
    #[error("{0}")]
    Invalid(String),
}

/// Message for an exceeded budget.
pub fn too_much() -> String {
    format!(
        "with the values of parameters, files and functions put in, this comes to more than {} MiB: use long values less often, or make \
         them shorter",
        WEIGHT_MAX >> 20
    )
}

impl Expr {
    /// Text as a literal.
    pub fn text(text: impl Into<String>) -> Expr {
        Expr::Literal(Value::String(text.into()))
    }

    /// `{get_resource: name}`.
    pub fn reference(name: impl Into<String>) -> Expr {
        Expr::GetResource(name.into())
    }

    /// Call with arguments as in HOT. `get_param` and similar functions become separate variants.
    pub fn call(function: Function, arguments: Expr) -> Expr {
        build(function, arguments)
    }

    /// Text of a text literal.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Expr::Literal(value) => value.as_str(),
            _ => None,
        }
    }

    /// Value under a key of a map.
    pub fn get(&self, key: &str) -> Option<&Expr> {
        match self {
            Expr::Map(entries) => entries
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// True for `null`, which means not given, as in Heat.
    pub fn is_null(&self) -> bool {
        matches!(self, Expr::Literal(Value::Null))
    }

    /// Value as HOT in JSON form.
    pub fn to_json(&self) -> Value {
        match self {
            Expr::Literal(value) => value.clone(),
            Expr::List(items) => Value::Array(items.iter().map(Expr::to_json).collect()),
            Expr::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), value.to_json()))
                    .collect(),
            ),
            Expr::GetParam(name, path) if path.is_empty() => json!({"get_param": name}),
            Expr::GetParam(name, path) => json!({"get_param": with_path(name, path)}),
            Expr::GetResource(name) => json!({"get_resource": name}),
            Expr::GetAttr(name, path) => json!({"get_attr": with_path(name, path)}),
            Expr::Call {
                function,
                arguments,
            } => json!({function.name(): arguments.to_json()}),
        }
    }

    /// Visits the expression itself, then every expression in it.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(self);
        match self {
            Expr::Literal(_) | Expr::GetResource(_) => {}
            Expr::List(items) | Expr::GetParam(_, items) | Expr::GetAttr(_, items) => {
                items.iter().for_each(|item| item.walk(visit));
            }
            Expr::Map(entries) => entries.iter().for_each(|(_, value)| value.walk(visit)),
            Expr::Call { arguments, .. } => arguments.walk(visit),
        }
    }

    /// Names of the resources in `get_resource` and `get_attr`, each once.
    pub fn resources(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        self.walk(&mut |expr| {
            if let Expr::GetResource(name) | Expr::GetAttr(name, _) = expr
                && !names.contains(&name.as_str())
            {
                names.push(name);
            }
        });
        names
    }
}

fn with_path(name: &str, path: &[Expr]) -> Value {
    std::iter::once(Value::from(name))
        .chain(path.iter().map(Expr::to_json))
        .collect()
}

#[cfg(test)]
mod tests;
