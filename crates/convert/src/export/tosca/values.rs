//! Converts expressions of HOT to functions of the profile.

use serde_json::{Map, Value, json};

use super::{Exporter, PORT};
use crate::export::expand::{SERVER, call};

impl Exporter<'_> {
    /// A value with TOSCA's functions.
    pub(super) fn value(&self, hot: &Value) -> Result<Value, String> {
        let Some((function, argument)) = call(hot) else {
            return match hot {
                Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
                Value::Object(map) => map
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), self.value(value)?)))
                    .collect(),
                scalar => Ok(scalar.clone()),
            };
        };
        match (function, argument) {
            ("get_param", Value::String(name)) if !name.starts_with("OS::") => {
                match self.shape.fixed.get(name) {
                    Some(value) => Ok(value.clone()),
                    None => Ok(json!({"get_input": name})),
                }
            }
            ("get_param", _) => Err("function for this `get_param`".to_owned()),
            ("get_attr", Value::Array(path)) => self.attribute(path),
            ("list_join", Value::Array(items)) => match items.as_slice() {
                [Value::String(delimiter), Value::Array(parts)] => {
                    let parts: Value = parts
                        .iter()
                        .map(|part| self.value(part))
                        .collect::<Result<_, _>>()?;
                    Ok(json!({"join": [parts, delimiter]}))
                }
                _ => Err("function for a `list_join` of several or computed lists".to_owned()),
            },
            ("str_replace", argument) => self.concatenated(argument),
            (other, _) => Err(format!("function for `{other}`")),
        }
    }

    fn attribute(&self, path: &[Value]) -> Result<Value, String> {
        let (Some(name), Some(attribute)) = (
            path.first().and_then(Value::as_str),
            path.get(1).and_then(Value::as_str),
        ) else {
            return Err("function for a computed attribute".to_owned());
        };
        let Some(spec) = self.expanded.get(name) else {
            return Err(format!("node for `{name}`"));
        };
        if spec.resource_type == PORT && !self.has_node(name, spec) {
            return Err(format!("node for `{name}`, a port without a server"));
        }
        match (spec.resource_type.as_str(), attribute) {
            (SERVER, "first_address" | "networks" | "addresses") => {
                Ok(json!({"get_attribute": [name, "private_address"]}))
            }
            (SERVER, "accessIPv4") => Ok(json!({"get_attribute": [name, "public_address"]})),
            (PORT, "fixed_ips") => Ok(json!({"get_attribute": [name, "ip_address"]})),
            ("OS::Neutron::FloatingIP", "floating_ip_address") => {
                let server = self
                    .expanded
                    .iter()
                    .find(|(server, _)| self.expanded.floating_ip(server) == Some(name));
                match server {
                    Some((server, _)) => Ok(json!({"get_attribute": [server, "public_address"]})),
                    None => Err(format!(
                        "attribute for the address of `{name}`, which no server uses"
                    )),
                }
            }
            _ => Err(format!(
                "counterpart of the attribute `{attribute}` of `{name}`"
            )),
        }
    }

    fn concatenated(&self, argument: &Value) -> Result<Value, String> {
        let (Some(Value::String(template)), Some(Value::Object(params))) =
            (argument.get("template"), argument.get("params"))
        else {
            return Err("function for a computed `str_replace`".to_owned());
        };
        let mut written = Map::new();
        for (word, value) in params {
            written.insert(word.clone(), self.value(value)?);
        }
        Ok(in_parts(template, &written))
    }
}

/// `{concat: [...]}` of a text's literal parts and substituted values.
fn in_parts(text: &str, params: &Map<String, Value>) -> Value {
    let mut words: Vec<(&String, &Value)> =
        params.iter().filter(|(word, _)| !word.is_empty()).collect();
    words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    let mut parts: Vec<Value> = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match words
            .iter()
            .find(|(word, _)| rest.starts_with(word.as_str()))
        {
            Some((word, Value::String(value))) => {
                plain.push_str(value);
                rest = &rest[word.len()..];
            }
            Some((word, Value::Number(value))) => {
                plain.push_str(&value.to_string());
                rest = &rest[word.len()..];
            }
            Some((word, value)) => {
                if !plain.is_empty() {
                    parts.push(json!(std::mem::take(&mut plain)));
                }
                parts.push((*value).clone());
                rest = &rest[word.len()..];
            }
            None => {
                plain.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    if parts.is_empty() {
        return json!(plain);
    }
    if !plain.is_empty() {
        parts.push(json!(plain));
    }
    json!({"concat": parts})
}
