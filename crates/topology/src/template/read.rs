//! From the positioned tree to the model, with all problems of structure at once.
//!
//! What cannot be understood is left out of the model and named in a diagnostic; the rest is read.

use serde_json::Value;

use super::{Output, Parameter, Resource, ResourceProperty, Template, VERSIONS, is_name};
use crate::{
    diagnostic::Diagnostic,
    expr::{self, Expr},
    text::{Lines, did_you_mean, listed, shown},
    types::Constraint,
    workflow::Marks,
    yaml::{Entry, Kind, Node, Tree},
};

const SECTIONS: [&str; 7] = [
    "heat_template_version",
    "description",
    "parameter_groups",
    "parameters",
    "conditions",
    "resources",
    "outputs",
];
const PARAMETER_KEYS: [&str; 8] = [
    "type",
    "label",
    "description",
    "default",
    "hidden",
    "immutable",
    "constraints",
    "tags",
];
const PARAMETER_TYPES: [&str; 5] = [
    "string",
    "number",
    "json",
    "comma_delimited_list",
    "boolean",
];
const RESOURCE_KEYS: [&str; 9] = [
    "type",
    "properties",
    "metadata",
    "depends_on",
    "update_policy",
    "deletion_policy",
    "description",
    "external_id",
    "condition",
];
const OUTPUT_KEYS: [&str; 3] = ["description", "value", "condition"];

/// The model of a tree, and what is wrong with the tree and it.
pub(crate) fn read(text: &str, lines: &Lines, tree: &Tree) -> (Template, Vec<Diagnostic>) {
    let mut reader = Reader {
        text,
        lines,
        path: Vec::new(),
        diagnostics: Vec::new(),
    };
    for problem in &tree.problems {
        reader.error(problem.code, problem.at, problem.message.clone());
    }
    let template = reader.template(tree.root.as_ref());
    // A syntax error leaves sections half read: what they seem to lack is not the person's fault.
    if tree.problems.iter().any(|problem| problem.fatal) {
        reader.diagnostics.retain(|one| {
            !matches!(
                one.code.as_str(),
                "version-missing" | "resource-type-missing" | "wrong-shape"
            )
        });
    }
    (template, reader.diagnostics)
}

