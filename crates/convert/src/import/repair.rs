//! The last step: removes the values that validation refuses.
//!
//! CloudFormation's values are less restricted than OpenStack's (a name instead of a number, an attribute that does not
//! exist), and no conversion table covers all of them. So the result is validated like any template. Refused values are
//! removed, with the reason in the report. A resource without a required property becomes a placeholder until the user
//! sets the property.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use hot::diagnostic::Diagnostic;
use hot::document::{Document, yaml_text};
use planner::cloud::CloudFacts;
use planner::validate::validate;
use serde_json::{Map, Value, json};
use types::Registry;

use crate::import::context::Importer;
use crate::import::resources::NOTHING;

/// Maximum number of validations. Removing a value can reveal another problem.
const PASSES_MAX: usize = 4;

pub(crate) fn repair(importer: &mut Importer<'_>, out: &mut Map<String, Value>) {
    let types = Registry::openstack();
    for _ in 0..PASSES_MAX {
        let mut root = Value::Object(std::mem::take(out));
        let document = Document::parse(yaml_text(&root));
        let found = validate(&document, &types, &CloudFacts::default());
        let mut is_changed = false;
        let mut lists: BTreeMap<Vec<String>, BTreeSet<usize>> = BTreeMap::new();
        for one in found.iter().filter(|one| one.is_error()) {
            let Some(place) = place(&root, &one.path) else {
                is_changed |= held(importer, &mut root, one);
                continue;
            };
            if take_out(&mut root, &place) {
                is_changed = true;
                if let Some((list, index)) = item_of_list(&root, &place) {
                    lists.entry(list.to_vec()).or_default().insert(index);
                }
                let path = source_path(importer, &place);
                importer.left_out(&path, format!("{}: {}", place.join("."), one.message));
            }
        }
        // Inner lists first, because shortening an outer list changes the indices inside it.
        let mut lists: Vec<_> = lists.into_iter().collect();
        lists.sort_by_key(|(list, _)| Reverse(list.len()));
        for (list, dropped) in &lists {
            if let Some(Value::Array(items)) = found_mut(&mut root, list) {
                let mut index = 0..;
                items.retain(|_| index.next().is_none_or(|index| !dropped.contains(&index)));
            }
        }
        if let Value::Object(root) = root {
            *out = root;
        }
        if !is_changed {
            return;
        }
    }
}

/// Replaces a resource without a required property by a placeholder, and an invalid condition by true.
fn held(importer: &mut Importer<'_>, root: &mut Value, found: &Diagnostic) -> bool {
    let parts: Vec<&str> = found.path.split('.').collect();
    match parts.as_slice() {
        ["conditions", name, ..] => {
            let Some(condition) = root["conditions"].get_mut(*name) else {
                return false;
            };
            if *condition == true {
                return false;
            }
            *condition = Value::Bool(true);
            let message = format!("The condition is always true here: {}", found.message);
            importer.changed(&format!("Conditions.{name}"), message);
            true
        }
        ["resources", name] if found.code == "property-missing" => {
            let written = importer.type_of(name);
            let Some(resource) = root["resources"].get_mut(*name) else {
                return false;
            };
            if resource["type"] == NOTHING {
                return false;
            }
            let hot = std::mem::replace(&mut resource["type"], NOTHING.into());
            if resource.get("metadata").is_none() {
                resource["metadata"] = match written {
                    "" => json!({"replaces": hot}),
                    written => json!({"cloudformation": {"type": written}}),
                };
            }
            let place = ["resources".to_owned(), (*name).to_owned()];
            importer.needed(
                &source_path(importer, &place),
                format!(
                    "{}. An `{NOTHING}` keeps its place until you replace it",
                    found.message
                ),
            );
            true
        }
        _ => false,
    }
}

/// The path to remove: a property or a part of it, an output's value, or a dependency. Never a resource.
fn place(root: &Value, path: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = path.split('.').collect();
    let least = match parts.as_slice() {
        ["resources", _, "properties", ..] => 4,
        ["resources", _, "depends_on", ..] => 3,
        ["resources", _, "metadata" | "deletion_policy", ..] => 3,
        ["parameters", _, "default"] => 3,
        ["parameters", _, "constraints", _, ..] => 4,
        ["outputs", _, "value", ..] => 3,
        _ => return None,
    };
    // A constraint is removed as a whole.
    let most = if parts[0] == "parameters" {
        least
    } else {
        usize::MAX
    };
    let mut place = Vec::new();
    let mut at = root;
    for part in parts.into_iter().take(most) {
        let Some(below) = below(at, part) else { break };
        // A call is removed as a whole, because single arguments have no meaning.
        if at.as_object().is_some_and(is_call) && place.len() >= least {
            break;
        }
        // The same for an `if` without its condition.
        if is_argument_of_if(&place) && part == "0" && place.len() > least {
            place.pop();
            break;
        }
        place.push(part.to_owned());
        at = below;
    }
    (place.len() >= least).then_some(place)
}

fn is_call(map: &Map<String, Value>) -> bool {
    const CALLS: [&str; 4] = ["get_attr", "get_resource", "get_param", "get_file"];
    map.len() == 1 && map.keys().all(|key| CALLS.contains(&key.as_str()))
}

fn is_argument_of_if(list: &[String]) -> bool {
    list.last().is_some_and(|last| last == "if")
}

/// The list that contains this item, if later items move up after its removal. A branch of `if` becomes null instead,
/// because the other branch would take its place.
fn item_of_list<'p>(root: &Value, place: &'p [String]) -> Option<(&'p [String], usize)> {
    let (last, list) = place.split_last()?;
    if is_argument_of_if(list) {
        return None;
    }
    let items = list.iter().try_fold(root, below)?;
    items.is_array().then(|| Some((list, last.parse().ok()?)))?
}

/// Removes a value. An output is kept with a null value.
fn take_out(root: &mut Value, place: &[String]) -> bool {
    let Some((last, above)) = place.split_last() else {
        return false;
    };
    let Some(at) = found_mut(root, above) else {
        return false;
    };
    match at {
        Value::Object(map)
            if place[0] == "outputs" || above.iter().any(|part| part == "params") =>
        {
            let was = map.insert(last.clone(), Value::Null);
            was.is_some_and(|was| !was.is_null())
        }
        Value::Object(map) => map.shift_remove(last).is_some(),
        Value::Array(items) => match last
            .parse::<usize>()
            .ok()
            .and_then(|index| items.get_mut(index))
        {
            // Later items keep their indices until the end of this pass.
            Some(item) if !item.is_null() => {
                *item = Value::Null;
                true
            }
            _ => false,
        },
        _ => false,
    }
}

fn below(at: &Value, part: impl AsRef<str>) -> Option<&Value> {
    let part = part.as_ref();
    match at {
        Value::Object(map) => map.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    }
}

fn found_mut<'v>(root: &'v mut Value, place: &[String]) -> Option<&'v mut Value> {
    place.iter().try_fold(root, |at, part| match at {
        Value::Object(map) => map.get_mut(part),
        Value::Array(items) => items.get_mut(part.parse::<usize>().ok()?),
        _ => None,
    })
}

/// The place in the original text.
fn source_path(importer: &Importer<'_>, place: &[String]) -> String {
    let name = place.get(1).map(String::as_str).unwrap_or_default();
    match place.first().map(String::as_str) {
        Some("outputs") => format!("Outputs.{name}"),
        Some("parameters") => format!("Parameters.{name}"),
        _ if importer.resources.contains_key(name) => format!("Resources.{name}"),
        _ => "Resources".to_owned(),
    }
}
