//! Quick fixes: the edits that solve a problem, offered beside it.
//!
//! A fix follows from the problem's code and path and from the document at the time it is offered, as an assist of a
//! language server does. Problems that were found earlier or by the server need no edits of their own, and an edit never
//! belongs to an older text. Each fix is one change in the history.

mod names;

use hot::{
    diagnostic::Diagnostic,
    document::{Document, Edit},
    expr::Expr,
    text::nearest,
};
use planner::cloud::CloudFacts;
use serde_json::{Value, json};
use types::{Choices, Registry};

use crate::{
    commands::{Proposal, free_cidr, unique_name, usual_flavor, usual_image},
    form::{described, parameter_for},
};

/// Maximum number of fixes for one problem.
const FIXES_MAX: usize = 3;

/// The input for quick fixes.
#[derive(Clone, Copy)]
pub struct FixInput<'a> {
    /// The document.
    pub document: &'a Document,
    /// Resource types.
    pub types: &'a Registry,
    /// Facts about the cloud.
    pub cloud: &'a CloudFacts,
}

/// Fixes of a problem, the most likely first. Their labels are those of the proposals.
pub fn fixes(input: &FixInput<'_>, problem: &Diagnostic) -> Vec<Proposal> {
    // Problems of other files have paths in those files.
    if problem.file.is_some() || !input.document.is_readable() {
        return Vec::new();
    }
    let mut fixes = match problem.code.as_str() {
        "server-without-network" => networks(input, problem),
        "network-without-subnet" => subnet(input, problem),
        "unknown-flavor"
        | "unknown-image"
        | "unknown-network"
        | "unknown-external-network"
        | "unknown-key-pair"
        | "unknown-volume-type"
        | "unknown-availability-zone" => choices(input, problem),
        "unknown-parameter" => parameters(input, problem),
        "unknown-resource" => resources(input, problem),
        "unknown-property" => property_name(input, problem),
        "property-missing" => missing(input, problem),
        "unknown-attribute" => names::attribute(input, problem),
        "unknown-condition" => names::condition(input, problem),
        "resource-type-unknown" => names::resource_type(input, problem),
        "former-name" => names::former_name(input, problem),
        "property-constraint" => names::value(input, problem),
        _ => Vec::new(),
    };
    fixes.truncate(FIXES_MAX);
    fixes
}

fn fix(label: String, edits: Vec<Edit>) -> Proposal {
    Proposal {
        label,
        edits,
        ..Proposal::default()
    }
}

fn path_of(problem: &Diagnostic) -> Vec<String> {
    problem.path.split('.').map(str::to_owned).collect()
}

fn value_at(input: &FixInput<'_>, path: &[String]) -> Option<Value> {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    input.document.value(&keys)
}

/// Attach a server to a network of the design, or to a new one.
fn networks(input: &FixInput<'_>, problem: &Diagnostic) -> Vec<Proposal> {
    let template = input.document.template();
    let Some(server) = problem
        .resource()
        .filter(|name| template.resource(name).is_some())
    else {
        return Vec::new();
    };
    let path = ["resources", server, "properties", "networks"]
        .map(str::to_owned)
        .to_vec();
    let entry = |network: &str| json!({ "network": { "get_resource": network } });
    // An entry of the list that names no network is completed.
    let broken = problem
        .path
        .rsplit_once(".networks.")
        .map(|(_, index)| index.to_owned());
    let set = |network: &str| match &broken {
        Some(index) => Edit::Set {
            path: [path.clone(), vec![index.clone(), "network".to_owned()]].concat(),
            value: json!({ "get_resource": network }),
        },
        None => Edit::Set {
            path: path.clone(),
            value: json!([entry(network)]),
        },
    };
    let drawn = template.resources.iter();
    let drawn = drawn.filter(|one| one.resource_type == types::NET);
    let mut fixes: Vec<Proposal> = drawn
        .map(|network| {
            fix(
                format!("Attach to `{}`", network.name),
                vec![set(&network.name)],
            )
        })
        .collect();
    if fixes.is_empty() {
        let network = unique_name(template, "network");
        let subnet = unique_name(template, &format!("{network}_subnet"));
        let add = |name: &str, resource_type: &str, properties: Value| Edit::AddResource {
            name: name.to_owned(),
            resource_type: resource_type.to_owned(),
            properties,
        };
        let of_subnet =
            json!({ "network": { "get_resource": network }, "cidr": free_cidr(template) });
        fixes.push(fix(
            "Add a network".to_owned(),
            vec![
                add(&network, types::NET, json!({})),
                add(&subnet, types::SUBNET, of_subnet),
                set(&network),
            ],
        ));
    }
    fixes
}

fn subnet(input: &FixInput<'_>, problem: &Diagnostic) -> Vec<Proposal> {
    let template = input.document.template();
    let network = problem.resource().and_then(|name| template.resource(name));
    let Some(network) = network.filter(|one| one.resource_type == types::NET) else {
        return Vec::new();
    };
    let properties =
        json!({ "network": { "get_resource": network.name }, "cidr": free_cidr(template) });
    let add = Edit::AddResource {
        name: unique_name(template, &format!("{}_subnet", network.name)),
        resource_type: types::SUBNET.to_owned(),
        properties,
    };
    vec![fix("Add a subnet".to_owned(), vec![add])]
}

