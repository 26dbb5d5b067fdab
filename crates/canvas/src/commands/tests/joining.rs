//! Connections and drops by the descriptions of types: every pair with an attachment can be joined.

use serde_json::json;
use types::{Executable, Shape};

use super::*;
use crate::{drawing::NodeKind, geometry::Rect};

const PARTS: &str = "\
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}
  web:
    type: OS::Nova::Server
    properties: {flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  db:
    type: OS::Nova::Server
    properties: {flavor: m1.tiny, networks: [{port: {get_resource: db_port}}]}
  db_port:
    type: OS::Neutron::Port
    properties: {network: {get_resource: net}}
  data: {type: OS::Cinder::Volume, properties: {size: 10}}
  address: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}
  port: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  group: {type: OS::Neutron::SecurityGroup}
  key: {type: OS::Nova::KeyPair, properties: {name: mine}}
  balancer: {type: OS::Octavia::LoadBalancer}
  setup: {type: OS::Heat::SoftwareConfig}
";

fn refused(hands: &TestEditor, from: &str, to: &str) -> String {
    match hands.with(|input| connect(input, from, to)) {
        Ok(proposal) => panic!("allowed: {}", proposal.label),
        Err(Refusal(reason)) => reason,
    }
}

#[test]
fn a_volume_is_attached_and_drawn_in_its_server() {
    for (from, to) in [("data", "web"), ("web", "data")] {
        let mut hands = TestEditor::on(PARTS);
        hands.connect(from, to);
        let attachment = hands.editor.template().resource("data_web").expect("it");
        assert_eq!(attachment.resource_type, "OS::Cinder::VolumeAttachment");
        assert_eq!(
            [
                hands.property("data_web", "instance_uuid"),
                hands.property("data_web", "volume_id")
            ],
            [get_resource("web"), get_resource("data")]
        );
        hands.with(|input| {
            let data = input.drawing.node("data").expect("it is drawn");
            assert_eq!(
                (data.kind, data.parent.as_deref()),
                (NodeKind::Chip, Some("web"))
            );
            assert_eq!(data.detail, ["10 GB"]);
        });
        assert!(refused(&hands, "data", "web").contains("already"));
        assert!(refused(&hands, "data", "db").contains("attached to web already"));
    }
}

#[test]
fn a_volume_dropped_on_a_server_is_attached_to_it() {
    let mut hands = TestEditor::on(PARTS);
    let volume = hands.drop_on(Item::Other("OS::Cinder::Volume".to_owned()), "web");
    hands.with(|input| {
        let node = input.drawing.node(&volume).expect("it is drawn");
        assert_eq!(node.parent.as_deref(), Some("web"));
    });
}

#[test]
fn a_volume_dragged_out_is_detached_and_dragged_over_another_server_is_attached_there() {
    let mut hands = TestEditor::on(PARTS);
    hands.connect("data", "web");
    let over = hands.with(|input| input.drawing.node("db").expect("a node").rect.centre());
    let shifted = |hands: &TestEditor, at| {
        let none = crate::geometry::CanvasVector::default();
        hands.with(|input| shift(input, &["data".to_owned()], none, at))
    };
    let moved = shifted(&hands, over);
    hands.take(moved);
    assert_eq!(
        hands.property("data_web", "instance_uuid"),
        get_resource("db")
    );
    let detached = shifted(&hands, CanvasPoint::new(4000.0, 4000.0));
    hands.take(detached);
    assert!(hands.editor.template().resource("data_web").is_none());
    hands.with(|input| {
        let data = input.drawing.node("data").expect("it stays");
        assert_eq!((data.kind, data.parent.as_deref()), (NodeKind::Card, None));
        assert!(data.rect.contains(CanvasPoint::new(4000.0, 4000.0)));
    });
}

