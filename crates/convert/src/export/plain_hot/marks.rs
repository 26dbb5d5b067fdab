//! What an export changed, said in the export, so that the way back is known.
//!
//! A design that leaves as plain HOT may come back: someone kept only the file, or mended it by hand. So what passes added says
//! that it was added, and what was drawn says how it was drawn before, under `metadata.stackloom.exported`, which Heat keeps and
//! does not read:
//!
//! | mark | on | the way back |
//! | --- | --- | --- |
//! | `added` | what a deployment adds | it goes, unless something that stays refers to it by now |
//! | a map with `item` | software | the component; inputs are read from the deployment, so that a change there is kept; outputs that ask what only its role tells ask again |
//! | text | any other drawn resource | the type and the properties as they were |
//!
//! That text is JSON and not a map, because Heat would resolve the functions in a map, and wait for what they name.

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

/// On what passes made.
const ADDED: &str = "added";
/// Before a catalogue item's name, as a type.
const CATALOG: &str = "Stackloom::Catalog::";

/// Where a resource's mark stands.
pub(super) fn place(resource: &str) -> Vec<String> {
    path(&["resources", resource, "metadata", "stackloom", "exported"])
}

/// The mark of something added.
pub(super) fn added(resource: &str) -> Edit {
    Edit::Set {
        path: place(resource),
        value: json!(ADDED),
    }
}

/// The mark of a component: what its deployment does not say.
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
    if let Some(waits) = resource.get("depends_on") {
        mark["waits"] = waits.clone();
    }
    mark
}

/// On a component: an output that asks what only its role can tell, as it was and as it stands now. JSON too, for the same
/// reason.
pub(super) fn output(component: &str, name: &str, was: &Value, now: &Value) -> Edit {
    let mut at = place(component);
    at.extend(path(&["outputs", name]));
    Edit::Set {
        path: at,
        value: json!(json!([was, now]).to_string()),
    }
}

/// Marks of the drawn resources that edits change; those that have one already stay as they are.
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

/// Whether its metadata can hold a mark: what is computed cannot.
pub(super) fn takes_marks(resource: &Value) -> bool {
    match resource.get("metadata") {
        None | Some(Value::Null) => true,
        Some(metadata) => metadata.is_object() && call(metadata).is_none(),
    }
}

/// The design that an export was made from, with what was changed in the export since; nothing where no mark of ours stands in
/// it.
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
                let full = format!("{CATALOG}{item}");
                let known = types.get(&full).and_then(|one| one.component.as_ref());
                let properties = component_properties(resources, &resources[*name], mark, known);
                let outputs = mark.get("outputs").and_then(Value::as_object);
                let outputs = outputs.into_iter().flatten();
                edits.extend(outputs.filter_map(|(name, mark)| asked_again(document, name, mark)));
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
    // What software tells hangs on the addresses that stand in the export, so it is asked before these go.
    let with_software = edited(document, &software);
    let asked = questions(&with_software, types);
    let drawn = edited(&with_software, &edits);
    edits = told_again(&drawn, &asked);
    let drawn = edited(&drawn, &edits);
    edits = gone(&drawn, &added);
    let text = edited(&drawn, &edits).text().to_owned();
    Some(without_comment(&text).to_owned())
}

fn mark_of(resource: &Value) -> Option<&Value> {
    resource.get("metadata")?.get("stackloom")?.get("exported")
}

/// Type and properties as the mark's text says.
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

/// An output as it was, if it still is as the export left it.
fn asked_again(document: &Document, name: &str, mark: &Value) -> Option<Edit> {
    let [was, left]: [Value; 2] = serde_json::from_str(mark.as_str()?).ok()?;
    let now = document.value(&["outputs", name, "value"])?;
    (now == left).then(|| Edit::Set {
        path: path(&["outputs", name, "value"]),
        value: was,
    })
}

/// What a resource waited for before; nothing where it is null.
fn waited(name: &str, waits: &Value) -> Edit {
    let path = path(&["resources", name, "depends_on"]);
    match waits.clone() {
        Value::Null => Edit::Remove { path },
        value => Edit::Set { path, value },
    }
}

/// A component's properties: the host and the inputs from the deployment, the connections from the mark.
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
    let is_requirement = |name: &str| {
        uses.is_some_and(|uses| uses.contains_key(name))
            || item.is_some_and(|item| item.requires.iter().any(|one| one.name == name))
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
        let is_said = given.contains(name.as_str()) || !is_default(name, value);
        if is_said && !is_requirement(name) {
            properties.insert(name.clone(), value.clone());
        }
    }
    Value::Object(properties)
}

/// Whether an input says what its configuration says anyhow, as far as that is known without the item: defaults are texts there,
/// and a requirement that nothing is used for is an empty list.
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

/// By an output's text: what it becomes, and what asks for it.
type Asked = HashMap<String, Vec<(Value, Value)>>;

/// All that the software of a design can be asked.
fn questions(document: &Document, types: &Registry) -> Asked {
    let expanded = Expanded::plain(document.template(), types);
    let mut asked = Asked::new();
    for (name, spec) in expanded.iter() {
        let outputs = expanded.item(spec).map(|item| item.outputs.iter());
        for output in outputs.into_iter().flatten() {
            let question = json!({"get_attr": [name, output.name]});
            let told = expanded.told(&question);
            if told != question {
                let with_text = asked.entry(output.value.clone()).or_default();
                with_text.push((told, question));
            }
        }
    }
    asked
}

/// Outputs and properties that say what software tells ask the software again.
fn told_again(document: &Document, asked: &Asked) -> Vec<Edit> {
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
        let after = asking(&before, asked);
        if after != before {
            edits.push(Edit::Set { path, value: after });
        }
    }
    edits
}

fn asking(value: &Value, asked: &Asked) -> Value {
    let template = value.pointer("/str_replace/template");
    let alike = template.and_then(|text| asked.get(text.as_str()?));
    let same = alike.and_then(|alike| alike.iter().find(|(told, _)| told == value));
    if let Some((_, question)) = same {
        return question.clone();
    }
    match value {
        Value::Array(items) => items.iter().map(|item| asking(item, asked)).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), asking(value, asked)))
            .collect(),
        scalar => scalar.clone(),
    }
}

/// Takes away what was added, but for what the rest refers to by now: that is a person's from here on.
fn gone(document: &Document, added: &BTreeSet<String>) -> Vec<Edit> {
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
    let mut kept = HashSet::new();
    while let Some(name) = wanted.pop() {
        if let Some(below) = by_name.get(name).filter(|_| kept.insert(name)) {
            wanted.extend(below);
        }
    }
    let edits = added.iter().map(|name| Edit::Remove {
        path: if kept.contains(name.as_str()) {
            place(name)
        } else {
            path(&["resources", name])
        },
    });
    edits.collect()
}

/// Without the report at its top. Where a person took its last line away, only what reads like a line of it goes.
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
