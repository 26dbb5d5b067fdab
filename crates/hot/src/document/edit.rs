//! Edits: the smallest splices that make a change, and a check of the result.
//!
//! After each edit the text is parsed again and compared. If the result differs from the requested one, the edit is
//! refused, so that no unexpected form of YAML can damage a user's file.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::write;
use super::{
    Document, Edit, EditError,
    expected::{remove_at, same, same_but_empty, set_at},
    references, remove, set, splice, swap, uses,
};
use crate::{
    template::is_name,
    yaml::{Node, scalar, surrogates},
};

const RESOURCES: &str = "resources";

/// The document after `edit`. The text must have no syntax error.
pub(super) fn apply(document: &Document, edit: &Edit) -> Result<Document, EditError> {
    match edit {
        Edit::AddResource {
            name,
            resource_type,
            properties,
        } => {
            must_be_name(name)?;
            must_be_free(document, name)?;
            let mut resource =
                Map::from_iter([("type".to_owned(), Value::from(resource_type.as_str()))]);
            if properties
                .as_object()
                .is_some_and(|properties| !properties.is_empty())
            {
                resource.insert("properties".to_owned(), properties.clone());
            }
            put(
                document,
                &["resources".to_owned(), name.clone()],
                &Value::Object(resource),
            )
        }
        Edit::AddResources { resources } => add(document, resources),
        Edit::RemoveResource { name, keep } => without(document, std::slice::from_ref(name), keep),
        Edit::RemoveResources { names, keep } => without(document, names, keep),
        Edit::RenameResource { from, to } => {
            must_exist(document, from)?;
            if from == to {
                return Ok(document.clone());
            }
            must_be_name(to)?;
            must_be_free(document, to)?;
            let uses = |root: &_| references::mentions(root, from);
            rename(document, RESOURCES, from, to, uses)
        }
        Edit::RenameEntry { section, from, to } => {
            if from == to {
                return Ok(document.clone());
            }
            must_be_name(to)?;
            if document.value(&[section.key(), to]).is_some() {
                return Err(EditError::NameTaken(to.clone()));
            }
            rename(document, section.key(), from, to, |root| {
                let uses = uses::uses(root, *section, from).into_iter();
                uses.map(|one| one.span).collect()
            })
        }
        Edit::SwapItems { path, items } => swap_items(document, path, *items),
        Edit::Set { path, value } if !path.is_empty() => put(document, path, value),
        Edit::Remove { path } if !path.is_empty() => {
            remove_checked(document, std::slice::from_ref(path))
        }
        Edit::Set { .. } | Edit::Remove { .. } => {
            Err(EditError::NotPossible("the path is empty".to_owned()))
        }
    }
}

fn must_be_name(name: &str) -> Result<(), EditError> {
    if is_name(name) {
        Ok(())
    } else {
        Err(EditError::BadName(name.to_owned()))
    }
}

fn must_be_free(document: &Document, name: &str) -> Result<(), EditError> {
    if document.value(&["resources", name]).is_some() {
        Err(EditError::NameTaken(name.to_owned()))
    } else {
        Ok(())
    }
}

fn must_exist(document: &Document, name: &str) -> Result<(), EditError> {
    if document.value(&["resources", name]).is_some() {
        Ok(())
    } else {
        Err(EditError::NotFound(name.to_owned()))
    }
}

/// Adds all resources or none.
fn add(document: &Document, resources: &Map<String, Value>) -> Result<Document, EditError> {
    let there = names_of(document);
    for name in resources.keys() {
        must_be_name(name)?;
        if there.contains(name.as_str()) {
            return Err(EditError::NameTaken(name.clone()));
        }
    }
    if resources.is_empty() {
        return Ok(document.clone());
    }
    let splices = set::extend(document.text(), document.root(), RESOURCES, resources)?;
    let text = splice::apply(document.text(), splices);
    let bytes_max = document.inner.limits.bytes_max;
    if text.len() > bytes_max {
        return Err(EditError::NotPossible(format!(
            "the template would be longer than {} KiB",
            bytes_max / 1024
        )));
    }
    let after = document.with_text(text);
    let mut expected = initial_value(document);
    for (name, value) in resources {
        set_at(&mut expected, &[RESOURCES, name], value.clone());
    }
    if has_value(&after, &expected) {
        Ok(after)
    } else {
        Err(EditError::NotPossible(format!(
            "the lines of `{RESOURCES}` have an unsupported notation"
        )))
    }
}

/// Value of the document. An empty document gets a version with its first entry.
fn initial_value(document: &Document) -> Value {
    match document.root() {
        Some(_) => document.value(&[]).unwrap_or_default(),
        None => json!({"heat_template_version": "2021-04-16"}),
    }
}

fn put(document: &Document, path: &[String], value: &Value) -> Result<Document, EditError> {
    let changes = set::set(document.text(), document.root(), path, value)?;
    let mut expected = initial_value(document);
    set_at(&mut expected, path, value.clone());
    checked_edit(document, changes, path, &expected)
}

/// Document with this value.
pub(super) fn replace_value(document: &Document, value: &Value) -> Result<Document, EditError> {
    let Some(root) = document.root() else {
        return Err(EditError::NotPossible("the template is empty".to_owned()));
    };
    let writer = set::Writer::of(document.text(), root);
    let changes = writer.changes_to(root, set::Holder::Root, &[], value)?;
    checked_edit(document, changes, &[], value)
}

