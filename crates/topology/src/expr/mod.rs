//! Property values: literals, and functions that are resolved when their time comes.
//!
//! An expression serialises to the HOT form that it was read from (`{"get_attr": ["web", "name"]}`),
//! so a stored workflow reads like the template.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

mod function;
mod resolve;
mod rewrite;

pub(crate) use function::{call, is_function, is_supported};

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
    /// Text as a literal.
    pub fn text(text: impl Into<String>) -> Expr {
        Expr::Literal(Value::String(text.into()))
    }

    /// `{get_resource: name}`.
    pub fn reference(name: impl Into<String>) -> Expr {
        Expr::GetResource(name.into())
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

    /// From HOT in JSON form. A map with one key that names a function is that function.
    pub fn from_json(value: &Value) -> Result<Expr, Unresolved> {
        match value {
            Value::Array(items) => items
                .iter()
                .map(Expr::from_json)
                .collect::<Result<_, _>>()
                .map(Expr::List),
            Value::Object(map) => {
                let mut entries = Vec::with_capacity(map.len());
                for (key, value) in map {
                    entries.push((key.clone(), Expr::from_json(value)?));
                }
                match entries.as_slice() {
                    [(key, _)] if is_function(key) => {
                        let (key, arguments) = entries.remove(0);
                        call(&key, arguments).map_err(Unresolved::Invalid)
                    }
                    _ => Ok(Expr::Map(entries)),
                }
            }
            scalar => Ok(Expr::Literal(scalar.clone())),
        }
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
            Expr::StrReplace { template, params } => {
                json!({"str_replace": {"template": template.to_json(), "params": params.to_json()}})
            }
            Expr::ListJoin { delimiter, lists } => {
                let arguments = std::iter::once(delimiter.as_ref())
                    .chain(lists)
                    .map(Expr::to_json)
                    .collect();
                json!({"list_join": Value::Array(arguments)})
            }
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
            Expr::StrReplace { template, params } => {
                template.walk(visit);
                params.walk(visit);
            }
            Expr::ListJoin { delimiter, lists } => {
                delimiter.walk(visit);
                lists.iter().for_each(|list| list.walk(visit));
            }
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
