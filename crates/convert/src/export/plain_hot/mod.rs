//! Plain HOT: a template for Heat, with its files.
//!
//! A design is a template already, and one without extensions of this program is exported byte for byte. Otherwise it
//! is edited: additions of passes are written as resources, Stackloom's marks are removed, and software becomes
//! deployments for Heat's agents ([`software`]). The edits are made on the values first and then on the text in one
//! step. So comments and order are kept, and the cost does not grow with the number of edits. Only a text that cannot
//! be edited this way is written again from its values.
//!
//! Each nested template is treated in the same way, because Heat creates a separate stack for it. Environments and
//! other files are copied. Only names that Heat's client could not resolve are corrected ([`files`]).
//!
//! Changes are recorded in `metadata.stackloom`, so that importing the file restores the original design ([`marks`]).

mod files;
pub(crate) mod marks;
mod software;

use std::collections::HashSet;

use hot::document::{Document, Edit, EditError, remove_at, set_at, yaml_text};
use hot::expr::Expr;
use hot::{template::Resource, text::Position};
use planner::workflow::ResourceSpec;
use serde_json::{Value, json};

use crate::export::expand::{Expanded, SSH_KEY, is_derived};
use crate::export::{ExportFile, Report, Source};

/// First line of an exported file that differs from the design.
const TITLE: &str = "Exported by Stackloom for OpenStack Heat.";
/// The line after the report. The design's own text follows, including its comments.
const REPORT_END: &str = "#";
const PORT: &str = "OS::Neutron::Port";

pub(crate) fn export(source: &Source<'_>) -> (String, Vec<ExportFile>, Report) {
    let mut report = Report::default();
    let mut files = Vec::new();
    for (path, text) in source.bundle.files() {
        if path.contains("://") {
            report.left_out(
                "",
                format!("`{path}` is not copied, because Heat's client downloads it. It must be reachable when you create the stack"),
            );
            continue;
        }
        let (text, notes) = file(source, path, text);
        report.of_file(path, notes);
        let path = path.to_owned();
        files.push(ExportFile { path, text });
    }
    if !source.bundle.environments().is_empty() {
        let options = source.bundle.environments().iter();
        let options: Vec<String> = options.map(|path| format!("`-e {path}`")).collect();
        report.needed(
            "",
            format!(
                "Create the stack with the environment files in this order: {}",
                options.join(" ")
            ),
        );
    }
    let (text, notes) = template(source, None);
    // A comment at the top of a file is about that file only.
    let mut all = notes;
    all.extend(report);
    (text, files, all)
}

/// The exported form of a file in the bundle.
fn file(source: &Source<'_>, path: &str, text: &str) -> (String, Report) {
    if source.bundle.is_environment(path) {
        return files::environment(source.bundle, path, text);
    }
    let nested = source.bundle.document(path);
    match nested.filter(|document| is_template(document)) {
        Some(document) => template(
            &Source {
                document,
                ..*source
            },
            Some(path),
        ),
        None => (text.to_owned(), Report::default()),
    }
}

fn is_template(document: &Document) -> bool {
    document.is_readable() && document.value(&["heat_template_version"]).is_some()
}

/// The exported form of a template, which is the file `path` or the main template.
fn template(source: &Source<'_>, path: Option<&str>) -> (String, Report) {
    let mut report = Report::default();
    let expanded = Expanded::of(source, &mut report);
    let mut edits = Vec::new();
    if is_plain(source, &expanded) {
        report = Report::default();
    } else {
        software::edits(source, &expanded, &mut edits, &mut report);
        properties(source, &expanded, &mut edits, &mut report);
        bastions(source, &mut report);
        orders(source, &expanded, &mut edits);
        let marks = marks::changed(source.document, &edits);
        edits.extend(marks);
        additions(&expanded, &mut edits, &mut report);
    }
    files::repair(
        source.document,
        source.bundle,
        path,
        &mut edits,
        &mut report,
    );
    if edits.is_empty() && report.notes.is_empty() {
        return (source.document.text().to_owned(), report);
    }
    let document = edited_with_notes(source.document, &edits, &mut report);
    let text = document.text();
    if text.trim_start().starts_with('{') {
        return (text.to_owned(), report);
    }
    (
        format!("{}{REPORT_END}\n{text}", report.comment(TITLE)),
        report,
    )
}

