//! Duplicates, the clipboard, and properties that copies must not share.

use super::*;

#[test]
fn a_duplicated_server_has_its_own_software_and_ports() {
    let mut hands = TestEditor::on(TWO_TIER);
    let proposal = hands
        .with(|input| duplicate(input, &["web".to_owned()]))
        .expect("web is there");
    hands.take(Ok(proposal));
    assert_eq!(
        hands.property("nginx_2", "host"),
        serde_json::json!({"get_resource": "web_2"})
    );
    assert_eq!(
        hands.property("web_2", "networks"),
        serde_json::json!([{"network": {"get_resource": "front"}}])
    );
}

#[test]
fn resources_duplicated_together_keep_their_arrangement() {
    let mut hands = TestEditor::on(TWO_TIER);
    let names = ["front", "web", "edge"].map(str::to_owned);
    let at = |hands: &TestEditor, name: &str| {
        hands.with(|input| input.drawing.node(name).expect("drawn").rect.corner())
    };
    let before = at(&hands, "web").since(at(&hands, "front"));
    let proposal = hands.with(|input| duplicate(input, &names));
    hands.take(Ok(proposal.expect("they are there")));
    assert_eq!(at(&hands, "web_2").since(at(&hands, "front_2")), before);
    let inside = hands.with(|input| input.drawing.node("web_2")?.parent.clone());
    assert_eq!(inside.as_deref(), Some("front_2"));
}

#[test]
fn a_duplicate_in_the_same_network_has_its_own_addresses() {
    let text = "\
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  sub: {type: OS::Neutron::Subnet, properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}}
  leg:
    type: OS::Neutron::Port
    properties:
      network: {get_resource: net}
      mac_address: fa:16:3e:00:00:05
      fixed_ips: [{subnet: {get_resource: sub}, ip_address: 10.0.0.5}, {ip_address: 10.0.0.6}]
  web:
    type: OS::Nova::Server
    properties:
      image: i
      flavor: f
      networks: [{port: {get_resource: leg}}, {network: {get_resource: net}, fixed_ip: 10.0.0.7}]
";
    let twins = |names: &[&str]| {
        let mut hands = TestEditor::on(text);
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let proposal = hands.with(|input| duplicate(input, &names));
        hands.take(Ok(proposal.expect("they are there")));
        hands
    };
    let hands = twins(&["leg", "web"]);
    let sub = serde_json::json!([{"subnet": {"get_resource": "sub"}}]);
    assert_eq!(hands.property("leg_2", "fixed_ips"), sub);
    assert!(hands.property("leg_2", "mac_address").is_null());
    assert_eq!(
        hands.property("web_2", "networks"),
        serde_json::json!([{"port": {"get_resource": "leg_2"}}, {"network": {"get_resource": "net"}}])
    );

    let hands = twins(&["net", "sub", "leg", "web"]);
    assert_eq!(
        hands.property("leg_2", "fixed_ips"),
        serde_json::json!([{"subnet": {"get_resource": "sub_2"}, "ip_address": "10.0.0.5"}, {"ip_address": "10.0.0.6"}])
    );
    assert_eq!(hands.property("leg_2", "mac_address"), "fa:16:3e:00:00:05");
    assert_eq!(
        hands.property("web_2", "networks"),
        serde_json::json!([{"port": {"get_resource": "leg_2"}}, {"network": {"get_resource": "net_2"}, "fixed_ip": "10.0.0.7"}])
    );
}

#[test]
fn a_thousand_resources_are_duplicated_by_one_edit() {
    let (text, names) = networks(1_000);
    let mut hands = TestEditor::on(&text);
    let proposal = hands.with(|input| duplicate(input, &names));
    let proposal = proposal.expect("they are there");
    assert_eq!(proposal.edits.len(), 1);
    hands.take(Ok(proposal));
    assert_eq!(hands.editor.template().resources.len(), 2 * names.len());
}

