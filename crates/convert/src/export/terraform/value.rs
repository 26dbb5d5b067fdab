//! Converts expressions of HOT to expressions of Terraform.
//!
//! In Terraform's JSON, every string is a template: literal text is escaped, computed values are in `${...}`, with the
//! native syntax inside. So there are two methods: [`Writer::value`] for JSON, [`Writer::native`] for the native
//! syntax. An expression without an equivalent is an error with a reason, and its property is left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hot::bundle::Bundle;
use serde_json::{Map, Value};

use super::types::{Mapping, mapping};
use crate::export::expand::call;

/// The Terraform address of a resource.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// A resource.
    Resource {
        /// The address, such as `openstack_compute_instance_v2.web`.
        address: String,
        mapping: &'static Mapping,
        /// Number of instances.
        many: Many,
    },
    /// A local value: `local.config`.
    Local(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Many {
    /// One.
    No,
    /// None or one, by a condition.
    Conditional,
    /// The number of a group's members.
    Group,
}

/// Writes expressions.
#[derive(Default)]
pub(super) struct Writer {
    /// Address by resource.
    pub targets: HashMap<String, Target>,
    /// Variable by parameter, if the names differ.
    pub variables: HashMap<String, String>,
    /// Local value by condition.
    pub conditions: HashMap<String, String>,
    /// Whether the stack's name is used.
    pub uses_stack_name: bool,
    pub uses_project: bool,
    /// The expression for a member's index, while a group's member is written.
    pub index: Option<String>,
    /// Parameters that decide the structure of the export, with their values.
    pub fixed: BTreeMap<String, Value>,
    /// Files for `get_file`. Unknown names stay as they are.
    pub bundle: Bundle,
    pub files: BTreeSet<String>,
}

type Written<T> = Result<T, String>;

impl Writer {
    /// The value as JSON.
    pub fn value(&mut self, hot: &Value) -> Written<Value> {
        if call(hot).is_some() {
            return Ok(Value::String(format!("${{{}}}", self.native(hot)?)));
        }
        Ok(match hot {
            Value::String(text) => Value::String(self.indexed(&template(text))),
            Value::Array(items) => items
                .iter()
                .map(|item| self.value(item))
                .collect::<Written<_>>()?,
            Value::Object(map) => {
                let mut written = Map::new();
                for (key, value) in map {
                    written.insert(template(key), self.value(value)?);
                }
                Value::Object(written)
            }
            scalar => scalar.clone(),
        })
    }

    /// Substitutes the member's index in a text that is already a template.
    fn indexed(&self, text: &str) -> String {
        match &self.index {
            Some(word) => text.replace(word.as_str(), "${count.index}"),
            None => text.to_owned(),
        }
    }

    /// The value in the native syntax, for `${...}`.
    pub fn native(&mut self, hot: &Value) -> Written<String> {
        if let Some((function, argument)) = call(hot) {
            return self.function(function, argument);
        }
        Ok(match hot {
            Value::String(text) => self.indexed(&quoted(text)),
            Value::Array(items) => format!("[{}]", self.all(items)?.join(", ")),
            Value::Object(map) => {
                let mut entries = Vec::new();
                for (key, value) in map {
                    entries.push(format!("{} = {}", quoted(key), self.native(value)?));
                }
                format!("{{ {} }}", entries.join(", "))
            }
            scalar => scalar.to_string(),
        })
    }

    fn all(&mut self, items: &[Value]) -> Written<Vec<String>> {
        items.iter().map(|item| self.native(item)).collect()
    }

    fn function(&mut self, function: &str, argument: &Value) -> Written<String> {
        let list = argument.as_array().map(Vec::as_slice).unwrap_or_default();
        match (function, list) {
            ("get_param", _) => self.parameter(argument),
            ("get_resource", _) => self.resource(argument.as_str().unwrap_or_default()),
            ("get_attr", [Value::String(name), rest @ ..]) => self.attribute(name, rest),
            ("get_file", _) => match argument.as_str() {
                Some(file) => {
                    let found = self.bundle.find(None, file);
                    let path = found.map_or_else(|| downward(file), str::to_owned);
                    let call = format!("file(\"${{path.module}}/{FILES}/{}\")", inside(&path));
                    self.files.insert(path);
                    Ok(call)
                }
                None => Err("`get_file` with a computed name".to_owned()),
            },
            ("str_replace" | "str_replace_strict" | "str_replace_vstrict", _) => {
                self.replaced(argument)
            }
            ("list_join", [delimiter, lists @ ..]) => {
                let delimiter = self.native(delimiter)?;
                Ok(format!(
                    "join({delimiter}, {})",
                    self.joined("concat", lists)?
                ))
            }
            ("list_concat", lists) => self.joined("concat", lists),
            ("list_concat_unique", lists) => {
                Ok(format!("distinct({})", self.joined("concat", lists)?))
            }
            ("map_merge", maps) => self.joined("merge", maps),
            ("str_split", [delimiter, text, index @ ..]) => {
                let (delimiter, text) = (self.native(delimiter)?, self.native(text)?);
                let index = match index.first() {
                    Some(index) => format!("[{}]", self.native(index)?),
                    None => String::new(),
                };
                Ok(format!("split({delimiter}, {text}){index}"))
            }
            ("digest", [Value::String(algorithm), value]) => match algorithm.as_str() {
                "md5" | "sha1" | "sha256" | "sha512" => {
                    Ok(format!("{algorithm}({})", self.native(value)?))
                }
                other => Err(format!("`digest` with the algorithm `{other}`")),
            },
            ("if", [condition, yes, no @ ..]) => {
                let (condition, yes) = (self.condition(condition)?, self.native(yes)?);
                let no = no
                    .first()
                    .map_or(Ok("null".to_owned()), |no| self.native(no))?;
                Ok(format!("({condition} ? {yes} : {no})"))
            }
            ("equals" | "not" | "and" | "or", _) => self.condition_call(function, argument),
            ("contains", [value, list]) => {
                let (value, list) = (self.native(value)?, self.native(list)?);
                Ok(format!("contains({list}, {value})"))
            }
            ("filter", [values, list]) => {
                let (values, list) = (self.native(values)?, self.native(list)?);
                Ok(format!(
                    "[for one in {list} : one if !contains({values}, one)]"
                ))
            }
            ("make_url", _) => self.url(argument),
            (other, _) => Err(format!("the function `{other}`")),
        }
    }

    fn joined(&mut self, with: &str, lists: &[Value]) -> Written<String> {
        match lists {
            [one] if with == "concat" => self.native(one),
            lists => Ok(format!("{with}({})", self.all(lists)?.join(", "))),
        }
    }

    fn parameter(&mut self, argument: &Value) -> Written<String> {
        let (name, path) = match argument {
            Value::String(name) => (name.as_str(), &[][..]),
            Value::Array(items) => match items.split_first() {
                Some((Value::String(name), path)) => (name.as_str(), path),
                _ => return Err("`get_param` with a computed name".to_owned()),
            },
            _ => return Err("`get_param` without a name".to_owned()),
        };
        let base = match name {
            "OS::stack_name" => {
                self.uses_stack_name = true;
                "var.stack_name".to_owned()
            }
            "OS::project_id" => {
                self.uses_project = true;
                "data.openstack_identity_auth_scope_v3.here.project_id".to_owned()
            }
            "OS::stack_id" => return Err("`OS::stack_id`, which only Heat knows".to_owned()),
            name => match self.fixed.get(name).cloned() {
                Some(value) => format!("({})", self.native(&value)?),
                None => {
                    let own = self.variables.get(name).cloned();
                    format!("var.{}", own.unwrap_or_else(|| identifier(name)))
                }
            },
        };
        Ok(base + &self.keys(path)?)
    }

    fn keys(&mut self, path: &[Value]) -> Written<String> {
        let mut keys = String::new();
        for key in path {
            keys.push_str(&format!("[{}]", self.native(key)?));
        }
        Ok(keys)
    }

    fn target(&self, name: &str) -> Written<&Target> {
        self.targets
            .get(name)
            .ok_or_else(|| format!("a reference to `{name}`, which is not in the file"))
    }

    /// The expression for `get_resource`.
    fn resource(&mut self, name: &str) -> Written<String> {
        match self.target(name)? {
            Target::Local(address) => Ok(address.clone()),
            Target::Resource {
                address,
                mapping,
                many,
            } => Ok(part(address, *many, mapping.reference)),
        }
    }

    fn attribute(&mut self, name: &str, path: &[Value]) -> Written<String> {
        let (attribute, rest) = match path.split_first() {
            Some((Value::String(attribute), rest)) => (attribute.as_str(), rest),
            _ => return Err(format!("a reference to all attributes of `{name}`")),
        };
        let (address, mapping, many) = match self.target(name)? {
            Target::Local(address) => return Ok(address.clone()),
            Target::Resource {
                address,
                mapping,
                many,
            } => (address.clone(), *mapping, *many),
        };
        if many == Many::Group && attribute == "refs" {
            return Ok(part(&address, many, mapping.reference) + &self.keys(rest)?);
        }
        let numbers = rest
            .iter()
            .all(|key| key.as_str().is_none_or(|key| key.parse::<u32>().is_ok()));
        match (mapping.hot, attribute) {
            // Heat returns a list of maps, the provider a list of addresses.
            ("OS::Neutron::Port", "fixed_ips") if rest.len() == 2 && rest[1] == "ip_address" => {
                let index = self.native(&rest[0])?;
                Ok(format!(
                    "{}[{index}]",
                    part(&address, many, "all_fixed_ips")
                ))
            }
            ("OS::Nova::Server", "networks") if rest.len() == 2 => {
                Ok(part(&address, many, "access_ip_v4"))
            }
            // HOT lists networks by name, the provider in the order of the server.
            ("OS::Nova::Server", "addresses") if rest.len() == 3 => {
                let index = self.native(&rest[1])?;
                let of = match rest[2].as_str() {
                    Some("port") => "port",
                    Some("addr") => "fixed_ip_v4",
                    _ => {
                        return Err(format!(
                            "this element of the attribute `addresses` of `{name}`"
                        ));
                    }
                };
                Ok(part(&address, many, &format!("network[{index}].{of}")))
            }
            _ => match mapping.attributes.iter().find(|(hot, _)| *hot == attribute) {
                Some((_, terraform)) if numbers => {
                    Ok(part(&address, many, terraform) + &self.keys(rest)?)
                }
                _ => Err(format!("the attribute `{attribute}` of `{name}`")),
            },
        }
    }

    fn replaced(&mut self, argument: &Value) -> Written<String> {
        let (Some(template), Some(Value::Object(params))) =
            (argument.get("template"), argument.get("params"))
        else {
            return Err("`str_replace` with computed `params`".to_owned());
        };
        let mut words: Vec<(&String, &Value)> = params.iter().collect();
        words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        let mut written = self.native(template)?;
        for (word, value) in words {
            let value = self.native(value)?;
            written = format!("replace({written}, {}, {value})", quoted(word));
        }
        Ok(written)
    }

    fn url(&mut self, argument: &Value) -> Written<String> {
        let mut parts = Vec::new();
        let Some(given) = argument.as_object() else {
            return Err("`make_url` with a computed map".to_owned());
        };
        let known = ["scheme", "host", "port", "path"];
        if let Some(other) = given.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(format!("`make_url` with `{other}`"));
        }
        for (key, before, after) in [
            ("scheme", "", "://"),
            ("host", "", ""),
            ("port", ":", ""),
            ("path", "", ""),
        ] {
            if let Some(value) = given.get(key) {
                let value = self.native(value)?;
                for text in [quoted(before), value, quoted(after)] {
                    if text != "\"\"" {
                        parts.push(text);
                    }
                }
            }
        }
        Ok(format!("join(\"\", [{}])", parts.join(", ")))
    }

    /// A condition: a name or an expression.
    pub fn condition(&mut self, hot: &Value) -> Written<String> {
        match (hot, call(hot)) {
            (Value::String(name), _) => self
                .conditions
                .get(name)
                .map(|local| format!("local.{local}"))
                .ok_or_else(|| {
                    format!("the condition `{name}`, which the template does not define")
                }),
            (_, Some((function, argument))) => self.condition_call(function, argument),
            (Value::Bool(value), _) => Ok(value.to_string()),
            _ => Err("a condition that is neither a name nor a function".to_owned()),
        }
    }

    fn condition_call(&mut self, function: &str, argument: &Value) -> Written<String> {
        let list = argument.as_array().map(Vec::as_slice).unwrap_or_default();
        match (function, list) {
            ("not", _) => Ok(format!("!{}", self.condition(argument)?)),
            ("and" | "or", terms) if !terms.is_empty() => {
                let terms: Vec<String> = terms
                    .iter()
                    .map(|term| self.condition(term))
                    .collect::<Written<_>>()?;
                Ok(format!(
                    "({})",
                    terms.join(if function == "and" { " && " } else { " || " })
                ))
            }
            ("equals", [a, b]) => {
                let (a, b) = (self.native(a)?, self.native(b)?);
                Ok(format!("({a} == {b})"))
            }
            _ => self.function(function, argument),
        }
    }
}