/// Whether Heat deploys the template in the same way: it has no extensions and needs no additions. Missing server ports
/// are no difference, because Heat creates them with the server.
fn is_plain(source: &Source<'_>, expanded: &Expanded<'_>) -> bool {
    let resources = &source.document.template().resources;
    let ours = |spec: &ResourceSpec| spec.resource_type.starts_with("Stackloom::");
    let is_marked = resources.iter().any(is_marked);
    let has_ours = |spec: &ResourceSpec| software::member_type(spec).is_some();
    let is_lacking = |spec: &ResourceSpec| is_derived(spec) && spec.resource_type != PORT;
    !is_marked
        && !expanded
            .iter()
            .any(|(_, spec)| ours(spec) || has_ours(spec) || is_lacking(spec))
}

fn is_marked(resource: &Resource) -> bool {
    let metadata = resource.metadata.as_ref();
    metadata.is_some_and(|metadata| metadata.get("stackloom").is_some())
}

/// Applies the edits in one step. If the text cannot be edited, it is written again.
fn edited(document: &Document, edits: &[Edit]) -> Document {
    edited_or_anew(document, edits).0
}

/// Like [`edited`], with a note if comments are lost.
fn edited_with_notes(document: &Document, edits: &[Edit], report: &mut Report) -> Document {
    let (document, why) = edited_or_anew(document, edits);
    if let Some(why) = why {
        let message =
            format!("The template was rewritten and lost its comments, order and quotes: {why}");
        report.changed("", message);
    }
    document
}

fn edited_or_anew(document: &Document, edits: &[Edit]) -> (Document, Option<EditError>) {
    if edits.is_empty() {
        return (document.clone(), None);
    }
    let value = edited_value(document, edits);
    match document.with_value(&value) {
        Ok(edited) => (edited, None),
        Err(why) => (Document::parse(yaml_text(&value)), Some(why)),
    }
}

/// The document's value after the edits.
fn edited_value(document: &Document, edits: &[Edit]) -> Value {
    let mut root = document.value(&[]).unwrap_or(Value::Null);
    for edit in edits {
        match edit {
            Edit::AddResource {
                name,
                resource_type,
                properties,
            } => {
                let mut resource = json!({"type": resource_type});
                if properties.as_object().is_some_and(|map| !map.is_empty()) {
                    resource["properties"] = properties.clone();
                }
                set_at(&mut root, &["resources", name], resource);
            }
            Edit::AddResources { resources } => {
                for (name, resource) in resources {
                    set_at(&mut root, &["resources", name], resource.clone());
                }
            }
            Edit::Set { path, value } => set_at(&mut root, path, value.clone()),
            Edit::Remove { path } => remove_at(&mut root, std::slice::from_ref(path)),
            // Removing and renaming resources does not occur here.
            _ => {}
        }
    }
    root
}

