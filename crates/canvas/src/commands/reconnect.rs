//! Moves an end of a line to another resource.

use hot::{document::Edit, expr::Expr, template::Resource};
use serde_json::json;

use super::{
    CommandInput, Proposal, Refusal, append, connect, connection, disconnect, get_resource,
    property_path, subnet_for,
};
use crate::drawing::{Edge, EdgeKind, NodeKind, interfaces, plain_reference};

/// One of the two ends of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// The start: the resource that refers to the other one.
    From,
    /// The end: the resource that is referred to.
    To,
}

impl LineEnd {
    /// Name of the node at this end of a line.
    pub fn of(self, edge: &Edge) -> &str {
        match self {
            LineEnd::From => &edge.from,
            LineEnd::To => &edge.to,
        }
    }

    /// The end at the other side.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            LineEnd::From => LineEnd::To,
            LineEnd::To => LineEnd::From,
        }
    }
}

/// The proposal for moving one end of an edge to another node.
///
/// # Errors
/// The reason why the line cannot start or end there.
pub fn reconnect(
    input: &CommandInput<'_>,
    edge: &Edge,
    end: LineEnd,
    node: &str,
) -> Result<Proposal, Refusal> {
    match end {
        LineEnd::From => move_start(input, edge, node),
        LineEnd::To => move_end(input, edge, node),
    }
}

/// The nodes to which an end of a line can be moved.
pub fn other_ends(input: &CommandInput<'_>, edge: &Edge, end: LineEnd) -> Vec<String> {
    let names = input.drawing.nodes().iter().map(|node| &node.name);
    names
        .filter(|name| reconnect(input, edge, end, name).is_ok())
        .cloned()
        .collect()
}

/// True if the start of an edge can be moved, to a node that takes the reference.
///
/// The start stays if a pass adds the line, if the node needs the reference, if a part of the node has it, and if it is in
/// `depends_on` or in a larger value.
pub fn has_movable_start(input: &CommandInput<'_>, edge: &Edge) -> bool {
    if edge.kind == EdgeKind::RouterInterface {
        return !edge.ghost;
    }
    let connection = connection(input.template, input.drawing, edge);
    connection.is_some_and(|one| one.resource == edge.from && one.field.is_some())
        && disconnect(input, edge).is_ok()
}

/// The reference moves from one resource to another, with the settings beside it, such as an address.
fn move_start(input: &CommandInput<'_>, edge: &Edge, from: &str) -> Result<Proposal, Refusal> {
    if from == edge.from {
        return Err(Refusal::because("Drag to another resource"));
    }
    let unfit = || Refusal::because(format!("This line cannot start at {from}"));
    // The check of a new connection knows whether the types fit.
    let new = connect(input, from, &edge.to)?;
    let edits = if edge.kind == EdgeKind::RouterInterface {
        let is_router = input
            .drawing
            .node(from)
            .is_some_and(|node| node.kind == NodeKind::Router);
        let interface = edge
            .resource
            .as_deref()
            .and_then(|name| input.template.resource(name));
        let (true, Some(interface)) = (is_router, interface) else {
            return Err(unfit());
        };
        let property = ["router", "router_id"]
            .into_iter()
            .find(|property| interface.property(property).is_some())
            .ok_or_else(unfit)?;
        vec![Edit::Set {
            path: property_path(&interface.name, &[property]),
            value: get_resource(from),
        }]
    } else {
        let removal = disconnect(input, edge)?.edits;
        let [Edit::Remove { path }] = &removal[..] else {
            return Err(unfit());
        };
        let [_, owner, _, property, index @ ..] = &path[..] else {
            return Err(unfit());
        };
        let is_same = matches!(&new.edits[..], [Edit::Set { path, .. }]
            if path.get(1).is_some_and(|name| name == from) && path.get(3) == Some(property));
        let target = input.template.resource(from).filter(|_| is_same);
        let value = input
            .template
            .resource(owner)
            .and_then(|owner| owner.property(property));
        let (Some(target), Some(value)) = (target, value) else {
            return Err(Refusal::because(format!(
                "`{property}` of {owner} cannot move to {from}"
            )));
        };
        let add = match (value, index) {
            (Expr::List(items), [index, ..]) => {
                let item = index.parse().ok().and_then(|at: usize| items.get(at));
                append(target, property, item.ok_or_else(unfit)?.to_json())
            }
            (value, _) => Edit::Set {
                path: property_path(from, &[property]),
                value: value.to_json(),
            },
        };
        [removal, vec![add]].concat()
    };
    Ok(Proposal {
        label: format!(
            "Connect {from} to {} instead of {}",
            edge.end_name(),
            edge.from
        ),
        edits,
        select: vec![from.to_owned()],
        target: Some(from.to_owned()),
        ..Proposal::default()
    })
}

