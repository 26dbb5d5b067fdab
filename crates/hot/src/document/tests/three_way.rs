//! Merges of two people's changes.

use super::*;
use crate::document::{Merged, Side, merge};

const BASE: &str = "heat_template_version: 2021-04-16

resources:
  net:
    type: OS::Neutron::Net

  # The web server.
  web:
    type: OS::Nova::Server
    properties:
      image: debian-12
      flavor: m1.small
";

fn merged(one: &str, other: &str) -> Merged {
    let documents = [BASE, one, other].map(Document::parse);
    let [base, one, other] = &documents;
    merge(Some(base), one, other, &|_| Side::One)
}

/// Checks that both orders of the sides give this text without conflicts.
#[track_caller]
fn merges_to(one: &str, other: &str, expected: &str) {
    for merged in [merged(one, other), merged(other, one)] {
        assert_eq!(merged.conflicts, []);
        assert_eq!(merged.text, expected);
    }
}

/// Paths of the conflicts. They are the same in both orders.
#[track_caller]
fn conflicts(one: &str, other: &str) -> Vec<String> {
    let paths = |merged: Merged| {
        let conflicts = merged.conflicts.into_iter();
        conflicts
            .map(|conflict| conflict.path.join("."))
            .collect::<Vec<_>>()
    };
    let found = paths(merged(one, other));
    assert_eq!(found, paths(merged(other, one)));
    found
}

#[test]
fn changes_of_different_properties_merge() {
    let image = BASE.replace("debian-12", "ubuntu-24.04  # newer");
    let flavor = BASE.replace("m1.small", "m1.large");
    let both = image.replace("m1.small", "m1.large");
    merges_to(&image, &flavor, &both);
}

#[test]
fn resources_that_both_add_at_the_end_are_all_there() {
    let one = format!("{BASE}  zone: {{type: OS::Designate::Zone}}\n");
    let other = format!("{BASE}\n  key:\n    type: OS::Nova::KeyPair\n");
    let both = format!(
        "{BASE}\n  key:\n    type: OS::Nova::KeyPair\n  zone: {{type: OS::Designate::Zone}}\n"
    );
    merges_to(&one, &other, &both);
}

#[test]
fn a_change_beside_a_new_order_and_a_new_section_merge() {
    let (head, web) = BASE.split_at(BASE.find("  # The web").unwrap());
    let (head, net) = head.split_at(head.find("  net:").unwrap());
    let turned = format!("{head}{web}{}\n", net.trim_end());
    let flavor = BASE.replace("m1.small", "m1.large") + "outputs: {}";
    let both = turned.replace("m1.small", "m1.large");
    merges_to(&turned, &flavor, &format!("{both}outputs: {{}}"));
}

#[test]
fn the_same_property_in_two_ways_is_a_conflict() {
    let one = BASE.replace("m1.small", "m1.large");
    let other = BASE.replace("m1.small", "m1.tiny");
    assert_eq!(conflicts(&one, &other), ["resources.web.properties.flavor"]);
    let conflict = &merged(&one, &other).conflicts[0];
    assert_eq!(conflict.one.as_deref(), Some("      flavor: m1.large\n"));
    assert_eq!(conflict.other.as_deref(), Some("      flavor: m1.tiny\n"));
    assert_eq!(merged(&one, &other).text, one);
    let [base, one, other] = [BASE, &*one, &*other].map(Document::parse);
    let chosen = merge(Some(&base), &one, &other, &|_| Side::Other);
    assert_eq!(chosen.text, other.text());
}

#[test]
fn removing_against_editing_or_referring_is_a_conflict() {
    let without_net = BASE.replace("  net:\n    type: OS::Neutron::Net\n\n", "");
    let edited = BASE.replace("Net\n", "Net\n    properties: {name: front}\n");
    assert_eq!(conflicts(&without_net, &edited), ["resources.net"]);
    let referring = format!(
        "{BASE}  sub:\n    type: OS::Neutron::Subnet\n    properties: {{network: {{get_resource: net}}}}\n"
    );
    assert_eq!(conflicts(&without_net, &referring), ["resources.net"]);
    let with = format!("{BASE}parameters:\n  size: {{type: string}}\nconditions:\n  big: true\n");
    let using = with.replace("m1.small", "{get_param: size}")
        + "outputs:\n  x: {value: 1, condition: big}\n";
    let [with, using] = [with, using].map(Document::parse);
    let both = merge(Some(&with), &Document::parse(BASE), &using, &|_| Side::One);
    let paths: Vec<_> = both
        .conflicts
        .iter()
        .map(|one| one.path.join("."))
        .collect();
    assert_eq!(paths, ["parameters", "conditions"]);
    let result = merged(&referring, &without_net);
    assert!(result.text.contains("  net:\n"), "{}", result.text);
}

