//! Marks in an export for the restoration of the original design.
//!
//! An exported plain HOT can be imported again, with or without edits. So each resource that passes added is marked as
//! added, and a changed resource contains its original form. The marks are in `metadata.stackloom.exported`, which Heat
//! stores and ignores:
//!
//! - `added` on a resource added by passes: it is removed, unless a remaining resource refers to it.
//! - A map with `item` on software: the component is restored. Inputs are read from the deployment, so that later
//!   changes are kept. Outputs that refer to values from the role are restored.
//! - A text on any other drawn resource: its original type and properties are restored.
//!
//! The text is JSON instead of a map, because Heat would resolve functions in a map and wait for the resources in them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use hot::document::{Document, Edit};
use hot::expr::Expr;
use planner::workflow::ResourceSpec;
use serde_json::{Map, Value, json};
use types::Registry;
use types::catalog::CatalogItem;

use super::{REPORT_END, TITLE, edited, path};
use crate::export::Kind;
use crate::export::expand::{Expanded, call, reference};

/// The mark of resources that passes added.
const ADDED: &str = "added";

/// The path of a resource's mark.
pub(super) fn place(resource: &str) -> Vec<String> {
    path(&["resources", resource, "metadata", "stackloom", "exported"])
}

/// Edit that marks an added resource.
pub(super) fn added(resource: &str) -> Edit {
    Edit::Set {
        path: place(resource),
        value: json!(ADDED),
    }
}

/// The mark of a component, with the values that its deployment does not have.
pub(super) fn component(item: &CatalogItem, spec: &ResourceSpec, resource: &Value) -> Value {
    let drawn = resource.get("properties");
    let mut uses = Map::new();
    for requirement in &item.requires {
        let used = match spec.properties.get(&requirement.name) {
            Some(Expr::List(items)) => items.iter().filter_map(reference).collect(),
            Some(one) => reference(one).map_or(Value::Null, Value::from),
            None => continue,
        };
        if drawn.is_some_and(|drawn| drawn.get(&requirement.name).is_some()) {
            uses.insert(requirement.name.clone(), used);
        }
    }
    let inputs = item.inputs.iter().map(|input| input.name.as_str());
    let given: Vec<&str> = inputs
        .filter(|name| drawn.is_some_and(|drawn| drawn.get(*name).is_some()))
        .collect();
    let mut mark = json!({"item": item.name, "uses": uses, "given": given});
    let lists = item
        .provides
        .iter()
        .filter_map(|one| one.consumers.as_ref());
    let lists: Vec<&String> = lists.collect();
    if !lists.is_empty() {
        mark["lists"] = json!(lists);
    }
    if let Some(waits) = resource.get("depends_on") {
        mark["waits"] = waits.clone();
    }
    mark
}

/// Edit that adds an output with values from the role to a component's mark: the original and the exported form, as
/// JSON for the same reason.
pub(super) fn output(component: &str, name: &str, was: &Value, now: &Value) -> Edit {
    let mut at = place(component);
    at.extend(path(&["outputs", name]));
    Edit::Set {
        path: at,
        value: json!(json!([was, now]).to_string()),
    }
}

/// Marks for the drawn resources that the edits change. Existing marks stay.
pub(super) fn changed(document: &Document, edits: &[Edit]) -> Vec<Edit> {
    let is_marked = |name: &str| {
        let mark = place(name);
        let set = |edit: &Edit| matches!(edit, Edit::Set { path, .. } if *path == mark);
        edits.iter().any(set)
    };
    let mut before: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for edit in edits {
        let (Edit::Set { path, .. } | Edit::Remove { path }) = edit else {
            continue;
        };
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let ["resources", name, rest @ ..] = path.as_slice() else {
            continue;
        };
        let was = || document.value(&path).unwrap_or(Value::Null);
        match rest {
            [word @ ("type" | "depends_on")] => {
                let marks = before.entry(name).or_default();
                marks.insert((*word).to_owned(), was());
            }
            ["properties", property] => {
                let marks = before.entry(name).or_default();
                let properties = marks.entry("properties").or_insert_with(|| json!({}));
                properties[*property] = was();
            }
            _ => {}
        }
    }
    let drawn = before.into_iter().filter(|(name, _)| {
        let resource = document.value(&["resources", name]);
        resource.is_some_and(|resource| takes_marks(&resource)) && !is_marked(name)
    });
    drawn
        .map(|(name, marks)| Edit::Set {
            path: place(name),
            value: json!(Value::Object(marks).to_string()),
        })
        .collect()
}

