//! Joins two resources, by the descriptions of their types.
//!
//! In this order:
//! 1. a property of one that can reference the other, such as `key_name` of a server;
//! 2. an **attachment**: a part with references to both, such as `OS::Cinder::VolumeAttachment`. An existing one is
//!    found in the same way;
//! 3. an item in a list of maps, such as `port` in `networks` of a server;
//! 4. a part of one with the other, such as the subnet of a network, or the pool of a load balancer.
//!
//! An end can be a resource that the same proposal adds. Three pairs need more than one property: see [`special`].

mod special;

use hot::{document::Edit, expr::Expr, template::Resource};
use serde_json::{Map, Value, json};
use types::{Executable, Property, PropertyKind, ReferenceRole, ResourceType, Shape};

use super::{CommandInput, Refusal, append, property_path, unique_name};
use crate::drawing::plain_reference;

/// One end of a connection.
#[derive(Clone, Copy)]
pub(super) struct End<'a> {
    pub(super) name: &'a str,
    pub(super) resource_type: &'a str,
    /// The resource in the template. `None` for one that is being added.
    pub(super) resource: Option<&'a Resource>,
}

/// The edits that join two resources, and the reason in a word or two: a property or the title of an attachment.
pub(super) struct Joined {
    pub(super) edits: Vec<Edit>,
    pub(super) by: String,
}

impl<'a> End<'a> {
    /// A resource of the template, drawn as a node or as a part.
    pub(super) fn of(input: &CommandInput<'a>, name: &str) -> Option<Self> {
        input.template.resource(name).map(|resource| Self {
            name: &resource.name,
            resource_type: &resource.resource_type,
            resource: Some(resource),
        })
    }

    fn value(&self, property: &str) -> Option<&'a Expr> {
        self.resource?.property(property)
    }

    /// True if a property references a resource.
    fn refers(&self, property: &str, to: &str) -> bool {
        self.value(property)
            .is_some_and(|value| value.resources().contains(&to))
    }
}

/// A property that can reference a type.
struct Slot<'a> {
    property: &'a Property,
    /// Attribute of the target that is the value. `None` for its id.
    attribute: Option<&'a str>,
    takes_many: bool,
}

impl Slot<'_> {
    fn reference(&self, to: &str) -> Value {
        match self.attribute {
            Some(attribute) => json!({ "get_attr": [to, attribute] }),
            None => json!({ "get_resource": to }),
        }
    }

    fn role(&self) -> Option<ReferenceRole> {
        self.property.reference.as_ref().map(|one| one.role)
    }
}

/// Joins two resources. `None` if the descriptions of their types know no way.
///
/// # Errors
/// The reason why they cannot be joined although there is a way, for example because they are already.
pub(super) fn join(
    input: &CommandInput<'_>,
    a: End<'_>,
    b: End<'_>,
) -> Result<Option<Joined>, Refusal> {
    if let Some(joined) = special::join(input, a, b)? {
        return Ok(Some(joined));
    }
    for (owner, target) in [(a, b), (b, a)] {
        if let Some(slot) = slot(input, owner.resource_type, target.resource_type) {
            return set(owner, &slot, target).map(Some);
        }
    }
    if let Some(joined) = attach(input, a, b)? {
        return Ok(Some(joined));
    }
    for (owner, target) in [(a, b), (b, a)] {
        if let Some(joined) = list_item(input, owner, target)? {
            return Ok(Some(joined));
        }
    }
    for (whole, other) in [(a, b), (b, a)] {
        for part in parts(input, whole) {
            if let Some(slot) = slot(input, other.resource_type, part.resource_type) {
                return set(other, &slot, part).map(Some);
            }
            if let Some(joined) = attach(input, part, other)? {
                return Ok(Some(joined));
            }
        }
    }
    Ok(None)
}

/// The first property of a type that can reference another type, directly or in a list.
fn slot<'a>(input: &CommandInput<'a>, from_type: &str, to_type: &str) -> Option<Slot<'a>> {
    let described = input.types.get(from_type)?;
    slots(input, described, to_type).next()
}

fn slots<'a>(
    input: &CommandInput<'a>,
    described: &'a ResourceType,
    to_type: &str,
) -> impl Iterator<Item = Slot<'a>> {
    described.properties.iter().filter_map(move |property| {
        let of = match &property.kind {
            PropertyKind::List { of: Some(of) } => of.reference.as_ref(),
            _ => None,
        };
        let reference = property.reference.as_ref().or(of)?;
        (!property.hidden && input.fits(to_type, &reference.to)).then_some(Slot {
            property,
            attribute: reference.attribute.as_deref(),
            takes_many: matches!(property.kind, PropertyKind::List { .. }),
        })
    })
}

