//! Every action can be undone, and invalid text changes nothing else.

use std::sync::Arc;

use hot::document::Edit;
use proptest::prelude::*;

use super::*;
use crate::{drawing::tests::torn_template, form, geometry::CanvasVector};

#[test]
fn undo_restores_text_and_positions() {
    let mut hands = TestEditor::on(TWO_TIER);
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
fn invalid_text_keeps_the_last_valid_drawing() {
    let mut hands = TestEditor::on(TWO_TIER);
    hands
        .editor
        .type_text("heat_template_version: 2021-04-16\nresources:\n  web: {type: [\n");
    assert!(hands.editor.is_broken());
    hands.with(|input| assert!(input.drawing.node("balancer").is_some()));
    hands.editor.type_text(EMPTY);
    assert!(!hands.editor.is_broken());
    hands.with(|input| assert!(input.drawing.nodes().is_empty()));
}

#[test]
fn a_letter_in_the_code_view_keeps_windows_line_ends() {
    let windows = TWO_TIER.replace('\n', "\r\n");
    let mut hands = TestEditor::on(&windows);
    hands
        .editor
        .type_text(&TWO_TIER.replacen("m1.small", "m1.smal", 1));
    assert_eq!(hands.text(), windows.replacen("m1.small", "m1.smal", 1));
    hands.editor.undo();
    assert_eq!(hands.text(), windows);
    hands.editor.type_text(TWO_TIER);
    assert!(hands.editor.undo().is_none(), "nothing was typed");
}

#[test]
fn undo_restores_files_in_order() {
    let bundle = |text: &str| {
        let file = ("web.yaml".to_owned(), text.to_owned());
        Bundle::new([file], [])
    };
    let mut hands = TestEditor::on(EMPTY);
    for text in ["a", "ab", "abc"] {
        let key = Some("file web.yaml");
        hands
            .editor
            .set_bundle(bundle(text), "Changed web.yaml", key);
    }
    let places = (**hands.editor.places()).clone();
    hands
        .editor
        .replace(TWO_TIER, places, bundle("theirs"), "Take the other version");
    assert_eq!(hands.editor.bundle().text("web.yaml"), Some("theirs"));
    hands.editor.undo();
    assert_eq!(hands.editor.bundle().text("web.yaml"), Some("abc"));
    assert_eq!(hands.text(), EMPTY);
    assert_eq!(hands.editor.undo().as_deref(), Some("Changed web.yaml"));
    assert!(hands.editor.bundle().is_empty());
    hands.editor.redo();
    assert_eq!(hands.editor.bundle().text("web.yaml"), Some("abc"));
}

/// An action of the user.
#[derive(Clone, Debug)]
enum Act {
    Drop(usize, f64, f64),
    Connect(usize, usize),
    AddTo(usize, usize),
    Delete(usize),
    Carry(usize, f64, f64),
    Duplicate(usize),
    Reconnect(usize, LineEnd, usize),
    Disconnect(usize),
    DropOn(usize, usize),
    Align(usize, usize, Alignment),
    Distribute(usize, Axis),
    Tidy(Option<usize>),
    Paste(usize),
    Fold(usize),
    Edit(usize, usize, &'static str),
    Switch(usize, usize, usize),
    Rename(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (0..8_usize, -200.0..1600.0f64, -300.0..900.0f64)
            .prop_map(|(item, x, y)| Act::Drop(item, x, y)),
        (0..16_usize, 0..16_usize).prop_map(|(from, to)| Act::Connect(from, to)),
        (0..8_usize, 0..16_usize).prop_map(|(item, node)| Act::AddTo(item, node)),
        (0..16_usize).prop_map(Act::Delete),
        (0..16_usize, -400.0..400.0f64, -400.0..400.0f64)
            .prop_map(|(node, dx, dy)| Act::Carry(node, dx, dy)),
        (0..16_usize).prop_map(Act::Duplicate),
        (
            0..16_usize,
            prop::sample::select(vec![LineEnd::From, LineEnd::To]),
            0..16_usize
        )
            .prop_map(|(edge, end, node)| Act::Reconnect(edge, end, node)),
        (0..16_usize).prop_map(Act::Disconnect),
        (0..16_usize, 0..16_usize).prop_map(|(node, onto)| Act::DropOn(node, onto)),
        (
            0..16_usize,
            0..16_usize,
            prop::sample::select(vec![Alignment::Left, Alignment::Middle])
        )
            .prop_map(|(one, other, to)| Act::Align(one, other, to)),
        (
            0..16_usize,
            prop::sample::select(vec![Axis::Across, Axis::Down])
        )
            .prop_map(|(first, axis)| Act::Distribute(first, axis)),
        proptest::option::of(0..16_usize).prop_map(Act::Tidy),
        (0..16_usize).prop_map(Act::Paste),
        (0..16_usize).prop_map(Act::Fold),
    ]
}

/// An action in a form.
fn form_act() -> impl Strategy<Value = Act> {
    let text = prop::sample::select(vec!["", "x", "7", "true", "a: [b"]);
    prop_oneof![
        (0..16_usize, 0..16_usize, text)
            .prop_map(|(resource, field, text)| Act::Edit(resource, field, text)),
        (0..16_usize, 0..16_usize, 0..16_usize)
            .prop_map(|(resource, field, source)| Act::Switch(resource, field, source)),
        (0..16_usize).prop_map(Act::Rename),
    ]
}

fn proposal(input: &CommandInput<'_>, act: &Act) -> Option<Proposal> {
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
        let nodes = input.drawing.nodes();
        (!nodes.is_empty()).then(|| nodes[index % nodes.len()].name.clone())
    };
    let edge = |index: usize| {
        let edges = input.drawing.edges();
        (!edges.is_empty()).then(|| &edges[index % edges.len()])
    };
    match act {
        Act::Drop(item, x, y) => drop_item(input, &items[*item], CanvasPoint::new(*x, *y)).ok(),
        Act::Connect(from, to) => connect(input, &name(*from)?, &name(*to)?).ok(),
        Act::AddTo(item, index) => {
            let name = name(*index)?;
            let below = CanvasVector { dx: 0.0, dy: 300.0 };
            let at = input.drawing.node(&name)?.rect.centre().moved(below);
            add_to(input, &items[*item], &name, at).ok()
        }
        Act::Delete(index) => delete(input, &[name(*index)?]).map(|deletion| deletion.proposal),
        Act::Carry(index, dx, dy) => {
            let name = name(*index)?;
            let way = CanvasVector { dx: *dx, dy: *dy };
            let at = input.drawing.node(&name)?.rect.centre().moved(way);
            shift(input, &[name], way, at).ok()
        }
        Act::Duplicate(index) => duplicate(input, &[name(*index)?]),
        Act::Reconnect(index, end, node) => {
            reconnect(input, edge(*index)?, *end, &name(*node)?).ok()
        }
        Act::Disconnect(index) => disconnect(input, edge(*index)?).ok(),
        Act::DropOn(index, onto) => {
            let (name, onto) = (name(*index)?, name(*onto)?);
            let [from, to] =
                [&name, &onto].map(|one| input.drawing.node(one).map(|node| node.rect.centre()));
            let (from, to) = (from?, to?);
            let way = CanvasVector {
                dx: to.x - from.x,
                dy: to.y - from.y,
            };
            shift(input, &[name], way, to).ok()
        }
        Act::Align(one, other, to) => align(input, &[name(*one)?, name(*other)?], *to),
        Act::Distribute(first, axis) => {
            let names = [name(*first)?, name(first + 1)?, name(first + 2)?];
            distribute(input, &names, *axis)
        }
        Act::Tidy(None) => tidy(input, &[]),
        Act::Tidy(Some(index)) => tidy(input, &[name(*index)?]),
        Act::Paste(index) => paste(input, &copy(input, &[name(*index)?])?).ok(),
        // No proposal: it changes nothing but the layout.
        Act::Fold(_) => None,
        Act::Edit(resource, field, text) => {
            let field = field_of(input, *resource, *field)?;
            Some(Proposal {
                label: format!("Set {}", field.name),
                edits: vec![form::edit(&field, text)?],
                ..Proposal::default()
            })
        }
        Act::Switch(resource, field, source) => {
            let field = field_of(input, *resource, *field)?;
            let sources = form::sources(input.template, input.types, &field);
            let choice = sources.get(source % sources.len().max(1))?;
            let proposal = form::switch(input.template, input.types, &field, &choice.source);
            Some(proposal)
        }
        Act::Rename(index) => {
            let from = name(*index)?;
            let to = format!("{from}_renamed");
            Some(Proposal {
                label: format!("Rename {from} to {to}"),
                edits: vec![Edit::RenameResource { from, to }],
                ..Proposal::default()
            })
        }
    }
}

/// A field in the form of a resource.
fn field_of(input: &CommandInput<'_>, resource: usize, field: usize) -> Option<form::Field> {
    let resources = &input.template.resources;
    let resource = resources.get(resource % resources.len().max(1))?;
    let mut fields = form::fields(input.template, resource, input.types, input.cloud);
    (!fields.is_empty()).then(|| fields.swap_remove(field % fields.len()))
}

/// Performs an action. `None` if it is refused or has no effect, an error if the document refuses its edits.
fn perform(hands: &mut TestEditor, act: &Act) -> Option<Result<(), String>> {
    if let Act::Fold(index) = act {
        let networks = hands.with(|input| {
            let nodes = input.drawing.nodes().iter();
            let networks = nodes.filter(|node| node.is_network());
            networks.map(|node| node.name.clone()).collect::<Vec<_>>()
        });
        let network = networks.get(index % networks.len().max(1))?;
        hands.editor.fold(network, &hands.types)?;
        return Some(Ok(()));
    }
    let proposal = hands.with(|input| proposal(input, act))?;
    if proposal.edits.is_empty() && proposal.places.is_empty() {
        return None;
    }
    let done = hands.editor.apply(&proposal, None);
    Some(done.map_err(|error| format!("{error}: {proposal:?}")))
}

/// Undoes all actions. The last of `states` is the current one.
fn undo_all(
    hands: &mut TestEditor,
    mut states: Vec<(String, Arc<Places>)>,
) -> Result<(), TestCaseError> {
    states.pop();
    for (text, places) in states.iter().rev() {
        prop_assert!(hands.editor.undo().is_some());
        prop_assert_eq!(hands.text(), text.as_str());
        prop_assert_eq!(hands.editor.places(), places);
    }
    prop_assert!(hands.editor.undo().is_none());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_done_can_be_undone(acts in proptest::collection::vec(act(), 1..10)) {
        let mut hands = TestEditor::on(TWO_TIER);
        let mut states = vec![(hands.text().to_owned(), hands.editor.places().clone())];
        for act in &acts {
            let Some(done) = perform(&mut hands, act) else { continue };
            prop_assert!(done.is_ok(), "{:?} on\n{}", done, hands.text());
            prop_assert!(!hands.editor.is_broken(), "{:?} broke\n{}", act, hands.text());
            hands.settle();
            states.push((hands.text().to_owned(), hands.editor.places().clone()));
        }
        undo_all(&mut hands, states)?;
    }

    #[test]
    fn edits_of_forms_and_gestures_can_be_undone_together(
        acts in proptest::collection::vec(prop_oneof![act(), form_act()], 1..10),
    ) {
        let mut hands = TestEditor::on(TWO_TIER);
        let mut states = vec![(hands.text().to_owned(), hands.editor.places().clone())];
        for act in &acts {
            // A value that was typed before can make an edit impossible. It then changes nothing.
            if let Some(Ok(())) = perform(&mut hands, act) {
                hands.settle();
                states.push((hands.text().to_owned(), hands.editor.places().clone()));
            }
        }
        undo_all(&mut hands, states)?;
    }

    #[test]
    fn no_gesture_panics_on_an_invalid_template(text in torn_template(), acts in proptest::collection::vec(act(), 1..4)) {
        let mut hands = TestEditor::on(&text);
        for act in &acts {
            if let Some(proposal) = hands.with(|input| proposal(input, act)) {
                // A refusal is allowed, a panic or a half-applied change is not.
                let before = hands.text().to_owned();
                if hands.editor.apply(&proposal, None).is_err() {
                    prop_assert_eq!(hands.text(), before.as_str());
                }
            }
        }
    }
}
