//! Values as a template writes them: literals, and functions that are resolved when their time comes.
//!
//! A value is resolved in three phases. When a plan is made, [`Expr::simplify`] puts in what is known:
//! parameters, conditions, files, and all that follows from them. When a step starts, and again when an
//! output is read, [`Expr::resolve`] asks for the rest: ids and attributes of resources. The same
//! functions serve all phases; only the [`Scope`] knows more each time.
//!
//! References stay variants of their own, since order, drawing and renaming live on them; all other
//! functions are a [`Expr::Call`] of a [`Function`] on one argument, as in the text.
//!
//! An expression serialises to the HOT form that it was read from (`{"get_attr": ["web", "name"]}`),
//! so a stored workflow reads like the template.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::version::Version;

mod arguments;
mod budget;
mod condition;
mod evaluate;
mod function;
mod resolve;
mod rewrite;
mod store;

pub use arguments::{build, check, facade};
pub use budget::{Budget, WEIGHT_MAX, budget_exceeded, weight_of};
pub use function::Function;
pub use function::{Place, Reading, is_function, reading};
pub use resolve::select;

/// A value that may hang on parameters, other resources, or their attributes.
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
    /// `get_attr`: the resource's name, then the attribute and keys and indices into it; without an
    /// attribute, a map of all.
    GetAttr(String, Vec<Expr>),
    /// Any other function, with its arguments as they are written: mostly a list or a map.
    Call {
        /// Which.
        function: Function,
        /// What stands under its name.
        arguments: Box<Expr>,
    },
}

/// What a value can ask while it is resolved. What is not known answers `None`.
pub trait Scope {
    /// The value of a parameter, if it is known and may be used now.
    fn parameter(&self, name: &str) -> Option<Value>;
    /// The same without a copy, where the scope has it at hand.
    fn parameter_at_hand(&self, _name: &str) -> Option<&Value> {
        None
    }
    /// What `get_resource` gives: mostly the physical id. `None` while the resource does not exist.
    fn reference(&self, resource: &str) -> Option<Value>;
    /// An attribute, whole. `None` while the resource does not exist, and where it lacks the attribute.
    fn attribute(&self, resource: &str, name: &str) -> Option<Value>;
    /// Whether the resource exists and has no value for an attribute that its type has.
    fn lacks_attribute(&self, _resource: &str, _name: &str) -> bool {
        false
    }
    /// All attributes, as a map. `None` while the resource does not exist.
    fn attributes(&self, _resource: &str) -> Option<Value> {
        None
    }
    /// Whether a condition of the template holds.
    fn condition(&self, _name: &str) -> Option<bool> {
        None
    }
    /// The value of a parameter inside of a condition. A hidden one may be used there, where only a
    /// truth comes out of it.
    fn condition_parameter(&self, name: &str) -> Option<Value> {
        self.parameter(name)
    }
    /// [`Scope::parameter_at_hand`], inside of a condition.
    fn condition_parameter_at_hand(&self, name: &str) -> Option<&Value> {
        self.parameter_at_hand(name)
    }
    /// What all that is put in may come to. Without it there is no limit but those of the functions.
    fn budget(&self) -> Option<&Arc<Budget>> {
        None
    }
    /// The content of a file beside the template.
    fn file(&self, _name: &str) -> Option<String> {
        None
    }
    /// `metadata`, `deletion_policy` or `update_policy` of the resource that this template stands for.
    fn facade(&self, _what: &str) -> Option<Value> {
        None
    }
    /// The version of the template: some functions took less in older ones.
    fn version(&self) -> Version {
        Version::default()
    }
    /// Availability zones for servers.
    fn zones(&self) -> Vec<String> {
        vec!["nova".to_owned()]
    }
}

/// Why an expression has no value yet, or never will.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unresolved {
    /// A resource that does not exist yet.
    #[error("`{0}` does not exist yet")]
    Resource(String),
    /// An attribute of the resource's type for which the cloud gave no value.
    #[error(
        "`{resource}` has no value for its attribute `{attribute}`: the cloud gives none. Use another attribute, or a parameter"
    )]
    Attribute {
        /// Name of the resource.
        resource: String,
        /// Name of the attribute.
        attribute: String,
    },
    /// A parameter without a value.
    #[error("parameter `{}` has no value", crate::parameter::plain_name(.0))]
    Parameter(String),
    /// A condition that is not known, or hangs on a parameter without a value.
    #[error("it is not known whether the condition `{0}` holds")]
    Condition(String),
    /// A file that was not given with the template.
    #[error("the file `{0}` was not given with the template")]
    File(String),
    /// Only a template that is used by another one has it.
    #[error("`{0}` of the resource that uses this template is not known here")]
    Facade(String),
    /// The [`Budget`] has no room for it.
    #[error("{}", too_much())]
    TooMuch,
    /// The function was given what it cannot work with.
    #[error("{0}")]
    Invalid(String),
}

/// For messages.
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

    /// A call with arguments as HOT has them; `get_param` and its like become the variant of their own.
    pub fn call(function: Function, arguments: Expr) -> Expr {
        build(function, arguments)
    }

    /// The text of a literal that is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Expr::Literal(value) => value.as_str(),
            _ => None,
        }
    }

    /// The value under a key of a map.
    pub fn get(&self, key: &str) -> Option<&Expr> {
        match self {
            Expr::Map(entries) => entries
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// Whether it is given at all: `null` counts as not given, as in Heat.
    pub fn is_null(&self) -> bool {
        matches!(self, Expr::Literal(Value::Null))
    }

    /// To HOT in JSON form.
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

    /// Every expression in it, itself first.
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

    /// Names of the resources that it mentions by `get_resource` or `get_attr`, each once.
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
