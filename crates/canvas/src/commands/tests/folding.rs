//! Folded networks: the drawing, moves, and the way back.

use super::*;
use crate::{
    drawing::{Drawing, NodeKind},
    geometry::{CanvasVector, Rect},
};

fn fold(hands: &mut TestEditor, network: &str) -> Option<String> {
    let label = hands.editor.fold(network, &hands.types);
    hands.settle();
    label
}

fn rect(hands: &TestEditor, name: &str) -> Rect {
    hands.with(|input| input.drawing.node(name).expect("a node").rect)
}

/// Id of the line between two nodes.
fn line(drawing: &Drawing, from: &str, to: &str) -> String {
    let mut lines = drawing.edges().iter();
    let line = lines.find(|line| line.from == from && line.to == to);
    line.expect("a line").id.clone()
}

#[test]
fn a_folded_network_is_a_card_with_a_count() {
    let mut hands = TestEditor::on(TWO_TIER);
    assert_eq!(fold(&mut hands, "front").as_deref(), Some("Fold front"));
    assert_eq!(hands.text(), TWO_TIER);
    hands.with(|input| {
        let drawing = input.drawing;
        let card = drawing.node("front").expect("the network");
        assert_eq!(
            (card.kind, card.is_folded, card.members),
            (NodeKind::Card, true, Some(2))
        );
        for hidden in ["web", "web_port", "nginx", "edge"] {
            assert!(drawing.node(hidden).is_none(), "{hidden}");
            assert_eq!(drawing.folded_frame(hidden), Some("front"));
            let owner = drawing.owner(hidden).map(|node| node.name.as_str());
            assert_eq!(owner, Some("front"));
        }
        assert_eq!(
            drawing.folded_frame("front_subnet"),
            None,
            "its tag is visible"
        );
        // The relation of balancer and nginx is inside.
        for line in drawing.edges() {
            assert!(drawing.node(&line.from).is_some(), "{line:?}");
            assert!(drawing.node(&line.to).is_some(), "{line:?}");
            assert_ne!(line.from, line.to);
        }
        line(drawing, "front", "back");
        let id = line(drawing, "mystery", "front");
        let real = drawing.edge(&id).expect("the line");
        assert_eq!(real.to, "web", "its end in the template");
    });
}

#[test]
fn only_networks_are_folded() {
    let mut hands = TestEditor::on(TWO_TIER);
    for name in ["web", "router", "nothing"] {
        assert_eq!(fold(&mut hands, name), None);
    }
    assert!(hands.editor.undo().is_none());
}

#[test]
fn a_line_to_hidden_contents_is_deleted_as_any_other() {
    let mut hands = TestEditor::on(TWO_TIER);
    fold(&mut hands, "front");
    let answer = hands.with(|input| {
        let id = line(input.drawing, "mystery", "front");
        disconnect(input, input.drawing.edge(&id).expect("the line"))
    });
    hands.take(answer);
    assert_eq!(hands.text().matches("get_attr: [web").count(), 0);
}

#[test]
fn contents_come_back_where_they_were_in_the_network() {
    let mut hands = TestEditor::on(TWO_TIER);
    let [front, web, nginx] = ["front", "web", "nginx"].map(|name| rect(&hands, name));
    fold(&mut hands, "front");
    let way = CanvasVector {
        dx: -1600.0,
        dy: 160.0,
    };
    let moved = hands.with(|input| nudge(input, &["front".to_owned()], way));
    hands.take(Ok(moved));
    assert_eq!(fold(&mut hands, "front").as_deref(), Some("Unfold front"));
    assert_eq!(rect(&hands, "front"), front.moved(way));
    assert_eq!(rect(&hands, "web"), web.moved(way));
    assert_eq!(rect(&hands, "nginx"), nginx.moved(way));

    for label in ["Unfold front", "Move", "Fold front"] {
        assert_eq!(hands.editor.undo().as_deref(), Some(label));
    }
    assert_eq!(rect(&hands, "web"), web);
}

