//! Tidy up, align and distribute.

use proptest::prelude::*;

use super::*;
use crate::{
    drawing::NodeKind,
    geometry::{CanvasVector, Rect},
};

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

fn rect(hands: &TestEditor, name: &str) -> Rect {
    hands.with(|input| input.drawing.node(name).expect("a node").rect)
}

fn scatter(hands: &mut TestEditor, moves: &[(String, CanvasVector)]) {
    for (name, way) in moves {
        let proposal = hands.with(|input| nudge(input, std::slice::from_ref(name), *way));
        hands.take(Ok(proposal));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Wherever the nodes were: afterwards none overlaps another one, every server is in its network, the text is the
    /// same, and one undo brings the positions back.
    #[test]
    fn tidying_up_leaves_no_overlap_and_is_one_undo(
        ways in prop::collection::vec((-900_i32..900, -900_i32..900), 8),
    ) {
        let mut hands = TestEditor::on(TWO_TIER);
        let all: Vec<String> = hands.with(|input| {
            let nodes = input.drawing.nodes().iter();
            nodes.filter(|node| node.kind != NodeKind::Chip).map(|node| node.name.clone()).collect()
        });
        let moves: Vec<(String, CanvasVector)> = all
            .into_iter()
            .zip(ways)
            .map(|(name, (dx, dy))| (name, CanvasVector { dx: dx.into(), dy: dy.into() }))
            .collect();
        scatter(&mut hands, &moves);
        let (text, before) = (hands.text().to_owned(), hands.editor.places().clone());
        let Some(proposal) = hands.with(|input| tidy(input, &[])) else { return Ok(()) };
        hands.take(Ok(proposal));
        hands.with(|input| {
            let nodes: Vec<_> = input.drawing.nodes().iter().filter(|node| node.kind != NodeKind::Chip).collect();
            for (index, node) in nodes.iter().enumerate() {
                for other in &nodes[index + 1..] {
                    if node.parent == other.parent {
                        prop_assert!(!node.rect.overlaps(other.rect), "{} and {}", node.name, other.name);
                    }
                }
                if let Some(parent) = node.parent.as_deref().and_then(|name| input.drawing.node(name)) {
                    prop_assert_eq!(node.rect.union(parent.rect), parent.rect);
                }
            }
            Ok(())
        })?;
        prop_assert_eq!(hands.text(), text.as_str());
        hands.editor.undo();
        prop_assert_eq!(hands.editor.places(), &before);
    }
}

#[test]
fn tidying_up_a_selection_moves_nothing_else() {
    let mut hands = TestEditor::on(TWO_TIER);
    let far = CanvasVector {
        dx: 3000.0,
        dy: 40.0,
    };
    scatter(
        &mut hands,
        &[("mystery".to_owned(), far), ("back".to_owned(), far)],
    );
    let back = rect(&hands, "back");
    let proposal = hands
        .with(|input| tidy(input, &names(&["mystery"])))
        .expect("it moves");
    assert_eq!(proposal.places.len(), 1);
    hands.take(Ok(proposal));
    assert_eq!(rect(&hands, "back"), back);
    assert!(rect(&hands, "mystery").x < 2000.0);
}

#[test]
fn aligned_nodes_share_an_edge_and_distributed_ones_a_gap() {
    let mut hands = TestEditor::on(TWO_TIER);
    let chosen = names(&["front", "back", "mystery"]);
    let way = |dx, dy| CanvasVector { dx, dy };
    scatter(
        &mut hands,
        &[
            ("back".to_owned(), way(900.0, 130.0)),
            ("mystery".to_owned(), way(2700.0, 330.0)),
        ],
    );
    let inner = rect(&hands, "edge");
    let aligned = hands
        .with(|input| align(input, &chosen, Alignment::Top))
        .expect("three");
    hands.take(Ok(aligned));
    assert!(
        chosen
            .iter()
            .all(|name| rect(&hands, name).y == rect(&hands, "front").y)
    );
    let spread = hands
        .with(|input| distribute(input, &chosen, Axis::Across))
        .expect("three");
    hands.take(Ok(spread));
    let [front, back, mystery] = ["front", "back", "mystery"].map(|name| rect(&hands, name));
    let gaps = [back.x - front.right(), mystery.x - back.right()];
    assert!((gaps[0] - gaps[1]).abs() < 0.01, "{gaps:?}");
    let way = rect(&hands, "edge").corner().since(inner.corner());
    assert_eq!(
        way,
        CanvasVector::default(),
        "the contents of a frame stay in it"
    );
    assert!(
        hands
            .with(|input| align(input, &names(&["front"]), Alignment::Left))
            .is_none()
    );
}
