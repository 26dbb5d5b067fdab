//! Adds resources, at a point or from the keyboard.

use hot::document::Edit;
use serde_json::{Value, json};

use super::{
    CommandInput, Item, Proposal, Refusal, free_cidr, get_resource,
    join::{self, End},
    property_path, subnet_for, unique_name,
    usual::{flavor_for, image_for},
};
use crate::{
    drawing::{Node, NodeKind},
    geometry::{CanvasPoint, CanvasVector, Rect, Size},
    layout::{self, Place},
    snap,
};

/// The proposal for adding an item from the keyboard: to the selected resource, or beside all nodes.
///
/// # Errors
/// The reason why the item cannot be added.
pub fn add(input: &CommandInput<'_>, item: &Item, onto: Option<&str>) -> Result<Proposal, Refusal> {
    let mut onto = onto.and_then(|name| input.drawing.owner(name));
    if onto.is_none() && matches!(item, Item::Component(_)) {
        // A single server is used without a selection.
        let mut servers = input
            .drawing
            .nodes()
            .iter()
            .filter(|node| node.kind == NodeKind::Server);
        onto = servers.next().filter(|_| servers.next().is_none());
    }
    if matches!(item, Item::Network) {
        onto = None;
    }
    add_at(input, item, onto, None)
}

pub(super) fn add_at(
    input: &CommandInput<'_>,
    item: &Item,
    onto: Option<&Node>,
    at: Option<CanvasPoint>,
) -> Result<Proposal, Refusal> {
    match item {
        Item::Network => Ok(add_network(input, at)),
        Item::Router => Ok(add_router(input, onto, at)),
        Item::PublicServer => add_server(input, onto, at, Reach::Public),
        Item::PrivateServer => add_server(input, onto, at, Reach::Private),
        Item::Component(resource_type) => add_component(input, resource_type, onto),
        Item::Other(resource_type) => add_other(input, resource_type, onto, at),
    }
}

/// A free place near a point, for a node of this size.
pub(super) fn place(
    input: &CommandInput<'_>,
    at: Option<CanvasPoint>,
    size: Size,
) -> Option<Place> {
    let at = at?;
    let wanted = snap::to_grid(CanvasPoint::new(
        at.x - size.width / 2.0,
        at.y - size.height / 2.0,
    ));
    let taken: Vec<Rect> = input
        .drawing
        .nodes()
        .iter()
        .filter(|node| node.parent.is_none())
        .map(|node| node.rect)
        .collect();
    Some(Place::at(layout::free_spot(
        Rect::at(wanted, size),
        &taken,
        16.0,
    )))
}

fn add_network(input: &CommandInput<'_>, at: Option<CanvasPoint>) -> Proposal {
    let name = unique_name(input.template, "network");
    let subnet = unique_name(input.template, &format!("{name}_subnet"));
    // A frame is placed with its header at the pointer.
    let wanted = at.map(|at| {
        at.moved(CanvasVector {
            dx: 0.0,
            dy: layout::FRAME_MIN.height / 2.0 - 24.0,
        })
    });
    Proposal {
        label: "Add a network".to_owned(),
        edits: vec![
            Edit::AddResource {
                name: name.clone(),
                resource_type: types::NET.to_owned(),
                properties: json!({}),
            },
            Edit::AddResource {
                name: subnet,
                resource_type: types::SUBNET.to_owned(),
                properties: json!({ "network": get_resource(&name), "cidr": free_cidr(input.template) }),
            },
        ],
        places: place(input, wanted, layout::FRAME_MIN)
            .map(|place| (name.clone(), place))
            .into_iter()
            .collect(),
        select: vec![name],
        target: None,
    }
}

