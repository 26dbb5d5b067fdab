//! Drops and connections.

use hot::diagnostic::Severity;

use super::*;

#[test]
fn a_design_is_drawn_by_drops_and_connections() {
    let mut hands = TestEditor::on(EMPTY);
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
        planner::validate::validate(hands.editor.document(), &hands.types, &hands.cloud)
            .into_iter()
            .filter(|problem| problem.severity == Severity::Error)
            .collect();
    assert!(errors.is_empty(), "{errors:?}\n{}", hands.text());
}

#[test]
fn servers_in_a_frame_do_not_cover_each_other() {
    let mut hands = TestEditor::on(EMPTY);
    let network = hands.drop(Item::Network, 100.0, 100.0);
    let servers: Vec<String> = (0..4)
        .map(|_| hands.drop_on(Item::PrivateServer, &network))
        .collect();
    let rects: Vec<_> = hands.with(|input| {
        servers
            .iter()
            .map(|name| input.drawing.node(name).expect("a server").rect)
            .collect()
    });
    for (index, a) in rects.iter().enumerate() {
        assert!(rects[index + 1..].iter().all(|b| !a.overlaps(*b)));
    }
}

#[test]
fn a_second_network_gets_another_range() {
    let mut hands = TestEditor::on(EMPTY);
    hands.drop(Item::Network, 0.0, 0.0);
    hands.drop(Item::Network, 2000.0, 0.0);
    assert_eq!(hands.property("network_2_subnet", "cidr"), "10.0.2.0/24");
}

#[test]
fn invalid_connections_are_refused_with_a_reason() {
    let hands = TestEditor::on(TWO_TIER);
    let refused = |answer: Result<Proposal, Refusal>| answer.expect_err("a refusal").0;
    hands.with(|input| {
        let nowhere = CanvasPoint::new(-9000.0, 0.0);
        assert!(refused(drop_item(input, &item("nginx"), nowhere)).contains("Drop it on one"));
        let frame = input.drawing.node("front").expect("front").rect;
        let empty_part_of_the_frame = CanvasPoint::new(frame.x + 3.0, frame.bottom() - 3.0);
        assert!(
            refused(drop_item(input, &Item::Network, empty_part_of_the_frame))
                .contains("cannot be nested")
        );
        assert!(refused(connect(input, "edge", "front")).contains("already"));
        assert!(refused(connect(input, "edge", "router")).contains("network"));
        assert!(refused(connect(input, "balancer", "nginx")).contains("already"));
        assert!(refused(connect(input, "front", "back")).contains("router"));
        assert!(refused(connect(input, "router", "router")).contains("another"));
    });
}

#[test]
fn a_connection_offers_its_valid_targets() {
    let hands = TestEditor::on(TWO_TIER);
    assert_eq!(hands.with(|input| can_connect(input, "router")), ["back"]);
    assert_eq!(
        hands.with(|input| can_connect(input, "web")),
        ["back", "@internet"]
    );
}
