//! Lines from what software needs to what other software offers.

use serde_json::json;
use types::catalog::CatalogItem;

use super::*;

const SITES: &str = "\
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  web:
    type: OS::Nova::Server
    properties: {flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  db:
    type: OS::Nova::Server
    properties: {flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  spare:
    type: OS::Nova::Server
    properties: {flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
  site:
    type: Stackloom::Catalog::wordpress
    properties: {host: {get_resource: web}}
  data:
    type: Stackloom::Catalog::mariadb
    properties: {host: {get_resource: db}}
  other:
    type: Stackloom::Catalog::mariadb
    properties: {host: {get_resource: spare}}
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