/// Whether the resource's metadata can contain a mark. Computed metadata cannot.
pub(super) fn takes_marks(resource: &Value) -> bool {
    match resource.get("metadata") {
        None | Some(Value::Null) => true,
        Some(metadata) => metadata.is_object() && call(metadata).is_none(),
    }
}

/// The original design of an export, with later changes of the export. `None` without any mark.
pub(crate) fn restored(document: &Document, types: &Registry) -> Option<String> {
    let resources = document.value(&["resources"])?;
    let resources = resources.as_object()?;
    let marks: Vec<(&str, &Value)> = resources
        .iter()
        .filter_map(|(name, resource)| Some((name.as_str(), mark_of(resource)?)))
        .collect();
    if marks.is_empty() {
        return None;
    }
    let mut software = Vec::new();
    let mut edits = Vec::new();
    let mut added = BTreeSet::new();
    for (name, mark) in &marks {
        let at = |word: &str| path(&["resources", name, word]);
        match mark {
            Value::String(word) if word == ADDED => {
                added.insert((*name).to_owned());
                continue;
            }
            Value::String(text) => as_drawn(name, text, &mut edits),
            Value::Object(mark) => {
                let Some(item) = mark.get("item").and_then(Value::as_str) else {
                    continue;
                };
                let full = format!("{}{item}", types::CATALOG);
                let known = types.get(&full).and_then(|one| one.component.as_ref());
                let properties = component_properties(resources, &resources[*name], mark, known);
                let outputs = mark.get("outputs").and_then(Value::as_object);
                let outputs = outputs.into_iter().flatten();
                edits.extend(
                    outputs.filter_map(|(name, mark)| restored_output(document, name, mark)),
                );
                software.push(Edit::Set {
                    path: at("type"),
                    value: json!(full),
                });
                software.push(Edit::Set {
                    path: at("properties"),
                    value: properties,
                });
            }
            _ => continue,
        }
        if mark.is_object() {
            edits.push(waited(name, mark.get("waits").unwrap_or(&Value::Null)));
        }
        edits.push(Edit::Remove { path: place(name) });
    }
    // Outputs of software contain the addresses in the export, so their references are restored before the addresses
    // are removed.
    let with_software = edited(document, &software);
    let references = output_references(&with_software, types);
    let drawn = edited(&with_software, &edits);
    edits = restored_references(&drawn, &references);
    let drawn = edited(&drawn, &edits);
    edits = removed_additions(&drawn, &added);
    let text = edited(&drawn, &edits).text().to_owned();
    Some(without_comment(&text).to_owned())
}

fn mark_of(resource: &Value) -> Option<&Value> {
    resource.get("metadata")?.get("stackloom")?.get("exported")
}

/// Restores type and properties from the mark's text.
fn as_drawn(name: &str, text: &str, edits: &mut Vec<Edit>) {
    let Ok(Value::Object(before)) = serde_json::from_str(text) else {
        return;
    };
    if let Some(kind) = before.get("type").filter(|kind| kind.is_string()) {
        edits.push(Edit::Set {
            path: path(&["resources", name, "type"]),
            value: kind.clone(),
        });
    }
    if let Some(waits) = before.get("depends_on") {
        edits.push(waited(name, waits));
    }
    let properties = before.get("properties").and_then(Value::as_object);
    for (property, value) in properties.into_iter().flatten() {
        let path = path(&["resources", name, "properties", property]);
        edits.push(match value.clone() {
            Value::Null => Edit::Remove { path },
            value => Edit::Set { path, value },
        });
    }
}