#[test]
fn a_server_is_copied_with_its_software_and_pasted_beside_itself() {
    let mut hands = TestEditor::on(TWO_TIER);
    let text = hands.with(|input| copy(input, &["web".to_owned()]));
    let text = text.expect("web is there");
    assert!(text.contains("  nginx:"), "{text}");
    let proposal = hands.with(|input| paste(input, &text));
    hands.take(proposal);
    assert_eq!(
        hands.property("nginx_2", "host"),
        serde_json::json!({"get_resource": "web_2"})
    );
    assert_eq!(
        hands.property("web_2", "networks"),
        serde_json::json!([{"network": {"get_resource": "front"}}])
    );
}

#[test]
fn resources_pasted_into_another_design_keep_names_and_marks() {
    let text = TestEditor::on(TWO_TIER).with(|input| copy(input, &["edge".to_owned()]));
    let mut hands = TestEditor::on(EMPTY);
    let proposal = hands.with(|input| paste(input, &text.expect("edge is there")));
    hands.take(proposal);
    let edge = hands.editor.template().resource("edge");
    assert!(edge.is_some_and(|edge| edge.marks.public));
}

#[test]
fn the_clipboard_is_a_template_in_the_order_of_the_selection() {
    let names = ["web", "edge"].map(str::to_owned);
    let text = TestEditor::on(TWO_TIER).with(|input| copy(input, &names));
    let document = hot::document::Document::parse(text.expect("both are there"));
    assert_eq!(document.diagnostics(), []);
    let copied = document.template().resources.iter();
    let copied: Vec<_> = copied.map(|resource| resource.name.as_str()).collect();
    assert_eq!(copied, ["web", "nginx", "edge", "balancer"]);
}

#[test]
fn a_large_design_is_copied_whole_and_pasted_by_one_edit() {
    let (text, names) = networks(2_000);
    let copied = TestEditor::on(&text).with(|input| copy(input, &names));
    let copied = copied.expect("they are there");
    let document = hot::document::Document::parse(copied.as_str());
    assert_eq!(document.template().resources.len(), names.len());
    let mut hands = TestEditor::on(EMPTY);
    let proposal = hands.with(|input| paste(input, &copied));
    hands.take(proposal);
    assert_eq!(hands.editor.template().resources.len(), names.len());
}

#[test]
fn nothing_is_pasted_into_a_design_at_its_size_limit() {
    let (little, _) = networks(60);
    let large = format!("{TWO_TIER}# {}\n", "x".repeat(523_000));
    assert!(
        TestEditor::on(TWO_TIER)
            .with(|input| paste(input, &little))
            .is_ok()
    );
    let Refusal(reason) = TestEditor::on(&large)
        .with(|input| paste(input, &little))
        .expect_err("the design would be longer than a template may be");
    assert!(reason.contains("too large to paste"), "{reason}");
}

#[test]
fn pasted_resources_get_different_names() {
    let mut hands = TestEditor::on(
        "heat_template_version: 2021-04-16\nresources:\n  a: {type: OS::Neutron::Net}\n",
    );
    let text = "resources:\n  a: {type: OS::Neutron::Net}\n  a_2: {type: OS::Neutron::Net}\n";
    let proposal = hands.with(|input| paste(input, text));
    hands.take(proposal);
    let there = hands.editor.template().resources.iter();
    let there: Vec<_> = there.map(|resource| resource.name.as_str()).collect();
    assert_eq!(there, ["a", "a_2", "a_3"]);
}

#[test]
fn a_text_that_is_not_a_template_is_not_pasted() {
    let hands = TestEditor::on(TWO_TIER);
    for text in ["hello", "{[", "heat_template_version: 2021-04-16\n", ""] {
        let refused = hands.with(|input| paste(input, text)).expect_err(text);
        assert!(refused.0.contains("clipboard"), "{}", refused.0);
    }
    assert_eq!(hands.with(|input| copy(input, &[])), None);
}
