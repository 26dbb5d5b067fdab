//! JSON for Terraform and OpenTofu with the OpenStack provider.
//!
//! Additions of passes are written as resources, because Terraform adds nothing by itself. Parameters become variables
//! with their constraints as validations, conditions become local values, and a group of equal resources a `count`.
//! Names of existing objects become data sources, because the provider's arguments take ids where HOT takes names.
//! Dependencies without a reference (a floating IP on the router's interface) become `depends_on`.
//!
//! Terraform has no equivalent of HOT's nesting. Nested templates, and groups whose members are templates, are expanded
//! into resources with flat names. Files that a template reads are part of the export.
//!
//! Software is left out, because Terraform has no equivalent. Configurations for a server's first boot are kept.

mod arguments;
mod found;
mod locals;
mod order;
mod pattern;
mod schema;
mod shape;
mod split;
mod types;
mod value;
mod variables;

use std::collections::{BTreeSet, HashMap, HashSet};

use hot::template::members::{GROUP, SCALING_GROUP};
use planner::members;
use planner::workflow::ResourceSpec;
use serde_json::{Map, Value, json};

use crate::export::expand::{Expanded, SSH_KEY};
use crate::export::structure::Shape;
use crate::export::{ExportFile, Report, Source};
use arguments::member;
use types::{Mapping, To};
use value::{FILES, Many, Target, Writer, identifier, is_id, mapped, template};

pub(crate) fn export(source: &Source<'_>) -> (String, Vec<ExportFile>, Report) {
    let mut report = Report::default();
    let shape = Shape::of(source, &|member| mapped(member).is_some(), &mut report);
    let expanded = Expanded::expand(source, &shape, &mut report);
    let mut exporter = Exporter {
        source,
        shape: &shape,
        expanded: &expanded,
        writer: Writer {
            fixed: shape.fixed.clone(),
            bundle: source.bundle.clone(),
            ..Writer::default()
        },
        report,
        locals: Map::new(),
        data: Map::new(),
        resources: Map::new(),
        providers: BTreeSet::from(["openstack"]),
        gateways: Vec::new(),
    };
    exporter.targets();
    let template = source.document.template();
    exporter.writer.variables = variables::words(expanded.parameters(template));
    let mut variables = variables::of(
        expanded.parameters(template),
        &shape.fixed,
        &exporter.writer.variables,
        &mut exporter.report,
    );
    exporter.conditions();
    for (name, spec) in expanded.iter() {
        exporter.resource(name, spec);
    }
    exporter.router_gateways();
    let outputs = exporter.outputs();
    if exporter.writer.uses_stack_name {
        variables.insert(
            "stack_name".to_owned(),
            json!({"type": "string", "description": "What names are made from.", "default": source.name}),
        );
    }
    if exporter.writer.uses_project {
        exporter.datum(
            "openstack_identity_auth_scope_v3",
            "here",
            json!({"name": "here"}),
        );
    }
    let files = exporter.files();
    let text = exporter.text(variables, outputs);
    (text, files, exporter.report)
}

/// A file that is being written.
struct Exporter<'a> {
    source: &'a Source<'a>,
    shape: &'a Shape<'a>,
    expanded: &'a Expanded<'a>,
    writer: Writer,
    report: Report,
    locals: Map<String, Value>,
    data: Map<String, Value>,
    resources: Map<String, Value>,
    providers: BTreeSet<&'static str>,
    /// Pairs of a router and its external network, from separate gateway resources.
    gateways: Vec<(String, Value)>,
}

const PROVIDERS: [(&str, &str); 3] = [
    ("cloudinit", "hashicorp/cloudinit"),
    ("openstack", "terraform-provider-openstack/openstack"),
    ("random", "hashicorp/random"),
];

