//! A CloudFormation template as HOT.
//!
//! Two dialects are read: Amazon's (`AWSTemplateFormatVersion`) and Heat's own of it (`HeatTemplateFormatVersion`), as JSON or
//! YAML, with the short tags (`!Ref`, `!Sub`). What comes out is a template of our language and a [`Report`]: what was left out,
//! what is meant otherwise, and what a person has to give. Nothing vanishes without a line in it.
//!
//! ```text
//!  text --read--> values with lines --sections--> parameters, conditions, outputs
//!                                   --resources-> OS:: resources          all values through `functions`
//! ```
//!
//! - [`read`] turns short tags into their long forms and remembers on which line each value stands.
//! - A resource whose counterpart in OpenStack is plain is converted; one that Heat runs under its Amazon name is kept as it is;
//!   of any other an `OS::Heat::None` holds the place and the properties, so that it can be seen and replaced.
//! - Some resources have no counterpart of their own: an address that is attached becomes part of the server, a route to the
//!   internet the router's gateway. What referred to them is told.
//! - [`mend`] validates the result as any template is validated, and takes out the values that OpenStack would refuse.
//!
//! The exporters' opposite, and a crate of its own for the same reason: the browser does not need it.

mod context;
mod functions;
mod mend;
mod read;
mod resources;
mod sections;

use hot::document::yaml_text;
use serde_json::{Map, Value, json};

pub use crate::report::{Kind, Note, Report};
use context::Importer;

/// What became of a template.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// HOT.
    pub template: String,
    /// What was not plain.
    pub report: Report,
}

/// The text is no CloudFormation template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unreadable {
    /// What is wrong with it.
    pub message: String,
    /// 1-based, where it is known.
    pub line: Option<u32>,
}

/// The template in HOT.
///
/// # Errors
/// When the text is neither YAML nor JSON, or has no `Resources`. All else that is wrong with it is in the report.
pub fn import(text: &str) -> Result<Imported, Unreadable> {
    let (root, lines) = read::read(text)?;
    let Some(sections) = root.as_object() else {
        return Err(Unreadable {
            message: "this is no template: it should be a map with `Resources`".to_owned(),
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
            message: "this is no CloudFormation template: it has no map `Resources`".to_owned(),
            line: None,
        });
    };
    let mut importer = Importer::new(sections, resources, lines);
    // Resources first: they say which parameters have to be added.
    let made = resources::all(&mut importer);
    let conditions = sections::conditions(&mut importer);
    let outputs = sections::outputs(&mut importer);
    let parameters = sections::parameters(&mut importer);
    let groups = sections::parameter_groups(&importer);
    importer.left_over();
    if importer.is_spent() {
        let most = read::BYTES_UNFOLDED_MAX >> 20;
        return Err(Unreadable {
            message: format!("what is made of it is more than {most} MiB"),
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
    mend::mend(&mut importer, &mut out);
    let report = importer.report.sorted();
    let template = report.comment("Imported by Stackloom from a CloudFormation template.")
        + &yaml_text(&Value::Object(out));
    Ok(Imported { template, report })
}

#[cfg(test)]
mod tests;
