//! The template after the passes, with open parameters, as exporters read it.

use std::collections::HashMap;

use hot::expr::{Expr, Scope};
use hot::{parameter::Parameter, template::Template};
use planner::compose;
use planner::passes::{self, Model, PassContext};
use planner::workflow::{Origin, ResourceSpec};
use serde_json::{Map, Value, json};
use types::Registry;
use types::catalog::CatalogItem;

use crate::export::structure::Shape;
use crate::export::{Additions, Report, Source};

pub(crate) const SSH_KEY: &str = "Stackloom::SSHKey";
pub(crate) const SERVER: &str = "OS::Nova::Server";
pub(crate) const FLOATING_IP: &str = "OS::Neutron::FloatingIP";

/// Start of a placeholder in an output's text for a value that exists only after the role has run.
const RUNTIME_PLACEHOLDER: &str = "{stats.";

/// A scope without any values, so that `get_param` stays in place.
struct Open;

impl Scope for Open {
    fn parameter(&self, _: &str) -> Option<Value> {
        None
    }
    fn reference(&self, _: &str) -> Option<Value> {
        None
    }
    fn attribute(&self, _: &str, _: &str) -> Option<Value> {
        None
    }
}

/// The resources after the passes.
pub(crate) struct Expanded<'a> {
    types: &'a Registry,
    model: Model,
    /// The floating IP of each server, by name.
    public: HashMap<String, String>,
    /// The template's outputs.
    outputs: Vec<(String, Expr)>,
    /// Parameters of nested templates that the user of the export has to set.
    extra: Vec<Parameter>,
}