/// The proposal for dropping a node at the centre of another one.
fn dropped(hands: &TestEditor, name: &str, onto: &str) -> Result<Proposal, Refusal> {
    hands.with(|input| {
        let rect = |name: &str| input.drawing.node(name).expect("a node").rect;
        let (from, to) = (rect(name).centre(), rect(onto).centre());
        shift(input, &[name.to_owned()], to.since(from), to)
    })
}

#[test]
fn a_card_dropped_on_a_server_is_connected_as_by_a_line_and_stays_beside() {
    for card in ["data", "key", "group", "address", "balancer", "setup"] {
        let mut hands = TestEditor::on(PARTS);
        let line = hands
            .with(|input| connect(input, card, "web"))
            .expect("a line");
        let drop = dropped(&hands, card, "web").expect("a drop");
        assert_eq!(
            (&drop.edits, &drop.label, drop.target.as_deref()),
            (&line.edits, &line.label, Some("web"))
        );
        hands.with(|input| {
            let node = input.drawing.node(card).expect("a card");
            let (_, place) = &drop.places[0];
            let rect = Rect::at(CanvasPoint::new(place.x, place.y), node.rect.size());
            for other in input.drawing.siblings(node) {
                let is_free = other.name == card || !other.rect.overlaps(rect);
                assert!(is_free, "{card} covers {}", other.name);
            }
        });
        hands.take(Ok(drop));
    }
}

#[test]
fn a_volume_dragged_out_is_dragged_in_again() {
    let mut hands = TestEditor::on(PARTS);
    hands.connect("data", "web");
    let away = CanvasPoint::new(4000.0, 4000.0);
    let none = crate::geometry::CanvasVector::default();
    let out = hands.with(|input| shift(input, &["data".to_owned()], none, away));
    hands.take(out);
    let back = dropped(&hands, "data", "web");
    hands.take(back);
    hands.with(|input| {
        let data = input.drawing.node("data").expect("it is drawn");
        assert_eq!(data.parent.as_deref(), Some("web"));
    });
}

#[test]
fn a_network_dropped_on_a_server_takes_it_in() {
    let text = format!("{PARTS}  other: {{type: OS::Neutron::Net}}\n");
    let mut hands = TestEditor::on(&text);
    let answer = dropped(&hands, "other", "web");
    hands.take(answer);
    assert_eq!(
        hands.property("web", "networks")[1],
        json!({ "network": get_resource("other") })
    );
}

#[test]
fn a_card_dropped_where_nothing_fits_just_moves() {
    let hands = TestEditor::on(PARTS);
    let proposal = dropped(&hands, "key", "address").expect("a move");
    assert!(proposal.edits.is_empty(), "{}", proposal.label);
    assert_eq!(proposal.target, None);
    assert_eq!(proposal.places.len(), 1);
}

#[test]
fn a_network_from_the_palette_is_connected_with_the_server_or_router_below() {
    let mut hands = TestEditor::on(PARTS);
    let network = hands.drop_on(Item::Network, "web");
    assert_eq!(
        hands.property("web", "networks")[1],
        json!({ "network": get_resource(&network) })
    );
    let mut hands = TestEditor::on(TWO_TIER);
    let network = hands.drop_on(Item::Network, "router");
    let interface = format!("router_to_{network}");
    assert_eq!(
        hands.property(&interface, "subnet"),
        get_resource(&format!("{network}_subnet"))
    );
}

#[test]
fn a_floating_ip_leads_to_the_port_of_a_server() {
    let mut hands = TestEditor::on(PARTS);
    hands.connect("address", "db");
    assert_eq!(
        hands.property("address", "port_id"),
        get_resource("db_port")
    );
    hands.connect("address", "web");
    assert_eq!(
        hands.property("address", "port_id"),
        get_resource("web_port")
    );
    assert_eq!(
        hands.property("web", "networks"),
        json!([{ "port": { "get_resource": "web_port" } }])
    );
    assert_eq!(
        hands.property("web_port", "network"),
        get_resource("net"),
        "the server stays in its network"
    );
    hands.connect("address", "port");
    assert_eq!(hands.property("address", "port_id"), get_resource("port"));
}