#[test]
fn texts_with_syntax_errors_are_merged_as_a_whole() {
    let broken = BASE.replace("resources:", "resources: [");
    merges_to(&broken, BASE, &broken);
    let other = BASE.replace("m1.small", "m1.tiny");
    assert_eq!(conflicts(&broken, &other), [""]);
}

fn change() -> impl Strategy<Value = Edit> {
    let name = || prop::sample::select(vec!["net", "web", "a", "b", "c"]);
    let property = || prop::sample::select(vec!["image", "flavor", "name", "metadata"]);
    prop_oneof![
        name().prop_map(|name| add(name, "OS::Neutron::Port", json!({}))),
        (name(), property(), "[a-z]{1,3}").prop_map(|(name, property, value)| set(
            &format!("resources.{name}.properties.{property}"),
            json!(value)
        )),
        (name(), property()).prop_map(|(name, property)| remove(&format!(
            "resources.{name}.properties.{property}"
        ))),
        name().prop_map(|name| Edit::RemoveResource {
            name: name.into(),
            keep: Vec::new()
        }),
        name().prop_map(|name| Edit::RenameResource {
            from: name.into(),
            to: format!("{name}2")
        }),
    ]
}

/// The document after those edits that apply.
fn changed(edits: &[Edit]) -> Document {
    edits.iter().fold(Document::parse(BASE), |document, edit| {
        document.edit(edit).unwrap_or(document)
    })
}

/// A change of a resource, or a new reference to it.
fn edit_or_reference(of: &'static str) -> impl Strategy<Value = Edit> {
    let property = prop::sample::select(vec!["image", "flavor", "name", "metadata"]);
    let set_one = (property, "[a-z]{3}").prop_map(move |(property, value)| {
        set(
            &format!("resources.{of}.properties.{property}"),
            json!(value),
        )
    });
    let other = if of == "net" { "web" } else { "net" };
    let refer = prop::sample::select(vec!["a", "b", other]).prop_map(move |from| {
        set(
            &format!("resources.{from}.properties.peer"),
            json!({ "get_resource": of }),
        )
    });
    prop_oneof![set_one, refer]
}

proptest! {
    #[test]
    fn the_order_of_the_sides_does_not_matter(
        one in prop::collection::vec(change(), 0..6),
        other in prop::collection::vec(change(), 0..6),
    ) {
        let (one, other) = (changed(&one), changed(&other));
        let base = Document::parse(BASE);
        let forth = merge(Some(&base), &one, &other, &|_| Side::One);
        let back = merge(Some(&base), &other, &one, &|_| Side::Other);
        prop_assert_eq!(&forth.text, &back.text);
        prop_assert!(Document::parse(&*forth.text).is_readable(), "{}", forth.text);
        for (side, chosen) in [(&one, Side::One), (&other, Side::Other)] {
            prop_assert_eq!(merge(Some(&base), side, &base, &|_| Side::Other).text, side.text());
            prop_assert_eq!(merge(Some(&base), side, side, &|_| Side::Other).text, side.text());
            if forth.conflicts.is_empty() {
                let again = merge(Some(&base), &one, &other, &|_| chosen);
                prop_assert_eq!(&again.text, &forth.text);
            }
        }
    }

    #[test]
    fn removing_against_any_edit_or_reference_is_a_conflict(
        (name, edit) in prop::sample::select(vec!["net", "web"])
            .prop_flat_map(|name| (Just(name), edit_or_reference(name))),
    ) {
        // Resources that can begin to refer to it.
        let with = |name: &str| add(name, "OS::Neutron::Port", json!({ "name": name }));
        let base = [with("a"), with("b")].iter().fold(Document::parse(BASE), |document, edit| {
            document.edit(edit).expect("a new resource")
        });
        let removal = Edit::RemoveResource { name: name.into(), keep: Vec::new() };
        let without = base.edit(&removal).expect("it is there");
        let edited = base.edit(&edit).expect("it is there");
        for (one, other) in [(&without, &edited), (&edited, &without)] {
            let merged = merge(Some(&base), one, other, &|_| Side::One);
            let resource = ["resources", name];
            prop_assert!(
                merged.conflicts.iter().any(|conflict| conflict.path.starts_with(&resource.map(str::to_owned))),
                "{:?}\n{}\n{}", merged.conflicts, one.text(), other.text()
            );
        }
    }
}
