//! Lines from what software needs to what other software offers.

use serde_json::json;
use types::catalog::CatalogItem;

use super::*;

const SITES: &str = "\
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}
  web:
    type: OS::Nova::Server
    metadata: {stackloom: {public: true}}
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}
  db:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}
  spare:
    type: OS::Nova::Server
    properties: {image: debian-12, flavor: m1.small, networks: [{network: {get_resource: net}}]}
  site:
    type: Stackloom::Catalog::wordpress
    properties: {host: {get_resource: web}, admin_password: for-the-author}
  data:
    type: Stackloom::Catalog::mariadb
    properties: {host: {get_resource: db}, password: for-the-owner}
  other:
    type: Stackloom::Catalog::mariadb
    properties: {host: {get_resource: spare}, password: for-the-owner}
";

fn sites() -> TestEditor {
    let item = |manifest, specs| CatalogItem::parse(manifest, specs).expect("our own items");
    let mut hands = TestEditor::on(SITES);
    hands.types = registry().with_catalog([
        item(
            include_str!("../../../../../catalog/wordpress/item.yml"),
            include_str!("../../../../../catalog/wordpress/meta/argument_specs.yml"),
        ),
        item(
            include_str!("../../../../../catalog/mariadb/item.yml"),
            include_str!("../../../../../catalog/mariadb/meta/argument_specs.yml"),
        ),
    ]);
    hands.settle();
    hands
}

fn refusal(hands: &TestEditor, from: &str, to: &str) -> String {
    let Refusal(reason) = hands
        .with(|input| connect(input, from, to))
        .expect_err("a refusal");
    reason
}

#[test]
fn a_site_takes_one_database_and_refuses_another_line_while_it_is_drawn() {
    let mut hands = sites();
    hands.connect("site", "data");
    let connected = json!([{"get_resource": "data"}]);
    assert_eq!(hands.property("site", "database"), connected);

    let full = refusal(&hands, "site", "other");
    assert_eq!(full, "site takes at most 1 database");
    let again = refusal(&hands, "site", "data");
    assert_eq!(again, "site uses data already");
    assert_eq!(hands.property("site", "database"), connected);
}

#[test]
fn the_secret_that_a_line_brings_is_no_node_of_its_own() {
    let mut hands = sites();
    hands.connect("site", "data");
    let text = hands.text().to_owned();
    let (sound, ghosts) = hands.ghosts(&text);
    assert!(sound, "{text}");
    assert!(!ghosts.contains(&"site_at_data".to_owned()), "{ghosts:?}");
}