impl<'a> Expanded<'a> {
    /// The template as it is written, with groups and nested templates. Software has its options and the secrets of its
    /// connections, even if additions are left out.
    pub(crate) fn of(source: &'a Source<'a>, report: &mut Report) -> Expanded<'a> {
        let template = source.document.template();
        let (model, _) = Model::of(template, &Open);
        let outputs = template.outputs.iter();
        let outputs = outputs.map(|output| (output.name.clone(), output.value.clone()));
        let keep = |model: &mut Model, context: &PassContext<'_>| {
            passes::run_for_software(model, context);
        };
        Expanded::passed(source, (model, keep), outputs.collect(), report)
    }

    /// The template with groups and nested templates replaced by their members, except for groups that the shape keeps.
    pub(crate) fn expand(
        source: &'a Source<'a>,
        shape: &Shape<'_>,
        report: &mut Report,
    ) -> Expanded<'a> {
        let flattened = compose::flatten_for_export(&compose::FlattenInput {
            document: source.document,
            bundle: source.bundle,
            types: source.types,
            cloud: source.cloud,
            scope: shape,
            keep: &shape.counted_groups,
        });
        for one in flattened
            .diagnostics
            .into_iter()
            .filter(|one| one.is_error())
        {
            let file = one.file.map_or(String::new(), |file| format!("{file}: "));
            report.needed(format!("{file}{}", one.path), one.message);
        }
        let mut known = flattened.outputs;
        let written = source.document.template().outputs.iter();
        let outputs = written.filter_map(|output| known.remove_entry(&output.name));
        let keep_nothing = |_: &mut Model, _: &PassContext<'_>| {};
        let model = (flattened.model, keep_nothing);
        let passed = Expanded::passed(source, model, outputs.collect(), report);
        Expanded {
            extra: flattened.parameters,
            ..passed
        }
    }

    /// The template's parameters, and those added by nested templates.
    pub(crate) fn parameters<'p>(
        &'p self,
        template: &'p Template,
    ) -> impl Iterator<Item = &'p Parameter> {
        template.parameters.iter().chain(&self.extra)
    }

    /// The template after the passes. If additions are left out, `keep` makes those that stay.
    fn passed(
        source: &'a Source<'a>,
        (mut drawn, keep): (Model, impl FnOnce(&mut Model, &PassContext<'_>)),
        outputs: Vec<(String, Expr)>,
        report: &mut Report,
    ) -> Expanded<'a> {
        let context = PassContext {
            types: source.types,
            cloud: source.cloud,
        };
        let mut model = drawn.clone();
        let found = passes::run(&mut model, &context);
        for one in found.into_iter().filter(|one| one.is_error()) {
            report.needed(one.path, one.message);
        }
        if source.additions == Additions::Drawn {
            keep(&mut drawn, &context);
            let left_out = model.iter().filter(|(name, _)| drawn.get(name).is_none());
            for (_, spec) in left_out {
                let Origin::Derived { why, serves, .. } = &spec.origin else {
                    continue;
                };
                let path = serves.as_ref().map(|name| format!("resources.{name}"));
                let message = format!(
                    "The deployment adds a `{}` that is not in this file: {why}",
                    spec.resource_type
                );
                report.left_out(path.unwrap_or_default(), message);
            }
            model = drawn;
        }
        Expanded::made(source.types, model, outputs)
    }

    /// The template as it is written, without the additions of passes.
    pub(crate) fn plain(template: &Template, types: &'a Registry) -> Expanded<'a> {
        let (model, _) = Model::of(template, &Open);
        Expanded::made(types, model, Vec::new())
    }

    fn made(types: &'a Registry, model: Model, outputs: Vec<(String, Expr)>) -> Expanded<'a> {
        let public = public_addresses(&model);
        Expanded {
            types,
            model,
            public,
            outputs,
            extra: Vec::new(),
        }
    }

    /// The outputs in the template's order, with the resource names of the export.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = (&str, &Expr)> {
        self.outputs
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    /// All resources, drawn ones first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &ResourceSpec)> {
        self.model.iter()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&ResourceSpec> {
        self.model.get(name)
    }

    /// The catalogue item of a component.
    pub(crate) fn item(&self, spec: &ResourceSpec) -> Option<&'a CatalogItem> {
        self.types.get(&spec.resource_type)?.component.as_ref()
    }

    /// The text of the output that a value refers to, if it contains values that exist only after the role has run.
    pub(crate) fn runtime_output(&self, value: &Value) -> Option<&'a str> {
        let ("get_attr", path) = call(value)? else {
            return None;
        };
        let (name, attribute) = (path.get(0)?.as_str()?, path.get(1)?.as_str()?);
        let mut outputs = self.item(self.get(name)?)?.outputs.iter();
        let output = outputs.find(|one| one.name == attribute)?;
        output
            .value
            .contains(RUNTIME_PLACEHOLDER)
            .then_some(&output.value)
    }

    /// The value with each `get_attr` of software replaced by the output's text, in which expressions are substituted.
    pub(crate) fn with_outputs(&self, value: &Value) -> Value {
        if let Some(text) = self.output_text(value) {
            return text;
        }
        match value {
            Value::Array(items) => items.iter().map(|item| self.with_outputs(item)).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| (key.clone(), self.with_outputs(value)))
                .collect(),
            scalar => scalar.clone(),
        }
    }

    fn output_text(&self, value: &Value) -> Option<Value> {
        let ("get_attr", path) = call(value)? else {
            return None;
        };
        let (name, attribute) = (path.get(0)?.as_str()?, path.get(1)?.as_str()?);
        let spec = self.get(name)?;
        let item = self.item(spec)?;
        let mut outputs = item.outputs.iter();
        let output = outputs.find(|one| one.name == attribute)?;
        if output.value.contains(RUNTIME_PLACEHOLDER) {
            return None;
        }
        let host = spec.properties.get("host").and_then(reference)?;
        let private = json!({"get_attr": [host, "first_address"]});
        let public = match self.floating_ip(host) {
            Some(address) => json!({"get_attr": [address, "floating_ip_address"]}),
            None => private.clone(),
        };
        let inputs = item.inputs.iter().filter_map(|input| {
            let given = spec.properties.get(&input.name).map(Expr::to_json);
            Some((
                input.name.as_str(),
                given.or_else(|| input.default.clone())?,
            ))
        });
        let words = [("address", public), ("private_address", private)];
        let params: Map<String, Value> = words
            .into_iter()
            .chain(inputs)
            .map(|(word, value)| (format!("{{{word}}}"), value))
            .filter(|(word, _)| output.value.contains(word))
            .collect();
        Some(json!({"str_replace": {"template": output.value, "params": params}}))
    }

    /// Name of the floating IP of a server.
    pub(crate) fn floating_ip(&self, server: &str) -> Option<&str> {
        self.public.get(server).map(String::as_str)
    }
}

