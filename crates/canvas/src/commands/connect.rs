//! Connects two nodes with a line.
//!
//! The kinds of the two nodes decide the meaning of the line. The direction matters only if both are possible, such as
//! for two components that can each use the other.

use hot::{document::Edit, expr::Expr};
use serde_json::json;
use types::catalog::Requirement;

use super::{
    CommandInput, Proposal, Refusal, append,
    drop::external_network,
    get_resource,
    join::{self, End},
    list_length, property_path, subnet_for, unique_name,
};
use crate::{
    drawing::{INTERNET, Node, NodeKind, frame_of, interfaces, plain_reference},
    layout::Place,
};

/// The proposal for connecting `from` with `to`.
///
/// # Errors
/// The reason why the two cannot be connected.
pub fn connect(input: &CommandInput<'_>, from: &str, to: &str) -> Result<Proposal, Refusal> {
    if from == to {
        return Err(Refusal::because("Drag to another resource"));
    }
    let (Some(start), Some(end)) = (input.drawing.node(from), input.drawing.node(to)) else {
        // A part, such as a port or a shield, has a type and no node.
        let mut proposal = join_ends(input, from, to)?;
        proposal.target = input.drawing.owner(to).map(|node| node.name.clone());
        return Ok(proposal);
    };
    if start.ghost.is_some() || end.ghost.is_some() {
        return Err(Refusal::because(
            "This is added when the design is deployed and cannot be connected by hand",
        ));
    }
    use NodeKind::{Frame, Internet, Router, Server};
    let is_software = |node: &Node| {
        let described = input.types.get(&node.resource_type);
        described.is_some_and(types::ResourceType::is_component)
    };
    // A folded network is connected as any other.
    let kind = |node: &Node| if node.is_network() { Frame } else { node.kind };
    let mut proposal = match (kind(start), kind(end)) {
        (Server, Frame) => attach(input, start, end),
        (Frame, Server) => attach(input, end, start),
        (Router, Frame) => route(input, start, end),
        (Frame, Router) => route(input, end, start),
        (Router, Internet) => open(input, start),
        (Internet, Router) => open(input, end),
        (Server, Internet) => publish(start),
        (Internet, Server) => publish(end),
        _ if is_software(start) && is_software(end) => relate(input, start, end),
        (_, Server) if is_software(start) => relate_with_one_on(input, start, end),
        (Server, _) if is_software(end) => Err(Refusal::because(
            "Drag from one software to another one that it uses",
        )),
        (Server, Router) | (Router, Server) => Err(Refusal::because(
            "Connect the server to a network. The router joins the networks",
        )),
        (Frame, Frame) => Err(Refusal::because(
            "Networks are joined by a router: connect both with one",
        )),
        (Frame, Internet) | (Internet, Frame) => Err(Refusal::because(
            "A network reaches the Internet through a router: connect both with one",
        )),
        _ => join_ends(input, from, to),
    }?;
    proposal.target = Some(to.to_owned());
    Ok(proposal)
}

/// The nodes that `from` can be connected with, to highlight while a line is drawn.
pub fn can_connect(input: &CommandInput<'_>, from: &str) -> Vec<String> {
    let names = input.drawing.nodes().iter().map(|node| &node.name);
    names
        .filter(|name| connect(input, from, name).is_ok())
        .cloned()
        .collect()
}

fn attach(input: &CommandInput<'_>, server: &Node, frame: &Node) -> Result<Proposal, Refusal> {
    let resource = known(input, server)?;
    if interfaces(input.template, resource)
        .iter()
        .any(|one| one.network.as_deref() == Some(&frame.name))
    {
        return Err(Refusal::because(format!(
            "{} is on {} already",
            server.name, frame.name
        )));
    }
    if !matches!(resource.property("networks"), None | Some(Expr::List(_))) {
        return Err(Refusal::because(format!(
            "The networks of {} are not a list; change them in the code view",
            server.name
        )));
    }
    Ok(Proposal {
        label: format!("Connect {} to {}", server.name, frame.name),
        edits: vec![append(
            resource,
            "networks",
            json!({ "network": get_resource(&frame.name) }),
        )],
        // A server in a folded network has no place yet (see `Editor::apply`).
        places: frame
            .is_folded
            .then(|| (server.name.clone(), Place::at(server.rect.corner())))
            .into_iter()
            .collect(),
        select: vec![server.name.clone()],
        ..Proposal::default()
    })
}

fn route(input: &CommandInput<'_>, router: &Node, frame: &Node) -> Result<Proposal, Refusal> {
    let joined = input.template.resources.iter().any(|resource| {
        let named = |names: [&str; 2]| {
            names
                .iter()
                .find_map(|name| resource.property(name).and_then(plain_reference))
        };
        resource.resource_type == types::ROUTER_INTERFACE
            && named(["router", "router_id"]) == Some(&router.name)
            && named(["subnet", "subnet_id"])
                .and_then(|subnet| frame_of(input.template, subnet))
                .as_deref()
                == Some(&frame.name)
    });
    if joined {
        return Err(Refusal::because(format!(
            "{} is in {} already",
            router.name, frame.name
        )));
    }
    let mut edits = Vec::new();
    let subnet = subnet_for(input, &frame.name, &mut edits);
    edits.push(Edit::AddResource {
        name: unique_name(input.template, &format!("{}_to_{}", router.name, frame.name)),
        resource_type: types::ROUTER_INTERFACE.to_owned(),
        properties: json!({ "router": get_resource(&router.name), "subnet": get_resource(&subnet) }),
    });
    Ok(Proposal {
        label: format!("Connect {} to {}", router.name, frame.name),
        edits,
        select: vec![router.name.clone()],
        ..Proposal::default()
    })
}

