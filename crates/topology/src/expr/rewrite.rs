//! Expressions made from expressions.

use serde_json::Value;

use super::Expr;

impl Expr {
    /// A plain value. Maps in it are data, even when a key reads like a function.
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

    /// The value, if no function is in it.
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

    /// What stands at keys and indices in it.
    pub fn pick(self, path: Vec<Expr>) -> Expr {
        path.into_iter().fold(self, |inner, key| {
            let index = match &key {
                Expr::Literal(Value::Number(n)) => n.as_u64().map(|n| n as usize),
                key => key.as_str().and_then(|text| text.parse::<usize>().ok()),
            };
            match (&inner, key.as_str(), index) {
                (Expr::Map(_), Some(word), _) => inner
                    .get(word)
                    .cloned()
                    .unwrap_or_else(|| Expr::Literal(Value::Null)),
                (Expr::List(items), _, Some(index)) => items
                    .get(index)
                    .cloned()
                    .unwrap_or_else(|| Expr::Literal(Value::Null)),
                _ => match inner {
                    Expr::GetParam(name, mut path) => {
                        path.push(key);
                        Expr::GetParam(name, path)
                    }
                    Expr::GetAttr(name, mut path) => {
                        path.push(key);
                        Expr::GetAttr(name, path)
                    }
                    other => other,
                },
            }
        })
    }

    /// The same with parts replaced.
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
            Expr::StrReplace { template, params } => Expr::StrReplace {
                template: Box::new(template.rewrite(with)),
                params: Box::new(params.rewrite(with)),
            },
            Expr::ListJoin { delimiter, lists } => Expr::ListJoin {
                delimiter: Box::new(delimiter.rewrite(with)),
                lists: lists.iter().map(|l| l.rewrite(with)).collect(),
            },
        }
    }
}