#[test]
fn a_port_takes_the_place_of_a_plain_attachment_to_its_network() {
    let mut hands = TestEditor::on(PARTS);
    hands.connect("port", "web");
    assert_eq!(
        hands.property("web", "networks"),
        json!([{ "port": { "get_resource": "port" } }])
    );
    assert!(refused(&hands, "web", "port").contains("already"));
}

#[test]
fn a_security_group_goes_to_the_server_or_to_its_drawn_port() {
    let mut hands = TestEditor::on(PARTS);
    hands.connect("group", "web");
    hands.connect("group", "db");
    let group = json!([{ "get_resource": "group" }]);
    assert_eq!(hands.property("web", "security_groups"), group);
    assert_eq!(hands.property("db_port", "security_groups"), group);
    hands.with(|input| {
        let edges = input.drawing.edges();
        let is_between = |edge: &&crate::drawing::Edge| {
            [&edge.from, &edge.to]
                .iter()
                .all(|end| ["web", "db"].contains(&end.as_str()))
        };
        assert!(
            !edges.iter().any(|edge| is_between(&edge)),
            "a shared group is no line between servers: {edges:?}"
        );
    });
}

#[test]
fn a_key_goes_to_a_server_and_a_script_runs_on_it() {
    let mut hands = TestEditor::on(PARTS);
    hands.connect("web", "key");
    assert_eq!(hands.property("web", "key_name"), get_resource("key"));
    hands.connect("setup", "web");
    let deployment = "setup_web";
    assert_eq!(hands.property(deployment, "server"), get_resource("web"));
    assert_eq!(hands.property(deployment, "config"), get_resource("setup"));
}

#[test]
fn a_load_balancer_gets_a_listener_a_pool_and_members() {
    let mut hands = TestEditor::on(PARTS);
    hands.connect("balancer", "net");
    assert_eq!(
        hands.property("balancer", "vip_subnet"),
        get_resource("subnet")
    );
    hands.connect("balancer", "web");
    hands.connect("db", "balancer");
    for server in ["web", "db"] {
        let member = format!("{server}_balancer_pool");
        assert_eq!(
            hands.property(&member, "address"),
            json!({ "get_attr": [server, "first_address"] })
        );
        assert_eq!(hands.property(&member, "protocol_port"), json!(80));
    }
    assert_eq!(
        hands.property("balancer_pool", "listener"),
        get_resource("balancer_listener")
    );
    assert!(refused(&hands, "balancer", "db").contains("already"));
}

/// For every described attachment, resources of the two types that it requires can be connected, in both directions.
#[test]
fn every_attachment_type_can_be_drawn() {
    let types = registry();
    let mut count = 0;
    let attachments = types.iter().filter(|described| {
        described.shape == Shape::Part && described.executable != Executable::No
    });
    for described in attachments {
        let ends: Vec<&str> = described
            .properties
            .iter()
            .filter(|property| property.required)
            .filter_map(|property| Some(property.reference.as_ref()?.to[0].as_str()))
            .collect();
        let [first, second] = ends[..] else { continue };
        let text = format!(
            "heat_template_version: 2021-04-16\nresources:\n  net: {{type: OS::Neutron::Net}}\n  a: {{type: {first}}}\n  b: {{type: {second}}}\n"
        );
        for (from, to) in [("a", "b"), ("b", "a")] {
            let hands = TestEditor::on(&text);
            let answer = hands.with(|input| connect(input, from, to));
            assert!(answer.is_ok(), "{}: {answer:?}", described.name);
        }
        count += 1;
    }
    assert!(count >= 5, "{count} attachment types");
}

