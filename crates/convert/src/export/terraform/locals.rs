//! Resources that become local values (configurations and values), and outputs.

use std::collections::HashSet;

use hot::expr::Expr;
use planner::workflow::ResourceSpec;
use serde_json::{Map, Value, json};

use super::{Exporter, free, shape};

impl Exporter<'_> {
    /// Writes a configuration or a value as a local value.
    pub(super) fn local(&mut self, name: &str, spec: &ResourceSpec, address: &str) {
        let path = format!("resources.{name}");
        let given = |property: &str| {
            spec.properties
                .get(property)
                .map_or(Value::Null, Expr::to_json)
        };
        let written = match spec.resource_type.as_str() {
            "OS::Heat::CloudConfig" => self
                .writer
                .native(&given("cloud_config"))
                .map(|config| json!(format!("#cloud-config\n${{yamlencode({config})}}"))),
            "OS::Heat::Value" => self.writer.value(&given("value")),
            "OS::Heat::MultipartMime" => {
                if let Err(why) = shape::multipart(self, &given("parts"), address) {
                    self.report.left_out(
                        path,
                        format!(
                            "Terraform cannot express {why}. Add the value to the file by hand"
                        ),
                    );
                }
                return;
            }
            _ => {
                if spec.properties.contains_key("inputs") || spec.properties.contains_key("outputs")
                {
                    self.report.changed(
                        &path,
                        "Only the configuration's text is in the file. Its inputs and outputs are not: write their values into the text",
                    );
                }
                self.writer.value(&given("config"))
            }
        };
        let local = address.trim_start_matches("local.").to_owned();
        match written {
            Ok(value) => {
                self.locals.insert(local, value);
            }
            Err(why) => {
                self.locals.insert(local, Value::Null);
                self.report.left_out(
                    path,
                    format!("Terraform cannot express {why}. Add the value to the file by hand"),
                );
            }
        }
    }

    pub(super) fn outputs(&mut self) -> Map<String, Value> {
        let mut outputs = Map::new();
        let mut taken = HashSet::new();
        let written = &self.source.document.template().outputs;
        for (name, value) in self.expanded.outputs() {
            match self
                .writer
                .value(&self.expanded.with_outputs(&value.to_json()))
            {
                Ok(value) => {
                    let mut body = Map::new();
                    let output = written.iter().find(|one| one.name == name);
                    if let Some(description) = output.and_then(|one| one.description.as_ref()) {
                        body.insert("description".to_owned(), json!(description));
                    }
                    body.insert("value".to_owned(), value);
                    outputs.insert(free(name, &mut taken), Value::Object(body));
                }
                Err(why) => self.report.left_out(
                    format!("outputs.{name}"),
                    format!("Terraform cannot express {why}. Add the value to the file by hand"),
                ),
            }
        }
        outputs
    }
}