fn add_router(input: &CommandInput<'_>, onto: Option<&Node>, at: Option<CanvasPoint>) -> Proposal {
    let name = unique_name(input.template, "router");
    let mut properties = json!({});
    if let Some(outside) = external_network(input) {
        properties = json!({ "external_gateway_info": { "network": outside } });
    }
    let mut edits = vec![Edit::AddResource {
        name: name.clone(),
        resource_type: types::ROUTER.to_owned(),
        properties,
    }];
    let frame = onto.and_then(|node| frame_of_node(input, node));
    let (mut label, mut corner) = (
        "Add a router to the outside".to_owned(),
        place(input, at, layout::PILL),
    );
    if let Some(frame) = frame {
        label = format!("Add a router for {}", frame.name);
        let subnet = subnet_for(input, &frame.name, &mut edits);
        edits.push(Edit::AddResource {
            name: unique_name(input.template, &format!("{name}_to_{}", frame.name)),
            resource_type: types::ROUTER_INTERFACE.to_owned(),
            properties: json!({ "router": get_resource(&name), "subnet": get_resource(&subnet) }),
        });
        // On the frame it would cover other nodes, so it is placed above, at the pointer's height.
        corner = at.and_then(|at| {
            let above = CanvasPoint::new(
                at.x,
                at.y.min(frame.rect.y - 40.0 - layout::PILL.height / 2.0),
            );
            place(input, Some(above), layout::PILL)
        });
    }
    Proposal {
        label,
        edits,
        places: corner
            .map(|place| (name.clone(), place))
            .into_iter()
            .collect(),
        select: vec![name],
        target: frame.map(|frame| frame.name.clone()),
    }
}

/// The cloud's first external network.
pub(super) fn external_network(input: &CommandInput<'_>) -> Option<String> {
    input
        .cloud
        .external_networks
        .as_ref()?
        .first()
        .map(|network| network.name.clone())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Public,
    Private,
}

fn add_server(
    input: &CommandInput<'_>,
    onto: Option<&Node>,
    at: Option<CanvasPoint>,
    reach: Reach,
) -> Result<Proposal, Refusal> {
    if onto.is_some_and(|node| matches!(node.kind, NodeKind::Router | NodeKind::Internet))
        && at.is_some()
    {
        return Err(Refusal::because(
            "A server needs a network. Drop it inside one",
        ));
    }
    let frame = onto.and_then(|node| frame_of_node(input, node));
    let name = unique_name(input.template, "server");
    let mut properties = serde_json::Map::new();
    if let Some(image) = image_for(input) {
        properties.insert("image".to_owned(), image);
    }
    if let Some(flavor) = flavor_for(input) {
        properties.insert("flavor".to_owned(), flavor);
    }
    let mut label = match reach {
        Reach::Public => "Add a public server".to_owned(),
        Reach::Private => "Add a server".to_owned(),
    };
    let size = Size::new(
        layout::CARD_WIDTH,
        layout::SERVER_HEADER + layout::TAGS_HEIGHT,
    );
    let spot = match frame {
        Some(frame) => {
            label = format!("{label} to {}", frame.name);
            properties.insert(
                "networks".to_owned(),
                json!([{ "network": get_resource(&frame.name) }]),
            );
            at.map(|at| inside(input, frame, at, size))
        }
        None => place(input, at, size),
    };
    let mut edits = vec![Edit::AddResource {
        name: name.clone(),
        resource_type: types::SERVER.to_owned(),
        properties: Value::Object(properties),
    }];
    if reach == Reach::Public {
        edits.push(mark_public(&name));
    }
    Ok(Proposal {
        label,
        edits,
        places: spot
            .map(|place| (name.clone(), place))
            .into_iter()
            .collect(),
        select: vec![name],
        target: frame.map(|frame| frame.name.clone()),
    })
}

fn mark_public(server: &str) -> Edit {
    let path = ["resources", server, "metadata", "stackloom", "public"]
        .map(str::to_owned)
        .to_vec();
    Edit::Set {
        path,
        value: json!(true),
    }
}

/// A free place in a frame near a point. The frame grows if necessary.
fn inside(input: &CommandInput<'_>, frame: &Node, at: CanvasPoint, size: Size) -> Place {
    let least = CanvasPoint::new(
        frame.rect.x + layout::FRAME_PADDING,
        frame.rect.y + layout::FRAME_HEADER,
    );
    let wanted = snap::to_grid(CanvasPoint::new(
        at.x - size.width / 2.0,
        at.y - size.height / 2.0,
    ));
    let corner = CanvasPoint::new(wanted.x.max(least.x), wanted.y.max(least.y));
    let taken: Vec<Rect> = input
        .drawing
        .children(&frame.name)
        .map(|node| node.rect)
        .collect();
    Place::at(layout::free_spot(Rect::at(corner, size), &taken, 16.0))
}

