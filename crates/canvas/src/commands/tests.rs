use proptest::prelude::*;
use topology::{
    cloud::{CloudFacts, Flavor, Named},
    diagnostic::Severity,
    types::Registry,
};

use super::*;
use crate::{
    drawing::tests::{TWO_TIER, registry, torn_template},
    editor::Editor,
    geometry::{CanvasPoint, CanvasVector},
    layout::Places,
};

const EMPTY: &str = "heat_template_version: 2021-04-16\n\nresources: {}\n";

fn cloud() -> CloudFacts {
    let named = |name: &str| Named {
        id: format!("id-of-{name}"),
        name: name.to_owned(),
    };
    CloudFacts {
        images: Some(vec![named("debian-12")]),
        flavors: Some(vec![Flavor {
            id: "1".into(),
            name: "m1.small".into(),
            vcpus: 1,
            ram_mib: 1024,
            disk_gib: 10,
        }]),
        external_networks: Some(vec![named("public")]),
        ..CloudFacts::default()
    }
}

/// An editor with hands: what a person does, in words.
struct Hands {
    editor: Editor,
    types: Registry,
    cloud: CloudFacts,
}

impl Hands {
    fn on(text: &str) -> Self {
        let mut hands = Self {
            editor: Editor::open(text, Places::new()),
            types: registry(),
            cloud: cloud(),
        };
        hands.settle();
        hands
    }

    fn settle(&mut self) {
        let drawing = self.editor.draw(None, &self.types);
        self.editor.settle(&drawing);
    }

