//! Resolution of expressions, complete or partial.
//!
//! The engine calls `resolve` when a step starts. The planner calls `simplify`, which inserts known values so that a
//! stored workflow and a diff contain values and not names of parameters. `simplify` works from the inside out: a
//! function is evaluated as soon as all its arguments are known. An `if` with a known condition is replaced by its
//! selected branch, so that the other branch neither orders resources nor is checked.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{
    Expr, Function, Scope, Unresolved, arguments, budget::weight, build, check, evaluate, select,
};
use crate::version::Version;
use yaql::python;

/// Partially resolved value.
enum Part {
    /// `if` without a value: the list item, key or property is left out.
    Nothing,
    Known(Value),
    Open(Expr),
}

impl Part {
    fn into_expr(self) -> Expr {
        match self {
            Part::Nothing => Expr::Literal(Value::Null),
            Part::Known(value) => Expr::data(value),
            Part::Open(expr) => expr,
        }
    }
}

impl Expr {
    /// Value of the expression, if `scope` contains all values that it depends on. An `if` without a branch for its
    /// condition returns null, which means "not given".
    ///
    /// # Errors
    /// The unknown part, or the function that does not support its arguments.
    pub fn resolve(&self, scope: &dyn Scope) -> Result<Value, Unresolved> {
        Ok(self.item(scope)?.unwrap_or(Value::Null))
    }

    /// Expression with all values of `scope` inserted. Unknown parts stay expressions.
    ///
    /// # Errors
    /// [`Unresolved::Invalid`] if a function does not support its arguments.
    pub fn simplify(&self, scope: &dyn Scope) -> Result<Expr, Unresolved> {
        match self {
            Expr::Literal(_) => Ok(self.clone()),
            _ => self.reduce(scope).map(Part::into_expr),
        }
    }

    /// Value of the expression. `None` if an `if` omits it.
    fn item(&self, scope: &dyn Scope) -> Result<Option<Value>, Unresolved> {
        let value = match self {
            Expr::Literal(value) => value.clone(),
            Expr::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    list.extend(item.item(scope)?);
                }
                Value::Array(list)
            }
            Expr::Map(entries) => {
                let mut map = Map::with_capacity(entries.len());
                for (key, value) in entries {
                    if let Some(value) = value.item(scope)? {
                        map.insert(key.clone(), value);
                    }
                }
                Value::Object(map)
            }
            Expr::GetParam(name, path) => parameter(name, keys(path, scope)?, scope)?,
            Expr::GetResource(name) => scope
                .reference(name)
                .ok_or_else(|| Unresolved::Resource(name.clone()))?,
            Expr::GetAttr(name, path) => attribute(name, &keys(path, scope)?, scope)?,
            Expr::Call {
                function: Function::If,
                arguments,
            } => {
                return match branch(arguments, scope)? {
                    Some(expr) => expr.item(scope),
                    None => Ok(None),
                };
            }
            Expr::Call { function, .. } if function.is_condition() => {
                Value::Bool(self.holds(scope)?)
            }
            Expr::Call {
                function,
                arguments,
            } => apply(*function, arguments.resolve(scope)?, scope)?,
        };
        Ok(Some(value))
    }

    fn reduce(&self, scope: &dyn Scope) -> Result<Part, Unresolved> {
        Ok(match self {
            Expr::Literal(value) => Part::Known(value.clone()),
            Expr::List(items) => list(items, scope)?,
            Expr::Map(entries) => {
                let mut parts = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    match value.reduce(scope)? {
                        Part::Nothing => {}
                        part => parts.push((key.clone(), part)),
                    }
                }
                if parts.iter().all(|(_, part)| matches!(part, Part::Known(_))) {
                    let known = parts.into_iter().filter_map(|(key, part)| match part {
                        Part::Known(value) => Some((key, value)),
                        _ => None,
                    });
                    Part::Known(Value::Object(known.collect()))
                } else {
                    let parts = parts.into_iter().map(|(key, part)| (key, part.into_expr()));
                    Part::Open(Expr::Map(parts.collect()))
                }
            }
            Expr::GetParam(name, path) => match list(path, scope)? {
                Part::Known(Value::Array(path)) => match parameter(name, path, scope) {
                    Err(Unresolved::Parameter(_)) => Part::Open(self.clone()),
                    result => Part::Known(result?),
                },
                path => Part::Open(Expr::GetParam(name.clone(), path.into_items())),
            },
            Expr::GetResource(name) => match scope.reference(name) {
                Some(value) => Part::Known(value),
                None => Part::Open(self.clone()),
            },
            Expr::GetAttr(name, path) => match list(path, scope)? {
                Part::Known(Value::Array(path)) => match attribute(name, &path, scope) {
                    Err(Unresolved::Resource(_)) => Part::Open(Expr::GetAttr(
                        name.clone(),
                        path.into_iter().map(Expr::data).collect(),
                    )),
                    result => Part::Known(result?),
                },
                path => Part::Open(Expr::GetAttr(name.clone(), path.into_items())),
            },
            Expr::Call {
                function: Function::If,
                arguments,
            } => match branch(arguments, scope) {
                Ok(Some(expr)) => expr.reduce(scope)?,
                Ok(None) => Part::Nothing,
                Err(problem @ (Unresolved::Invalid(_) | Unresolved::TooMuch)) => {
                    return Err(problem);
                }
                Err(_) => Part::Open(undecided(arguments, scope)?),
            },
            Expr::Call { function, .. } if function.is_condition() => match self.holds(scope) {
                Ok(truth) => Part::Known(Value::Bool(truth)),
                Err(problem @ (Unresolved::Invalid(_) | Unresolved::TooMuch)) => {
                    return Err(problem);
                }
                Err(_) => Part::Open(self.clone()),
            },
            Expr::Call {
                function,
                arguments,
            } => match arguments.reduce(scope)? {
                Part::Open(arguments) => Part::Open(build(*function, arguments)),
                known => {
                    let value = match known {
                        Part::Known(value) => value,
                        _ => Value::Null,
                    };
                    match apply(*function, value.clone(), scope) {
                        Ok(value) => Part::Known(value),
                        Err(problem @ (Unresolved::Invalid(_) | Unresolved::TooMuch)) => {
                            return Err(problem);
                        }
                        Err(_) => Part::Open(build(*function, Expr::data(value))),
                    }
                }
            },
        })
    }
}