/// The folder of files that the template reads. A file with a matching name beside the main file would be read as
/// configuration.
pub(super) const FILES: &str = "files";

/// The path without parts that leave the folder, because no file outside the design can be read.
fn downward(path: &str) -> String {
    let parts = path.split(['/', '\\']);
    let parts = parts.filter(|part| !matches!(*part, "" | "." | ".."));
    parts.collect::<Vec<_>>().join("/")
}

fn part(address: &str, many: Many, attribute: &str) -> String {
    match many {
        Many::No => format!("{address}.{attribute}"),
        Many::Conditional => format!("one({address}[*].{attribute})"),
        Many::Group => format!("{address}[*].{attribute}"),
    }
}

/// An identifier that Terraform accepts: letters, digits, `_` and `-`, starting with a letter or `_`.
pub(super) fn identifier(name: &str) -> String {
    let mut identifier: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if !identifier.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        identifier.insert(0, '_');
    }
    identifier
}

/// Escapes text for a template.
pub(super) fn template(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}

/// Escapes text between quotes, without the quotes.
fn inside(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in template(text).chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out
}

/// A string in the native syntax.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", inside(text))
}

/// Whether the text is an id in the cloud instead of a name.
pub(super) fn is_id(text: &str) -> bool {
    let hex = text.chars().filter(char::is_ascii_hexdigit).count();
    let dashes = text.chars().filter(|c| *c == '-').count();
    text.len() == hex + dashes
        && ((text.len() == 36 && dashes == 4) || (text.len() == 32 && dashes == 0))
}

/// The mapping of a type, if there is one.
pub(super) fn mapped(resource_type: &str) -> Option<&'static Mapping> {
    mapping(resource_type)
}
