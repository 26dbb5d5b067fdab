//! Removing resources, with what cannot be without them.
//!
//! A subnet without its network or software without its server means nothing: it goes along, and the
//! person sees beforehand what and why. What merely mentions a removed resource loses the mention.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use hot::{document::Edit, expr::Expr, template::Resource};

use super::{Desk, Proposal};
use crate::drawing::{entry, interfaces, plain_reference};

/// Something that goes along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Along {
    /// The resource.
    pub name: String,
    /// Its type, for people.
    pub title: String,
    /// The removed resource that it hangs on.
    pub with: String,
}

/// What removing would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Deletion {
    /// The edits.
    pub proposal: Proposal,
    /// What goes along.
    pub along: Vec<Along>,
    /// Servers that stay and lose an interface: server, network.
    pub detached: Vec<(String, String)>,
}

/// What removing these resources would do; `None` where none of them is in the template.
pub fn delete(desk: &Desk<'_>, names: &[String]) -> Option<Deletion> {
    let asked: Vec<String> = names
        .iter()
        .filter(|name| desk.resource(name).is_some())
        .cloned()
        .collect();
    let first = asked.first()?;
    let label = match asked.len() {
        1 => format!("Delete {first}"),
        count => format!("Delete {count} resources"),
    };
    let (gone, along) = spread(desk, asked);

    // Their interfaces go with what these lead to, as every other mention of it.
    let servers = desk.template.resources.iter().filter(|resource| {
        resource.resource_type == types::SERVER && !gone.contains(&resource.name)
    });
    let detached = servers
        .flat_map(|server| {
            let lost = interfaces(desk.template, server).into_iter().rev();
            lost.filter_map(|one| {
                let leads_to = [&one.port, &one.network].into_iter().flatten();
                let lost = leads_to.into_iter().find(|name| gone.contains(*name))?;
                let network = one.network.clone().unwrap_or_else(|| lost.clone());
                Some((server.name.clone(), network))
            })
        })
        .collect();
    // All at once: the text is read again for each edit.
    let names = gone.into_iter().collect();
    let edits = vec![Edit::RemoveResources {
        names,
        keep: required(desk),
    }];
    Some(Deletion {
        proposal: Proposal {
            label,
            edits,
            ..Proposal::default()
        },
        along,
        detached,
    })
}

/// Every property that its resource cannot be without.
fn required(desk: &Desk<'_>) -> Vec<(String, String)> {
    let resources = desk.template.resources.iter();
    resources
        .flat_map(|resource| {
            let described = desk.types.get(&resource.resource_type);
            let properties = described.map_or(&[][..], |described| &described.properties);
            let required = properties.iter().filter(|property| property.required);
            required.map(|property| (resource.name.clone(), property.name.clone()))
        })
        .collect()
}

/// All that goes, and what of it goes along, in the order of the text. Who hangs on whom is read once: a design may have
/// hundreds of each.
fn spread(desk: &Desk<'_>, asked: Vec<String>) -> (BTreeSet<String>, Vec<Along>) {
    let resources = &desk.template.resources;
    let mut hanging: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut users: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (at, resource) in resources.iter().enumerate() {
        places.insert(&resource.name, at);
        for name in hangs_on(desk, resource) {
            hanging.entry(name).or_default().push(at);
        }
        for port in ports_of(resource) {
            users.entry(port).or_default().push(&resource.name);
        }
    }

    let mut gone: BTreeSet<String> = asked.iter().cloned().collect();
    let mut along: BTreeMap<usize, Along> = BTreeMap::new();
    let mut todo: VecDeque<String> = asked.into();
    while let Some(with) = todo.pop_front() {
        let mut next: Vec<usize> = hanging.get(&*with).cloned().unwrap_or_default();
        // A port that serves only servers that go.
        let server = places.get(&*with).map(|at| &resources[*at]);
        next.extend(server.into_iter().flat_map(ports_of).filter_map(|port| {
            let at = *places.get(port)?;
            let is_unused = users[port].iter().all(|user| gone.contains(*user));
            (is_unused && resources[at].resource_type == types::PORT).then_some(at)
        }));
        for at in next {
            let Resource {
                name,
                resource_type,
                ..
            } = &resources[at];
            if gone.insert(name.clone()) {
                todo.push_back(name.clone());
                let one = Along {
                    name: name.clone(),
                    title: desk.title(resource_type),
                    with: with.clone(),
                };
                along.insert(at, one);
            }
        }
    }
    (gone, along.into_values().collect())
}

/// The ports that a server is connected by.
fn ports_of(server: &Resource) -> impl Iterator<Item = &str> {
    let networks = match server.property("networks") {
        Some(Expr::List(items)) if server.resource_type == types::SERVER => items.as_slice(),
        _ => &[],
    };
    let ports = networks.iter().filter_map(|item| entry(item, "port"));
    ports.filter_map(plain_reference)
}

/// The resources without any of which this one means nothing.
fn hangs_on<'t>(desk: &Desk<'t>, resource: &'t Resource) -> Vec<&'t str> {
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
    // Any other reference that the type cannot do without.
    let described = desk.types.get(&resource.resource_type);
    let properties = described.map_or(&[][..], |described| &described.properties);
    let required = properties.iter().filter(|property| property.required);
    let names = required.map(|property| property.name.as_str());
    let values = of_kind.iter().copied().chain(names);
    values
        .filter_map(|name| resource.property(name).and_then(plain_reference))
        .collect()
}
