//! Properties as arguments, by the tables of [`super::types`]; conditions and groups as counts.

use hot::expr::Expr;
use planner::workflow::ResourceSpec;
use serde_json::{Map, Value, json};

use super::types::To;
use super::{Exporter, SCALING_GROUP, shape};

impl Exporter<'_> {
    pub(super) fn write_condition(
        &mut self,
        name: &str,
        path: &str,
        body: &mut Map<String, Value>,
    ) {
        let Some(condition) = self
            .source
            .document
            .value(&["resources", name, "condition"])
        else {
            return;
        };
        match self.writer.condition(&condition) {
            Ok(native) => {
                body.insert("count".to_owned(), json!(format!("${{{native} ? 1 : 0}}")));
            }
            Err(why) => {
                body.insert("count".to_owned(), json!(1));
                self.report.changed(
                    path,
                    format!("Terraform cannot express the condition, which has {why}. The resource is always created"),
                );
            }
        }
    }

    pub(super) fn count(&mut self, spec: &ResourceSpec, path: &str, body: &mut Map<String, Value>) {
        let given = |name: &str| spec.properties.get(name).map(Expr::to_json);
        let wanted = if spec.resource_type == SCALING_GROUP {
            self.report.changed(
                path,
                "Terraform does not scale groups. The group keeps its initial number of members",
            );
            given("desired_capacity").or_else(|| given("min_size"))
        } else {
            given("count")
        };
        let count = wanted.map_or(Ok(json!(1)), |count| self.writer.value(&count));
        match count {
            Ok(count) => {
                body.insert("count".to_owned(), count);
            }
            Err(why) => {
                body.insert("count".to_owned(), json!(1));
                self.report.changed(
                    path,
                    format!("Terraform cannot express the count, which has {why}. One member is created: set `count` by hand"),
                );
            }
        }
        let index = given("index_var").and_then(|word| word.as_str().map(str::to_owned));
        self.writer.index = Some(index.unwrap_or_else(|| "%index%".to_owned()));
    }

    /// Converts properties by a table.
    pub(super) fn arguments(
        &mut self,
        properties: &Map<String, Value>,
        table: &'static [(&'static str, To)],
        name: &str,
        path: &str,
        body: &mut Map<String, Value>,
    ) {
        for (property, value) in properties {
            let path = format!("{path}.properties.{property}");
            let Some((_, to)) = table.iter().find(|(hot, _)| hot == property) else {
                self.report.left_out(
                    path,
                    format!("Terraform's OpenStack provider has no argument for `{property}`"),
                );
                continue;
            };
            if let Err(why) = self.argument(value, to, property, name, body) {
                self.report.left_out(
                    path,
                    format!("Terraform cannot express {why}. Add the value to the file by hand"),
                );
            }
        }
    }

    pub(super) fn argument(
        &mut self,
        value: &Value,
        to: &'static To,
        property: &str,
        name: &str,
        body: &mut Map<String, Value>,
    ) -> Result<(), String> {
        if value.is_null() {
            return Ok(());
        }
        match to {
            To::Nothing => {}
            To::As(argument) => {
                let value = self.writer.value(value)?;
                body.insert((*argument).to_owned(), value);
            }
            To::Id(argument, look_up) => {
                let id = self.id(value, look_up)?;
                body.insert((*argument).to_owned(), id);
            }
            To::Ids(argument, look_up) => {
                let ids = match value {
                    Value::Array(items) => items
                        .iter()
                        .map(|item| self.id(item, look_up))
                        .collect::<Result<Value, _>>()?,
                    computed => self.writer.value(computed)?,
                };
                body.insert((*argument).to_owned(), ids);
            }
            To::Block(argument, table) => {
                let one = [value.clone()];
                let entries = match value {
                    Value::Array(items) => items.as_slice(),
                    Value::Object(_) if crate::export::expand::call(value).is_none() => &one,
                    _ => return Err(format!("`{property}` as a computed value")),
                };
                let mut blocks = Vec::new();
                for entry in entries {
                    let Some(keys) = entry.as_object() else {
                        return Err(format!("`{property}` as a computed value"));
                    };
                    let mut block = Map::new();
                    for (key, value) in keys {
                        match table.iter().find(|(hot, _)| hot == key) {
                            Some((_, to)) => self.argument(value, to, key, name, &mut block)?,
                            None if value.is_null() => {}
                            None => return Err(format!("`{key}` of `{property}`")),
                        }
                    }
                    blocks.push(Value::Object(block));
                }
                body.insert((*argument).to_owned(), Value::Array(blocks));
            }
            To::Within(block, argument) => {
                let value = self.writer.value(value)?;
                let blocks = body
                    .entry((*block).to_owned())
                    .or_insert_with(|| json!([{}]));
                blocks[0][*argument] = value;
            }
            To::Entry(block, name) => {
                let value = self.writer.value(value)?;
                let blocks = body.entry((*block).to_owned()).or_insert_with(|| json!([]));
                if let Some(blocks) = blocks.as_array_mut() {
                    blocks.push(json!({"name": name, "secret_ref": value}));
                }
            }
            To::ByHand => shape::argument(self, value, property, name, body)?,
        }
        Ok(())
    }
}

/// Type and properties of a group's members, if they are literal.
pub(super) fn member(spec: &ResourceSpec) -> Option<(&str, Map<String, Value>)> {
    let written = ["resource_def", "resource"];
    let definition = written.iter().find_map(|name| spec.properties.get(*name))?;
    let properties = definition
        .get("properties")
        .map_or(json!({}), Expr::to_json);
    Some((
        definition.get("type")?.as_str()?,
        properties.as_object()?.clone(),
    ))
}
