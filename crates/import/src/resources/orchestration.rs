//! Waiting, and nested stacks.

use serde_json::{Map, Value};

use super::{HANDLE, Made, Resource};
use crate::context::Importer;
use crate::sections::as_number;

pub(super) fn convert(
    importer: &mut Importer<'_>,
    made: &mut Made,
    resource: &mut Resource<'_>,
    written: &str,
) -> bool {
    match written {
        HANDLE => made.put(
            importer,
            resource,
            "OS::Heat::WaitConditionHandle",
            Map::new(),
        ),
        "AWS::CloudFormation::WaitCondition" => condition(importer, made, resource),
        "AWS::CloudFormation::Stack" => return stack(importer, made, resource),
        _ => return false,
    }
    true
}

fn condition(importer: &mut Importer<'_>, made: &mut Made, resource: &mut Resource<'_>) {
    let mut properties = Map::new();
    if let Some(handle) = resource.raw("Handle") {
        // The handle itself, and not the address that a `Ref` gives elsewhere.
        let value = match importer.referred(handle, HANDLE) {
            Some(name) => serde_json::json!({"get_resource": name}),
            None => importer.value(handle, &resource.at("Handle")),
        };
        properties.insert("handle".to_owned(), value);
    }
    for (amazon, hot) in [("Timeout", "timeout"), ("Count", "count")] {
        if let Some(value) = resource.take(importer, amazon) {
            properties.insert(hot.to_owned(), as_number(&value));
        }
    }
    made.put(importer, resource, "OS::Heat::WaitCondition", properties);
}

/// A template by its file's name; one whose address is computed stays Amazon's.
fn stack(importer: &mut Importer<'_>, made: &mut Made, resource: &mut Resource<'_>) -> bool {
    let Some(address) = resource.raw("TemplateURL").and_then(Value::as_str) else {
        return false;
    };
    let file = address.rsplit('/').next().unwrap_or(address);
    let file = file.split('?').next().unwrap_or(file);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if stem.is_empty() || !stem.chars().all(is_plain) {
        return false;
    }
    let hot = format!("{stem}.yaml");
    let path = resource.at("TemplateURL");
    importer.needed(
        &path,
        format!("the template `{hot}` beside this one: import `{address}` too"),
    );
    let parameters = resource.take(importer, "Parameters");
    let properties = match parameters {
        Some(Value::Object(parameters)) => parameters,
        _ => Map::new(),
    };
    for property in ["TimeoutInMinutes", "Tags", "NotificationARNs"] {
        resource.raw(property);
    }
    made.put(importer, resource, &hot, properties);
    true
}
