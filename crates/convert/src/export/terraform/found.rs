//! References by name or id: to a resource of the template, or to an existing object in the cloud.

use serde_json::{Value, json};

use super::types::LookUp;
use super::{Exporter, Many, Target, identifier, is_id, template};

impl Exporter<'_> {
    /// The id of an object that a property refers to, in the template or in the cloud.
    pub(super) fn id(&mut self, value: &Value, look_up: &LookUp) -> Result<Value, String> {
        self.found(value, look_up, "id")
    }

    /// An attribute of an object that a property refers to.
    pub(super) fn found(
        &mut self,
        value: &Value,
        look_up: &LookUp,
        attribute: &str,
    ) -> Result<Value, String> {
        let is_parameter = value.get("get_param").is_some();
        let drawn = |one: &str| self.writer.targets.get(one).cloned();
        if let Some(text) = value.as_str() {
            // HOT allows a reference by a resource's own `name` property. This is rare, and the text stays a name here.
            if is_id(text) && attribute == "id" {
                return Ok(json!(text));
            }
            let name = identifier(text);
            let body = match look_up.id.filter(|_| is_id(text)) {
                Some(id) => json!({id: text}),
                None => json!({"name": template(text)}),
            };
            let name = self.datum(look_up.data, &name, body);
            return Ok(json!(format!(
                "${{data.{}.{name}.{attribute}}}",
                look_up.data
            )));
        }
        if is_parameter {
            let native = self.writer.native(value)?;
            let name = identifier(native.trim_start_matches("var."));
            let is_id = format!("can(regex(\"^[0-9a-f-]{{32,36}}$\", {native}))");
            let body = match look_up.id {
                Some(id) => json!({
                    "name": format!("${{{is_id} ? null : {native}}}"),
                    id: format!("${{{is_id} ? {native} : null}}"),
                }),
                None => json!({"name": format!("${{{native}}}")}),
            };
            let name = self.datum(look_up.data, &name, body);
            return Ok(json!(format!(
                "${{data.{}.{name}.{attribute}}}",
                look_up.data
            )));
        }
        if let Some(Target::Resource {
            address,
            many: Many::No,
            ..
        }) = value
            .get("get_resource")
            .and_then(Value::as_str)
            .and_then(drawn)
        {
            return Ok(json!(format!("${{{address}.{attribute}}}")));
        }
        self.writer.value(value)
    }
}
