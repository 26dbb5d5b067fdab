//! Expressions in stored workflows, and in JSON from forms and other programs.
//!
//! A map of data can have a single key that is the name of a function: in the value of a parameter, or with a word that
//! became a function in a later version. Such a map is stored inside `Stackloom::Data`, so that it is not read back as
//! a call.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::{Expr, Function, Place, Unresolved, build, check};
use crate::version::Version;

const DATA: &str = "Stackloom::Data";

impl Expr {
    /// Parses HOT in JSON form, with all functions of all versions. A map with one key that is the name of a function
    /// is a call.
    ///
    /// # Errors
    /// [`Unresolved::Invalid`] if a reference does not have the form of HOT.
    pub fn from_json(value: &Value) -> Result<Expr, Unresolved> {
        read(value, Place::Value)
    }

    fn to_stored(&self) -> Value {
        match self {
            Expr::List(items) => items.iter().map(Expr::to_stored).collect(),
            Expr::Map(entries) => {
                let map: Map<String, Value> = entries
                    .iter()
                    .map(|(key, value)| (key.clone(), value.to_stored()))
                    .collect();
                match entries.as_slice() {
                    [(key, _)] if key == DATA || Function::of(key).is_some() => json!({DATA: map}),
                    _ => Value::Object(map),
                }
            }
            Expr::GetParam(name, path) if !path.is_empty() => {
                json!({"get_param": with_path(name, path)})
            }
            Expr::GetAttr(name, path) => json!({"get_attr": with_path(name, path)}),
            Expr::Call {
                function,
                arguments,
            } => json!({function.name(): arguments.to_stored()}),
            other => other.to_json(),
        }
    }
}

fn with_path(name: &str, path: &[Expr]) -> Value {
    std::iter::once(Value::from(name))
        .chain(path.iter().map(Expr::to_stored))
        .collect()
}

fn read(value: &Value, place: Place) -> Result<Expr, Unresolved> {
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| read(item, place))
            .collect::<Result<_, _>>()
            .map(Expr::List),
        Value::Object(map) => {
            if map.len() == 1
                && let Some((key, inner)) = map.iter().next()
            {
                if key == DATA
                    && let Value::Object(data) = inner
                {
                    return plain(data, place);
                }
                if let Some(call) = call(key, inner, place)? {
                    return Ok(call);
                }
            }
            plain(map, place)
        }
        scalar => Ok(Expr::Literal(scalar.clone())),
    }
}

fn plain(map: &Map<String, Value>, place: Place) -> Result<Expr, Unresolved> {
    map.iter()
        .map(|(key, value)| Ok((key.clone(), read(value, place)?)))
        .collect::<Result<_, _>>()
        .map(Expr::Map)
}

fn call(key: &str, inner: &Value, place: Place) -> Result<Option<Expr>, Unresolved> {
    let Some(function) = Function::of(key).filter(|function| *function != Function::Ref) else {
        return Ok(None);
    };
    if function.is_condition() && place == Place::Value {
        return Ok(None);
    }
    let arguments = match inner {
        Value::Array(items) => Expr::List(
            items
                .iter()
                .enumerate()
                .map(|(index, item)| read(item, function.place_of(index, place)))
                .collect::<Result<_, _>>()?,
        ),
        other => read(other, function.place_of(0, place))?,
    };
    let strict = matches!(
        function,
        Function::GetParam | Function::GetResource | Function::GetAttr
    );
    match check(function, &arguments, Version::default()) {
        Ok(()) => Ok(Some(build(function, arguments))),
        Err(problem) if strict => Err(Unresolved::Invalid(problem)),
        // Not a call: the key is data.
        Err(_) => Ok(None),
    }
}

impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_stored().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Expr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Expr::from_json(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