fn public_addresses(model: &Model) -> HashMap<String, String> {
    let mut by_port = HashMap::new();
    for (name, spec) in model.iter() {
        let of = |property: &str| spec.properties.get(property).and_then(reference);
        if let Some(port) = of("port_id") {
            let address = if spec.resource_type == FLOATING_IP {
                Some(name)
            } else {
                of("floatingip_id")
            };
            if let Some(address) = address {
                by_port.insert(port.to_owned(), address.to_owned());
            }
        }
    }
    let servers = model
        .iter()
        .filter(|(_, spec)| spec.resource_type == SERVER);
    servers
        .filter_map(|(name, spec)| {
            let Some(Expr::List(networks)) = spec.properties.get("networks") else {
                return None;
            };
            let address = networks.iter().find_map(|entry| {
                let port = entry.get("port").and_then(reference);
                port.and_then(|port| by_port.get(port).map(String::as_str))
                    .or_else(|| entry.get("floating_ip").and_then(reference))
            })?;
            Some((name.to_owned(), address.to_owned()))
        })
        .collect()
}

/// The resource that a plain reference names.
pub(crate) fn reference(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::GetResource(name) => Some(name),
        _ => None,
    }
}

/// Whether a pass added the resource.
pub(crate) fn is_derived(spec: &ResourceSpec) -> bool {
    spec.origin != Origin::Drawn
}

/// The function that a value in HOT form calls, with its argument.
pub(crate) fn call(value: &Value) -> Option<(&str, &Value)> {
    let map = value.as_object()?;
    let (name, argument) = map.iter().next().filter(|_| map.len() == 1)?;
    let known = FUNCTIONS.contains(&name.as_str());
    known.then_some((name.as_str(), argument))
}

/// Functions of HOT. A map with one such key is a call.
const FUNCTIONS: [&str; 28] = [
    "get_param",
    "get_resource",
    "get_attr",
    "get_file",
    "str_replace",
    "str_replace_strict",
    "str_replace_vstrict",
    "str_split",
    "list_join",
    "list_concat",
    "list_concat_unique",
    "map_merge",
    "map_replace",
    "repeat",
    "digest",
    "yaql",
    "if",
    "equals",
    "not",
    "and",
    "or",
    "contains",
    "filter",
    "make_url",
    "resource_facade",
    "Fn::Select",
    "Fn::Join",
    "Fn::GetAZs",
];

/// The number without `.0`, because the model stores limits of ranges as floating point.
pub(crate) fn whole(number: &Value) -> Value {
    match number.as_f64() {
        Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => Value::from(float as i64),
        _ => number.clone(),
    }
}

/// A parameter's default as a value of its type. Only Heat accepts lists and maps as text.
pub(crate) fn default_of(kind: &str, default: &Value) -> Value {
    match (kind, default) {
        ("comma_delimited_list", Value::String(text)) if text.is_empty() => json!([]),
        ("comma_delimited_list", Value::String(text)) => text
            .split(',')
            .map(|item| Value::from(item.trim()))
            .collect(),
        ("json", Value::String(text)) => {
            serde_json::from_str(text).unwrap_or_else(|_| default.clone())
        }
        ("string", Value::Number(number)) => json!(number.to_string()),
        _ => default.clone(),
    }
}