fn add_component(
    input: &CommandInput<'_>,
    resource_type: &str,
    onto: Option<&Node>,
) -> Result<Proposal, Refusal> {
    let title = input.title(resource_type);
    let host = match onto {
        Some(node) if node.kind == NodeKind::Server => Some(node.name.as_str()),
        Some(node) if node.kind == NodeKind::Chip => node.parent.as_deref(),
        _ => None,
    };
    let Some(host) = host else {
        return Err(Refusal::because(format!(
            "{title} needs a server. Drop it on one"
        )));
    };
    let name = unique_name(
        input.template,
        resource_type.rsplit("::").next().unwrap_or("component"),
    );
    Ok(Proposal {
        label: format!("Install {title} on {host}"),
        edits: vec![Edit::AddResource {
            name: name.clone(),
            resource_type: resource_type.to_owned(),
            properties: json!({ "host": get_resource(host) }),
        }],
        places: Vec::new(),
        select: vec![name],
        target: Some(host.to_owned()),
    })
}

fn add_other(
    input: &CommandInput<'_>,
    resource_type: &str,
    onto: Option<&Node>,
    at: Option<CanvasPoint>,
) -> Result<Proposal, Refusal> {
    let title = input.title(resource_type);
    // A public address of a server is the `public` mark; the passes add the resources.
    if matches!(resource_type, types::FLOATING_IP)
        && let Some(server) = onto.filter(|node| node.kind == NodeKind::Server)
    {
        return Ok(Proposal {
            label: format!("Make {} public", server.name),
            edits: vec![mark_public(&server.name)],
            select: vec![server.name.clone()],
            target: Some(server.name.clone()),
            ..Proposal::default()
        });
    }
    let name = unique_name(
        input.template,
        &snake_case(resource_type.rsplit("::").next().unwrap_or("resource")),
    );
    let mut edits = vec![Edit::AddResource {
        name: name.clone(),
        resource_type: resource_type.to_owned(),
        properties: json!({}),
    }];
    let mut target = None;
    let mut label = format!("Add {}", with_article(&title));
    let added = End {
        name: &name,
        resource_type,
        resource: None,
    };
    if let Some(node) = onto.filter(|node| node.kind != NodeKind::Internet) {
        let joined = match End::of(input, &node.name) {
            Some(end) => join::join(input, added, end)?,
            None => None,
        };
        if let Some(joined) = joined {
            edits.extend(joined.edits);
            target = Some(node.name.clone());
        } else if at.is_some() && !node.is_network() {
            return Err(Refusal::because(format!(
                "{} and {} cannot be connected. Drop it on an empty place",
                title, node.name
            )));
        }
    }
    if resource_type == types::SUBNET {
        edits.push(Edit::Set {
            path: property_path(&name, &["cidr"]),
            value: json!(free_cidr(input.template)),
        });
    }
    if let Some(target) = &target {
        label = format!("{label} to {target}");
    }
    let size = Size::new(layout::CARD_WIDTH, layout::CARD_HEIGHT);
    let spot = if target.is_none() {
        place(input, at, size)
    } else {
        None
    };
    Ok(Proposal {
        label,
        edits: join::folded(edits),
        places: spot
            .map(|place| (name.clone(), place))
            .into_iter()
            .collect(),
        select: vec![name],
        target,
    })
}

/// The frame itself, or the frame around a node.
fn frame_of_node<'a>(input: &CommandInput<'a>, node: &Node) -> Option<&'a Node> {
    let mut at = input.drawing.node(&node.name)?;
    while !at.is_network() {
        at = input.drawing.node(at.parent.as_deref()?)?;
    }
    Some(at)
}

/// Converts `SecurityGroup` to `security_group` and `FloatingIP` to `floating_ip`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut after_lower = false;
    for letter in name.chars() {
        if letter.is_uppercase() && after_lower {
            snake.push('_');
        }
        after_lower = letter.is_lowercase() || letter.is_ascii_digit();
        snake.extend(letter.to_lowercase());
    }
    snake
}

fn with_article(title: &str) -> String {
    let lower = title.to_lowercase();
    let article = if lower.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {lower}")
}