impl Part {
    fn into_items(self) -> Vec<Expr> {
        match self.into_expr() {
            Expr::List(items) => items,
            other => vec![other],
        }
    }
}

fn list(items: &[Expr], scope: &dyn Scope) -> Result<Part, Unresolved> {
    let mut parts = Vec::with_capacity(items.len());
    for item in items {
        match item.reduce(scope)? {
            Part::Nothing => {}
            part => parts.push(part),
        }
    }
    Ok(if parts.iter().all(|part| matches!(part, Part::Known(_))) {
        let known = parts.into_iter().filter_map(|part| match part {
            Part::Known(value) => Some(value),
            _ => None,
        });
        Part::Known(Value::Array(known.collect()))
    } else {
        Part::Open(Expr::List(parts.into_iter().map(Part::into_expr).collect()))
    })
}

/// Selected branch of an `if`, if there is one.
fn branch<'e>(arguments: &'e Expr, scope: &dyn Scope) -> Result<Option<&'e Expr>, Unresolved> {
    match arguments {
        Expr::List(items) if matches!(items.len(), 2 | 3) => Ok(if items[0].holds(scope)? {
            items.get(1)
        } else {
            items.get(2)
        }),
        _ => Err(Unresolved::Invalid(format!(
            "`if` takes {}",
            arguments::wanted(Function::If, Version::default())
        ))),
    }
}

/// `if` with an unknown condition and simplified branches.
fn undecided(arguments: &Expr, scope: &dyn Scope) -> Result<Expr, Unresolved> {
    let arguments = match arguments {
        Expr::List(items) => Expr::List(
            items
                .iter()
                .enumerate()
                .map(|(index, item)| match index {
                    0 => Ok(item.clone()),
                    _ => item.simplify(scope),
                })
                .collect::<Result<_, _>>()?,
        ),
        other => other.clone(),
    };
    Ok(build(Function::If, arguments))
}

