//! The digest of a plan's changes.

use super::*;

/// A network with this name, and a server in it.
fn named(network: &str) -> String {
    resources(&format!(
        "  net: {{type: OS::Neutron::Net, properties: {{name: {network}}}}}\n  web: {{type: OS::Nova::Server, properties: \
         {{image: debian-12, flavor: m1.small, networks: [{{network: {{get_resource: net}}}}]}}}}\n"
    ))
}

#[test]
fn plans_of_the_same_changes_have_the_same_digest() {
    let plan = plan_of(DEMO);
    assert_eq!(plan.digest_of_changes(), plan_of(DEMO).digest_of_changes());
    // The way over the API changes nothing.
    let text = serde_json::to_string(&plan).unwrap();
    let read: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(read.digest_of_changes(), plan.digest_of_changes());
}

#[test]
fn other_changes_have_another_digest() {
    let (old, new) = (plan_of(&named("old")), plan_of(&named("new")));
    let other = resources("  other: {type: OS::Neutron::Net}\n");
    let digests = [
        old.digest_of_changes(),
        new.digest_of_changes(),
        plan_with(&named("new"), &[], &deployed(&old)).digest_of_changes(),
        plan_with(&other, &[], &deployed(&old)).digest_of_changes(),
        plan_with(DEMO, &[], &deployed(&old)).digest_of_changes(),
    ];
    let all: std::collections::BTreeSet<&String> = digests.iter().collect();
    assert_eq!(all.len(), digests.len(), "{digests:?}");
}

#[test]
fn unchanged_resources_and_reasons_do_not_count() {
    let unchanged = plan_with(DEMO, &[], &deployed(&plan_of(DEMO)));
    assert!(!unchanged.changes.is_empty());
    let nothing = Plan::default().digest_of_changes();
    assert_eq!(unchanged.digest_of_changes(), nothing);

    let plan = plan_of(DEMO);
    let mut explained = plan.clone();
    for change in &mut explained.changes {
        change.because = Some("another reason".to_owned());
    }
    explained.diagnostics.clear();
    explained.quotas.clear();
    explained.base_run = Some("another".to_owned());
    assert_eq!(explained.digest_of_changes(), plan.digest_of_changes());
}

#[test]
fn a_hidden_value_is_not_in_it() {
    let text = "heat_template_version: 2021-04-16\nparameters:\n  code: {type: string, hidden: true}\n\
                resources:\n  net: {type: OS::Neutron::Net, properties: {name: {get_param: code}}}\n";
    let digest = |code: &str| {
        let plan = plan_with(text, &[("code", json!(code))], &Deployed::default());
        plan.digest_of_changes()
    };
    assert_eq!(digest("1234"), digest("9999"));
}