/// Restores an output, if it is still unchanged since the export.
fn restored_output(document: &Document, name: &str, mark: &Value) -> Option<Edit> {
    let [was, left]: [Value; 2] = serde_json::from_str(mark.as_str()?).ok()?;
    let now = document.value(&["outputs", name, "value"])?;
    (now == left).then(|| Edit::Set {
        path: path(&["outputs", name, "value"]),
        value: was,
    })
}

/// Restores the original `depends_on`. Null means none.
fn waited(name: &str, waits: &Value) -> Edit {
    let path = path(&["resources", name, "depends_on"]);
    match waits.clone() {
        Value::Null => Edit::Remove { path },
        value => Edit::Set { path, value },
    }
}

/// A component's properties: host and inputs from the deployment, connections from the mark.
fn component_properties(
    resources: &Map<String, Value>,
    deployment: &Value,
    mark: &Map<String, Value>,
    item: Option<&CatalogItem>,
) -> Value {
    let mut properties = Map::new();
    let now = &deployment["properties"];
    if let Some(host) = now.get("server").filter(|host| !host.is_null()) {
        properties.insert("host".to_owned(), host.clone());
    }
    let to = |name: &Value| json!({"get_resource": name});
    let uses = mark.get("uses").and_then(Value::as_object);
    for (requirement, used) in uses.into_iter().flatten() {
        let used = match used {
            Value::Array(names) => names.iter().map(to).collect(),
            name => to(name),
        };
        properties.insert(requirement.clone(), used);
    }
    let lists = mark.get("lists").and_then(Value::as_array);
    let is_from_connections = |name: &str| {
        uses.is_some_and(|uses| uses.contains_key(name))
            || lists.is_some_and(|lists| lists.iter().any(|list| list == name))
            || item.is_some_and(|item| item.is_from_connections(name))
    };
    let is_default = |name: &str, value: &Value| match item {
        Some(item) => {
            let input = item.inputs.iter().find(|one| one.name == name);
            input.is_some_and(|one| one.default.as_ref() == Some(value))
        }
        None => is_configured(resources, now, name, value),
    };
    let given = mark.get("given").and_then(Value::as_array);
    let given: HashSet<&str> = given
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let values = now.get("input_values").and_then(Value::as_object);
    for (name, value) in values.into_iter().flatten() {
        let is_given = given.contains(name.as_str()) || !is_default(name, value);
        if is_given && !is_from_connections(name) {
            properties.insert(name.clone(), value.clone());
        }
    }
    Value::Object(properties)
}

/// Whether an input equals the default in its configuration, as far as it is known without the item. Defaults are text
/// there, and an unused requirement is an empty list.
fn is_configured(
    resources: &Map<String, Value>,
    deployment: &Value,
    input: &str,
    value: &Value,
) -> bool {
    let config = deployment.pointer("/config/get_resource");
    let config = config.and_then(|config| resources.get(config.as_str()?));
    let inputs = config.and_then(|config| config.pointer("/properties/inputs")?.as_array());
    let declared = inputs.and_then(|all| all.iter().find(|one| one["name"] == input));
    let default = declared.and_then(|one| one.get("default")?.as_str());
    match value {
        Value::Array(items) if items.is_empty() => true,
        Value::String(text) => default == Some(text),
        scalar => default == Some(scalar.to_string().as_str()),
    }
}

/// Pairs of the substituted value and the reference to the output, by the output's text.
type OutputReferences = HashMap<String, Vec<(Value, Value)>>;