#[test]
fn a_duplicated_server_has_a_volume_of_its_own() {
    let mut hands = TestEditor::on(PARTS);
    hands.connect("data", "web");
    let answer = hands.with(|input| duplicate(input, &["web".to_owned()]));
    hands.take(answer.ok_or(Refusal(String::new())));
    hands.with(|input| {
        let twin = input.drawing.node("data_2").expect("the twin");
        assert_eq!(twin.parent.as_deref(), Some("web_2"));
    });
}

#[test]
fn a_line_dropped_on_an_empty_place_adds_what_it_is_connected_to() {
    let at = CanvasPoint::new(3000.0, 3000.0);
    let mut hands = TestEditor::on(PARTS);
    let added = |hands: &mut TestEditor, item: Item, from: &str| {
        let answer = hands.with(|input| add_to(input, &item, from, at));
        hands.take(answer)
    };
    let volume = added(
        &mut hands,
        Item::Other("OS::Cinder::Volume".to_owned()),
        "web",
    );
    hands.with(|input| {
        let node = input.drawing.node(&volume).expect("it is drawn");
        assert_eq!(node.parent.as_deref(), Some("web"));
    });
    let network = added(&mut hands, Item::Network, "web");
    assert_eq!(
        hands.property("web", "networks")[1],
        json!({ "network": { "get_resource": network } })
    );
    let server = added(&mut hands, Item::PrivateServer, "key");
    assert_eq!(hands.property(&server, "key_name"), get_resource("key"));
    let router = added(&mut hands, Item::Router, &network);
    assert!(hands.editor.template().resource(&router).is_some());
    let nothing = hands.with(|input| {
        add_to(
            input,
            &Item::Other("OS::Nova::Quota".to_owned()),
            "data",
            at,
        )
    });
    assert!(nothing.is_err());
}

#[test]
fn the_twin_of_a_backend_is_offered_to_its_proxy() {
    let mut hands = TestEditor::on(TWO_TIER);
    let web = ["web".to_owned()];
    let offer = hands
        .with(|input| connect_twins(input, &web))
        .expect("the proxy uses nginx");
    let answer = hands.with(|input| duplicate(input, &web));
    hands.take(answer.ok_or(Refusal(String::new())));
    assert_eq!(offer.label, "Connect nginx_2 to balancer");
    hands.take(Ok(offer));
    assert_eq!(
        hands.property("balancer", "backends"),
        json!([get_resource("nginx"), get_resource("nginx_2")])
    );
    assert!(
        hands
            .with(|input| connect_twins(input, &["edge".to_owned()]))
            .is_none()
    );
}

#[test]
fn the_end_of_a_line_moves_to_another_resource() {
    let text = TWO_TIER.replace(
        "  balancer:",
        "  other:\n    type: Stackloom::Catalog::nginx\n    properties: {host: {get_resource: edge}}\n  balancer:",
    );
    let mut hands = TestEditor::on(&text);
    let moved = |hands: &TestEditor, from: &str, end: &str, to: &str| {
        hands.with(|input| {
            let edges = input.drawing.edges();
            let edge = edges
                .iter()
                .find(|edge| edge.from == from && edge.to == end);
            reconnect(input, edge.expect("a line"), LineEnd::To, to)
        })
    };
    let backend = moved(&hands, "balancer", "nginx", "other");
    hands.take(backend);
    assert_eq!(
        hands.property("balancer", "backends"),
        json!([get_resource("other")])
    );
    let interface = moved(&hands, "router", "front", "back");
    hands.take(interface);
    assert_eq!(
        hands.property("router_to_front", "subnet"),
        get_resource("back_subnet")
    );
    assert!(
        moved(&hands, "edge", "back", "front").is_err(),
        "it is there already"
    );
    assert!(moved(&hands, "balancer", "other", "mystery").is_err());
}

