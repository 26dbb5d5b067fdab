//! Adding something, by a drop or from the keyboard.

use hot::document::Edit;
use serde_json::{Value, json};

use super::{
    Desk, Item, Proposal, Refusal, Takes, append, free_cidr, get_resource, property_path,
    subnet_for, unique_name,
};
use crate::{
    drawing::{Node, NodeKind},
    geometry::{CanvasPoint, CanvasVector, Rect, Size},
    layout::{self, Place},
    snap,
};

/// A router dropped this close to a frame joins it, in canvas pixels.
const NEAR_A_FRAME: f64 = 64.0;

/// What dropping an item at a point would do.
///
/// # Errors
/// A reason, where nothing sensible can come of it.
pub fn drop_item(desk: &Desk<'_>, item: &Item, at: CanvasPoint) -> Result<Proposal, Refusal> {
    let hit = desk.drawing.hit(at);
    match item {
        Item::Network if hit.is_some() => Err(Refusal::because(
            "Networks stand side by side: drop it on an empty place",
        )),
        Item::Router => {
            let near = || {
                desk.drawing.nodes().iter().find(|node| {
                    node.kind == NodeKind::Frame && node.rect.grown(NEAR_A_FRAME).contains(at)
                })
            };
            add_at(desk, item, hit.or_else(near), Some(at))
        }
        _ => add_at(desk, item, hit, Some(at)),
    }
}

/// What adding an item from the keyboard would do: to the selected resource, or beside everything.
///
/// # Errors
/// A reason, where nothing sensible can come of it.
pub fn add(desk: &Desk<'_>, item: &Item, onto: Option<&str>) -> Result<Proposal, Refusal> {
    let mut onto = onto.and_then(|name| desk.drawing.owner(name));
    if onto.is_none() && matches!(item, Item::Component(_)) {
        // With one server there is nothing to choose.
        let mut servers = desk
            .drawing
            .nodes()
            .iter()
            .filter(|node| node.kind == NodeKind::Server);
        onto = servers.next().filter(|_| servers.next().is_none());
    }
    if matches!(item, Item::Network) {
        onto = None;
    }
    add_at(desk, item, onto, None)
}

fn add_at(
    desk: &Desk<'_>,
    item: &Item,
    onto: Option<&Node>,
    at: Option<CanvasPoint>,
) -> Result<Proposal, Refusal> {
    match item {
        Item::Network => Ok(add_network(desk, at)),
        Item::Router => Ok(add_router(desk, onto, at)),
        Item::PublicServer => add_server(desk, onto, at, Reach::Public),
        Item::PrivateServer => add_server(desk, onto, at, Reach::Private),
        Item::Component(resource_type) => add_component(desk, resource_type, onto),
        Item::Other(resource_type) => add_other(desk, resource_type, onto, at),
    }
}

/// A free place around a point, for something of this size.
fn place(desk: &Desk<'_>, at: Option<CanvasPoint>, size: Size) -> Option<Place> {
    let at = at?;
    let wanted = snap::to_grid(CanvasPoint::new(
        at.x - size.width / 2.0,
        at.y - size.height / 2.0,
    ));
    let taken: Vec<Rect> = desk
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

fn add_network(desk: &Desk<'_>, at: Option<CanvasPoint>) -> Proposal {
    let name = unique_name(desk.template, "network");
    let subnet = unique_name(desk.template, &format!("{name}_subnet"));
    // A frame hangs from the pointer by its header, where a person looks.
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
                properties: json!({ "network": get_resource(&name), "cidr": free_cidr(desk.template) }),
            },
        ],
        places: place(desk, wanted, layout::FRAME_MIN)
            .map(|place| (name.clone(), place))
            .into_iter()
            .collect(),
        select: vec![name],
        target: None,
    }
}