#[test]
fn others_make_room_for_an_unfolded_network() {
    let mut hands = TestEditor::on(TWO_TIER);
    fold(&mut hands, "front");
    let card = rect(&hands, "front");
    let back = rect(&hands, "back");
    let way = CanvasVector {
        dx: card.right() + 16.0 - back.x,
        dy: card.y - back.y,
    };
    let moved = hands.with(|input| nudge(input, &["back".to_owned()], way));
    hands.take(Ok(moved));
    fold(&mut hands, "front");
    let [front, back] = ["front", "back"].map(|name| rect(&hands, name));
    assert_eq!(front.corner(), card.corner());
    assert!(!front.overlaps(back), "{front:?} {back:?}");
}

#[test]
fn a_server_is_added_to_a_folded_network() {
    let mut hands = TestEditor::on(TWO_TIER);
    fold(&mut hands, "back");
    let server = hands.drop_on(Item::PrivateServer, "back");
    assert_eq!(
        hands.property(&server, "networks")[0]["network"]["get_resource"],
        "back"
    );
    hands.with(|input| {
        assert_eq!(input.drawing.folded_frame(&server), Some("back"));
        let card = input.drawing.node("back").expect("the network");
        assert_eq!(card.members, Some(1));
    });
}

#[test]
fn servers_that_join_a_moved_folded_network_are_inside_it_later() {
    let mut hands = TestEditor::on(TWO_TIER);
    let free = hands.drop(Item::PrivateServer, 900.0, 2000.0);
    let [front, web] = ["front", "web"].map(|name| rect(&hands, name));
    fold(&mut hands, "front");
    let way = CanvasVector {
        dx: -1600.0,
        dy: 160.0,
    };
    let moved = hands.with(|input| nudge(input, &["front".to_owned()], way));
    hands.take(Ok(moved));
    let dropped = hands.drop_on(Item::PrivateServer, "front");
    hands.connect(&free, "front");
    fold(&mut hands, "front");
    let frame = rect(&hands, "front");
    assert_eq!(frame.corner(), front.moved(way).corner());
    assert!(frame.width < 1000.0 && frame.height < 1000.0, "{frame:?}");
    assert_eq!(rect(&hands, "web"), web.moved(way));
    for server in [free, dropped] {
        assert!(!rect(&hands, &server).overlaps(rect(&hands, "web")));
    }
}

#[test]
fn a_server_that_leaves_a_moved_folded_network_is_inside_the_new_one() {
    let mut hands = TestEditor::on(TWO_TIER);
    let [back, web] = ["back", "web"].map(|name| rect(&hands, name));
    fold(&mut hands, "front");
    let way = CanvasVector {
        dx: -1600.0,
        dy: 160.0,
    };
    let moved = hands.with(|input| nudge(input, &["front".to_owned()], way));
    hands.take(Ok(moved));
    let edit = Edit::Set {
        path: property_path("edge", &["networks"]),
        value: serde_json::json!([{ "network": { "get_resource": "back" } }]),
    };
    hands.take(Ok(Proposal {
        edits: vec![edit],
        ..Proposal::default()
    }));
    let frame = rect(&hands, "back");
    assert_eq!(frame.corner(), back.corner(), "it does not grow backwards");
    assert_eq!(frame.union(rect(&hands, "edge")), frame);
    fold(&mut hands, "front");
    assert_eq!(
        rect(&hands, "web"),
        web.moved(way),
        "the others are where they were"
    );
}

#[test]
fn a_folded_network_and_its_servers_are_renamed_without_a_move() {
    let mut hands = TestEditor::on(TWO_TIER);
    let web = rect(&hands, "web");
    fold(&mut hands, "front");
    for (from, to) in [("front", "outside"), ("web", "shop")] {
        let edit = Edit::RenameResource {
            from: from.to_owned(),
            to: to.to_owned(),
        };
        hands.take(Ok(Proposal {
            edits: vec![edit],
            ..Proposal::default()
        }));
    }
    fold(&mut hands, "outside");
    assert_eq!(rect(&hands, "shop"), web);
}

#[test]
fn a_folded_network_is_connected_as_any_other() {
    let mut hands = TestEditor::on(TWO_TIER);
    fold(&mut hands, "back");
    hands.connect("web", "back");
    assert_eq!(
        hands.property("web", "networks")[1]["network"]["get_resource"],
        "back"
    );
    hands.connect("router", "back");
    assert_eq!(
        hands.text().matches("OS::Neutron::RouterInterface").count(),
        2
    );
}