/// Names in the cloud for a property with choices.
fn names_of(cloud: &CloudFacts, choices: Choices) -> Vec<&str> {
    match choices {
        Choices::Flavor => cloud
            .flavors
            .iter()
            .flatten()
            .map(|one| one.name.as_str())
            .collect(),
        other => {
            let list = match other {
                Choices::Image => &cloud.images,
                Choices::Network => &cloud.networks,
                Choices::ExternalNetwork => &cloud.external_networks,
                Choices::KeyPair => &cloud.key_pairs,
                Choices::AvailabilityZone => &cloud.availability_zones,
                _ => &cloud.volume_types,
            };
            list.iter().flatten().map(|one| one.name.as_str()).collect()
        }
    }
}

/// The usual choice of a property for a new resource.
fn usual(input: &FixInput<'_>, choices: Choices) -> Option<String> {
    match choices {
        Choices::Flavor => usual_flavor(input.cloud),
        Choices::Image => usual_image(input.cloud),
        other => names_of(input.cloud, other)
            .first()
            .map(|name| (*name).to_owned()),
    }
}

/// Use the object of the cloud with the most similar name, or the usual one.
fn choices(input: &FixInput<'_>, problem: &Diagnostic) -> Vec<Proposal> {
    let path = path_of(problem);
    let Some(choices) = described(input.document.template(), input.types, &path)
        .and_then(|property| property.choices)
    else {
        return Vec::new();
    };
    let (path, wrong) = match value_at(input, &path) {
        Some(Value::String(wrong)) => (path, wrong),
        // The wrong name is the default of a parameter.
        Some(Value::Object(call)) => {
            let Some(name) = call.get("get_param").and_then(Value::as_str) else {
                return Vec::new();
            };
            let path = ["parameters", name, "default"].map(str::to_owned).to_vec();
            match value_at(input, &path) {
                Some(Value::String(wrong)) => (path, wrong),
                _ => return Vec::new(),
            }
        }
        _ => return Vec::new(),
    };
    let near = nearest(&wrong, names_of(input.cloud, choices)).map(str::to_owned);
    let mut names: Vec<String> = near.into_iter().chain(usual(input, choices)).collect();
    names.dedup();
    let edit = |name: &String| Edit::Set {
        path: path.clone(),
        value: json!(name),
    };
    names
        .iter()
        .map(|name| fix(format!("Use `{name}`"), vec![edit(name)]))
        .collect()
}

/// Make the parameter that is missing, or use the one with the most similar name.
fn parameters(input: &FixInput<'_>, problem: &Diagnostic) -> Vec<Proposal> {
    let template = input.document.template();
    let path = path_of(problem);
    let Some(value) = value_at(input, &path) else {
        return Vec::new();
    };
    let is_known = |name: &str| {
        template.parameters.iter().any(|one| one.name == name)
            || hot::parameter::PSEUDO_PARAMETERS.contains(&name)
    };
    let Some((at, name)) = call_in(&value, "get_param", &|name| !is_known(name)) else {
        return Vec::new();
    };
    let make = Edit::Set {
        path: ["parameters", name].map(str::to_owned).to_vec(),
        value: parameter_for(
            template,
            input.types,
            &[path.clone(), at.clone()].concat(),
            name,
        ),
    };
    let mut fixes = vec![fix(format!("Make parameter `{name}`"), vec![make])];
    if let Some(near) = nearest(name, template.parameters.iter().map(|one| &*one.name)) {
        fixes.insert(
            0,
            fix(
                format!("Use parameter `{near}`"),
                vec![renamed(&path, at, "get_param", &value, near)],
            ),
        );
    }
    fixes
}

/// Use the resource with the most similar name.
fn resources(input: &FixInput<'_>, problem: &Diagnostic) -> Vec<Proposal> {
    let template = input.document.template();
    let path = path_of(problem);
    let Some(value) = value_at(input, &path) else {
        return Vec::new();
    };
    let own = problem.resource();
    let names = || template.resources.iter().map(|one| &*one.name);
    let is_missing = |name: &str| names().all(|known| known != name);
    let mut fixes = Vec::new();
    for function in ["get_resource", "get_attr"] {
        let Some((at, wrong)) = call_in(&value, function, &is_missing) else {
            continue;
        };
        // Resources that fit the property come after the one with a similar name.
        let targets = described(template, input.types, &path)
            .and_then(|property| property.reference.as_ref())
            .map(|reference| reference.to.as_slice())
            .unwrap_or_default();
        let fitting = template.resources.iter();
        let fitting = fitting
            .filter(|one| targets.contains(&one.resource_type) && Some(one.name.as_str()) != own)
            .map(|one| &*one.name);
        let mut found: Vec<&str> = nearest(wrong, names().filter(|name| Some(*name) != own))
            .into_iter()
            .chain(fitting)
            .collect();
        let mut seen = std::collections::BTreeSet::new();
        found.retain(|name| seen.insert(*name));
        fixes.extend(found.into_iter().map(|name| {
            fix(
                format!("Use `{name}`"),
                vec![renamed(&path, at.clone(), function, &value, name)],
            )
        }));
    }
    fixes
}

