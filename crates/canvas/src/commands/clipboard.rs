//! Copy and paste.
//!
//! What is copied is a small template: it can be pasted into this design, into another one, or into an editor. What is
//! pasted is any template; names that are taken get a number, and references among what is pasted follow.

use std::collections::BTreeMap;

use topology::document::Document;

use super::{Desk, Proposal, Refusal, twin};

/// These resources, with the software on them, as the text of a template. `None` where there are none.
pub fn copy(desk: &Desk<'_>, names: &[String]) -> Option<String> {
    let wanted = twin::with_software(desk, names);
    let version = Some(desk.template.version.as_str()).filter(|version| !version.is_empty());
    let head = version.unwrap_or("2021-04-16");
    let mut document = Document::parse(format!("heat_template_version: {head}\n"));
    let same = BTreeMap::new();
    for resource in &wanted {
        let detach = |properties: &mut _| twin::detach_ports(desk, resource, &wanted, properties);
        for edit in twin::edits(resource, &resource.name, &same, detach) {
            document = document.edit(&edit).ok()?;
        }
    }
    (!wanted.is_empty()).then(|| document.text().to_owned())
}

/// What pasting a text would do.
///
/// # Errors
/// The text is no template, or one without resources.
pub fn paste(desk: &Desk<'_>, text: &str) -> Result<Proposal, Refusal> {
    let document = Document::parse(text);
    let resources = &document.template().resources;
    if !document.is_readable() || resources.is_empty() {
        return Err(Refusal::because(
            "There is no resource on the clipboard: copy some from a design, or a template's text.",
        ));
    }
    let all = resources.iter().map(|resource| resource.name.as_str());
    let twins = twin::free_names(all, twin::Keep::WhereFree, |name| {
        desk.resource(name).is_some()
    });
    let label = match resources.as_slice() {
        [one] => format!("Paste {}", one.name),
        many => format!("Paste {} resources", many.len()),
    };
    let edits = resources.iter().flat_map(|resource| {
        let name = &twins[resource.name.as_str()];
        twin::edits(resource, name, &twins, |_| {})
    });
    Ok(Proposal {
        label,
        edits: edits.collect(),
        select: twins.values().cloned().collect(),
        ..Proposal::default()
    })
}