#[test]
fn the_start_of_a_line_moves_to_another_resource() {
    let text = TWO_TIER.replace(
        "  balancer:",
        "  other:\n    type: Stackloom::Catalog::haproxy\n    properties: {host: {get_resource: edge}}\n  second:\n    type: OS::Neutron::Router\n  balancer:",
    );
    let mut hands = TestEditor::on(&text);
    let moved = |hands: &TestEditor, from: &str, to: &str, start: &str| {
        hands.with(|input| {
            let mut edges = input.drawing.edges().iter();
            let edge = edges.find(|edge| edge.from == from && edge.to == to);
            reconnect(input, edge.expect("a line"), LineEnd::From, start)
        })
    };
    let interface = moved(&hands, "router", "front", "second");
    hands.take(interface);
    assert_eq!(
        hands.property("router_to_front", "router"),
        get_resource("second")
    );
    assert!(moved(&hands, "edge", "back", "web").is_ok());
    assert!(moved(&hands, "edge", "back", "second").is_err());
    assert!(moved(&hands, "balancer", "nginx", "nginx").is_err());
}

#[test]
fn a_line_has_a_movable_start_where_its_node_has_the_reference_and_can_do_without_it() {
    let text = TWO_TIER.replace(
        "  mystery:",
        "  later: {type: OS::Heat::RandomString, depends_on: [edge, web]}
  volume: {type: OS::Cinder::Volume, properties: {size: 1}}
  copy: {type: OS::Cinder::Volume, properties: {name: {list_join: [\"\", [{get_resource: volume}]]}, size: 1}}
  thing: {type: OS::Unknown::Thing}
  port:
    type: OS::Neutron::Port
    properties: {network: {get_resource: front}, value_specs: {of: {get_resource: thing}}}
  db: {type: OS::Nova::Server, properties: {networks: [{port: {get_resource: port}}]}}
  mystery:",
    );
    let hands = TestEditor::on(&text);
    for (from, to, is_movable) in [
        ("edge", "back", true),
        ("router", "front", true),
        ("router", crate::drawing::INTERNET, true),
        ("mystery", "web", true),
        // The order of creation.
        ("later", "edge", false),
        // A part of a text.
        ("copy", "volume", false),
        // A value of the server's port.
        ("db", "thing", false),
    ] {
        hands.with(|input| {
            let mut edges = input.drawing.edges().iter();
            let edge = edges.find(|edge| edge.from == from && edge.to == to);
            let edge = edge.unwrap_or_else(|| panic!("a line from {from} to {to}"));
            assert_eq!(has_movable_start(input, edge), is_movable, "{from} to {to}");
            let others = other_ends(input, edge, LineEnd::From);
            assert!(
                is_movable || others.is_empty(),
                "{from} to {to}: {others:?}"
            );
        });
    }
}

#[test]
fn a_cable_keeps_its_address_on_another_server() {
    let text = "heat_template_version: 2021-04-16
resources:
  front: {type: OS::Neutron::Net}
  back: {type: OS::Neutron::Net}
  one:
    type: OS::Nova::Server
    properties:
      networks: [{network: {get_resource: front}}, {network: {get_resource: back}, fixed_ip: 10.0.0.7}]
  two:
    type: OS::Nova::Server
    properties: {networks: [{network: {get_resource: front}}]}
";
    let mut hands = TestEditor::on(text);
    let (ends, answer) = hands.with(|input| {
        let mut edges = input.drawing.edges().iter();
        let edge = edges.find(|edge| edge.from == "one").expect("a cable");
        (
            other_ends(input, edge, LineEnd::From),
            reconnect(input, edge, LineEnd::From, "two"),
        )
    });
    assert_eq!(ends, ["two"]);
    hands.take(answer);
    let front = json!({ "network": get_resource("front") });
    assert_eq!(hands.property("one", "networks"), json!([front]));
    assert_eq!(
        hands.property("two", "networks"),
        json!([front, { "network": get_resource("back"), "fixed_ip": "10.0.0.7" }])
    );
}
