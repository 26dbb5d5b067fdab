//! Buckets.

use serde_json::{Map, Value, json};

use super::{Convert, Output, Resource};
use crate::import::context::Importer;

/// The converter for a type of this family.
pub(super) fn of(written: &str) -> Option<Convert> {
    (written == "AWS::S3::Bucket").then_some(bucket)
}

fn bucket(importer: &mut Importer<'_>, output: &mut Output, resource: &mut Resource<'_>) {
    let mut properties = resource.renamed(importer, &[("BucketName", "name")]);
    let access = resource.raw("AccessControl").and_then(Value::as_str);
    let (read, write) = match access {
        Some("PublicRead") => (Some(".r:*"), None),
        Some("PublicReadWrite") => (Some(".r:*"), Some(".r:*")),
        Some("AuthenticatedRead") => (Some("*:*"), None),
        _ => (None, None),
    };
    for (key, value) in [("X-Container-Read", read), ("X-Container-Write", write)] {
        if let Some(value) = value {
            properties.insert(key.to_owned(), json!(value));
        }
    }
    let mut meta = match resource.tags(importer, "Tags") {
        Some(Value::Object(tags)) => tags,
        _ => Map::new(),
    };
    if let Some(site) = resource.take(importer, "WebsiteConfiguration") {
        for (amazon, swift) in [
            ("IndexDocument", "web-index"),
            ("ErrorDocument", "web-error"),
        ] {
            if let Some(document) = site.get(amazon) {
                meta.insert(swift.to_owned(), document.clone());
            }
        }
    }
    if !meta.is_empty() {
        properties.insert("X-Container-Meta".to_owned(), Value::Object(meta));
    }
    output.put(importer, resource, "OS::Swift::Container", properties);
}
