//! Converts CloudFormation templates to HOT.
//!
//! Two dialects are supported: Amazon's (`AWSTemplateFormatVersion`) and Heat's variant (`HeatTemplateFormatVersion`),
//! in JSON or YAML, with the short tags (`!Ref`, `!Sub`). The result is a template in HOT and a [`Report`]: parts that
//! were left out, parts with a changed meaning, and values that the user has to provide. All losses are in the report.
//!
//! ```text
//!  text --read--> values with lines --sections--> parameters, conditions, outputs
//!                                   --resources-> OS:: resources          all values through `functions`
//! ```
//!
//! - [`read`] converts short tags to their long forms and stores the line of each value.
//! - A resource with a direct counterpart in OpenStack is converted. One that Heat supports under its Amazon name is
//!   kept. Any other becomes an `OS::Heat::None` with its properties, so that the user can see and replace it.
//! - Some resources have no counterpart of their own: an attached address becomes part of the server, a route to the
//!   internet becomes the router's gateway. References to them are reported.
//! - [`repair`] validates the result and removes the values that OpenStack would refuse.
//!
//! Like the exporters, this code runs on the server only.

mod context;
mod functions;
mod read;
mod repair;
mod resources;
mod sections;

use hot::document::yaml_text;
use serde_json::{Map, Value, json};

pub use crate::report::{Kind, Note, Report};
use context::Importer;

/// The result of an import.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The template, in HOT.
    pub template: String,
    /// Inexact conversions.
    pub report: Report,
}

/// The text is not a CloudFormation template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unreadable {
    /// The reason.
    pub message: String,
    /// Line, from 1. `None` if unknown.
    pub line: Option<u32>,
}

/// Converts the template to HOT.
///
/// # Errors
/// The text is neither YAML nor JSON, or has no `Resources`. Other problems are in the report.
pub fn import(text: &str) -> Result<Imported, Unreadable> {
    let (root, lines) = read::read(text)?;
    let Some(sections) = root.as_object() else {
        return Err(Unreadable {
            message: "The text is not a template. A template is a map with the key `Resources`"
                .to_owned(),
            line: Some(1),
        });
    };
    let none = Map::new();
    let has_version = ["AWSTemplateFormatVersion", "HeatTemplateFormatVersion"]
        .iter()
        .any(|version| sections.contains_key(*version));
    let resources = match sections.get("Resources") {
        Some(Value::Object(resources)) => Some(resources),
        None | Some(Value::Null) if has_version => Some(&none),
        _ => None,
    };
    let Some(resources) = resources else {
        return Err(Unreadable {
            message:
                "The text is not a CloudFormation template: `Resources` is missing or not a map"
                    .to_owned(),
            line: None,
        });
    };
    let mut importer = Importer::new(sections, resources, lines);
    // Resources first, because they decide which parameters are added.
    let made = resources::all(&mut importer);
    let conditions = sections::conditions(&mut importer);
    let outputs = sections::outputs(&mut importer);
    let parameters = sections::parameters(&mut importer);
    let groups = sections::parameter_groups(&importer);
    importer.left_over();
    if importer.is_spent() {
        let most = read::BYTES_UNFOLDED_MAX >> 20;
        return Err(Unreadable {
            message: format!("The imported template would be larger than {most} MiB"),
            line: None,
        });
    }

    let mut out = Map::new();
    out.insert("heat_template_version".to_owned(), json!("2021-04-16"));
    if let Some(description) = sections.get("Description").and_then(Value::as_str) {
        out.insert("description".to_owned(), json!(description));
    }
    for (key, section) in [
        ("parameter_groups", groups),
        ("parameters", Value::Object(parameters)),
        ("conditions", Value::Object(conditions)),
        ("resources", Value::Object(made)),
        ("outputs", Value::Object(outputs)),
    ] {
        let is_empty = section.as_object().is_some_and(Map::is_empty)
            || section.as_array().is_some_and(Vec::is_empty);
        if !is_empty || key == "resources" {
            out.insert(key.to_owned(), section);
        }
    }
    repair::repair(&mut importer, &mut out);
    let report = importer.report.sorted();
    let template = report.comment("Imported by Stackloom from a CloudFormation template.")
        + &yaml_text(&Value::Object(out));
    Ok(Imported { template, report })
}

#[cfg(test)]
mod tests;