fn path(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Properties of drawn resources that passes set.
fn properties(
    source: &Source<'_>,
    expanded: &Expanded<'_>,
    edits: &mut Vec<Edit>,
    report: &mut Report,
) {
    for resource in &source.document.template().resources {
        let Some(spec) = expanded.get(&resource.name) else {
            continue;
        };
        if expanded.item(spec).is_some() {
            continue;
        }
        let at = |property: &str| path(&["resources", &resource.name, "properties", property]);
        for (name, value) in &spec.properties {
            if resource
                .property(name)
                .is_none_or(|drawn| differs(drawn, value))
            {
                edits.push(Edit::Set {
                    path: at(name),
                    value: value.to_json(),
                });
            }
        }
        for property in &resource.properties {
            if !spec.properties.contains_key(&property.name) && !property.value.is_null() {
                edits.push(Edit::Remove {
                    path: at(&property.name),
                });
            }
        }
        if resource.resource_type == SSH_KEY {
            edits.push(Edit::Set {
                path: path(&["resources", &resource.name, "type"]),
                value: json!("OS::Nova::KeyPair"),
            });
            edits.push(Edit::Set {
                path: at("save_private_key"),
                value: json!(true),
            });
            edits.push(Edit::Set {
                path: at("name"),
                value: json!({"list_join": ["-", [{"get_param": "OS::stack_name"}, resource.name]]}),
            });
            report.changed(
                format!("resources.{}", resource.name),
                "The deployment's SSH key is an `OS::Nova::KeyPair` here. Heat generates it and stores its private key",
            );
        }
    }
}

fn differs(drawn: &Expr, now: &Expr) -> bool {
    drawn != now && drawn.to_json() != now.to_json()
}

/// Reports the bastion marks, which Heat stores and ignores.
fn bastions(source: &Source<'_>, report: &mut Report) {
    for resource in &source.document.template().resources {
        if resource.marks.bastion {
            report.left_out(
                format!("resources.{}.metadata.stackloom.bastion", resource.name),
                "Heat does not log in to servers and ignores the bastion mark",
            );
        }
    }
}

/// Adds `depends_on` from drawn resources to added ones without a reference between them. The most important case is a
/// floating IP, which needs the gateway of its network. Heat has such implicit rules too, but fewer.
fn orders(source: &Source<'_>, expanded: &Expanded<'_>, edits: &mut Vec<Edit>) {
    for resource in &source.document.template().resources {
        let Some(spec) = expanded.get(&resource.name) else {
            continue;
        };
        if expanded.item(spec).is_some() {
            continue;
        }
        let is_added = |name: &String| expanded.get(name).is_some_and(is_derived);
        let mut waits = implicit_dependencies(expanded, spec);
        waits.retain(is_added);
        if !waits.is_empty() {
            edits.push(Edit::Set {
                path: path(&["resources", &resource.name, "depends_on"]),
                value: with(&resource.depends_on, waits),
            });
        }
    }
}

/// The existing entries and `more`, without duplicates.
fn with(written: &[(String, Position)], more: Vec<String>) -> Value {
    let mut names: Vec<String> = written.iter().map(|(name, _)| name.clone()).collect();
    names.extend(more);
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names.into()
}

/// The resources that a resource waits for without a reference.
fn implicit_dependencies(expanded: &Expanded<'_>, spec: &ResourceSpec) -> Vec<String> {
    let referenced: HashSet<&str> = spec.properties.values().flat_map(Expr::resources).collect();
    let waits = spec.requires.iter().filter(|name| {
        let other = expanded.get(name);
        !referenced.contains(name.as_str())
            && other.is_some_and(|one| one.resource_type != SSH_KEY || !is_derived(one))
    });
    waits.cloned().collect()
}

/// Adds the resources of passes. The SSH key for the orchestrator is left out, because Heat has no use for it.
fn additions(expanded: &Expanded<'_>, edits: &mut Vec<Edit>, report: &mut Report) {
    for (name, spec) in expanded.iter().filter(|(_, spec)| is_derived(spec)) {
        if spec.resource_type == SSH_KEY {
            report.left_out(
                "",
                "The SSH key for software installation is not in the file, because Heat's agents do not use SSH",
            );
            continue;
        }
        let properties = spec
            .properties
            .iter()
            .map(|(name, value)| (name.clone(), value.to_json()));
        edits.push(Edit::AddResource {
            name: name.to_owned(),
            resource_type: spec.resource_type.clone(),
            properties: Value::Object(properties.collect()),
        });
        let waits = implicit_dependencies(expanded, spec);
        if !waits.is_empty() {
            edits.push(Edit::Set {
                path: path(&["resources", name, "depends_on"]),
                value: waits.into(),
            });
        }
        edits.push(marks::added(name));
    }
}

#[cfg(test)]
mod tests;