    fn with<R>(&self, look: impl FnOnce(&Desk<'_>) -> R) -> R {
        let drawing = self.editor.draw(None, &self.types);
        look(&Desk {
            text: self.text(),
            template: self.editor.template(),
            drawing: &drawing,
            types: &self.types,
            cloud: &self.cloud,
        })
    }

    fn take(&mut self, answer: Result<Proposal, Refusal>) -> String {
        let proposal = answer.unwrap_or_else(|Refusal(reason)| panic!("refused: {reason}"));
        self.editor.apply(&proposal, None).expect("the edits fit");
        self.settle();
        proposal.select.first().cloned().unwrap_or_default()
    }

    fn drop(&mut self, item: Item, x: f64, y: f64) -> String {
        let answer = self.with(|desk| drop_item(desk, &item, CanvasPoint::new(x, y)));
        self.take(answer)
    }

    fn drop_on(&mut self, item: Item, node: &str) -> String {
        let at = self.with(|desk| desk.drawing.node(node).expect("a node").rect.centre());
        self.drop(item, at.x, at.y)
    }

    fn connect(&mut self, from: &str, to: &str) {
        let answer = self.with(|desk| connect(desk, from, to));
        self.take(answer);
    }

    fn text(&self) -> &str {
        self.editor.document().text()
    }

    /// The resource as JSON.
    fn property(&self, resource: &str, property: &str) -> serde_json::Value {
        self.editor
            .template()
            .resource(resource)
            .and_then(|one| one.property(property))
            .map(|value| value.to_json())
            .unwrap_or_default()
    }
}

fn item(name: &str) -> Item {
    Item::Component(format!("Stackloom::Catalog::{name}"))
}

#[test]
fn a_design_is_drawn_by_drops_and_connections() {
    let mut hands = Hands::on(EMPTY);
    let network = hands.drop(Item::Network, 100.0, 100.0);
    let router = hands.drop(Item::Router, 900.0, 20.0);
    let front = hands.drop_on(Item::PublicServer, &network);
    let web = hands.drop_on(Item::PrivateServer, &network);
    let nginx = hands.drop_on(item("nginx"), &web);
    let balancer = hands.drop_on(item("haproxy"), &front);
    hands.connect(&router, &network);
    hands.connect(&balancer, &nginx);

    assert_eq!(
        [&*network, &*router, &*front, &*web, &*nginx, &*balancer],
        [
            "network", "router", "server", "server_2", "nginx", "haproxy"
        ]
    );
    assert_eq!(hands.property("network_subnet", "cidr"), "10.0.1.0/24");
    assert_eq!(
        hands.property("router_to_network", "subnet"),
        serde_json::json!({"get_resource": "network_subnet"})
    );
    assert_eq!(
        hands.property("server_2", "networks"),
        serde_json::json!([{"network": {"get_resource": "network"}}])
    );
    assert_eq!(
        hands.property("haproxy", "backends"),
        serde_json::json!([{"get_resource": "nginx"}])
    );
    assert!(
        hands
            .editor
            .template()
            .resource("server")
            .is_some_and(|server| server.marks.public)
    );
    let errors: Vec<_> =
        topology::validate::validate(hands.editor.document(), &hands.types, &hands.cloud)
            .into_iter()
            .filter(|problem| problem.severity == Severity::Error)
            .collect();
    assert!(errors.is_empty(), "{errors:?}\n{}", hands.text());
}

#[test]
fn servers_in_a_frame_do_not_cover_each_other() {
    let mut hands = Hands::on(EMPTY);
    let network = hands.drop(Item::Network, 100.0, 100.0);
    let servers: Vec<String> = (0..4)
        .map(|_| hands.drop_on(Item::PrivateServer, &network))
        .collect();
    let rects: Vec<_> = hands.with(|desk| {
        servers
            .iter()
            .map(|name| desk.drawing.node(name).expect("a server").rect)
            .collect()
    });
    for (index, a) in rects.iter().enumerate() {
        assert!(rects[index + 1..].iter().all(|b| !a.overlaps(*b)));
    }
}

#[test]
fn a_second_network_gets_another_range() {
    let mut hands = Hands::on(EMPTY);
    hands.drop(Item::Network, 0.0, 0.0);
    hands.drop(Item::Network, 2000.0, 0.0);
    assert_eq!(hands.property("network_2_subnet", "cidr"), "10.0.2.0/24");
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let hands = Hands::on(TWO_TIER);
    let refused = |answer: Result<Proposal, Refusal>| answer.expect_err("a refusal").0;
    hands.with(|desk| {
        let nowhere = CanvasPoint::new(-9000.0, 0.0);
        assert!(refused(drop_item(desk, &item("nginx"), nowhere)).contains("drop it on a server"));
        let frame = desk.drawing.node("front").expect("front").rect;
        let empty_part_of_the_frame = CanvasPoint::new(frame.x + 3.0, frame.bottom() - 3.0);
        assert!(
            refused(drop_item(desk, &Item::Network, empty_part_of_the_frame))
                .contains("side by side")
        );
        assert!(refused(connect(desk, "edge", "front")).contains("already"));
        assert!(refused(connect(desk, "edge", "router")).contains("network"));
        assert!(refused(connect(desk, "balancer", "nginx")).contains("already"));
        assert!(refused(connect(desk, "front", "back")).contains("router"));
        assert!(refused(connect(desk, "router", "router")).contains("another"));
    });
}

#[test]
fn a_line_ends_where_it_can() {
    let hands = Hands::on(TWO_TIER);
    assert_eq!(hands.with(|desk| can_connect(desk, "router")), ["back"]);
    assert_eq!(
        hands.with(|desk| can_connect(desk, "web")),
        ["back", "@internet"]
    );
}

#[test]
fn a_deleted_network_takes_along_what_means_nothing_without_it() {
    let mut hands = Hands::on(TWO_TIER);
    let deletion = hands
        .with(|desk| delete(desk, &["front".to_owned()]))
        .expect("front is there");
    let along: Vec<(&str, &str)> = deletion
        .along
        .iter()
        .map(|one| (one.name.as_str(), one.with.as_str()))
        .collect();
    assert_eq!(
        along,
        [
            ("front_subnet", "front"),
            ("router_to_front", "front_subnet"),
            ("web_port", "front")
        ]
    );
    assert_eq!(
        deletion.detached,
        [
            ("edge".to_owned(), "front".to_owned()),
            ("web".to_owned(), "front".to_owned())
        ]
    );
    hands
        .editor
        .apply(&deletion.proposal, None)
        .expect("the edits fit");
    assert_eq!(
        hands.property("edge", "networks"),
        serde_json::json!([{"network": {"get_resource": "back"}}])
    );
    for name in ["front", "front_subnet", "router_to_front", "web_port"] {
        assert!(
            !hands.text().contains(&format!("{name}:")),
            "{name} is gone\n{}",
            hands.text()
        );
        assert!(
            !hands.text().contains(&format!("get_resource: {name}}}")),
            "nothing mentions {name}\n{}",
            hands.text()
        );
    }
    assert!(hands.text().contains("# the one that the world sees"));
}

#[test]
fn a_deleted_server_takes_its_software_and_its_ports() {
    let hands = Hands::on(TWO_TIER);
    let deletion = hands
        .with(|desk| delete(desk, &["web".to_owned()]))
        .expect("web is there");
    let along: Vec<&str> = deletion.along.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(along, ["web_port", "nginx"]);
}

#[test]
fn a_server_carried_into_another_network_joins_it() {
    let mut hands = Hands::on(TWO_TIER);
    let answer = hands.with(|desk| {
        let to = desk.drawing.node("back").expect("back").rect.centre();
        let way = to.since(desk.drawing.node("web").expect("web").rect.centre());
        shift(desk, &["web".to_owned()], way, to)
    });
    hands.take(answer);
    assert_eq!(
        hands.property("web_port", "network"),
        serde_json::json!({"get_resource": "back"})
    );
    hands.with(|desk| {
        assert_eq!(
            desk.drawing.node("web").expect("web").parent.as_deref(),
            Some("back")
        )
    });
}

#[test]
fn a_server_on_both_networks_moves_by_changing_their_order() {
    let mut hands = Hands::on(TWO_TIER);
    let answer = hands.with(|desk| {
        let to = desk.drawing.node("back").expect("back").rect.centre();
        let way = to.since(desk.drawing.node("edge").expect("edge").rect.centre());
        shift(desk, &["edge".to_owned()], way, to)
    });
    hands.take(answer);
    let network = |name: &str| serde_json::json!({"network": {"get_resource": name}});
    assert_eq!(
        hands.property("edge", "networks"),
        serde_json::json!([network("back"), network("front")])
    );
}

#[test]
fn a_frame_carries_its_servers() {
    let mut hands = Hands::on(TWO_TIER);
    let before = hands.with(|desk| desk.drawing.node("edge").expect("edge").rect);
    let answer = hands.with(|desk| {
        shift(
            desk,
            &["front".to_owned()],
            CanvasVector { dx: 80.0, dy: 16.0 },
            CanvasPoint::default(),
        )
    });
    hands.take(answer);
    let after = hands.with(|desk| desk.drawing.node("edge").expect("edge").rect);
    assert_eq!(after, before.moved(CanvasVector { dx: 80.0, dy: 16.0 }));
    assert_eq!(hands.text(), TWO_TIER, "a move is no edit of the text");
}

#[test]
fn a_twin_has_its_own_software_and_shares_no_port() {
    let mut hands = Hands::on(TWO_TIER);
    let proposal = hands
        .with(|desk| duplicate(desk, &["web".to_owned()]))
        .expect("web is there");
    hands.take(Ok(proposal));
    assert_eq!(
        hands.property("nginx_2", "host"),
        serde_json::json!({"get_resource": "web_2"})
    );
    assert_eq!(
        hands.property("web_2", "networks"),
        serde_json::json!([{"network": {"get_resource": "front"}}])
    );
}

#[test]
fn what_is_duplicated_together_keeps_its_arrangement() {
    let mut hands = Hands::on(TWO_TIER);
    let names = ["front", "web", "edge"].map(str::to_owned);
    let at = |hands: &Hands, name: &str| {
        hands.with(|desk| desk.drawing.node(name).expect("drawn").rect.corner())
    };
    let before = at(&hands, "web").since(at(&hands, "front"));
    let proposal = hands.with(|desk| duplicate(desk, &names));
    hands.take(Ok(proposal.expect("they are there")));
    assert_eq!(at(&hands, "web_2").since(at(&hands, "front_2")), before);
    let inside = hands.with(|desk| desk.drawing.node("web_2")?.parent.clone());
    assert_eq!(inside.as_deref(), Some("front_2"));
}

#[test]
fn a_twin_has_addresses_of_its_own_where_the_network_is_the_same() {
    let text = "\
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  leg:
    type: OS::Neutron::Port
    properties:
      network: {get_resource: net}
      mac_address: fa:16:3e:00:00:05
      fixed_ips: [{subnet: {get_resource: sub}, ip_address: 10.0.0.5}, {ip_address: 10.0.0.6}]
  web:
    type: OS::Nova::Server
    properties:
      image: i
      flavor: f
      networks: [{port: {get_resource: leg}}, {network: {get_resource: net}, fixed_ip: 10.0.0.7}]
";
    let twins = |names: &[&str]| {
        let mut hands = Hands::on(text);
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let proposal = hands.with(|desk| duplicate(desk, &names));
        hands.take(Ok(proposal.expect("they are there")));
        hands
    };
    let hands = twins(&["leg", "web"]);
    let sub = serde_json::json!([{"subnet": {"get_resource": "sub"}}]);
    assert_eq!(hands.property("leg_2", "fixed_ips"), sub);
    assert!(hands.property("leg_2", "mac_address").is_null());
    assert_eq!(
        hands.property("web_2", "networks"),
        serde_json::json!([{"port": {"get_resource": "leg_2"}}, {"network": {"get_resource": "net"}}])
    );

    let hands = twins(&["net", "sub", "leg", "web"]);
    assert_eq!(
        hands.property("leg_2", "fixed_ips"),
        serde_json::json!([{"subnet": {"get_resource": "sub_2"}, "ip_address": "10.0.0.5"}, {"ip_address": "10.0.0.6"}])
    );
    assert_eq!(hands.property("leg_2", "mac_address"), "fa:16:3e:00:00:05");
    assert_eq!(
        hands.property("web_2", "networks"),
        serde_json::json!([{"port": {"get_resource": "leg_2"}}, {"network": {"get_resource": "net_2"}, "fixed_ip": "10.0.0.7"}])
    );
}

#[test]
fn a_thousand_are_duplicated_by_one_edit() {
    let (text, names) = networks(1_000);
    let mut hands = Hands::on(&text);
    let proposal = hands.with(|desk| duplicate(desk, &names));
    let proposal = proposal.expect("they are there");
    assert_eq!(proposal.edits.len(), 1);
    hands.take(Ok(proposal));
    assert_eq!(hands.editor.template().resources.len(), 2 * names.len());
}

#[test]
fn a_server_is_copied_with_its_software_and_pasted_beside_itself() {
    let mut hands = Hands::on(TWO_TIER);
    let text = hands.with(|desk| copy(desk, &["web".to_owned()]));
    let text = text.expect("web is there");
    assert!(text.contains("  nginx:"), "{text}");
    let proposal = hands.with(|desk| paste(desk, &text));
    hands.take(proposal);
    assert_eq!(
        hands.property("nginx_2", "host"),
        serde_json::json!({"get_resource": "web_2"})
    );
    assert_eq!(
        hands.property("web_2", "networks"),
        serde_json::json!([{"network": {"get_resource": "front"}}])
    );
}

#[test]
fn what_is_pasted_elsewhere_keeps_its_names_and_marks() {
    let text = Hands::on(TWO_TIER).with(|desk| copy(desk, &["edge".to_owned()]));
    let mut hands = Hands::on(EMPTY);
    let proposal = hands.with(|desk| paste(desk, &text.expect("edge is there")));
    hands.take(proposal);
    let edge = hands.editor.template().resource("edge");
    assert!(edge.is_some_and(|edge| edge.marks.public));
}

/// So many networks without anything.
fn networks(count: usize) -> (String, Vec<String>) {
    let names: Vec<String> = (0..count).map(|number| format!("net_{number}")).collect();
    let lines = names
        .iter()
        .map(|name| format!("  {name}: {{type: OS::Neutron::Net}}\n"));
    let lines: String = lines.collect();
    (
        format!("heat_template_version: 2021-04-16\nresources:\n{lines}"),
        names,
    )
}

#[test]
fn what_is_copied_is_a_template_in_the_order_of_the_selection() {
    let names = ["web", "edge"].map(str::to_owned);
    let text = Hands::on(TWO_TIER).with(|desk| copy(desk, &names));
    let document = topology::document::Document::parse(text.expect("both are there"));
    assert_eq!(document.diagnostics(), []);
    let copied = document.template().resources.iter();
    let copied: Vec<_> = copied.map(|resource| resource.name.as_str()).collect();
    assert_eq!(copied, ["web", "nginx", "edge", "balancer"]);
}

#[test]
fn a_large_design_is_copied_whole_and_pasted_by_one_edit() {
    let (text, names) = networks(2_000);
    let copied = Hands::on(&text).with(|desk| copy(desk, &names));
    let copied = copied.expect("they are there");
    let document = topology::document::Document::parse(copied.as_str());
    assert_eq!(document.template().resources.len(), names.len());
    let mut hands = Hands::on(EMPTY);
    let proposal = hands.with(|desk| paste(desk, &copied));
    hands.take(proposal);
    assert_eq!(hands.editor.template().resources.len(), names.len());
}

#[test]
fn a_little_is_not_pasted_into_a_design_that_is_too_large_for_it() {
    let (little, _) = networks(60);
    let large = format!("{TWO_TIER}# {}\n", "x".repeat(523_000));
    assert!(
        Hands::on(TWO_TIER)
            .with(|desk| paste(desk, &little))
            .is_ok()
    );
    let Refusal(reason) = Hands::on(&large)
        .with(|desk| paste(desk, &little))
        .expect_err("the design would be longer than a template may be");
    assert!(reason.contains("too much to paste"), "{reason}");
}

#[test]
fn no_two_of_what_is_pasted_get_the_same_name() {
    let mut hands =
        Hands::on("heat_template_version: 2021-04-16\nresources:\n  a: {type: OS::Neutron::Net}\n");
    let text = "resources:\n  a: {type: OS::Neutron::Net}\n  a_2: {type: OS::Neutron::Net}\n";
    let proposal = hands.with(|desk| paste(desk, text));
    hands.take(proposal);
    let there = hands.editor.template().resources.iter();
    let there: Vec<_> = there.map(|resource| resource.name.as_str()).collect();
    assert_eq!(there, ["a", "a_2", "a_3"]);
}

#[test]
fn what_is_no_template_is_not_pasted() {
    let hands = Hands::on(TWO_TIER);
    for text in ["hello", "{[", "heat_template_version: 2021-04-16\n", ""] {
        let refused = hands.with(|desk| paste(desk, text)).expect_err(text);
        assert!(refused.0.contains("clipboard"), "{}", refused.0);
    }
    assert_eq!(hands.with(|desk| copy(desk, &[])), None);
}

#[test]
fn undo_gives_back_the_same_bytes_and_places() {
    let mut hands = Hands::on(TWO_TIER);
    let places = hands.editor.places().clone();
    hands.drop_on(item("nginx"), "edge");
    hands.connect("web", "back");
    assert_ne!(hands.text(), TWO_TIER);
    assert!(
        hands.editor.undo().is_some()
            && hands.editor.undo().is_some()
            && hands.editor.undo().is_none()
    );
    assert_eq!(hands.text(), TWO_TIER);
    assert_eq!(*hands.editor.places(), places);
    assert!(hands.editor.redo().is_some());
    assert!(hands.text().contains("nginx_2"));
}

#[test]
fn broken_text_keeps_the_last_good_drawing() {
    let mut hands = Hands::on(TWO_TIER);
    hands
        .editor
        .type_text("heat_template_version: 2021-04-16\nresources:\n  web: {type: [\n");
    assert!(hands.editor.is_broken());
    hands.with(|desk| assert!(desk.drawing.node("balancer").is_some()));
    hands.editor.type_text(EMPTY);
    assert!(!hands.editor.is_broken());
    hands.with(|desk| assert!(desk.drawing.nodes().is_empty()));
}

/// Something that a person may do.
#[derive(Clone, Debug)]
enum Act {
    Drop(usize, f64, f64),
    Connect(usize, usize),
    Delete(usize),
    Carry(usize, f64, f64),
    Duplicate(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (0..8_usize, -200.0..1600.0f64, -300.0..900.0f64)
            .prop_map(|(item, x, y)| Act::Drop(item, x, y)),
        (0..16_usize, 0..16_usize).prop_map(|(from, to)| Act::Connect(from, to)),
        (0..16_usize).prop_map(Act::Delete),
        (0..16_usize, -400.0..400.0f64, -400.0..400.0f64)
            .prop_map(|(node, dx, dy)| Act::Carry(node, dx, dy)),
        (0..16_usize).prop_map(Act::Duplicate),
    ]
}

fn proposal(desk: &Desk<'_>, act: &Act) -> Option<Proposal> {
    let items = [
        Item::Network,
        Item::Router,
        Item::PublicServer,
        Item::PrivateServer,
        item("nginx"),
        item("haproxy"),
        Item::Other("OS::Neutron::SecurityGroup".to_owned()),
        Item::Other("OS::Neutron::FloatingIP".to_owned()),
    ];
    let name = |index: usize| {
        let nodes = desk.drawing.nodes();
        (!nodes.is_empty()).then(|| nodes[index % nodes.len()].name.clone())
    };
    match act {
        Act::Drop(item, x, y) => drop_item(desk, &items[*item], CanvasPoint::new(*x, *y)).ok(),
        Act::Connect(from, to) => connect(desk, &name(*from)?, &name(*to)?).ok(),
        Act::Delete(index) => delete(desk, &[name(*index)?]).map(|deletion| deletion.proposal),
        Act::Carry(index, dx, dy) => {
            let name = name(*index)?;
            let way = CanvasVector { dx: *dx, dy: *dy };
            let at = desk.drawing.node(&name)?.rect.centre().moved(way);
            shift(desk, &[name], way, at).ok()
        }
        Act::Duplicate(index) => duplicate(desk, &[name(*index)?]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_done_can_be_undone(acts in proptest::collection::vec(act(), 1..10)) {
        let mut hands = Hands::on(TWO_TIER);
        let mut states = vec![(hands.text().to_owned(), hands.editor.places().clone())];
        for act in &acts {
            let Some(proposal) = hands.with(|desk| proposal(desk, act)) else { continue };
            if proposal.edits.is_empty() && proposal.places.is_empty() {
                continue;
            }
            prop_assert!(hands.editor.apply(&proposal, None).is_ok(), "{:?} on\n{}", proposal, hands.text());
            prop_assert!(!hands.editor.is_broken(), "{:?} broke\n{}", proposal, hands.text());
            hands.settle();
            states.push((hands.text().to_owned(), hands.editor.places().clone()));
        }
        while states.len() > 1 {
            states.pop();
            prop_assert!(hands.editor.undo().is_some());
            let (text, places) = states.last().expect("at least the first");
            prop_assert_eq!(hands.text(), text.as_str());
            prop_assert_eq!(hands.editor.places(), places);
        }
        prop_assert!(hands.editor.undo().is_none());
    }

    #[test]
    fn no_gesture_breaks_a_torn_template(text in torn_template(), acts in proptest::collection::vec(act(), 1..4)) {
        let mut hands = Hands::on(&text);
        for act in &acts {
            if let Some(proposal) = hands.with(|desk| proposal(desk, act)) {
                // A refusal is fine; a panic or a half-applied change is not.
                let before = hands.text().to_owned();
                if hands.editor.apply(&proposal, None).is_err() {
                    prop_assert_eq!(hands.text(), before.as_str());
                }
            }
        }
    }
}