fn open(input: &CommandInput<'_>, router: &Node) -> Result<Proposal, Refusal> {
    if known(input, router)?
        .property("external_gateway_info")
        .is_some()
    {
        return Err(Refusal::because(format!(
            "{} has an external gateway already",
            router.name
        )));
    }
    let outside =
        external_network(input).or_else(|| input.drawing.node(INTERNET)?.detail.first().cloned());
    let Some(outside) = outside else {
        return Err(Refusal::because(
            "This cloud shows no external network. Name one in the router's form",
        ));
    };
    Ok(Proposal {
        label: format!("Connect {} to the Internet", router.name),
        edits: vec![Edit::Set {
            path: property_path(&router.name, &["external_gateway_info"]),
            value: json!({ "network": outside }),
        }],
        select: vec![router.name.clone()],
        ..Proposal::default()
    })
}

fn publish(server: &Node) -> Result<Proposal, Refusal> {
    if server.marks.public {
        return Err(Refusal::because(format!(
            "{} is public already",
            server.name
        )));
    }
    Ok(Proposal {
        label: format!("Make {} public", server.name),
        edits: vec![Edit::Set {
            path: ["resources", &server.name, "metadata", "stackloom", "public"]
                .map(str::to_owned)
                .to_vec(),
            value: json!(true),
        }],
        select: vec![server.name.clone()],
        ..Proposal::default()
    })
}

fn relate(input: &CommandInput<'_>, start: &Node, end: &Node) -> Result<Proposal, Refusal> {
    let forth = relation(input, start, end);
    let back = relation(input, end, start);
    match (forth, back) {
        (Some(requirement), _) => add_relation(input, start, end, &requirement),
        (None, Some(requirement)) => add_relation(input, end, start, &requirement),
        (None, None) => Err(Refusal::because(format!(
            "{} offers nothing that {} needs",
            end.title, start.title
        ))),
    }
}

/// Connects with the one suitable component on a server, for a line to the server.
fn relate_with_one_on(
    input: &CommandInput<'_>,
    start: &Node,
    server: &Node,
) -> Result<Proposal, Refusal> {
    let mut fitting = input
        .drawing
        .children(&server.name)
        .filter(|chip| relation(input, start, chip).is_some());
    match (fitting.next(), fitting.next()) {
        (Some(chip), None) => relate(input, start, chip),
        (Some(_), Some(_)) => Err(Refusal::because(
            "Several components match. Drag to one of them",
        )),
        _ => Err(Refusal::because(format!(
            "Nothing on {} offers what {} needs",
            server.name, start.title
        ))),
    }
}

/// The requirement of `from` that `to` satisfies.
fn relation(input: &CommandInput<'_>, from: &Node, to: &Node) -> Option<Requirement> {
    let needs = &input
        .types
        .get(&from.resource_type)?
        .component
        .as_ref()?
        .requires;
    let offers = &input
        .types
        .get(&to.resource_type)?
        .component
        .as_ref()?
        .provides;
    needs
        .iter()
        .find(|need| offers.iter().any(|offer| offer.name == need.capability))
        .cloned()
}

fn add_relation(
    input: &CommandInput<'_>,
    from: &Node,
    to: &Node,
    requirement: &Requirement,
) -> Result<Proposal, Refusal> {
    let resource = known(input, from)?;
    let value = resource.property(&requirement.name);
    if value.is_some_and(|value| value.resources().contains(&to.name.as_str())) {
        return Err(Refusal::because(format!(
            "{} uses {} already",
            from.name, to.name
        )));
    }
    let full = requirement
        .max
        .is_some_and(|max| list_length(resource, &requirement.name) >= max as usize);
    if full {
        return Err(Refusal::because(format!(
            "{} takes at most {} {}",
            from.name,
            requirement.max.unwrap_or_default(),
            requirement.name
        )));
    }
    if !matches!(value, None | Some(Expr::List(_))) {
        return Err(Refusal::because(format!(
            "`{}` of {} is not a list; change it in the code view",
            requirement.name, from.name
        )));
    }
    Ok(Proposal {
        label: format!(
            "Connect {} to {} ({})",
            from.name, to.name, requirement.name
        ),
        edits: vec![append(resource, &requirement.name, get_resource(&to.name))],
        select: vec![from.name.clone()],
        ..Proposal::default()
    })
}

/// Joins two resources by the descriptions of their types.
fn join_ends(input: &CommandInput<'_>, from: &str, to: &str) -> Result<Proposal, Refusal> {
    let (Some(start), Some(end)) = (End::of(input, from), End::of(input, to)) else {
        return Err(Refusal::because("This cannot be connected"));
    };
    let Some(joined) = join::join(input, start, end)? else {
        return Err(Refusal::because(format!(
            "{} and {} cannot be connected",
            label(input, from),
            label(input, to)
        )));
    };
    Ok(Proposal {
        label: format!("Connect {from} to {to} ({})", joined.by),
        edits: join::folded(joined.edits),
        select: vec![from.to_owned()],
        ..Proposal::default()
    })
}

fn label(input: &CommandInput<'_>, name: &str) -> String {
    match input.resource(name) {
        Some(resource) => format!("{name} ({})", input.title(&resource.resource_type)),
        None => "The Internet".to_owned(),
    }
}

fn known<'a>(
    input: &CommandInput<'a>,
    node: &Node,
) -> Result<&'a hot::template::Resource, Refusal> {
    input
        .template
        .resource(&node.name)
        .ok_or_else(|| Refusal::because(format!("{} is not in the template", node.name)))
}