fn move_end(input: &CommandInput<'_>, edge: &Edge, to: &str) -> Result<Proposal, Refusal> {
    if to == edge.to {
        return Err(Refusal::because("Drag to another resource"));
    }
    let target = input
        .drawing
        .node(to)
        .ok_or_else(|| Refusal::because("This cannot be connected"))?;
    let label = format!("Connect {} to {to} instead of {}", edge.from, edge.to);
    let mut edits = Vec::new();
    match edge.kind {
        EdgeKind::Interface if target.is_network() => {
            // The check of a new connection finds a network that the server is on already.
            connect(input, &edge.from, to)?;
            let server = input.template.resource(&edge.from);
            let own = server.map(|server| interfaces(input.template, server));
            let index = own
                .into_iter()
                .flatten()
                .skip(1)
                .find(|one| one.network.as_deref() == Some(&edge.to) && one.port.is_none());
            let Some(one) = index else {
                return Err(Refusal::because(format!(
                    "{} is on {} by a port. Change the port's network",
                    edge.from, edge.to
                )));
            };
            edits.push(Edit::Set {
                path: property_path(&edge.from, &["networks", &one.index.to_string()]),
                value: json!({ "network": get_resource(to) }),
            });
        }
        EdgeKind::RouterInterface if target.is_network() => {
            connect(input, &edge.from, to)?;
            let Some(interface) = edge
                .resource
                .as_deref()
                .and_then(|name| input.template.resource(name))
            else {
                return Err(Refusal::because(
                    "This is added when the design is deployed and cannot be moved by hand",
                ));
            };
            let property = ["subnet", "subnet_id"]
                .into_iter()
                .find(|property| interface.property(property).is_some());
            let Some(property) = property else {
                return Err(Refusal::because(format!(
                    "{} uses a port. Change the port's network",
                    interface.name
                )));
            };
            let subnet = subnet_for(input, to, &mut edits);
            edits.push(Edit::Set {
                path: property_path(&interface.name, &[property]),
                value: get_resource(&subnet),
            });
        }
        EdgeKind::Relation | EdgeKind::Reference => {
            // The check of a new connection knows whether the types fit.
            let new = connect(input, &edge.from, to)?;
            let Some((resource, path)) = reference(input, edge) else {
                return Err(Refusal::because(
                    "This reference is part of a larger value. Change it in the code view",
                ));
            };
            let property = path.first().map_or("", String::as_str);
            let is_same = new.edits.iter().any(|edit| match edit {
                Edit::Set { path, .. } => {
                    path.get(1) == Some(&resource.name)
                        && path.get(3).is_some_and(|one| one == property)
                }
                _ => false,
            });
            if !is_same {
                return Err(Refusal::because(format!(
                    "`{property}` of {} does not take {to}",
                    resource.name
                )));
            }
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            edits.push(Edit::Set {
                path: property_path(&resource.name, &path),
                value: get_resource(to),
            });
        }
        _ => {
            return Err(Refusal::because(format!("This line cannot end at {to}")));
        }
    }
    Ok(Proposal {
        label,
        edits,
        select: vec![edge.from.clone()],
        target: Some(to.to_owned()),
        ..Proposal::default()
    })
}

/// The resource and the path of the reference that an edge represents.
fn reference<'a>(input: &CommandInput<'a>, edge: &Edge) -> Option<(&'a Resource, Vec<String>)> {
    let resource = input.template.resource(&edge.from)?;
    let is_it = |value: &Expr| {
        matches!(value, Expr::GetResource(_)) && plain_reference(value) == Some(&edge.to)
    };
    match resource.property(&edge.label)? {
        Expr::List(items) => {
            let index = items.iter().position(is_it)?;
            Some((resource, vec![edge.label.clone(), index.to_string()]))
        }
        value if is_it(value) => Some((resource, vec![edge.label.clone()])),
        _ => None,
    }
}
