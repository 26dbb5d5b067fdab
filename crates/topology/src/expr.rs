//! Property values: literals, and functions that are resolved when their time comes.
//!
//! An expression serialises to the HOT form that it was read from (`{"get_attr": ["web", "name"]}`),
//! so a stored workflow reads like the template.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

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
    /// `get_attr`: the resource's name, then the attribute and keys and indices into it.
    GetAttr(String, Vec<Expr>),
    /// `str_replace`: a template, and what to put for which words.
    StrReplace {
        /// The text.
        template: Box<Expr>,
        /// Word to value.
        params: Box<Expr>,
    },
    /// `list_join`: a delimiter and lists.
    ListJoin {
        /// Put between the items.
        delimiter: Box<Expr>,
        /// Lists of strings.
        lists: Vec<Expr>,
    },
}

/// What [`Expr::resolve`] can ask.
pub trait Scope {
    /// The value of a parameter, if it is known and may be used now.
    fn parameter(&self, name: &str) -> Option<Value>;
    /// What `get_resource` gives: mostly the physical id. `None` while the resource does not exist.
    fn reference(&self, resource: &str) -> Option<Value>;
    /// An attribute, whole. `None` while the resource does not exist.
    fn attribute(&self, resource: &str, name: &str) -> Option<Value>;
}

/// Why an expression has no value yet, or never will.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unresolved {
    /// A resource that does not exist yet.
    #[error("`{0}` does not exist yet")]
    Resource(String),
    /// A parameter without a value.
    #[error("parameter `{0}` has no value")]
    Parameter(String),
    /// The function was given what it cannot work with.
    #[error("{0}")]
    Invalid(String),
}

impl Expr {
    /// The value, if all that it hangs on is known to `scope`.
    pub fn resolve(&self, scope: &dyn Scope) -> Result<Value, Unresolved> {
        let _ = scope;
        todo!("topology")
    }

    /// As far as `scope` knows: what it does not know stays an expression.
    pub fn simplify(&self, scope: &dyn Scope) -> Result<Expr, Unresolved> {
        let _ = scope;
        todo!("topology")
    }

    /// Names of the resources that it mentions by `get_resource` or `get_attr`, each once.
    pub fn resources(&self) -> Vec<&str> {
        todo!("topology")
    }

    /// From HOT in JSON form. A map with one key that names a function is that function.
    pub fn from_json(value: &Value) -> Result<Expr, Unresolved> {
        let _ = value;
        todo!("topology")
    }

    /// To HOT in JSON form.
    pub fn to_json(&self) -> Value {
        todo!("topology")
    }
}

impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Expr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Expr::from_json(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
