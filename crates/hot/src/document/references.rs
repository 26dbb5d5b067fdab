//! References to resources in a template: `get_resource`, `get_attr`, `depends_on`.

use std::{collections::HashSet, ops::Range};

use crate::{
    expr,
    yaml::{Entry, Kind, Node},
};

/// Scalar with the resource's name, if the node is a call that refers to a resource.
fn named(node: &Node) -> Option<&Node> {
    let Kind::Map(entries) = &node.kind else {
        return None;
    };
    let [only] = entries.as_slice() else {
        return None;
    };
    match only.key.as_str() {
        // `Ref` of the first version can also refer to a parameter, but parameters have different names.
        "get_resource" | "Ref" => Some(&only.value),
        "get_attr" => only.value.items()?.first().map(|item| &item.value),
        _ => None,
    }
}

fn is(node: &Node, name: &str) -> bool {
    matches!(&node.kind, Kind::Scalar(text) if text == name)
}

/// Positions of a resource's name, except its definition.
pub(super) fn mentions(root: &Node, name: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for resource in entries_of(root, "resources") {
        for Entry { key, value, .. } in resource.value.entries().unwrap_or_default() {
            if key == "depends_on" {
                let items = value
                    .items()
                    .unwrap_or_default()
                    .iter()
                    .map(|item| &item.value);
                found.extend(
                    items
                        .chain([value])
                        .filter(|node| is(node, name))
                        .map(|node| node.span.clone()),
                );
            } else {
                walk(value, name, &mut found);
            }
        }
    }
    for output in entries_of(root, "outputs") {
        walk(&output.value, name, &mut found);
    }
    found
}

fn walk(node: &Node, name: &str, found: &mut Vec<Range<usize>>) {
    if let Some(word) = named(node).filter(|word| is(word, name)) {
        found.push(word.span.clone());
    }
    match &node.kind {
        Kind::Map(entries) => entries
            .iter()
            .for_each(|entry| walk(&entry.value, name, found)),
        Kind::List(items) => items.iter().for_each(|item| walk(&item.value, name, found)),
        _ => {}
    }
}

/// Entries of a section.
pub(super) fn entries_of<'n>(root: &'n Node, section: &str) -> &'n [Entry] {
    root.entry(section)
        .and_then(|entry| entry.value.entries())
        .unwrap_or_default()
}

/// Paths to remove so that nothing refers to the resources any more: the list item of the reference, otherwise the
/// property, otherwise the output. Properties in `keep` (resource, property) keep the reference, and a diagnostic
/// reports it.
pub(super) fn removable(
    root: &Node,
    gone: &HashSet<&str>,
    keep: &[(String, String)],
) -> Vec<Vec<String>> {
    let keep = keep.iter();
    let keep: HashSet<(&str, &str)> = keep.map(|(of, one)| (of.as_str(), one.as_str())).collect();
    let is_kept = |resource: &str, property: &str| keep.contains(&(resource, property));
    let mut paths = Vec::new();
    for resource in entries_of(root, "resources")
        .iter()
        .filter(|resource| !gone.contains(resource.key.as_str()))
    {
        let of = |rest: &[&str]| -> Vec<String> {
            ["resources", &resource.key]
                .iter()
                .chain(rest)
                .map(|segment| (*segment).to_owned())
                .collect()
        };
        for Entry { key, value, .. } in resource.value.entries().unwrap_or_default() {
            match key.as_str() {
                "depends_on" if is_any(value, gone) => paths.push(of(&["depends_on"])),
                "depends_on" => {
                    for (index, item) in value.items().unwrap_or_default().iter().enumerate() {
                        if is_any(&item.value, gone) {
                            paths.push(of(&["depends_on", &index.to_string()]));
                        }
                    }
                }
                "properties" => {
                    for property in value.entries().unwrap_or_default() {
                        let path = of(&["properties", &property.key]);
                        if units(&property.value, &path, gone, &mut paths)
                            && !is_kept(&resource.key, &property.key)
                        {
                            paths.push(path);
                        }
                    }
                }
                _ => {
                    let path = of(&[key]);
                    if units(value, &path, gone, &mut paths) {
                        paths.push(path);
                    }
                }
            }
        }
    }
    for output in entries_of(root, "outputs") {
        if mentioned(&output.value, gone) {
            paths.push(vec!["outputs".to_owned(), output.key.clone()]);
        }
    }
    paths
}

/// Collects list items that refer to a resource. True if there is a reference outside of such items.
fn units(node: &Node, path: &[String], gone: &HashSet<&str>, paths: &mut Vec<Vec<String>>) -> bool {
    if named(node).is_some_and(|word| is_any(word, gone)) {
        return true;
    }
    let below = |key: String| path.iter().cloned().chain([key]).collect::<Vec<_>>();
    match &node.kind {
        Kind::Map(entries) => {
            // No argument of a call can be removed alone.
            if let [only] = entries.as_slice()
                && expr::is_function(&only.key)
            {
                return mentioned(&only.value, gone);
            }
            let mut direct = false;
            for entry in entries {
                direct |= units(&entry.value, &below(entry.key.clone()), gone, paths);
            }
            direct
        }
        Kind::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = below(index.to_string());
                if units(&item.value, &path, gone, paths) {
                    paths.push(path);
                }
            }
            false
        }
        _ => false,
    }
}

fn is_any(node: &Node, names: &HashSet<&str>) -> bool {
    matches!(&node.kind, Kind::Scalar(text) if names.contains(text.as_str()))
}

/// True if the node refers to one of the resources.
fn mentioned(node: &Node, names: &HashSet<&str>) -> bool {
    if named(node).is_some_and(|word| is_any(word, names)) {
        return true;
    }
    match &node.kind {
        Kind::Map(entries) => entries.iter().any(|entry| mentioned(&entry.value, names)),
        Kind::List(items) => items.iter().any(|item| mentioned(&item.value, names)),
        _ => false,
    }
}
