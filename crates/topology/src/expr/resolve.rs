//! Values of expressions: whole, or as far as they are known.
//!
//! `resolve` is the engine's, when a step starts; `simplify` is the planner's, which puts in what is
//! known so that a stored workflow and a diff show values and not names of parameters.

use serde_json::Value;

use super::{Expr, Scope, Unresolved};

impl Expr {
    /// The value, if all that it hangs on is known to `scope`.
    pub fn resolve(&self, scope: &dyn Scope) -> Result<Value, Unresolved> {
        match self {
            Expr::Literal(value) => Ok(value.clone()),
            Expr::List(items) => items.iter().map(|item| item.resolve(scope)).collect(),
            Expr::Map(entries) => entries
                .iter()
                .map(|(key, value)| Ok((key.clone(), value.resolve(scope)?)))
                .collect::<Result<_, _>>()
                .map(Value::Object),
            Expr::GetParam(name, path) => {
                let value = scope
                    .parameter(name)
                    .ok_or_else(|| Unresolved::Parameter(name.clone()))?;
                select(value, &keys(path, scope)?)
            }
            Expr::GetResource(name) => scope
                .reference(name)
                .ok_or_else(|| Unresolved::Resource(name.clone())),
            Expr::GetAttr(name, path) => {
                let path = keys(path, scope)?;
                let Some((attribute, rest)) = path.split_first() else {
                    return Err(Unresolved::Invalid(format!(
                        "`get_attr` of `{name}` names no attribute"
                    )));
                };
                let attribute = as_text(attribute)?;
                let value = scope
                    .attribute(name, &attribute)
                    .ok_or_else(|| Unresolved::Resource(name.clone()))?;
                select(value, rest)
            }
            Expr::StrReplace { template, params } => {
                let template = template.resolve(scope)?;
                let params = params.resolve(scope)?;
                replace(&template, &params)
            }
            Expr::ListJoin { delimiter, lists } => {
                let delimiter = as_text(&delimiter.resolve(scope)?)?;
                let mut parts = Vec::new();
                for list in lists {
                    match list.resolve(scope)? {
                        Value::Array(items) => {
                            for item in &items {
                                parts.push(as_text(item)?);
                            }
                        }
                        Value::Null => {}
                        _ => {
                            return Err(Unresolved::Invalid(
                                "`list_join` can only join lists".to_owned(),
                            ));
                        }
                    }
                }
                Ok(Value::String(parts.join(&delimiter)))
            }
        }
    }

    /// As far as `scope` knows: what it does not know stays an expression.
    pub fn simplify(&self, scope: &dyn Scope) -> Result<Expr, Unresolved> {
        match self {
            Expr::List(items) => items
                .iter()
                .map(|item| item.simplify(scope))
                .collect::<Result<_, _>>()
                .map(Expr::List),
            Expr::Map(entries) => entries
                .iter()
                .map(|(key, value)| Ok((key.clone(), value.simplify(scope)?)))
                .collect::<Result<_, _>>()
                .map(Expr::Map),
            Expr::Literal(_) => Ok(self.clone()),
            call => match call.resolve(scope) {
                Ok(value) => Ok(from_value(value)),
                Err(Unresolved::Invalid(message)) => Err(Unresolved::Invalid(message)),
                Err(_) => call.simplify_arguments(scope),
            },
        }
    }

