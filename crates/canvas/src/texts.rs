//! The texts on cards, and whether they fit, without a measurement in the page.
//!
//! A text that certainly fits needs no clip. Each clip on the canvas is work for the browser at every step of a drag or a
//! pan.

use crate::{
    layout::{CARD_WIDTH, PILL},
    node::{Node, NodeKind},
};

/// Size of a card's name in pixels. See `style/components/designer-node.css`, also for the other sizes.
const NAME_PX: f64 = 13.0;
/// Size of a card's details in pixels.
const DETAIL_PX: f64 = 11.5;
/// Width of a card's borders, padding, icon and gap, in pixels.
const BESIDE_PX: f64 = 64.0;

/// The name on a card.
pub fn name(node: &Node) -> &str {
    match node.kind {
        NodeKind::Internet => &node.title,
        _ => &node.name,
    }
}

/// The details on a card, below its name.
pub fn detail(node: &Node) -> String {
    match (node.kind, node.detail.is_empty()) {
        (NodeKind::Server, true) => "no image or flavor yet".to_owned(),
        (_, true) => node.title.clone(),
        _ => node.detail.join(" · "),
    }
}

/// True if the name or the details of a card can be wider than their room. A number of members takes a part of the room.
pub fn can_be_cut(node: &Node) -> bool {
    let width = match node.kind {
        NodeKind::Router | NodeKind::Internet => PILL.width,
        _ => CARD_WIDTH,
    };
    let room = width - BESIDE_PX;
    node.members.is_some()
        || width_max(name(node), NAME_PX) > room
        || width_max(&detail(node), DETAIL_PX) > room
}

/// Upper bound of the width of a text in a proportional font of this size, regular or semibold, in pixels.
fn width_max(text: &str, size_px: f64) -> f64 {
    let width = |letter: char| match letter {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '·' => 0.4,
        'f' | 'r' | 't' | '-' | '(' | ')' | '[' | ']' | '/' => 0.55,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.1,
        'a'..='z' | '0'..='9' | '_' => 0.72,
        letter if letter.is_ascii() => 0.9,
        _ => 1.5,
    };
    text.chars().map(width).sum::<f64>() * size_px
}

#[cfg(test)]
mod tests {
    use hot::template::Marks;
    use types::Category;

    use super::*;
    use crate::geometry::Rect;

    fn card(kind: NodeKind, name: &str, detail: &[&str]) -> Node {
        Node {
            name: name.to_owned(),
            kind,
            resource_type: String::new(),
            title: "Load balancer".to_owned(),
            category: Category::Network,
            parent: None,
            detail: detail.iter().map(|&value| value.to_owned()).collect(),
            parts: Vec::new(),
            marks: Marks::default(),
            members: None,
            inside: Vec::new(),
            off: None,
            ghost: None,
            is_folded: false,
            rect: Rect::default(),
        }
    }

    #[test]
    fn usual_texts_fit() {
        for card in [
            card(NodeKind::Server, "server1234", &["debian-12", "m1.small"]),
            card(NodeKind::Card, "balancer", &[]),
            card(NodeKind::Router, "router", &["public"]),
        ] {
            assert!(!can_be_cut(&card), "{}: {}", name(&card), detail(&card));
        }
    }

    #[test]
    fn long_texts_wide_letters_and_numbers_of_members_can_be_cut() {
        let folded = Node {
            members: Some(3),
            ..card(NodeKind::Card, "net", &[])
        };
        for card in [
            card(NodeKind::Server, "the-first-server-of-the-shop", &[]),
            card(NodeKind::Server, "WWWWWWWWWWWW", &[]),
            card(NodeKind::Card, "數據庫伺服器一號", &[]),
            card(NodeKind::Router, "router-of-the-shop", &[]),
            card(
                NodeKind::Server,
                "web",
                &["ubuntu-24.04-server-amd64", "m1.medium"],
            ),
            folded,
        ] {
            assert!(can_be_cut(&card), "{}: {}", name(&card), detail(&card));
        }
    }
}