/// The first call of a function with a name that `is_wanted`, and its path.
fn call_in<'v>(
    value: &'v Value,
    function: &str,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Option<(Vec<String>, &'v str)> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => {
            let name = match map.get(function) {
                Some(Value::Array(items)) => items.first().and_then(Value::as_str),
                Some(other) => other.as_str(),
                None => None,
            };
            if let Some(name) = name.filter(|name| map.len() == 1 && is_wanted(name)) {
                return Some((Vec::new(), name));
            }
            map.iter()
                .map(|(key, value)| (key.clone(), value))
                .collect()
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, value)| (index.to_string(), value))
                .collect()
        }
        _ => return None,
    };
    children.into_iter().find_map(|(key, value)| {
        let (mut path, name) = call_in(value, function, is_wanted)?;
        path.insert(0, key);
        Some((path, name))
    })
}

/// The edit that gives the call at `at` below `path` another name.
fn renamed(path: &[String], at: Vec<String>, function: &str, value: &Value, name: &str) -> Edit {
    let call = at.iter().try_fold(value, |value, key| match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    });
    let mut full = [path.to_vec(), at.clone()].concat();
    full.push(function.to_owned());
    if call.is_some_and(|call| call[function].is_array()) {
        full.push("0".to_owned());
    }
    Edit::Set {
        path: full,
        value: json!(name),
    }
}

/// Rename a property to the most similar one, or remove it.
fn property_name(input: &FixInput<'_>, problem: &Diagnostic) -> Vec<Proposal> {
    let path = path_of(problem);
    let (Some(value), Some((wrong, parent))) = (value_at(input, &path), path.split_last()) else {
        return Vec::new();
    };
    let remove = Edit::Remove { path: path.clone() };
    let mut fixes = Vec::new();
    let keys = names::keys_below(input, parent);
    let is_free =
        |name: &str| value_at(input, &[parent.to_vec(), vec![name.to_owned()]].concat()).is_none();
    let known = keys.unwrap_or_default().iter();
    let known = known
        .filter(|key| !key.unsupported && is_free(&key.name))
        .map(|key| &*key.name);
    if let Some(near) = nearest(wrong, known) {
        let set = Edit::Set {
            path: [parent.to_vec(), vec![near.to_owned()]].concat(),
            value,
        };
        fixes.push(fix(
            format!("Change to `{near}`"),
            vec![set, remove.clone()],
        ));
    }
    fixes.push(fix(format!("Remove `{wrong}`"), vec![remove]));
    fixes
}

/// Set a property that is needed to its usual value.
fn missing(input: &FixInput<'_>, problem: &Diagnostic) -> Vec<Proposal> {
    let template = input.document.template();
    let Some(resource) = problem.resource().and_then(|name| template.resource(name)) else {
        return Vec::new();
    };
    let Some(described) = input.types.get(&resource.resource_type) else {
        return Vec::new();
    };
    let is_at_resource = problem.path == format!("resources.{}", resource.name)
        || problem.path == format!("resources.{}.properties", resource.name);
    if !is_at_resource {
        return Vec::new();
    }
    let is_named = |name: &str| problem.message.contains(&format!("`{name}`"));
    let is_set = |name: &str| {
        resource
            .property(name)
            .is_some_and(|value| *value != Expr::Literal(Value::Null))
    };
    let set = |name: &str, value: Value| Edit::Set {
        path: ["resources", &resource.name, "properties", name]
            .map(str::to_owned)
            .to_vec(),
        value,
    };
    let mut fixes = Vec::new();
    let properties = described.properties.iter();
    for property in properties.filter(|one| is_named(&one.name) && !is_set(&one.name)) {
        let name = property.name.as_str();
        if let Some(reference) = &property.reference {
            let targets = template.resources.iter();
            let targets = targets.filter(|one| {
                one.name != resource.name && reference.to.contains(&one.resource_type)
            });
            fixes.extend(targets.map(|target| {
                let value = json!({ "get_resource": target.name });
                fix(format!("Use `{}`", target.name), vec![set(name, value)])
            }));
        }
        let value = match (name, property.choices) {
            ("cidr", _) => Some(json!(free_cidr(template))),
            ("size", _) if resource.resource_type == "OS::Cinder::Volume" => Some(json!(10)),
            (_, Some(choices)) => usual(input, choices).map(Value::from),
            _ => None,
        };
        if let Some(value) = value {
            let shown = hot::parameter::as_string(&value);
            fixes.push(fix(
                format!("Set `{name}` to `{shown}`"),
                vec![set(name, value)],
            ));
        }
    }
    fixes
}

#[cfg(test)]
mod tests;