impl Exporter<'_> {
    /// Assigns a Terraform address to each resource, before any reference is written.
    fn targets(&mut self) {
        let mut taken = HashSet::new();
        for (name, spec) in self.expanded.iter() {
            let free = free(name, &mut taken);
            if let Some(target) = self.target(name, spec, &free) {
                self.writer.targets.insert(name.to_owned(), target);
            }
        }
    }

    fn target(&self, name: &str, spec: &ResourceSpec, identifier: &str) -> Option<Target> {
        let is_conditional = self
            .source
            .document
            .value(&["resources", name, "condition"])
            .is_some();
        let resource = |mapping: &'static Mapping, many| Target::Resource {
            address: format!("{}.{identifier}", mapping.terraform),
            mapping,
            many,
        };
        Some(match spec.resource_type.as_str() {
            "OS::Heat::SoftwareConfig" | "OS::Heat::CloudConfig" | "OS::Heat::Value" => {
                Target::Local(format!("local.{identifier}"))
            }
            "OS::Heat::MultipartMime" => {
                Target::Local(format!("data.cloudinit_config.{identifier}.rendered"))
            }
            GROUP | SCALING_GROUP
                if !self.shape.counted_groups.iter().any(|group| group == name) =>
            {
                return None;
            }
            GROUP | SCALING_GROUP => resource(mapped(member(spec)?.0)?, Many::Group),
            other => resource(
                mapped(other)?,
                if is_conditional {
                    Many::Conditional
                } else {
                    Many::No
                },
            ),
        })
    }

    fn conditions(&mut self) {
        let Some(Value::Object(conditions)) = self.source.document.value(&["conditions"]) else {
            return;
        };
        let locals = self.writer.targets.values();
        let locals = locals.filter_map(|target| match target {
            Target::Local(address) => address.strip_prefix("local."),
            Target::Resource { .. } => None,
        });
        let mut taken: HashSet<String> = locals.map(str::to_owned).collect();
        let named = conditions
            .keys()
            .map(|name| (name.clone(), free(&format!("condition_{name}"), &mut taken)));
        self.writer.conditions = named.collect::<HashMap<_, _>>();
        for (name, condition) in &conditions {
            let local = self.writer.conditions[name].clone();
            match self.writer.condition(condition) {
                Ok(native) => {
                    self.locals.insert(local, json!(format!("${{{native}}}")));
                }
                Err(why) => {
                    self.locals.insert(local, json!(true));
                    self.report.changed(
                        format!("conditions.{name}"),
                        format!(
                            "Terraform cannot express {why}. The condition is always true here"
                        ),
                    );
                }
            }
        }
    }

    fn resource(&mut self, name: &str, spec: &ResourceSpec) {
        let path = format!("resources.{name}");
        if self.expanded.item(spec).is_some() {
            self.report.left_out(
                path,
                format!("Terraform creates the server of `{name}` but installs no software. Install it with another tool"),
            );
            return;
        }
        if spec.resource_type == SSH_KEY {
            self.report
                .left_out(path, "The SSH key for software installation is not in the file, because Terraform installs no software");
            return;
        }
        if self.split_resource(name, spec) {
            return;
        }
        match self.writer.targets.get(name).cloned() {
            // Their members are exported instead.
            None if members::is_parent(&spec.resource_type) => {}
            None => self.report.left_out(
                path,
                format!(
                    "Terraform's OpenStack provider has no resource for `{}`",
                    spec.resource_type
                ),
            ),
            Some(Target::Local(address)) => self.local(name, spec, &address),
            Some(Target::Resource {
                address,
                mapping,
                many,
            }) => {
                let mut body = Map::new();
                let properties = match (many, member(spec)) {
                    (Many::Group, Some((_, properties))) => {
                        self.count(spec, &path, &mut body);
                        properties
                    }
                    _ => {
                        self.write_condition(name, &path, &mut body);
                        spec.properties
                            .iter()
                            .map(|(name, value)| {
                                (name.clone(), self.expanded.with_outputs(&value.to_json()))
                            })
                            .collect()
                    }
                };
                if mapping.terraform.starts_with("random_") {
                    self.providers.insert("random");
                }
                for (argument, value) in mapping.fixed {
                    body.insert((*argument).to_owned(), json!(value));
                }
                self.arguments(&properties, mapping.arguments, name, &path, &mut body);
                // The provider requires names that Heat would generate.
                let named = mapping
                    .arguments
                    .iter()
                    .any(|(_, to)| matches!(to, To::As("name")));
                if named && !body.contains_key("name") {
                    let suffix = if many == Many::Group {
                        "-${count.index}"
                    } else {
                        ""
                    };
                    body.insert(
                        "name".to_owned(),
                        json!(format!("{}{suffix}", template(name))),
                    );
                }
                self.writer.index = None;
                self.order(name, spec, &mut body);
                if let Some(shape) = schema::of("resource", mapping.terraform) {
                    for argument in schema::lacking(shape, &body) {
                        let message = format!(
                            "Terraform requires a value for `{argument}`. Add it to the file"
                        );
                        self.report.needed(&path, message);
                    }
                }
                let (kind, identifier) =
                    address.split_once('.').unwrap_or((address.as_str(), name));
                self.insert(kind, identifier, Value::Object(body));
            }
        }
    }

    /// Adds a resource that belongs to another one and is not referenced, under a free name.
    fn insert_additional(&mut self, kind: &str, name: &str, body: Value) {
        let mut free = identifier(name);
        while self.is_taken(kind, &free) {
            free.push('_');
        }
        self.insert(kind, &free, body);
    }

    fn is_taken(&self, kind: &str, identifier: &str) -> bool {
        let address = format!("{kind}.{identifier}");
        let of_kind = self.resources.get(kind);
        of_kind.is_some_and(|of_kind| of_kind.get(identifier).is_some())
            || self.writer.targets.values().any(
                |target| matches!(target, Target::Resource { address: one, .. } if *one == address),
            )
    }

    fn insert(&mut self, kind: &str, identifier: &str, body: Value) {
        let of_kind = self
            .resources
            .entry(kind.to_owned())
            .or_insert_with(|| json!({}));
        of_kind[identifier] = body;
    }

    /// Adds a data source and returns its key. Different names get different keys.
    fn datum(&mut self, kind: &str, identifier: &str, body: Value) -> String {
        let of_kind = self
            .data
            .entry(kind.to_owned())
            .or_insert_with(|| json!({}));
        let mut free = identifier.to_owned();
        while of_kind.get(&free).is_some_and(|other| *other != body) {
            free.push('_');
        }
        of_kind[&free] = body;
        free
    }

    /// The files that `file()` reads.
    fn files(&mut self) -> Vec<ExportFile> {
        let mut files = Vec::new();
        for path in std::mem::take(&mut self.writer.files) {
            match self.source.bundle.text(&path) {
                Some(text) => {
                    let text = text.to_owned();
                    let path = format!("{FILES}/{path}");
                    files.push(ExportFile { path, text });
                }
                None => self
                    .report
                    .needed("", format!("The template reads the file `{FILES}/{path}`, which the design does not have. Put it beside this file")),
            }
        }
        files
    }

    fn text(&self, variables: Map<String, Value>, outputs: Map<String, Value>) -> String {
        let required: Map<String, Value> = PROVIDERS
            .iter()
            .filter(|(name, _)| self.providers.contains(name))
            .map(|(name, source)| ((*name).to_owned(), json!({"source": source})))
            .collect();
        let mut root = Map::new();
        let mut comment = vec!["Exported by Stackloom for Terraform.".to_owned()];
        comment.extend(self.report.lines());
        root.insert("//".to_owned(), json!(comment));
        root.insert(
            "terraform".to_owned(),
            json!({"required_providers": required}),
        );
        // Address and credentials come from the environment or from clouds.yaml.
        root.insert("provider".to_owned(), json!({"openstack": {}}));
        for (section, body) in [
            ("variable", &variables),
            ("locals", &self.locals),
            ("data", &self.data),
            ("resource", &self.resources),
            ("output", &outputs),
        ] {
            if !body.is_empty() {
                root.insert(section.to_owned(), Value::Object(body.clone()));
            }
        }
        // A map with string keys can always be serialised.
        serde_json::to_string_pretty(&Value::Object(root)).unwrap_or_default() + "\n"
    }
}

/// A free identifier for a name. Conflicts get a trailing `_`.
fn free(name: &str, taken: &mut HashSet<String>) -> String {
    let mut free = identifier(name);
    while !taken.insert(free.clone()) {
        free.push('_');
    }
    free
}

#[cfg(test)]
mod tests;
