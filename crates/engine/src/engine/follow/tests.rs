use std::path::Path;

use hot::expr::Expr;

use super::*;
use crate::testing::{self, resource};

/// Three servers with a web page each, and on a fourth one a proxy of two of them and a name server for all.
fn farm() -> ResourceTable {
    let row =
        |name: &str, resource_type: &str, properties: Vec<(&'static str, Expr)>| ResourceRow {
            physical_id: Some(format!("id of {name}")),
            ..testing::row(name, resource(resource_type, properties))
        };
    let of = |name: &str| Expr::GetResource(name.into());
    let list = |names: &[&str]| Expr::List(names.iter().map(|name| of(name)).collect());
    let on = |host: &str| ("host", of(host));
    let page = |name: &str, host: &str| row(name, "Stackloom::Catalog::nginx", vec![on(host)]);
    let server = |name: &str| row(name, "OS::Nova::Server", vec![]);
    let backends = ("backends", list(&["one", "two"]));
    let web = ("web", list(&["one", "two", "three"]));
    ResourceTable::of(vec![
        server("a"),
        server("b"),
        server("c"),
        server("gate"),
        page("one", "a"),
        page("two", "b"),
        page("three", "c"),
        row(
            "names",
            "Stackloom::Catalog::dnsmasq",
            vec![on("gate"), web],
        ),
        row(
            "proxy",
            "Stackloom::Catalog::haproxy",
            vec![on("gate"), backends],
        ),
    ])
}

fn catalog() -> Catalog {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog");
    Catalog::load(Path::new(folder)).unwrap()
}

fn found(resources: &[(&str, FindingKind)]) -> Vec<Finding> {
    let found = resources.iter().map(|(resource, kind)| Finding {
        resource: (*resource).into(),
        resource_type: String::new(),
        kind: *kind,
        text: String::new(),
        differences: Vec::new(),
    });
    found.collect()
}

/// The components without each of their providers that is gone, after these findings.
fn after(findings: &[(&str, FindingKind)], done: &Missing) -> Vec<String> {
    let missing = missing(&farm(), &catalog(), &found(findings), done);
    let missing = missing.iter();
    missing
        .map(|(name, lost)| format!("{name}: {}", Vec::from_iter(lost.clone()).join(" ")))
        .collect()
}

fn without(components: &[(&str, &[&str])]) -> Missing {
    let without = components.iter().map(|(name, lost)| {
        let lost = lost.iter().map(|&name| name.to_owned());
        ((*name).to_owned(), lost.collect())
    });
    without.collect()
}

#[test]
fn what_uses_a_server_that_is_gone_is_configured_without_it() {
    use FindingKind::{Broken, Gone, NotCompared, Unhealthy};

    let nobody = Missing::new();
    assert!(after(&[], &nobody).is_empty());
    assert_eq!(after(&[("b", Gone)], &nobody), ["names: two", "proxy: two"]);
    assert_eq!(after(&[("c", Gone)], &nobody), ["names: three"]);
    let may_return = [("a", Broken), ("b", NotCompared), ("three", Unhealthy)];
    assert!(after(&may_return, &nobody).is_empty());
}

#[test]
fn a_component_keeps_its_last_providers() {
    let both = [("a", FindingKind::Gone), ("b", FindingKind::Gone)];
    assert_eq!(after(&both, &Missing::new()), ["names: one two"]);
    // It was configured without one of them before.
    let before = without(&[("proxy", &["two"])]);
    assert_eq!(after(&both, &before), ["names: one two", "proxy: two"]);
    let all = ["a", "b", "c"].map(|server| (server, FindingKind::Gone));
    assert!(
        after(&all, &Missing::new()).is_empty(),
        "dnsmasq needs none, and keeps all three"
    );
}

#[test]
fn a_component_that_cannot_be_reached_waits_for_a_later_check() {
    let lost = [("b", FindingKind::Gone), ("gate", FindingKind::Broken)];
    assert!(after(&lost, &Missing::new()).is_empty());
    let before = without(&[("proxy", &["two"])]);
    let returned = [("gate", FindingKind::NotCompared)];
    assert_eq!(after(&returned, &before), ["proxy: two"]);
}

#[test]
fn a_server_that_is_powered_off_cannot_be_configured() {
    let changed = |property: &str| {
        let mut changed = found(&[("gate", FindingKind::Changed)]);
        changed[0].differences.push(api::ChangedProperty {
            property: property.into(),
            recorded: None,
            found: None,
        });
        changed
    };
    assert!(is_in_order(&changed("name"), "gate"));
    assert!(is_in_order(&changed("status"), "web"));
    assert!(!is_in_order(&changed("status"), "gate"));
}

#[test]
fn a_server_that_the_cloud_lists_again_is_taken_in_again() {
    let before = without(&[("names", &["two"]), ("proxy", &["two"])]);
    for unclear in [FindingKind::NotCompared, FindingKind::Broken] {
        let unclear = [("b", unclear)];
        assert_eq!(after(&unclear, &before), ["names: two", "proxy: two"]);
    }
    assert!(after(&[], &before).is_empty());
}

#[test]
fn the_title_of_the_command_names_one_of_each_and_counts_several() {
    let all = without(&[("names", &["two", "three"]), ("proxy", &["two"])]);
    let of = |names: &[&str], without: &Missing| {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        title(&names.iter().collect(), without)
    };
    assert_eq!(of(&["proxy"], &all), "Configure proxy without two");
    let both = of(&["names", "proxy"], &all);
    assert_eq!(both, "Configure 2 components without 2 providers");
    assert_eq!(of(&["proxy"], &Missing::new()), "Configure proxy again");
}