fn set(owner: End<'_>, slot: &Slot<'_>, target: End<'_>) -> Result<Joined, Refusal> {
    let property = slot.property.name.as_str();
    if owner.refers(property, target.name) {
        return Err(Refusal::because(format!(
            "`{property}` of {} is {} already",
            owner.name, target.name
        )));
    }
    let value = slot.reference(target.name);
    let edit = match owner.resource {
        Some(resource) if slot.takes_many => {
            let given = resource.property(property);
            if !matches!(given, None | Some(Expr::List(_))) {
                return Err(Refusal::because(format!(
                    "`{property}` of {} is not a list; change it in the code view",
                    owner.name
                )));
            }
            append(resource, property, value)
        }
        _ => Edit::Set {
            path: property_path(owner.name, &[property]),
            value: if slot.takes_many {
                json!([value])
            } else {
                value
            },
        },
    };
    Ok(Joined {
        edits: vec![edit],
        by: property.to_owned(),
    })
}

/// A type that attaches two others, with the properties for both.
struct Attachment<'a> {
    described: &'a ResourceType,
    /// The property for the first type, which is always required.
    first: Slot<'a>,
    second: Slot<'a>,
}

/// The attachment types of two types, in either order.
fn attachments<'a>(
    input: &CommandInput<'a>,
    first_type: &str,
    second_type: &str,
) -> Vec<Attachment<'a>> {
    let parts = input.types.iter().filter(|described| {
        described.shape == Shape::Part
            && described.executable != Executable::No
            && described.component.is_none()
    });
    let mut found = Vec::new();
    for described in parts {
        // The second end is required too, alone or as one of several, or the part lives inside the first one.
        let is_needed = |slot: &Slot<'_>| {
            let name = &slot.property.name;
            let rules = described.rules.iter().filter(|rule| rule.when.is_none());
            slot.property.required || rules.flat_map(|rule| &rule.any_of).any(|one| one == name)
        };
        let owners = slots(input, described, first_type);
        for first in owners.filter(|slot| slot.property.required && !slot.takes_many) {
            let second = slots(input, described, second_type).find(|slot| {
                slot.property.name != first.property.name
                    && !slot.takes_many
                    // The end that contains the attachment comes first.
                    && (first.role() == Some(ReferenceRole::Nests)
                        || slot.role() != Some(ReferenceRole::Nests))
                    && (is_needed(slot) || first.role() == Some(ReferenceRole::Nests))
            });
            if let Some(second) = second {
                found.push(Attachment {
                    described,
                    first,
                    second,
                });
                break;
            }
        }
    }
    // Two required ends come first.
    found.sort_by_key(|attachment| !attachment.second.property.required);
    found
}

/// An existing attachment: the resource, and the property that references its owner.
pub(super) struct Attached<'a> {
    pub(super) resource: &'a Resource,
    pub(super) owner_property: &'a str,
}

/// The attachment by which a resource belongs to an owner, such as that of a volume to its server.
pub(super) fn attached<'a>(
    input: &CommandInput<'a>,
    owner: End<'_>,
    other: End<'_>,
) -> Option<Attached<'a>> {
    attachments(input, owner.resource_type, other.resource_type)
        .into_iter()
        .find_map(|attachment| {
            let refers = |resource: &Resource, slot: &Slot<'_>, to: &str| {
                let value = resource.property(&slot.property.name);
                value.and_then(plain_reference) == Some(to)
            };
            let mut all = input.template.resources.iter();
            let resource = all.find(|resource| {
                resource.resource_type == attachment.described.name
                    && refers(resource, &attachment.first, owner.name)
                    && refers(resource, &attachment.second, other.name)
            })?;
            Some(Attached {
                resource,
                owner_property: &attachment.first.property.name,
            })
        })
}

/// Adds an attachment between two resources.
fn attach(input: &CommandInput<'_>, a: End<'_>, b: End<'_>) -> Result<Option<Joined>, Refusal> {
    for (first, second) in [(a, b), (b, a)] {
        let mut kinds = attachments(input, first.resource_type, second.resource_type).into_iter();
        let Some(attachment) = kinds.next() else {
            continue;
        };
        if attached(input, first, second).is_some() {
            return Err(Refusal::because(format!(
                "{} and {} are connected already",
                first.name, second.name
            )));
        }
        if let Some(other) = elsewhere(input, &attachment, first, second) {
            return Err(Refusal::because(format!(
                "{} is attached to {other} already. Drag it out of {other} first, or allow several servers with `multiattach`",
                second.name
            )));
        }
        let mut properties = Map::new();
        for (slot, end) in [(&attachment.first, first), (&attachment.second, second)] {
            properties.insert(slot.property.name.clone(), slot.reference(end.name));
        }
        for property in &attachment.described.properties {
            if property.required
                && property.default.is_none()
                && !properties.contains_key(&property.name)
                && let Some(value) = special::usual(input, property, [first, second])
            {
                properties.insert(property.name.clone(), value);
            }
        }
        let name = unique_name(input.template, &format!("{}_{}", second.name, first.name));
        return Ok(Some(Joined {
            edits: vec![Edit::AddResource {
                name,
                resource_type: attachment.described.name.clone(),
                properties: Value::Object(properties),
            }],
            by: attachment.described.title.to_lowercase(),
        }));
    }
    Ok(None)
}

