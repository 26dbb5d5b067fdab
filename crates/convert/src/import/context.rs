//! State shared by all parts of an import: the template, facts collected from it, and the report.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::import::read::{BYTES_UNFOLDED_MAX, Lines};
use crate::import::{Kind, Note, Report};

/// A template during its import.
pub(crate) struct Importer<'a> {
    /// The top-level keys of the text.
    pub sections: &'a Map<String, Value>,
    /// Resources by name, as written.
    pub resources: &'a Map<String, Value>,
    lines: Lines,
    /// Remaining size of the result, in bytes. `None` once it was exceeded.
    left: Option<usize>,
    pub report: Report,
    /// Parameters that the result needs and the text does not have, with their definitions.
    pub added: BTreeMap<String, Value>,
    /// Mappings with a computed key, which become parameters.
    pub mappings: BTreeSet<String>,
    /// Parameters for other stacks' exports, by the export's name.
    pub imports: BTreeMap<String, String>,
    /// The names of these parameters.
    pub import_names: BTreeSet<String>,
    /// The address of each server. Filled before any value is converted.
    pub addresses: BTreeMap<String, String>,
    /// VPCs with an internet gateway. Filled before any value is converted.
    pub attached: BTreeSet<String>,
    /// The load balancer of each target group. Filled before any value is converted.
    pub balanced: BTreeMap<String, String>,
    /// Launch templates by their own `LaunchTemplateName`. Filled before any value is converted.
    pub launch_names: BTreeMap<&'a str, &'a str>,
    /// Resources without their own counterpart. Filled before any value is converted.
    pub dropped: BTreeSet<String>,
}

/// Parameters that an import can add.
pub(crate) const EXTERNAL_NETWORK: &str = "external_network";
pub(crate) const NETWORK: &str = "network";
pub(crate) const SUBNET: &str = "subnet";
pub(crate) const FLAVOR: &str = "flavor";
pub(crate) const IMAGE: &str = "image";
pub(crate) const REGION: &str = "region";

impl<'a> Importer<'a> {
    pub(crate) fn new(
        sections: &'a Map<String, Value>,
        resources: &'a Map<String, Value>,
        lines: Lines,
    ) -> Importer<'a> {
        Importer {
            sections,
            resources,
            lines,
            left: Some(BYTES_UNFOLDED_MAX),
            report: Report::default(),
            added: BTreeMap::new(),
            mappings: BTreeSet::new(),
            imports: BTreeMap::new(),
            import_names: BTreeSet::new(),
            addresses: BTreeMap::new(),
            attached: BTreeSet::new(),
            balanced: BTreeMap::new(),
            launch_names: BTreeMap::new(),
            dropped: BTreeSet::new(),
        }
    }

    /// A section of the text. Empty unless it is a map.
    pub(crate) fn section(
        &self,
        name: &str,
    ) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        let section = self.sections.get(name).and_then(Value::as_object);
        section.into_iter().flatten()
    }

    /// The type of a resource, as written.
    pub(crate) fn type_of(&self, resource: &str) -> &'a str {
        let found = self.resources.get(resource);
        found
            .and_then(|one| one.get("Type")?.as_str())
            .unwrap_or("")
    }

    /// The resource that a plain `Ref` or `GetAtt` refers to, if it is of this type.
    pub(crate) fn referred(&self, value: &Value, wanted: &str) -> Option<&'a str> {
        let name = value
            .get("Ref")
            .or_else(|| value.get("Fn::GetAtt")?.get(0))
            .and_then(Value::as_str)?;
        let (name, _) = self.resources.get_key_value(name)?;
        (self.type_of(name) == wanted).then_some(name.as_str())
    }

    /// Reserves bytes for a value before its creation, because a short text can refer to a value many times. Returns
    /// false if the limit is exceeded.
    pub(crate) fn spend(&mut self, bytes: usize) -> bool {
        self.left = self.left.and_then(|left| left.checked_sub(bytes));
        self.left.is_some()
    }

    /// Whether the limit was exceeded, so that there is no result.
    pub(crate) fn is_spent(&self) -> bool {
        self.left.is_none()
    }

    /// Whether the template has this parameter.
    pub(crate) fn has_parameter(&self, name: &str) -> bool {
        let parameters = self.sections.get("Parameters");
        parameters.is_some_and(|all| all.get(name).is_some())
    }

    /// A free name for a parameter that the import adds, as close to `wanted` as possible.
    pub(crate) fn free_parameter(&self, wanted: &str) -> String {
        let mappings = self.sections.get("Mappings");
        let is_mapping = |name: &str| mappings.is_some_and(|all| all.get(name).is_some());
        let mut name = wanted.to_owned();
        while self.has_parameter(&name) || is_mapping(&name) {
            name.push('_');
        }
        name
    }

    /// `get_param` of a parameter that the import adds.
    pub(crate) fn added_parameter(&mut self, wanted: &str, definition: Value) -> Value {
        let name = self.free_parameter(wanted);
        self.added.insert(name.clone(), definition);
        json!({"get_param": name})
    }

    pub(crate) fn left_out(&mut self, path: &str, message: impl Into<String>) {
        self.note(Kind::LeftOut, path, message.into());
    }

    pub(crate) fn changed(&mut self, path: &str, message: impl Into<String>) {
        self.note(Kind::Changed, path, message.into());
    }

    pub(crate) fn needed(&mut self, path: &str, message: impl Into<String>) {
        self.note(Kind::Needed, path, message.into());
    }

    fn note(&mut self, kind: Kind, path: &str, message: String) {
        self.report.add(Note {
            kind,
            path: path.to_owned(),
            line: self.line(path),
            message,
        });
    }

    /// The line of a path, or of its nearest parent with a known line.
    fn line(&self, path: &str) -> Option<u32> {
        let mut path = path;
        loop {
            if let Some(line) = self.lines.get(path) {
                return Some(*line);
            }
            (path, _) = path.rsplit_once('.')?;
        }
    }

    /// Reports the unread parts of the text.
    pub(crate) fn left_over(&mut self) {
        const READ: [&str; 8] = [
            "AWSTemplateFormatVersion",
            "HeatTemplateFormatVersion",
            "Description",
            "Parameters",
            "Mappings",
            "Conditions",
            "Resources",
            "Outputs",
        ];
        let keys = self.sections.keys();
        let others: Vec<&String> = keys.filter(|key| !READ.contains(&key.as_str())).collect();
        for key in others {
            match key.as_str() {
                "Metadata" => {
                    let interface = self.sections[key.as_str()].as_object();
                    let others = interface
                        .into_iter()
                        .flatten()
                        .filter(|(key, _)| *key != "AWS::CloudFormation::Interface");
                    for (name, _) in others {
                        let path = format!("Metadata.{name}");
                        self.left_out(&path, "HOT has no metadata for a whole template");
                    }
                }
                "Transform" => self.left_out(
                    key,
                    "Only Amazon runs macros. Import the template with its macros expanded",
                ),
                "Rules" => self.left_out(
                    key,
                    "HOT has no rules between parameters. Check the values before you deploy",
                ),
                other => self.left_out(other, "CloudFormation has no such section"),
            }
        }
    }
}