fn add_router(desk: &Desk<'_>, onto: Option<&Node>, at: Option<CanvasPoint>) -> Proposal {
    let name = unique_name(desk.template, "router");
    let mut properties = json!({});
    if let Some(outside) = external_network(desk) {
        properties = json!({ "external_gateway_info": { "network": outside } });
    }
    let mut edits = vec![Edit::AddResource {
        name: name.clone(),
        resource_type: types::ROUTER.to_owned(),
        properties,
    }];
    let frame = onto.and_then(|node| frame_of_node(desk, node));
    let (mut label, mut corner) = (
        "Add a router to the outside".to_owned(),
        place(desk, at, layout::PILL),
    );
    if let Some(frame) = frame {
        label = format!("Add a router for {}", frame.name);
        let subnet = subnet_for(desk, &frame.name, &mut edits);
        edits.push(Edit::AddResource {
            name: unique_name(desk.template, &format!("{name}_to_{}", frame.name)),
            resource_type: types::ROUTER_INTERFACE.to_owned(),
            properties: json!({ "router": get_resource(&name), "subnet": get_resource(&subnet) }),
        });
        // On the frame it would hide what stands there: it goes above, where the pointer is.
        corner = at.and_then(|at| {
            let above = CanvasPoint::new(
                at.x,
                at.y.min(frame.rect.y - 40.0 - layout::PILL.height / 2.0),
            );
            place(desk, Some(above), layout::PILL)
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

/// The cloud's first network to the outside.
pub(super) fn external_network(desk: &Desk<'_>) -> Option<String> {
    desk.cloud
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
    desk: &Desk<'_>,
    onto: Option<&Node>,
    at: Option<CanvasPoint>,
    reach: Reach,
) -> Result<Proposal, Refusal> {
    if onto.is_some_and(|node| matches!(node.kind, NodeKind::Router | NodeKind::Internet))
        && at.is_some()
    {
        return Err(Refusal::because(
            "A server joins a network: drop it inside one",
        ));
    }
    let frame = onto.and_then(|node| frame_of_node(desk, node));
    let name = unique_name(desk.template, "server");
    let mut properties = serde_json::Map::new();
    if let Some(image) = desk.cloud.images.as_ref().and_then(|images| images.first()) {
        properties.insert("image".to_owned(), json!(image.name));
    }
    if let Some(flavor) = usual_flavor(desk) {
        properties.insert("flavor".to_owned(), json!(flavor));
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
            at.map(|at| inside(desk, frame, at, size))
        }
        None => place(desk, at, size),
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

/// A free place in a frame near a point; the frame grows if it must.
fn inside(desk: &Desk<'_>, frame: &Node, at: CanvasPoint, size: Size) -> Place {
    let least = CanvasPoint::new(
        frame.rect.x + layout::FRAME_PADDING,
        frame.rect.y + layout::FRAME_HEADER,
    );
    let wanted = snap::to_grid(CanvasPoint::new(
        at.x - size.width / 2.0,
        at.y - size.height / 2.0,
    ));
    let corner = CanvasPoint::new(wanted.x.max(least.x), wanted.y.max(least.y));
    let taken: Vec<Rect> = desk
        .drawing
        .children(&frame.name)
        .map(|node| node.rect)
        .collect();
    Place::at(layout::free_spot(Rect::at(corner, size), &taken, 16.0))
}

/// The smallest flavor with half a GiB or more, or else the first.
fn usual_flavor(desk: &Desk<'_>) -> Option<String> {
    let flavors = desk.cloud.flavors.as_ref()?;
    let enough = flavors
        .iter()
        .filter(|flavor| flavor.ram_mib >= 512)
        .min_by_key(|flavor| (flavor.ram_mib, flavor.vcpus));
    enough
        .or_else(|| flavors.first())
        .map(|flavor| flavor.name.clone())
}

fn add_component(
    desk: &Desk<'_>,
    resource_type: &str,
    onto: Option<&Node>,
) -> Result<Proposal, Refusal> {
    let title = desk.title(resource_type);
    let host = match onto {
        Some(node) if node.kind == NodeKind::Server => Some(node.name.as_str()),
        Some(node) if node.kind == NodeKind::Chip => node.parent.as_deref(),
        _ => None,
    };
    let Some(host) = host else {
        return Err(Refusal::because(format!(
            "{title} needs a server to run on: drop it on a server"
        )));
    };
    let name = unique_name(
        desk.template,
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
    desk: &Desk<'_>,
    resource_type: &str,
    onto: Option<&Node>,
    at: Option<CanvasPoint>,
) -> Result<Proposal, Refusal> {
    let title = desk.title(resource_type);
    // A public address on a server is what the `public` mark says, and the passes do the rest.
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
        desk.template,
        &snake_case(resource_type.rsplit("::").next().unwrap_or("resource")),
    );
    let mut properties = serde_json::Map::new();
    let mut target = None;
    let mut more = Vec::new();
    let mut label = format!("Add {}", with_article(&title));
    if let Some(node) = onto.filter(|node| node.kind != NodeKind::Internet) {
        if let Some((property, takes)) = desk
            .reference_properties(resource_type, &node.resource_type)
            .into_iter()
            .next()
        {
            let value = get_resource(&node.name);
            properties.insert(
                property,
                if takes == Takes::Many {
                    json!([value])
                } else {
                    value
                },
            );
            target = Some(node.name.clone());
        } else if let Some((property, takes)) = desk
            .reference_properties(&node.resource_type, resource_type)
            .into_iter()
            .next()
            && let Some(owner) = desk.resource(&node.name)
        {
            more.push(match takes {
                Takes::Many => append(owner, &property, get_resource(&name)),
                Takes::One => Edit::Set {
                    path: property_path(&owner.name, &[&property]),
                    value: get_resource(&name),
                },
            });
            target = Some(node.name.clone());
        } else if at.is_some() && node.kind != NodeKind::Frame {
            return Err(Refusal::because(format!(
                "{} and {} have nothing to do with each other: drop it on an empty place",
                title, node.name
            )));
        }
    }
    if resource_type == types::SUBNET {
        properties.insert("cidr".to_owned(), json!(free_cidr(desk.template)));
    }
    if let Some(target) = &target {
        label = format!("{label} to {target}");
    }
    let size = Size::new(layout::CARD_WIDTH, layout::CARD_HEIGHT);
    let spot = if target.is_none() {
        place(desk, at, size)
    } else {
        None
    };
    let mut edits = vec![Edit::AddResource {
        name: name.clone(),
        resource_type: resource_type.to_owned(),
        properties: Value::Object(properties),
    }];
    edits.append(&mut more);
    Ok(Proposal {
        label,
        edits,
        places: spot
            .map(|place| (name.clone(), place))
            .into_iter()
            .collect(),
        select: vec![name],
        target,
    })
}

/// The frame that a node is, or stands in.
fn frame_of_node<'a>(desk: &Desk<'a>, node: &Node) -> Option<&'a Node> {
    let mut at = desk.drawing.node(&node.name)?;
    while at.kind != NodeKind::Frame {
        at = desk.drawing.node(at.parent.as_deref()?)?;
    }
    Some(at)
}

/// `SecurityGroup` to `security_group`, `FloatingIP` to `floating_ip`.
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
