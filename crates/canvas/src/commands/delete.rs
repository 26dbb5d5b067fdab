//! Deletes resources together with their dependents.
//!
//! A subnet without its network or software without its server has no meaning, so it is deleted too. The user first
//! sees the list with reasons. A resource that only references a deleted one loses the reference.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use hot::{document::Edit, expr::Expr, template::Resource};

use super::{CommandInput, Proposal};
use crate::drawing::{entry, interfaces, plain_reference};

/// A dependent resource that is deleted too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedDependent {
    /// Name of the resource.
    pub name: String,
    /// Title of its type, for users.
    pub title: String,
    /// The deleted resource that it depends on.
    pub with: String,
}

/// The result of a deletion.
#[derive(Clone, Debug, PartialEq)]
pub struct Deletion {
    /// The edits.
    pub proposal: Proposal,
    /// Dependents that are deleted too.
    pub dependents: Vec<DeletedDependent>,
    /// Servers that stay and lose an interface, with the network.
    pub detached: Vec<(String, String)>,
}

/// The deletion of these resources. `None` if none of them is in the template.
pub fn delete(input: &CommandInput<'_>, names: &[String]) -> Option<Deletion> {
    let requested: Vec<String> = names
        .iter()
        .filter(|name| input.resource(name).is_some())
        .cloned()
        .collect();
    let first = requested.first()?;
    let label = match requested.len() {
        1 => format!("Delete {first}"),
        count => format!("Delete {count} resources"),
    };
    let (deleted, dependents) = with_dependents(input, requested);

    // Their interfaces are removed like every other reference to a deleted resource.
    let servers = input.template.resources.iter().filter(|resource| {
        resource.resource_type == types::SERVER && !deleted.contains(&resource.name)
    });
    let detached = servers
        .flat_map(|server| {
            let lost = interfaces(input.template, server).into_iter().rev();
            lost.filter_map(|one| {
                let leads_to = [&one.port, &one.network].into_iter().flatten();
                let lost = leads_to.into_iter().find(|name| deleted.contains(*name))?;
                let network = one.network.clone().unwrap_or_else(|| lost.clone());
                Some((server.name.clone(), network))
            })
        })
        .collect();
    // All in one edit, because the text is parsed again for each edit.
    let names = deleted.into_iter().collect();
    let edits = vec![Edit::RemoveResources {
        names,
        keep: required(input),
    }];
    Some(Deletion {
        proposal: Proposal {
            label,
            edits,
            ..Proposal::default()
        },
        dependents,
        detached,
    })
}

/// Every required property, with its resource.
fn required(input: &CommandInput<'_>) -> Vec<(String, String)> {
    let resources = input.template.resources.iter();
    resources
        .flat_map(|resource| {
            let described = input.types.get(&resource.resource_type);
            let properties = described.map_or(&[][..], |described| &described.properties);
            let required = properties.iter().filter(|property| property.required);
            required.map(|property| (resource.name.clone(), property.name.clone()))
        })
        .collect()
}

/// All deleted resources, and the dependents among them in the order of the text. Dependencies are collected once,
/// because a design can have hundreds of resources.
fn with_dependents(
    input: &CommandInput<'_>,
    requested: Vec<String>,
) -> (BTreeSet<String>, Vec<DeletedDependent>) {
    let resources = &input.template.resources;
    let mut dependents_of: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut users: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, resource) in resources.iter().enumerate() {
        places.insert(&resource.name, at);
        for name in dependencies(input, resource) {
            dependents_of.entry(name).or_default().push(at);
        }
        for port in ports_of(resource) {
            users.entry(port).or_default().push(&resource.name);
        }
    }

    let mut deleted: BTreeSet<String> = requested.iter().cloned().collect();
    let mut dependents: BTreeMap<usize, DeletedDependent> = BTreeMap::new();
    let mut todo: VecDeque<String> = requested.into();
    while let Some(with) = todo.pop_front() {
        let mut next: Vec<usize> = dependents_of.get(&*with).cloned().unwrap_or_default();
        // A port used only by deleted servers.
        let server = places.get(&*with).map(|at| &resources[*at]);
        next.extend(server.into_iter().flat_map(ports_of).filter_map(|port| {
            let at = *places.get(port)?;
            let is_unused = users[port].iter().all(|user| deleted.contains(*user));
            (is_unused && resources[at].resource_type == types::PORT).then_some(at)
        }));
        for at in next {
            let Resource {
                name,
                resource_type,
                ..
            } = &resources[at];
            if deleted.insert(name.clone()) {
                todo.push_back(name.clone());
                let one = DeletedDependent {
                    name: name.clone(),
                    title: input.title(resource_type),
                    with: with.clone(),
                };
                dependents.insert(at, one);
            }
        }
    }
    (deleted, dependents.into_values().collect())
}

/// Ports of a server.
fn ports_of(server: &Resource) -> impl Iterator<Item = &str> {
    let networks = match server.property("networks") {
        Some(Expr::List(items)) if server.resource_type == types::SERVER => items.as_slice(),
        _ => &[],
    };
    let ports = networks.iter().filter_map(|item| entry(item, "port"));
    ports.filter_map(plain_reference)
}

/// Resources that this one depends on. It has no meaning without each of them.
fn dependencies<'t>(input: &CommandInput<'t>, resource: &'t Resource) -> Vec<&'t str> {
    let of_kind: &[&str] = match resource.resource_type.as_str() {
        types::SUBNET => &["network", "network_id"],
        types::PORT => &["network", "network_id"],
        types::ROUTER_INTERFACE => &[
            "router",
            "router_id",
            "subnet",
            "subnet_id",
            "port",
            "port_id",
        ],
        types::FLOATING_IP => &["port_id"],
        types::FLOATING_IP_ASSOCIATION => &["floatingip_id", "port_id"],
        name if name.starts_with(types::CATALOG) => &["host"],
        _ => &[],
    };
    // References in other required properties.
    let described = input.types.get(&resource.resource_type);
    let properties = described.map_or(&[][..], |described| &described.properties);
    let required = properties.iter().filter(|property| property.required);
    let names = required.map(|property| property.name.as_str());
    let values = of_kind.iter().copied().chain(names);
    values
        .filter_map(|name| resource.property(name).and_then(plain_reference))
        .collect()
}
