//! Copy and paste.
//!
//! The copied text is a small template. It can be pasted into this design, into another one, or into a text editor. Any
//! template can be pasted. Resources with existing names are renamed with a number, and references within the pasted
//! text are updated.
//!
//! A copy or a paste is one edit of the text, for any size. It is refused before any change if the design would exceed
//! the maximum size of a template.

use std::collections::BTreeMap;

use hot::document::{Document, Edit, Limits, yaml_text};
use serde_json::{Map, Value};

use super::{CommandInput, Proposal, Refusal, twin};

/// The resources and the software on them, as the text of a template. `None` if none of them exists.
pub fn copy(input: &CommandInput<'_>, names: &[String]) -> Option<String> {
    let wanted = twin::with_software(input, names);
    if wanted.is_empty() {
        return None;
    }
    let version = Some(input.template.version.as_str()).filter(|version| !version.is_empty());
    let head = version.unwrap_or("2021-04-16");
    let same = BTreeMap::new();
    let copied_names = wanted
        .iter()
        .map(|resource| resource.name.as_str())
        .collect();
    let resources = wanted.iter().map(|resource| {
        let detach = |properties: &mut _| {
            twin::detach_ports(input, resource, &copied_names, &same, properties)
        };
        (
            resource.name.clone(),
            twin::copy_of(resource, &same, detach),
        )
    });
    let resources = Value::Object(resources.collect());
    let body = Value::Object(Map::from_iter([("resources".to_owned(), resources)]));
    Some(format!(
        "heat_template_version: {head}\n{}",
        yaml_text(&body)
    ))
}

/// The proposal for pasting a text.
///
/// # Errors
/// The text is not a template, has no resources, or would make the design too long.
pub fn paste(input: &CommandInput<'_>, text: &str) -> Result<Proposal, Refusal> {
    if input.text.len().saturating_add(text.len()) > Limits::default().bytes_max {
        return Err(Refusal::because(
            "The text is too large to paste here. Open it as a separate design.",
        ));
    }
    let document = Document::parse(text);
    let resources = &document.template().resources;
    if !document.is_readable() || resources.is_empty() {
        return Err(Refusal::because(
            "The clipboard has no resources. Copy some from a design, or a template's text.",
        ));
    }
    let all = resources.iter().map(|resource| resource.name.as_str());
    let twins = twin::free_names(input, all, twin::Keep::WhereFree);
    let label = match resources.as_slice() {
        [one] => format!("Paste {}", one.name),
        many => format!("Paste {} resources", many.len()),
    };
    let resources = resources.iter().map(|resource| {
        let name = twins[resource.name.as_str()].clone();
        (name, twin::copy_of(resource, &twins, |_| {}))
    });
    Ok(Proposal {
        label,
        edits: vec![Edit::AddResources {
            resources: resources.collect(),
        }],
        select: twins.values().cloned().collect(),
        ..Proposal::default()
    })
}