/// Document with changes at `path`, if the result has the expected value.
fn checked_edit(
    document: &Document,
    changes: set::Changes,
    path: &[String],
    expected: &Value,
) -> Result<Document, EditError> {
    let mut after = if changes.splices.is_empty() {
        document.clone()
    } else {
        document.with_text(splice::apply(document.text(), changes.splices))
    };
    if !changes.gone.is_empty() && after.is_readable() {
        after = remove_unchecked(&after, &changes.gone)?;
    }
    if has_value(&after, expected) {
        Ok(after)
    } else {
        Err(EditError::NotPossible(match path {
            [] => "its lines have an unsupported notation".to_owned(),
            path => format!(
                "the lines around `{}` have an unsupported notation",
                path.join(".")
            ),
        }))
    }
}

/// True if the text can be parsed and has this value.
fn has_value(after: &Document, expected: &Value) -> bool {
    let read = || after.value(&[]).is_some_and(|read| same(&read, expected));
    after.is_readable() && read()
}

/// Document without the values at the paths, if the rest is unchanged.
fn remove_checked(document: &Document, paths: &[Vec<String>]) -> Result<Document, EditError> {
    let after = remove_unchecked(document, paths)?;
    let mut expected = document.value(&[]).unwrap_or_default();
    remove_at(&mut expected, paths);
    let read = after.value(&[]).unwrap_or_default();
    if after.is_readable() && same_but_empty(&read, &expected) {
        Ok(after)
    } else {
        Err(EditError::NotPossible(format!(
            "the lines around `{}` have an unsupported notation",
            paths[0].join(".")
        )))
    }
}

/// Document without the values at the paths, unchecked.
fn remove_unchecked(document: &Document, paths: &[Vec<String>]) -> Result<Document, EditError> {
    let Some(root) = document.root() else {
        return Err(EditError::NotFound(paths[0].join(".")));
    };
    let splices = remove::remove(document.text(), root, paths)?;
    Ok(document.with_text(splice::apply(document.text(), splices)))
}

/// Document without these resources and the references to them.
fn without(
    document: &Document,
    names: &[String],
    keep: &[(String, String)],
) -> Result<Document, EditError> {
    let there = names_of(document);
    if let Some(missing) = names.iter().find(|name| !there.contains(name.as_str())) {
        return Err(EditError::NotFound(missing.clone()));
    }
    let Some(root) = document.root().filter(|_| !names.is_empty()) else {
        return Ok(document.clone());
    };
    let gone: HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut paths = references::removable(root, &gone, keep);
    let own = names
        .iter()
        .map(|name| vec![RESOURCES.to_owned(), name.clone()]);
    paths.extend(own);
    remove_checked(document, &paths)
}

/// Names of all resources.
fn names_of(document: &Document) -> HashSet<&str> {
    document
        .root()
        .and_then(|root| root.entry(RESOURCES)?.value.entries())
        .unwrap_or_default()
        .iter()
        .map(|entry| entry.key.as_str())
        .collect()
}

fn swap_items(
    document: &Document,
    path: &[String],
    items: (usize, usize),
) -> Result<Document, EditError> {
    let Some(root) = document.root() else {
        return Err(EditError::NotFound(path.join(".")));
    };
    let mut expected = document.value(&[]).unwrap_or_default();
    let list = path.iter().try_fold(&mut expected, |at, key| match at {
        Value::Object(map) => map.get_mut(key),
        Value::Array(list) => list.get_mut(key.parse::<usize>().ok()?),
        _ => None,
    });
    if let Some(Value::Array(list)) = list
        && items.0.max(items.1) < list.len()
    {
        list.swap(items.0, items.1);
    }
    if items.0 == items.1 {
        return Ok(document.clone());
    }
    let splices = swap::swap(document.text(), root, path, items)?;
    checked_edit(document, splices.into(), path, &expected)
}

/// Renames an entry of a section and the uses of its name.
fn rename(
    document: &Document,
    section: &str,
    from: &str,
    to: &str,
    uses: impl Fn(&Node) -> Vec<std::ops::Range<usize>>,
) -> Result<Document, EditError> {
    let root = document
        .root()
        .ok_or_else(|| EditError::NotFound(from.to_owned()))?;
    let key = root
        .entry(section)
        .and_then(|section| section.value.entry(from))
        .ok_or_else(|| EditError::NotFound(from.to_owned()))?;
    let spans = uses(root).into_iter().chain([key.key_span.clone()]);
    // Quotes stay, except those that only the old name needed, because an edit can have added them. The characters of a
    // name need no escapes in quotes. A name of punctuation only can have another meaning in YAML: `-` is an item,
    // `...` an end.
    let is_plain = |name: &str| {
        matches!(scalar::resolve(name), Value::String(_))
            && name.contains(|letter: char| letter != '-' && letter != '.')
    };
    let needed = !is_plain(from) && !surrogates::is_json(document.text());
    let written = |span: std::ops::Range<usize>| match document.text().as_bytes().get(span.start) {
        Some(b'"') if !needed => format!("\"{to}\""),
        Some(b'\'') => format!("'{to}'"),
        _ if is_plain(to) => to.to_owned(),
        _ => write::key_text(to, write::Around::Flow),
    };
    let splices = spans
        .map(|span| splice::Splice::replace(span.clone(), written(span)))
        .collect();
    let after = document.with_text(splice::apply(document.text(), splices));
    if after.is_readable() && after.value(&[section, to]).is_some() {
        Ok(after)
    } else {
        Err(EditError::NotPossible(format!(
            "`{from}` has an unsupported notation"
        )))
    }
}
