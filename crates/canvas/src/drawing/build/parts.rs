//! Resources that are drawn as tags on other nodes, and their owners.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hot::expr::Expr;
use types::{Category, ReferenceRole, Shape};

use super::{Builder, Entry};
use crate::drawing::{Part, refs};

impl<'a> Builder<'a> {
    pub(super) fn host(&self, entry: &Entry<'a>) -> Option<&'a str> {
        let host = entry.named(&["host"])?;
        (self.entry(host)?.resource_type == types::SERVER).then_some(host)
    }

    /// Storage that an attachment connects with exactly one server: it is drawn inside the server.
    pub(super) fn hung(&self) -> HashMap<&'a str, &'a str> {
        let mut servers: HashMap<&'a str, Vec<&'a str>> = HashMap::new();
        for entry in &self.entries {
            let Some(described) = self.types.get(entry.resource_type) else {
                continue;
            };
            if described.shape != Shape::Part || entry.ghost.is_some() {
                continue;
            }
            let target = |role: ReferenceRole| {
                let mut properties = described.properties.iter();
                properties.find_map(|property| {
                    let reference = property.reference.as_ref()?;
                    let name = entry.named(&[property.name.as_str()])?;
                    (reference.role == role).then(|| self.entry(name))?
                })
            };
            let (Some(server), Some(other)) = (
                target(ReferenceRole::Nests),
                target(ReferenceRole::Connects),
            ) else {
                continue;
            };
            let is_storage = self.category(other.resource_type) == Category::Storage
                && self.shape(other.resource_type) == Shape::Card;
            if server.resource_type == types::SERVER && is_storage {
                servers.entry(other.name).or_default().push(server.name);
            }
        }
        let one = |(other, servers): (&'a str, Vec<&'a str>)| match servers[..] {
            [server] => Some((other, server)),
            _ => None,
        };
        servers.into_iter().filter_map(one).collect()
    }

    /// True for a part that is drawn on a node that uses it.
    pub(super) fn is_used_part(&self, name: &str) -> bool {
        self.entry(name).is_some_and(|entry| {
            is_used(entry.resource_type) && self.shape(entry.resource_type) == Shape::Part
        })
    }

    /// Owner of a part: the node that it references, otherwise the first node that references it. A chain of parts
    /// (address, port, server) is followed to its end. A cycle of parts has no owner.
    pub(super) fn owner(&self, part: &str) -> Option<&'a str> {
        let mut at = self.entry(part)?;
        let mut seen = BTreeSet::from([at.name]);
        loop {
            let next = self.serves(at)?;
            let next = self.entry(next)?;
            if self.shape(next.resource_type) != Shape::Part {
                return Some(next.name);
            }
            if !seen.insert(next.name) {
                return None;
            }
            at = next;
        }
    }

    fn serves(&self, part: &Entry<'a>) -> Option<&'a str> {
        if let Some((_, Some(serves))) = part.ghost
            && let Some(entry) = self.entry(serves)
        {
            return Some(entry.name);
        }
        let users_first = is_used(part.resource_type);
        let user = || {
            // Servers have precedence over other resources that reference it.
            let users = || {
                self.entries.iter().filter(|user| {
                    user.name != part.name
                        && user
                            .properties
                            .iter()
                            .any(|(_, value)| value.resources().contains(&part.name))
                })
            };
            users()
                .find(|user| user.resource_type == types::SERVER)
                .or_else(|| users().next())
                .map(|user| user.name)
        };
        let named = || self.first_reference(part);
        if users_first {
            user().or_else(named)
        } else {
            named().or_else(user)
        }
    }

    /// First reference with containment, otherwise the first reference.
    fn first_reference(&self, entry: &Entry<'a>) -> Option<&'a str> {
        let described = self.types.get(entry.resource_type);
        let nests = |property: &str| {
            described.is_some_and(|described| {
                described.properties.iter().any(|one| {
                    one.name == property
                        && one
                            .reference
                            .as_ref()
                            .is_some_and(|reference| reference.role == ReferenceRole::Nests)
                })
            })
        };
        let known = |expr: &'a Expr| {
            expr.resources()
                .into_iter()
                .find(|name| self.by_name.contains_key(name) && *name != entry.name)
        };
        let find = |wanted: bool| {
            entry
                .properties
                .iter()
                .filter(|(name, _)| nests(name) == wanted)
                .find_map(|(_, value)| known(value))
        };
        entry
            .named(&["router", "router_id"])
            .filter(|name| self.by_name.contains_key(name))
            .or_else(|| find(true))
            .or_else(|| find(false))
    }

    pub(super) fn add_parts(&mut self, drawn_as_edges: &BTreeSet<String>) {
        let mut parts: BTreeMap<String, Vec<Part>> = BTreeMap::new();
        for entry in &self.entries {
            if drawn_as_edges.contains(entry.name) || self.kind(entry).is_some() {
                continue;
            }
            let Some(owner) = self.owner(entry.name) else {
                continue;
            };
            self.owners.insert(entry.name.to_owned(), owner.to_owned());
            parts.entry(owner.to_owned()).or_default().push(Part {
                name: entry.name.to_owned(),
                resource_type: entry.resource_type.to_owned(),
                title: self.title(entry.resource_type),
                category: self.category(entry.resource_type),
                label: part_label(entry),
                ghost: entry.ghost.map(|(why, _)| why.to_owned()),
                off: entry.off.clone(),
            });
        }
        for node in &mut self.nodes {
            node.parts = parts.remove(&node.name).unwrap_or_default();
        }
    }
}

/// True for types that belong to their users rather than to what they reference.
fn is_used(resource_type: &str) -> bool {
    matches!(
        resource_type,
        types::PORT | types::SECURITY_GROUP | types::KEY_PAIR
    )
}

fn part_label(entry: &Entry<'_>) -> String {
    let say = |property: &str| entry.property(property).and_then(refs::shown);
    match entry.resource_type {
        types::SUBNET => say("cidr").or_else(|| say("name")),
        types::FLOATING_IP => say("floating_ip_address"),
        _ => say("name"),
    }
    .unwrap_or_else(|| entry.name.to_owned())
}
