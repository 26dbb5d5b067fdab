//! Wait conditions and nested stacks.

use serde_json::{Map, Value};

use super::{Convert, HANDLE, Output, Resource, keep_type};
use crate::import::context::Importer;
use crate::import::sections::as_number;

/// The converter for a type of this family.
pub(super) fn of(written: &str) -> Option<Convert> {
    Some(match written {
        HANDLE => handle,
        "AWS::CloudFormation::WaitCondition" => condition,
        "AWS::CloudFormation::Stack" => stack,
        _ => return None,
    })
}

fn handle(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let kind = "OS::Heat::WaitConditionHandle";
    output.put(importer, resource, kind, Map::new());
}

fn condition(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let mut properties = Map::new();
    if let Some(handle) = resource.raw("Handle") {
        // The handle itself, instead of the URL that `Ref` returns elsewhere.
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
    output.put(importer, resource, "OS::Heat::WaitCondition", properties);
}

/// Converts a nested stack to a template by file name. A stack with a computed URL stays unchanged.
fn stack(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let address = resource.raw("TemplateURL").and_then(Value::as_str);
    let hot = address.and_then(file_name);
    let (Some(address), Some(hot)) = (address, hot) else {
        keep_type(importer, output, resource);
        return;
    };
    let path = resource.at("TemplateURL");
    importer.needed(
        &path,
        format!("Import `{address}` too, and put the result beside this template as `{hot}`"),
    );
    let parameters = resource.take(importer, "Parameters");
    let properties = match parameters {
        Some(Value::Object(parameters)) => parameters,
        _ => Map::new(),
    };
    for property in ["TimeoutInMinutes", "Tags", "NotificationARNs"] {
        resource.raw(property);
    }
    output.put(importer, resource, &hot, properties);
}

/// The file name of the converted template at a URL. `None` if it is not a plain name.
fn file_name(address: &str) -> Option<String> {
    let file = address.rsplit('/').next().unwrap_or(address);
    let file = file.split('?').next().unwrap_or(file);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = !stem.is_empty() && stem.chars().all(is_plain);
    is_name.then(|| format!("{stem}.yaml"))
}