/// Result of a function with known arguments.
fn apply(function: Function, arguments: Value, scope: &dyn Scope) -> Result<Value, Unresolved> {
    has_room(scope)?;
    paid(called(function, arguments, scope)?, scope)
}

fn called(function: Function, arguments: Value, scope: &dyn Scope) -> Result<Value, Unresolved> {
    match function {
        Function::GetParam | Function::GetResource | Function::GetAttr => {
            let arguments = Expr::data(arguments);
            check(function, &arguments, Version::default()).map_err(Unresolved::Invalid)?;
            match build(function, arguments) {
                Expr::Call { .. } => Err(Unresolved::Invalid(format!(
                    "`{}` takes {}",
                    function.name(),
                    arguments::wanted(function, Version::default())
                ))),
                reference => reference.resolve(scope),
            }
        }
        Function::GetFile => match arguments {
            Value::String(name) => scope
                .file(&name)
                .map(Value::String)
                .ok_or(Unresolved::File(name)),
            _ => Err(Unresolved::Invalid(
                "`get_file` takes the name of a file".to_owned(),
            )),
        },
        Function::ResourceFacade | Function::FnResourceFacade => {
            let word = arguments.as_str().unwrap_or_default();
            let what = arguments::facade(function, word).unwrap_or_default();
            scope
                .facade(what)
                .ok_or_else(|| Unresolved::Facade(what.to_owned()))
        }
        Function::FnGetAzs => Ok(scope.zones().into()),
        _ => evaluate::evaluate(function, arguments, scope.version()).map_err(Unresolved::Invalid),
    }
}

fn keys(path: &[Expr], scope: &dyn Scope) -> Result<Vec<Value>, Unresolved> {
    path.iter().map(|key| key.resolve(scope)).collect()
}

/// Checks the budget before anything is copied.
fn has_room(scope: &dyn Scope) -> Result<(), Unresolved> {
    match scope.budget() {
        Some(budget) if budget.is_spent() => Err(Unresolved::TooMuch),
        _ => Ok(()),
    }
}

/// Subtracts an inserted value from the budget.
fn paid(value: Value, scope: &dyn Scope) -> Result<Value, Unresolved> {
    spend(scope, || weight(&value))?;
    Ok(value)
}

fn spend(scope: &dyn Scope, weight: impl FnOnce() -> usize) -> Result<(), Unresolved> {
    match scope.budget() {
        Some(budget) if !budget.take(weight()) => Err(Unresolved::TooMuch),
        _ => Ok(()),
    }
}

/// Value of a parameter. A path that does not exist returns an empty text, as in Heat.
fn parameter(name: &str, path: Vec<Value>, scope: &dyn Scope) -> Result<Value, Unresolved> {
    has_room(scope)?;
    let value = match scope.parameter_ref(name) {
        Some(value) => Cow::Borrowed(value),
        None => Cow::Owned(
            scope
                .parameter(name)
                .ok_or_else(|| Unresolved::Parameter(name.to_owned()))?,
        ),
    };
    // A text can be parsed as JSON each time.
    if let (Value::String(text), false) = (value.as_ref(), path.is_empty()) {
        spend(scope, || text.len())?;
    }
    let value = select(value, &path).unwrap_or_else(|| Value::from(""));
    paid(value, scope)
}

/// Value of an attribute. A path that does not exist returns null, as in Heat.
fn attribute(name: &str, path: &[Value], scope: &dyn Scope) -> Result<Value, Unresolved> {
    has_room(scope)?;
    let missing = || Unresolved::Resource(name.to_owned());
    let Some((attribute, rest)) = path.split_first() else {
        return paid(scope.attributes(name).ok_or_else(missing)?, scope);
    };
    let attribute = python::text(attribute);
    let value = scope.attribute(name, &attribute).ok_or_else(|| {
        if scope.lacks_attribute(name, &attribute) {
            Unresolved::Attribute {
                resource: name.to_owned(),
                attribute,
            }
        } else {
            missing()
        }
    })?;
    let value = select(Cow::Owned(value), rest).unwrap_or(Value::Null);
    paid(value, scope)
}
