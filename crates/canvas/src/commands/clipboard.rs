//! Copy and paste.
//!
//! What is copied is a small template: it can be pasted into this design, into another one, or into an editor. What is
//! pasted is any template; names that are taken get a number, and references among what is pasted follow.
//!
//! A copy is written at once, however large it is. A paste is made of edits, as every change of a design is, and each edit
//! reads the whole text again: where that would hold the page up for seconds, it is refused before anything has changed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use topology::document::{Document, yaml_text};

use super::{Desk, Proposal, Refusal, twin};

/// How many bytes the edits of one paste may read again, together: about a second's work in a browser.
const READ_AGAIN_MAX: usize = 20_000_000;

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
        let detach = |properties: &mut _| twin::detach_ports(desk, resource, &coming, properties);
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
/// The text is no template, or one without resources; or it is so large that the page would stand still.
pub fn paste(desk: &Desk<'_>, text: &str) -> Result<Proposal, Refusal> {
    let document = Document::parse(text);
    let resources = &document.template().resources;
    if !document.is_readable() || resources.is_empty() {
        return Err(Refusal::because(
            "There is no resource on the clipboard: copy some from a design, or a template's text.",
        ));
    }
    // Each resource is an edit at least, so that what is far too large is known before its edits are made.
    fits(desk, text, resources.len())?;
    let all = resources.iter().map(|resource| resource.name.as_str());
    let twins = twin::free_names(desk, all, twin::Keep::WhereFree);
    let label = match resources.as_slice() {
        [one] => format!("Paste {}", one.name),
        many => format!("Paste {} resources", many.len()),
    };
    let edits = resources.iter().flat_map(|resource| {
        let name = &twins[resource.name.as_str()];
        twin::edits(resource, name, &twins, |_| {})
    });
    let edits: Vec<_> = edits.collect();
    fits(desk, text, edits.len())?;
    Ok(Proposal {
        label,
        edits,
        select: twins.values().cloned().collect(),
        ..Proposal::default()
    })
}

/// Refuses what takes too long: so many edits, each of which reads the design with what was pasted before it.
fn fits(desk: &Desk<'_>, pasted: &str, edits: usize) -> Result<(), Refusal> {
    let read_again = edits.saturating_mul(pasted.len() + desk.text.len());
    if read_again > READ_AGAIN_MAX {
        return Err(Refusal::because(
            "That is too much to paste at once: open it as a design of its own.",
        ));
    }
    Ok(())
}
