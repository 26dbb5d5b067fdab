//! Effects of moves.

use super::*;
use crate::geometry::CanvasVector;

#[test]
fn a_server_moved_into_another_network_joins_it() {
    let mut hands = TestEditor::on(TWO_TIER);
    let answer = hands.with(|input| {
        let to = input.drawing.node("back").expect("back").rect.centre();
        let way = to.since(input.drawing.node("web").expect("web").rect.centre());
        shift(input, &["web".to_owned()], way, to)
    });
    hands.take(answer);
    assert_eq!(
        hands.property("web_port", "network"),
        serde_json::json!({"get_resource": "back"})
    );
    hands.with(|input| {
        assert_eq!(
            input.drawing.node("web").expect("web").parent.as_deref(),
            Some("back")
        )
    });
}

#[test]
fn a_server_on_both_networks_moves_by_changing_their_order() {
    let mut hands = TestEditor::on(TWO_TIER);
    let answer = hands.with(|input| {
        let to = input.drawing.node("back").expect("back").rect.centre();
        let way = to.since(input.drawing.node("edge").expect("edge").rect.centre());
        shift(input, &["edge".to_owned()], way, to)
    });
    hands.take(answer);
    let network = |name: &str| serde_json::json!({"network": {"get_resource": name}});
    assert_eq!(
        hands.property("edge", "networks"),
        serde_json::json!([network("back"), network("front")])
    );
}

#[test]
fn a_moved_network_moves_its_servers() {
    let mut hands = TestEditor::on(TWO_TIER);
    let before = hands.with(|input| input.drawing.node("edge").expect("edge").rect);
    let answer = hands.with(|input| {
        shift(
            input,
            &["front".to_owned()],
            CanvasVector { dx: 80.0, dy: 16.0 },
            CanvasPoint::default(),
        )
    });
    hands.take(answer);
    let after = hands.with(|input| input.drawing.node("edge").expect("edge").rect);
    assert_eq!(after, before.moved(CanvasVector { dx: 80.0, dy: 16.0 }));
    assert_eq!(hands.text(), TWO_TIER, "a move is no edit of the text");
}
