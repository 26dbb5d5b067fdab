//! Conversions between expressions and plain values.

use serde_json::Value;

use super::{Expr, Function, build};

impl Expr {
    /// Plain value. Maps in it are data, even if a key is the name of a function.
    pub fn data(value: Value) -> Expr {
        match value {
            Value::Array(items) => Expr::List(items.into_iter().map(Expr::data).collect()),
            Value::Object(map) => Expr::Map(
                map.into_iter()
                    .map(|(key, value)| (key, Expr::data(value)))
                    .collect(),
            ),
            scalar => Expr::Literal(scalar),
        }
    }

    /// Value without functions. `None` if there is a function.
    pub fn as_data(&self) -> Option<Value> {
        match self {
            Expr::Literal(value) => Some(value.clone()),
            Expr::List(items) => items.iter().map(Expr::as_data).collect(),
            Expr::Map(entries) => entries
                .iter()
                .map(|(key, value)| Some((key.clone(), value.as_data()?)))
                .collect::<Option<_>>()
                .map(Value::Object),
            _ => None,
        }
    }

    /// Value, with functions in HOT form.
    pub fn into_data(self) -> Value {
        match self {
            Expr::Literal(value) => value,
            Expr::List(items) => items.into_iter().map(Expr::into_data).collect(),
            Expr::Map(entries) => Value::Object(
                entries
                    .into_iter()
                    .map(|(key, value)| (key, value.into_data()))
                    .collect(),
            ),
            other => other.to_json(),
        }
    }

    /// Part at these keys and indices. The result of a function is indexed when it is known.
    pub fn pick(self, path: Vec<Expr>) -> Expr {
        path.into_iter().fold(self, |inner, key| {
            let index = |key: &Expr| match key {
                Expr::Literal(Value::Number(number)) => number.as_u64().map(|index| index as usize),
                Expr::Literal(Value::String(text)) => text.parse().ok(),
                _ => None,
            };
            match (&inner, key.as_str(), index(&key)) {
                (Expr::Map(_), Some(word), _) => inner
                    .get(word)
                    .cloned()
                    .unwrap_or_else(|| Expr::Literal(Value::Null)),
                (Expr::List(items), _, Some(index)) => items
                    .get(index)
                    .cloned()
                    .unwrap_or_else(|| Expr::Literal(Value::Null)),
                (Expr::GetParam(..), _, _) | (Expr::GetAttr(..), _, _) => match inner {
                    Expr::GetParam(name, mut path) => {
                        path.push(key);
                        Expr::GetParam(name, path)
                    }
                    Expr::GetAttr(name, mut path) if !path.is_empty() => {
                        path.push(key);
                        Expr::GetAttr(name, path)
                    }
                    other => selected(key, other),
                },
                _ => selected(key, inner),
            }
        })
    }

    /// Expression with parts replaced: if `with` returns a replacement for a part, it is inserted and not visited
    /// again.
    pub fn rewrite(&self, with: &mut dyn FnMut(&Expr) -> Option<Expr>) -> Expr {
        if let Some(other) = with(self) {
            return other;
        }
        let mut all = |items: &[Expr]| items.iter().map(|item| item.rewrite(with)).collect();
        match self {
            Expr::Literal(_) | Expr::GetResource(_) => self.clone(),
            Expr::List(items) => Expr::List(all(items)),
            Expr::Map(entries) => Expr::Map(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), value.rewrite(with)))
                    .collect(),
            ),
            Expr::GetParam(name, path) => Expr::GetParam(name.clone(), all(path)),
            Expr::GetAttr(name, path) => Expr::GetAttr(name.clone(), all(path)),
            Expr::Call {
                function,
                arguments,
            } => build(*function, arguments.rewrite(with)),
        }
    }
}

fn selected(key: Expr, inner: Expr) -> Expr {
    Expr::Call {
        function: Function::FnSelect,
        arguments: Box::new(Expr::List(vec![key, inner])),
    }
}
