//! Plans of wait conditions.

use super::update::from_to;
use super::*;

const WAITS: &str = "
  handle: {type: OS::Heat::WaitConditionHandle}
  net: {type: OS::Neutron::Net, properties: {name: {get_attr: [handle, token]}}}
  wait: {type: OS::Heat::WaitCondition, depends_on: net, properties: {handle: {get_resource: handle}, timeout: 600, count: 2}}
  after: {type: OS::Neutron::Net, depends_on: wait}
";

#[test]
fn a_wait_comes_between_and_has_time_for_its_longest_timeout() {
    let plan = plan_of(&resources(WAITS));
    let workflow = plan.workflow.unwrap();
    check_order(&workflow);
    let step = |id: &str| workflow.steps.iter().find(|step| step.id == id).unwrap();
    let mut before = step("wait:create").after.clone();
    before.sort();
    assert_eq!(before, ["handle:create", "net:create"]);
    assert_eq!(step("after:create").after, ["wait:create"]);
    assert!(step("wait:create").timeout_seconds > 43_200);
}

#[test]
fn a_new_count_is_waited_for_and_a_new_timeout_is_another_wait() {
    let before = resources(WAITS);
    let (changes, _) = from_to(&before, &before.replace("count: 2", "count: 3"));
    insta::assert_snapshot!(changes, @"Update wait: `count` changes");
    let (changes, _) = from_to(&before, &before.replace("timeout: 600", "timeout: 700"));
    insta::assert_snapshot!(changes, @"Replace wait: `timeout` changes: it will be replaced");
}

#[test]
fn an_update_handle_is_replaced_by_each_update_with_all_that_uses_it() {
    let before = resources(
        &WAITS
            .replace("WaitConditionHandle", "UpdateWaitConditionHandle")
            .replace("{get_attr: [handle, token]}", "{get_resource: handle}"),
    );
    let (changes, _) = from_to(&before, &before);
    insta::assert_snapshot!(changes, @r"
    Replace handle: servers signal to a new one at each update: it will be replaced
    Update net: `name` changes (`handle` is replaced)
    Replace wait: `handle` changes (`handle` is replaced): it will be replaced
    ");
}