/// All outputs of the design's software.
fn output_references(document: &Document, types: &Registry) -> OutputReferences {
    let expanded = Expanded::plain(document.template(), types);
    let mut references = OutputReferences::new();
    for (name, spec) in expanded.iter() {
        let outputs = expanded.item(spec).map(|item| item.outputs.iter());
        for output in outputs.into_iter().flatten() {
            let reference = json!({"get_attr": [name, output.name]});
            let substituted = expanded.with_outputs(&reference);
            if substituted != reference {
                let with_text = references.entry(output.value.clone()).or_default();
                with_text.push((substituted, reference));
            }
        }
    }
    references
}

/// Edits that turn substituted outputs in outputs and properties back into references.
fn restored_references(document: &Document, references: &OutputReferences) -> Vec<Edit> {
    let template = document.template();
    let outputs = template.outputs.iter();
    let outputs = outputs.map(|output| (path(&["outputs", &output.name, "value"]), &output.value));
    let properties = template.resources.iter().flat_map(|resource| {
        let at = |name: &str| path(&["resources", &resource.name, "properties", name]);
        let properties = resource.properties.iter();
        properties.map(move |property| (at(&property.name), &property.value))
    });
    let mut edits = Vec::new();
    for (path, value) in outputs.chain(properties) {
        let before = value.to_json();
        let after = with_references(&before, references);
        if after != before {
            edits.push(Edit::Set { path, value: after });
        }
    }
    edits
}

fn with_references(value: &Value, references: &OutputReferences) -> Value {
    let template = value.pointer("/str_replace/template");
    let alike = template.and_then(|text| references.get(text.as_str()?));
    let same = alike.and_then(|alike| alike.iter().find(|(substituted, _)| substituted == value));
    if let Some((_, reference)) = same {
        return reference.clone();
    }
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| with_references(item, references))
            .collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), with_references(value, references)))
            .collect(),
        scalar => scalar.clone(),
    }
}

/// Edits that remove the added resources, except those with a reference from a remaining resource. These belong to the
/// user from then on.
fn removed_additions(document: &Document, added: &BTreeSet<String>) -> Vec<Edit> {
    let template = document.template();
    let mut wanted: Vec<&str> = Vec::new();
    for output in &template.outputs {
        wanted.extend(output.value.resources());
    }
    let mut by_name = HashMap::new();
    for resource in &template.resources {
        let named = resource.properties.iter();
        let mut named: Vec<&str> = named.flat_map(|one| one.value.resources()).collect();
        named.extend(resource.depends_on.iter().map(|(name, _)| name.as_str()));
        if !added.contains(&resource.name) {
            wanted.append(&mut named);
        } else {
            by_name.insert(resource.name.as_str(), named);
        }
    }
    let mut needed = HashSet::new();
    while let Some(name) = wanted.pop() {
        if let Some(below) = by_name.get(name).filter(|_| needed.insert(name)) {
            wanted.extend(below);
        }
    }
    let edits = added.iter().map(|name| Edit::Remove {
        path: if needed.contains(name.as_str()) {
            place(name)
        } else {
            path(&["resources", name])
        },
    });
    edits.collect()
}

/// The text without the report at its top. If its last line was removed, only lines that look like a report are
/// removed.
fn without_comment(text: &str) -> &str {
    let Some(mut rest) = text
        .strip_prefix("# ")
        .and_then(|one| one.strip_prefix(TITLE))
    else {
        return text;
    };
    rest = rest.strip_prefix('\n').unwrap_or(rest);
    let noted = |text: &&str| text.starts_with("# - ");
    let notes: usize = rest
        .split_inclusive('\n')
        .take_while(noted)
        .map(str::len)
        .sum();
    let below = rest[notes..].strip_prefix(REPORT_END);
    if let Some(design) = below.and_then(|below| below.strip_prefix('\n')) {
        return design;
    }
    let is_note = |line: &&str| {
        let note = line.strip_prefix("# - ");
        let kinds = [Kind::LeftOut, Kind::Changed, Kind::Needed];
        note.is_some_and(|note| kinds.iter().any(|kind| note.starts_with(kind.word())))
    };
    let notes = rest.split_inclusive('\n').take_while(is_note);
    &rest[notes.map(str::len).sum::<usize>()..]
}