/// The other owner of a resource that can be attached only once: it has a property `multiattach`, which is not true.
fn elsewhere<'a>(
    input: &CommandInput<'a>,
    attachment: &Attachment<'_>,
    owner: End<'_>,
    other: End<'_>,
) -> Option<&'a str> {
    let described = input.types.get(other.resource_type)?;
    described.property("multiattach")?;
    if matches!(
        other.value("multiattach"),
        Some(Expr::Literal(Value::Bool(true)))
    ) {
        return None;
    }
    let all = input.template.resources.iter();
    let mut same = all.filter(|resource| resource.resource_type == attachment.described.name);
    same.find_map(|resource| {
        let named = |slot: &Slot<'_>| {
            resource
                .property(&slot.property.name)
                .and_then(plain_reference)
        };
        let to = named(&attachment.first)?;
        (named(&attachment.second) == Some(other.name) && to != owner.name).then_some(to)
    })
}

/// Adds an item to a list of maps that has a key for the target's type.
fn list_item(
    input: &CommandInput<'_>,
    owner: End<'_>,
    target: End<'_>,
) -> Result<Option<Joined>, Refusal> {
    let Some(described) = input.types.get(owner.resource_type) else {
        return Ok(None);
    };
    let found = described.properties.iter().find_map(|property| {
        let PropertyKind::List { of: Some(of) } = &property.kind else {
            return None;
        };
        let PropertyKind::Map { of: keys } = &of.kind else {
            return None;
        };
        let key = keys.iter().find(|key| {
            let reference = key.reference.as_ref();
            reference.is_some_and(|reference| input.fits(target.resource_type, &reference.to))
        })?;
        Some((property, key))
    });
    let Some((property, key)) = found else {
        return Ok(None);
    };
    if owner.refers(&property.name, target.name) {
        return Err(Refusal::because(format!(
            "`{}` of {} has {} already",
            property.name, owner.name, target.name
        )));
    }
    let item = json!({ key.name.clone(): { "get_resource": target.name } });
    let edit = match owner.resource {
        Some(resource) => append(resource, &property.name, item),
        None => Edit::Set {
            path: property_path(owner.name, &[&property.name]),
            value: json!([item]),
        },
    };
    Ok(Some(Joined {
        edits: vec![edit],
        by: property.name.clone(),
    }))
}

/// Resources of the template that live inside a resource by their descriptions, in the order of the text.
fn parts<'a>(input: &CommandInput<'a>, whole: End<'_>) -> Vec<End<'a>> {
    let nests = |resource: &&Resource| {
        input
            .types
            .get(&resource.resource_type)
            .into_iter()
            .flat_map(|described| slots(input, described, whole.resource_type))
            .any(|slot| {
                let value = resource.property(&slot.property.name);
                slot.role() == Some(ReferenceRole::Nests)
                    && value.and_then(plain_reference) == Some(whole.name)
            })
    };
    let mut found: Vec<End<'a>> = Vec::new();
    for resource in input.template.resources.iter().filter(nests) {
        let part = End {
            name: &resource.name,
            resource_type: &resource.resource_type,
            resource: Some(resource),
        };
        found.push(part);
    }
    found
}

/// Puts a server on a network that the same proposal adds.
///
/// # Errors
/// The server's networks are no list.
pub(super) fn put_on(server: End<'_>, network: &str) -> Result<Joined, Refusal> {
    if !matches!(server.value("networks"), None | Some(Expr::List(_))) {
        return Err(Refusal::because(format!(
            "The networks of {} are not a list; change them in the code view",
            server.name
        )));
    }
    let item = json!({ "network": { "get_resource": network } });
    let edit = match server.resource {
        Some(resource) => append(resource, "networks", item),
        None => Edit::Set {
            path: property_path(server.name, &["networks"]),
            value: json!([item]),
        },
    };
    Ok(Joined {
        edits: vec![edit],
        by: "networks".to_owned(),
    })
}

/// Joins a router with a network and a subnet that the same proposal adds.
pub(super) fn interface(
    input: &CommandInput<'_>,
    router: End<'_>,
    network: &str,
    subnet: &str,
) -> Joined {
    let name = unique_name(input.template, &format!("{}_to_{network}", router.name));
    Joined {
        edits: vec![Edit::AddResource {
            name,
            resource_type: types::ROUTER_INTERFACE.to_owned(),
            properties: json!({
                "router": { "get_resource": router.name },
                "subnet": { "get_resource": subnet },
            }),
        }],
        by: "router interface".to_owned(),
    }
}

/// Moves edits of a resource's properties into the edit that adds it.
pub(super) fn folded(edits: Vec<Edit>) -> Vec<Edit> {
    let mut folded: Vec<Edit> = Vec::new();
    for edit in edits {
        if let Edit::Set { path, value } = &edit
            && let [_, name, _, property] = &path[..]
            && let Some(properties) = folded.iter_mut().find_map(|earlier| match earlier {
                Edit::AddResource {
                    name: added,
                    properties,
                    ..
                } if added == name => properties.as_object_mut(),
                _ => None,
            })
        {
            properties.insert(property.clone(), value.clone());
            continue;
        }
        folded.push(edit);
    }
    folded
}
