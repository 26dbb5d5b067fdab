//! Removed components whose item brings a removal: it runs on the server, if that stays.

use super::{update::made, *};
use crate::testing::types_with_removal;

/// The plan from one template to another. All items bring a removal.
fn from(before: &str, after: &str) -> Plan {
    plan(&PlanInput {
        document: &Document::parse(after),
        bundle: &Default::default(),
        parameters: &BTreeMap::new(),
        deployed: &made(&plan_of(before)),
        types: &types_with_removal(),
        cloud: &cloud(),
    })
}

fn component(name: &str, line: &str) -> String {
    format!("  {name}: {{type: {line}}}\n")
}

/// The demo with other components.
fn with(components: &[(&str, &str)]) -> String {
    let (servers, rest) = DEMO.split_once("  proxy:\n").unwrap();
    assert!(rest.contains("outputs:"));
    let lines = components.iter().map(|(name, line)| component(name, line));
    format!("{servers}{}", lines.collect::<String>())
}

const NGINX: &str = "Stackloom::Catalog::nginx, properties: {host: {get_resource: inner}}";
const OTHER: &str =
    "Stackloom::Catalog::nginx, properties: {host: {get_resource: inner}, page_text: other}";

fn proxy(backend: &str) -> String {
    format!(
        "Stackloom::Catalog::haproxy, properties: {{host: {{get_resource: gate}}, backends: [{{get_resource: {backend}}}]}}"
    )
}

#[test]
fn a_removed_component_is_taken_off_its_server() {
    let plan = from(&with(&[("nginx", NGINX)]), &with(&[]));
    assert!(
        !plan
            .diagnostics
            .iter()
            .any(|one| one.code == "software-stays")
    );
    insta::assert_snapshot!(steps(&plan.workflow.unwrap()), @r"
    bastion:open <- 
    gate:ssh <- bastion:open
    inner:ssh <- bastion:open gate:ssh
    nginx:delete <- inner:ssh
    inner_access:update <- nginx:delete
    bastion:close (always) <- gate:ssh inner:ssh nginx:delete
    ");
}

#[test]
fn what_was_connected_to_it_is_set_up_without_it_first() {
    let far =
        "Stackloom::Catalog::nginx, properties: {host: {get_resource: gate}, listen_port: 81}";
    let before = with(&[("nginx", NGINX), ("far", far), ("proxy", &proxy("nginx"))]);
    let after = with(&[("far", far), ("proxy", &proxy("far"))]);
    insta::assert_snapshot!(steps(&from(&before, &after).workflow.unwrap()), @r"
    bastion:open <- 
    gate:ssh <- bastion:open
    inner:ssh <- bastion:open gate:ssh
    proxy:configure <- gate:ssh
    nginx:delete <- proxy:configure inner:ssh
    inner_access:update <- nginx:delete
    bastion:close (always) <- gate:ssh inner:ssh proxy:configure nginx:delete
    ");
}

#[test]
fn its_successor_on_the_server_waits_for_the_removal() {
    let before = with(&[("nginx", NGINX), ("proxy", &proxy("nginx"))]);
    let after = with(&[("other", OTHER), ("proxy", &proxy("other"))]);
    insta::assert_snapshot!(steps(&from(&before, &after).workflow.unwrap()), @r"
    bastion:open <- 
    gate:ssh <- bastion:open
    inner:ssh <- bastion:open gate:ssh
    nginx:delete <- inner:ssh
    other:configure <- inner:ssh nginx:delete
    proxy:configure <- gate:ssh other:configure
    bastion:close (always) <- gate:ssh inner:ssh nginx:delete other:configure proxy:configure
    ");
}

#[test]
fn a_component_of_a_removed_server_is_not_removed_first() {
    let before = with(&[("nginx", NGINX)]);
    let (start, _) = before.split_once("  inner:\n").unwrap();
    let workflow = from(&before, start).workflow.unwrap();
    assert!(!workflow.steps.iter().any(|step| step.id == "nginx:delete"));
    assert!(workflow.steps.iter().any(|step| step.id == "inner:delete"));
}