    /// Put in what is known of a call that cannot be evaluated yet.
    fn simplify_arguments(&self, scope: &dyn Scope) -> Result<Expr, Unresolved> {
        let all = |items: &[Expr]| {
            items
                .iter()
                .map(|item| item.simplify(scope))
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(match self {
            Expr::GetParam(name, path) => Expr::GetParam(name.clone(), all(path)?),
            Expr::GetAttr(name, path) => Expr::GetAttr(name.clone(), all(path)?),
            Expr::StrReplace { template, params } => Expr::StrReplace {
                template: Box::new(template.simplify(scope)?),
                params: Box::new(params.simplify(scope)?),
            },
            Expr::ListJoin { delimiter, lists } => Expr::ListJoin {
                delimiter: Box::new(delimiter.simplify(scope)?),
                lists: all(lists)?,
            },
            other => other.clone(),
        })
    }
}

/// A plain value as an expression. Maps in it are data, even when a key reads like a function.
fn from_value(value: Value) -> Expr {
    match value {
        Value::Array(items) => Expr::List(items.into_iter().map(from_value).collect()),
        Value::Object(map) => Expr::Map(
            map.into_iter()
                .map(|(key, value)| (key, from_value(value)))
                .collect(),
        ),
        scalar => Expr::Literal(scalar),
    }
}

fn keys(path: &[Expr], scope: &dyn Scope) -> Result<Vec<Value>, Unresolved> {
    path.iter().map(|key| key.resolve(scope)).collect()
}

/// Keys and indices into a value. As in Heat, what is not there gives null.
fn select(mut value: Value, path: &[Value]) -> Result<Value, Unresolved> {
    for key in path {
        // A json parameter may come as its text.
        if let Value::String(text) = &value
            && let Ok(parsed @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
        {
            value = parsed;
        }
        value = match (&mut value, key) {
            (Value::Object(map), key) => map.remove(&as_text(key)?).unwrap_or(Value::Null),
            (Value::Array(items), Value::Number(index)) => {
                let index = index.as_u64().map(|index| index as usize);
                index
                    .filter(|index| *index < items.len())
                    .map_or(Value::Null, |index| items.swap_remove(index))
            }
            (Value::Array(items), Value::String(index)) => match index.parse::<usize>() {
                Ok(index) if index < items.len() => items.swap_remove(index),
                Ok(_) => Value::Null,
                Err(_) => {
                    return Err(Unresolved::Invalid(format!(
                        "`{index}` is no index into a list"
                    )));
                }
            },
            _ => Value::Null,
        };
    }
    Ok(value)
}

/// Longest words first, each place of the text replaced once, as Heat does.
fn replace(template: &Value, params: &Value) -> Result<Value, Unresolved> {
    let Value::String(text) = template else {
        return Err(Unresolved::Invalid(
            "`template` of `str_replace` is a text".to_owned(),
        ));
    };
    let Value::Object(params) = params else {
        return Err(Unresolved::Invalid(
            "`params` of `str_replace` is a map from words to values".to_owned(),
        ));
    };
    let mut words: Vec<(&str, String)> = Vec::new();
    for (word, value) in params {
        if !word.is_empty() {
            words.push((word, as_text(value)?));
        }
    }
    words.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then(a.0.cmp(b.0)));
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        match words.iter().find(|(word, _)| rest.starts_with(word)) {
            Some((word, value)) => {
                out.push_str(value);
                rest = &rest[word.len()..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    Ok(Value::String(out))
}

/// Scalars as their text, maps and lists as JSON (from version 2015-10-15 on).
fn as_text(value: &Value) -> Result<String, Unresolved> {
    Ok(match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[derive(Default)]
    struct Known {
        parameters: BTreeMap<String, Value>,
        resources: BTreeMap<String, Value>,
    }

    impl Scope for Known {
        fn parameter(&self, name: &str) -> Option<Value> {
            self.parameters.get(name).cloned()
        }
        fn reference(&self, resource: &str) -> Option<Value> {
            self.resources.get(resource)?.get("id").cloned()
        }
        fn attribute(&self, resource: &str, name: &str) -> Option<Value> {
            self.resources
                .get(resource)
                .map(|attributes| attributes[name].clone())
        }
    }

    fn known() -> Known {
        Known {
            parameters: [
                ("port", json!(80)),
                ("map", json!({"a": [1, {"b": "c"}]})),
                ("text", json!("{\"k\": 1}")),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
            resources: [(
                "web".to_owned(),
                json!({"id": "123", "networks": {"front": ["10.0.0.4"]}}),
            )]
            .into(),
        }
    }

    fn value(hot: Value) -> Result<Value, Unresolved> {
        Expr::from_json(&hot).and_then(|expr| expr.resolve(&known()))
    }

    #[test]
    fn functions_have_values() {
        for (hot, expected) in [
            (json!({"get_param": "port"}), json!(80)),
            (json!({"get_param": ["map", "a", 1, "b"]}), json!("c")),
            (json!({"get_param": ["map", "a", 9]}), json!(null)),
            (json!({"get_param": ["text", "k"]}), json!(1)),
            (json!({"get_resource": "web"}), json!("123")),
            (
                json!({"get_attr": ["web", "networks", "front", 0]}),
                json!("10.0.0.4"),
            ),
            (json!({"get_attr": ["web", "missing"]}), json!(null)),
            (
                json!({"str_replace": {"template": "http://$host:$port/$hosts", "params": {"$host": "a", "$hosts": "b", "$port": {"get_param": "port"}}}}),
                json!("http://a:80/b"),
            ),
            (
                json!({"list_join": [", ", ["a", {"get_param": "port"}], ["c"]]}),
                json!("a, 80, c"),
            ),
            (
                json!({"two": 1, "keys": {"x": [null, true]}}),
                json!({"two": 1, "keys": {"x": [null, true]}}),
            ),
        ] {
            assert_eq!(value(hot.clone()), Ok(expected), "{hot}");
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        assert_eq!(
            value(json!({"get_attr": ["db", "name"]})),
            Err(Unresolved::Resource("db".into()))
        );
        assert_eq!(
            value(json!([{"get_param": "size"}])),
            Err(Unresolved::Parameter("size".into()))
        );
    }

    #[test]
    fn wrong_arguments_and_other_functions_are_refused() {
        for hot in [
            json!({"get_resource": ["web"]}),
            json!({"get_attr": "web"}),
            json!({"get_param": []}),
            json!({"str_replace": {"template": "x"}}),
            json!({"list_join": ["x"]}),
            json!({"get_file": "x"}),
            json!({"Fn::Join": []}),
            json!({"if": [true, 1, 2]}),
        ] {
            assert!(
                matches!(value(hot.clone()), Err(Unresolved::Invalid(_))),
                "{hot}"
            );
        }
    }

    #[test]
    fn simplify_puts_in_what_is_known() {
        let hot = json!({"str_replace": {"template": "$a:$b", "params": {"$a": {"get_attr": ["db", "ip"]}, "$b": {"get_param": "port"}}}});
        let simple = Expr::from_json(&hot).unwrap().simplify(&known()).unwrap();
        assert_eq!(
            simple.to_json(),
            json!({"str_replace": {"template": "$a:$b", "params": {"$a": {"get_attr": ["db", "ip"]}, "$b": 80}}})
        );
        assert_eq!(simple.resources(), ["db"]);
    }

    #[test]
    fn an_expression_reads_back_from_json() {
        let hot = json!({"a": [{"get_attr": ["web", "networks", {"get_param": "n"}]}], "b": {"list_join": ["-", {"get_param": "l"}]}});
        assert_eq!(Expr::from_json(&hot).unwrap().to_json(), hot);
    }
}