struct Reader<'a> {
    text: &'a str,
    lines: &'a Lines,
    path: Vec<String>,
    diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn error(&mut self, code: &str, at: usize, message: String) {
        self.say(Diagnostic::error(code, self.path.join("."), message), at);
    }

    fn say(&mut self, mut diagnostic: Diagnostic, at: usize) {
        let position = self.lines.position(self.text, at);
        (diagnostic.line, diagnostic.column) = (Some(position.line), Some(position.column));
        self.diagnostics.push(diagnostic);
    }

    fn below<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(key.to_owned());
        let result = read(self);
        self.path.pop();
        result
    }

    fn wrong_shape(&mut self, node: &Node, wanted: &str) {
        self.error(
            "wrong-shape",
            node.span.start,
            format!("{wanted} belongs here, not {}", node.describe()),
        );
    }

    /// Entries of a map; none, with a problem, where it is no map. Nothing at all is an empty map.
    fn entries<'n>(&mut self, node: &'n Node, wanted: &str) -> &'n [Entry] {
        match node.entries() {
            Some(entries) => entries,
            None if node.is_null() => &[],
            None => {
                self.wrong_shape(node, wanted);
                &[]
            }
        }
    }

    fn unknown_keys(&mut self, entries: &[Entry], known: &[&str], of: &str) {
        for entry in entries {
            if !known.contains(&entry.key.as_str()) && entry.key != "<<" {
                let near = did_you_mean(&entry.key, known.iter().copied());
                let message = format!("`{}` is no key of {of}{near}", shown(&entry.key));
                self.below(&entry.key, |reader| {
                    reader.error("unknown-key", entry.key_span.start, message)
                });
            }
        }
    }

    fn name(&mut self, entry: &Entry, of: &str) {
        // Outputs may be written as paths: Heat takes them, and nothing is addressed by them.
        let path = of == "an output" && entry.key.split('/').all(is_name);
        // A template that is used by another one is known there by what this output says.
        let own_id = of == "an output" && entry.key == "OS::stack_id";
        if !path && !own_id && !is_name(&entry.key) {
            let message = format!(
                "`{}` cannot name {of}: use letters, digits, `_`, `-` and `.`",
                shown(&entry.key)
            );
            self.error("bad-name", entry.key_span.start, message);
        }
    }

    fn text_of(&mut self, node: &Node) -> Option<String> {
        match node.scalar() {
            Some(Value::String(text)) => Some(text),
            Some(Value::Null) => None,
            // `description: 2.0` and the like: Heat takes them as text.
            Some(other) => Some(other.to_string()),
            None => {
                self.wrong_shape(node, "text");
                None
            }
        }
    }

    fn template(&mut self, root: Option<&Node>) -> Template {
        let mut template = Template::default();
        let Some(root) = root else {
            if self.diagnostics.is_empty() {
                self.version_missing(0);
            }
            return template;
        };
        let sections = self.entries(root, "a map with `heat_template_version` and `resources`");
        if root.entries().is_some() || root.is_null() {
            self.unknown_keys(sections, &SECTIONS, "a template");
        }
        match root.entry("heat_template_version") {
            Some(entry) => {
                template.version = self.below("heat_template_version", |reader| {
                    reader.version(&entry.value)
                })
            }
            None => self.version_missing(root.span.start),
        }
        for Entry {
            key,
            value,
            key_span,
            ..
        } in sections
        {
            self.below(key, |reader| match key.as_str() {
                "description" => template.description = reader.text_of(value).unwrap_or_default(),
                "parameters" => template.parameters = reader.parameters(value),
                "resources" => template.resources = reader.resources(value),
                "outputs" => template.outputs = reader.outputs(value),
                "conditions" => {
                    reader.error(
                        "section-unsupported",
                        key_span.start,
                        "conditions are not supported yet".to_owned(),
                    );
                }
                _ => {}
            });
        }
        template
    }

    fn version_missing(&mut self, at: usize) {
        let message = "the template must say `heat_template_version`, such as `heat_template_version: 2021-04-16`".to_owned();
        self.error("version-missing", at, message);
    }

    fn version(&mut self, node: &Node) -> String {
        let version = self.text_of(node).unwrap_or_default();
        if !VERSIONS.contains(&version.as_str()) {
            let message = format!(
                "`{}` is no version of HOT; there are {}",
                shown(&version),
                listed(&VERSIONS)
            );
            self.error("version-unknown", node.span.start, message);
        }
        version
    }

    fn parameters(&mut self, node: &Node) -> Vec<Parameter> {
        let mut parameters = Vec::new();
        for entry in self.entries(node, "a map from names to parameters") {
            let parameter = self.below(&entry.key, |reader| {
                reader.name(entry, "a parameter");
                reader.parameter(entry)
            });
            parameters.extend(parameter);
        }
        parameters
    }

    fn parameter(&mut self, entry: &Entry) -> Option<Parameter> {
        let node = &entry.value;
        if node.entries().is_none() {
            self.wrong_shape(node, "a map with `type`");
            return None;
        }
        let keys = self.entries(node, "");
        self.unknown_keys(keys, &PARAMETER_KEYS, "a parameter");
        let mut parameter = Parameter {
            name: entry.key.clone(),
            at: self.lines.position(self.text, entry.key_span.start),
            kind: String::new(),
            label: None,
            description: None,
            default: None,
            hidden: false,
            constraints: Vec::new(),
        };
        for Entry { key, value, .. } in keys {
            self.below(key, |reader| match key.as_str() {
                "type" => parameter.kind = reader.text_of(value).unwrap_or_default(),
                "label" => parameter.label = reader.text_of(value),
                "description" => parameter.description = reader.text_of(value),
                "default" => {
                    parameter.default = Some(value.to_json()).filter(|value| !value.is_null())
                }
                "hidden" => parameter.hidden = reader.boolean(value),
                "constraints" => parameter.constraints = reader.constraints(value),
                _ => {}
            });
        }
        if !PARAMETER_TYPES.contains(&parameter.kind.as_str()) {
            let at = node
                .entry("type")
                .map_or(entry.key_span.start, |entry| entry.value.span.start);
            let near = did_you_mean(&parameter.kind, PARAMETER_TYPES);
            let message = match parameter.kind.as_str() {
                "" => format!("a parameter needs a `type`: {}", listed(&PARAMETER_TYPES)),
                kind => format!(
                    "`{}` is no type of parameter; there are {}{near}",
                    shown(kind),
                    listed(&PARAMETER_TYPES)
                ),
            };
            self.error("parameter-type-unknown", at, message);
            parameter.kind = "string".to_owned();
        }
        Some(parameter)
    }

    fn boolean(&mut self, node: &Node) -> bool {
        match node.scalar() {
            Some(Value::Bool(value)) => value,
            Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => true,
            Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => false,
            _ => {
                self.wrong_shape(node, "`true` or `false`");
                false
            }
        }
    }

    fn constraints(&mut self, node: &Node) -> Vec<Constraint> {
        let Some(items) = node.items() else {
            if !node.is_null() {
                self.wrong_shape(node, "a list of constraints");
            }
            return Vec::new();
        };
        let mut constraints = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let read = self.below(&index.to_string(), |reader| reader.constraint(&item.value));
            constraints.extend(read);
        }
        constraints
    }

    fn constraint(&mut self, node: &Node) -> Option<Constraint> {
        const KINDS: [&str; 6] = [
            "length",
            "range",
            "modulo",
            "allowed_values",
            "allowed_pattern",
            "custom_constraint",
        ];
        let entries = self.entries(node, "a constraint");
        let rule: Vec<&Entry> = entries
            .iter()
            .filter(|entry| entry.key != "description")
            .collect();
        let [rule] = rule.as_slice() else {
            let message = format!(
                "a constraint has one of {}, and may have a `description`",
                listed(&KINDS)
            );
            self.error("constraint-invalid", node.span.start, message);
            return None;
        };
        let (at, value) = (rule.key_span.start, rule.value.to_json());
        let end = |key: &str| value.get(key).and_then(number_of);
        let constraint = match rule.key.as_str() {
            "length" => Some(Constraint::Length {
                min: end("min").map(|n| n as u64),
                max: end("max").map(|n| n as u64),
            }),
            "range" => Some(Constraint::Range {
                min: end("min"),
                max: end("max"),
            }),
            "allowed_values" => value
                .as_array()
                .map(|values| Constraint::AllowedValues(values.clone())),
            "allowed_pattern" => value
                .as_str()
                .map(|pattern| Constraint::AllowedPattern(pattern.to_owned())),
            "custom_constraint" => value
                .as_str()
                .map(|name| Constraint::Custom(name.to_owned())),
            "modulo" => {
                self.error(
                    "constraint-invalid",
                    at,
                    "the constraint `modulo` is not supported yet".to_owned(),
                );
                return None;
            }
            other => {
                let near = did_you_mean(other, KINDS);
                self.error(
                    "constraint-invalid",
                    at,
                    format!("`{}` is no constraint{near}", shown(other)),
                );
                return None;
            }
        };
        let empty = matches!(
            constraint,
            Some(
                Constraint::Length {
                    min: None,
                    max: None
                } | Constraint::Range {
                    min: None,
                    max: None
                }
            )
        );
        if constraint.is_none() || empty {
            let wanted = match rule.key.as_str() {
                "length" | "range" => "a map with `min`, `max` or both",
                "allowed_values" => "a list",
                _ => "text",
            };
            self.error(
                "constraint-invalid",
                at,
                format!("`{}` takes {wanted}", rule.key),
            );
            return None;
        }
        if let Some(Constraint::AllowedPattern(pattern)) = &constraint
            && let Err(problem) = crate::constraint::pattern(pattern)
        {
            // Heat's patterns are Python's: ours know neither of these, and then nothing is checked.
            let python = problem.contains("look-around") || problem.contains("backreference");
            if python {
                let message = format!("{problem}; values are not checked by it");
                self.say(
                    Diagnostic::warning("constraint-invalid", self.path.join("."), message),
                    at,
                );
            } else {
                self.error("constraint-invalid", at, problem);
            }
            return None;
        }
        constraint
    }

    fn resources(&mut self, node: &Node) -> Vec<Resource> {
        let mut resources = Vec::new();
        for entry in self.entries(node, "a map from names to resources") {
            let resource = self.below(&entry.key, |reader| {
                reader.name(entry, "a resource");
                reader.resource(entry)
            });
            resources.extend(resource);
        }
        resources
    }

    fn resource(&mut self, entry: &Entry) -> Option<Resource> {
        let node = &entry.value;
        if node.entries().is_none() {
            self.wrong_shape(node, "a map with `type`");
            return None;
        }
        let keys = self.entries(node, "");
        self.unknown_keys(keys, &RESOURCE_KEYS, "a resource");
        let mut resource = Resource {
            name: entry.key.clone(),
            at: self.lines.position(self.text, entry.key_span.start),
            resource_type: String::new(),
            properties: Vec::new(),
            depends_on: Vec::new(),
            metadata: None,
            marks: Marks::default(),
        };
        for Entry {
            key,
            value,
            key_span,
            ..
        } in keys
        {
            self.below(key, |reader| match key.as_str() {
                "type" => resource.resource_type = reader.text_of(value).unwrap_or_default(),
                "properties" => resource.properties = reader.properties(value),
                "depends_on" => resource.depends_on = reader.depends_on(value),
                "metadata" => {
                    resource.marks = reader.marks(value);
                    resource.metadata = Some(reader.expr(value));
                }
                "update_policy" => {
                    let message = "`update_policy` is not supported yet and has no effect";
                    reader.say(
                        Diagnostic::warning("section-unsupported", reader.path.join("."), message),
                        key_span.start,
                    );
                }
                "deletion_policy"
                    if value
                        .scalar()
                        .and_then(|v| v.as_str().map(str::to_lowercase))
                        .as_deref()
                        == Some("delete") => {}
                "deletion_policy" | "external_id" | "condition" => {
                    reader.error(
                        "section-unsupported",
                        key_span.start,
                        format!("`{key}` is not supported yet"),
                    );
                }
                _ => {}
            });
        }
        if resource.resource_type.is_empty() {
            let message = "a resource needs a `type`, such as `OS::Nova::Server`".to_owned();
            self.error("resource-type-missing", entry.key_span.start, message);
        }
        Some(resource)
    }

    fn properties(&mut self, node: &Node) -> Vec<ResourceProperty> {
        let mut properties = Vec::new();
        for entry in self.entries(node, "a map from names to values") {
            let value = self.below(&entry.key, |reader| reader.expr(&entry.value));
            let at = self.lines.position(self.text, entry.key_span.start);
            properties.push(ResourceProperty {
                name: entry.key.clone(),
                at,
                value,
            });
        }
        properties
    }

    fn depends_on(&mut self, node: &Node) -> Vec<(String, super::Position)> {
        let at = |reader: &Self, node: &Node| reader.lines.position(reader.text, node.span.start);
        if let Some(items) = node.items() {
            let mut names = Vec::new();
            for item in items {
                match item.value.scalar() {
                    Some(Value::String(name)) => names.push((name, at(self, &item.value))),
                    _ => self.wrong_shape(&item.value, "the name of a resource"),
                }
            }
            return names;
        }
        match node.scalar() {
            Some(Value::String(name)) => vec![(name, at(self, node))],
            Some(Value::Null) => Vec::new(),
            _ => {
                self.wrong_shape(node, "the name of a resource, or a list of names,");
                Vec::new()
            }
        }
    }

    fn marks(&mut self, metadata: &Node) -> Marks {
        let mut marks = Marks::default();
        let Some(ours) = metadata.entry("stackloom") else {
            return marks;
        };
        self.below("stackloom", |reader| {
            let entries = reader.entries(&ours.value, "a map with `public` or `bastion`");
            reader.unknown_keys(entries, &["public", "bastion"], "`metadata.stackloom`");
            for Entry { key, value, .. } in entries {
                match key.as_str() {
                    "public" => marks.public = reader.below(key, |reader| reader.boolean(value)),
                    "bastion" => marks.bastion = reader.below(key, |reader| reader.boolean(value)),
                    _ => {}
                }
            }
        });
        marks
    }

    fn outputs(&mut self, node: &Node) -> Vec<Output> {
        let mut outputs = Vec::new();
        for entry in self.entries(node, "a map from names to outputs") {
            let output = self.below(&entry.key, |reader| {
                reader.name(entry, "an output");
                reader.output(entry)
            });
            outputs.extend(output);
        }
        outputs
    }

    fn output(&mut self, entry: &Entry) -> Option<Output> {
        let node = &entry.value;
        let keys = self.entries(node, "a map with `value`");
        self.unknown_keys(keys, &OUTPUT_KEYS, "an output");
        if let Some(condition) = node.entry("condition") {
            self.error(
                "section-unsupported",
                condition.key_span.start,
                "`condition` is not supported yet".to_owned(),
            );
        }
        let Some(value) = node.entry("value") else {
            if node.entries().is_some() {
                self.error(
                    "wrong-shape",
                    entry.key_span.start,
                    "an output needs a `value`".to_owned(),
                );
            }
            return None;
        };
        let description = node
            .entry("description")
            .and_then(|entry| self.text_of(&entry.value));
        let value = self.below("value", |reader| reader.expr(&value.value));
        let at = self.lines.position(self.text, entry.key_span.start);
        Some(Output {
            name: entry.key.clone(),
            at,
            description,
            value,
        })
    }

    /// A value that may hold functions.
    fn expr(&mut self, node: &Node) -> Expr {
        let node = node.target();
        match &node.kind {
            Kind::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    list.push(self.below(&index.to_string(), |reader| reader.expr(&item.value)));
                }
                Expr::List(list)
            }
            Kind::Map(entries) => {
                if let [only] = entries.as_slice()
                    && expr::is_function(&only.key)
                {
                    return self.call(only);
                }
                let mut map = Vec::with_capacity(entries.len());
                for Entry { key, value, .. } in entries {
                    map.push((key.clone(), self.below(key, |reader| reader.expr(value))));
                }
                Expr::Map(map)
            }
            _ => Expr::Literal(node.scalar().unwrap_or(Value::Null)),
        }
    }

    fn call(&mut self, entry: &Entry) -> Expr {
        let at = entry.key_span.start;
        if !expr::is_supported(&entry.key) {
            self.error(
                "function-unsupported",
                at,
                format!("the function `{}` is not supported yet", shown(&entry.key)),
            );
            return Expr::Literal(Value::Null);
        }
        let arguments = self.below(&entry.key, |reader| reader.expr(&entry.value));
        expr::call(&entry.key, arguments).unwrap_or_else(|message| {
            self.error("function-arguments", at, message);
            Expr::Literal(Value::Null)
        })
    }
}

fn number_of(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}
