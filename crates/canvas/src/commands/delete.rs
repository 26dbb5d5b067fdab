//! Removing resources, with what cannot be without them.
//!
//! A subnet without its network or software without its server means nothing: it goes along, and the
//! person sees beforehand what and why. What merely mentions a removed resource loses the mention.

use std::collections::BTreeSet;

use topology::{document::Edit, template::Resource};

use super::{Desk, Proposal};
use crate::drawing::{interfaces, plain_reference, types};

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
    let mut gone: BTreeSet<String> = asked.iter().cloned().collect();
    let mut along = Vec::new();
    // Each turn of the loop finds what hangs on the last turn's finds.
    loop {
        let next = desk.template.resources.iter().find_map(|resource| {
            if gone.contains(&resource.name) {
                return None;
            }
            hangs_on(desk, resource, &gone).map(|with| Along {
                name: resource.name.clone(),
                title: desk.title(&resource.resource_type),
                with,
            })
        });
        let Some(next) = next else { break };
        gone.insert(next.name.clone());
        along.push(next);
    }

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
    let mut names: Vec<String> = gone.iter().cloned().collect();
    names.sort();
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

/// The removed resource without which this one means nothing.
fn hangs_on(desk: &Desk<'_>, resource: &Resource, gone: &BTreeSet<String>) -> Option<String> {
    let lost = |property: &str| {
        resource
            .property(property)
            .and_then(plain_reference)
            .filter(|name| gone.contains(*name))
            .map(str::to_owned)
    };
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
    if let Some(with) = of_kind.iter().find_map(|property| lost(property)) {
        return Some(with);
    }
    // A port that serves only servers that go.
    if resource.resource_type == types::PORT {
        let users: Vec<&str> = desk
            .template
            .resources
            .iter()
            .filter(|server| {
                server.resource_type == types::SERVER
                    && interfaces(desk.template, server)
                        .iter()
                        .any(|one| one.port.as_deref() == Some(&resource.name))
            })
            .map(|server| server.name.as_str())
            .collect();
        if let [first, ..] = users[..]
            && users.iter().all(|user| gone.contains(*user))
        {
            return Some(first.to_owned());
        }
    }
    // Any other reference that the type cannot do without.
    let described = desk.types.get(&resource.resource_type)?;
    described
        .properties
        .iter()
        .filter(|property| property.required)
        .find_map(|property| lost(&property.name))
}
