//! Copy and paste.
//!
//! What is copied is a small template: it can be pasted into this design, into another one, or into an editor. What is
//! pasted is any template; names that are taken get a number, and references among what is pasted follow.
//!
//! A copy is written at once, and so is a paste: one edit of the text, however much it is. Only what makes the design longer
//! than a template may be is refused, before anything has changed.

use std::collections::BTreeMap;

use hot::document::{Document, Edit, Limits, yaml_text};
use serde_json::{Map, Value};

use super::{Desk, Proposal, Refusal, twin};

/// These resources, with the software on them, as the text of a template. `None` where there are none.
pub fn copy(desk: &Desk<'_>, names: &[String]) -> Option<String> {
    let wanted = twin::with_software(desk, names);
    if wanted.is_empty() {
        return None;
    }
    let version = Some(desk.template.version.as_str()).filter(|version| !version.is_empty());
    let head = version.unwrap_or("2021-04-16");
    let same = BTreeMap::new();
    let coming = wanted
        .iter()
        .map(|resource| resource.name.as_str())
        .collect();
    let resources = wanted.iter().map(|resource| {
        let detach =
            |properties: &mut _| twin::detach_ports(desk, resource, &coming, &same, properties);
        (resource.name.clone(), twin::whole(resource, &same, detach))
    });
    let resources = Value::Object(resources.collect());
    let body = Value::Object(Map::from_iter([("resources".to_owned(), resources)]));
    Some(format!(
        "heat_template_version: {head}\n{}",
        yaml_text(&body)
    ))
}

/// What pasting a text would do.
///
/// # Errors
/// The text is no template, or one without resources; or the design would be too long with it.
pub fn paste(desk: &Desk<'_>, text: &str) -> Result<Proposal, Refusal> {
    if desk.text.len().saturating_add(text.len()) > Limits::default().bytes_max {
        return Err(Refusal::because(
            "That is too much to paste here: open it as a design of its own.",
        ));
    }
    let document = Document::parse(text);
    let resources = &document.template().resources;
    if !document.is_readable() || resources.is_empty() {
        return Err(Refusal::because(
            "There is no resource on the clipboard: copy some from a design, or a template's text.",
        ));
    }
    let all = resources.iter().map(|resource| resource.name.as_str());
    let twins = twin::free_names(desk, all, twin::Keep::WhereFree);
    let label = match resources.as_slice() {
        [one] => format!("Paste {}", one.name),
        many => format!("Paste {} resources", many.len()),
    };
    let resources = resources.iter().map(|resource| {
        let name = twins[resource.name.as_str()].clone();
        (name, twin::whole(resource, &twins, |_| {}))
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
