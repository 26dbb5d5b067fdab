//! For any dependencies, a plan has an order, or reports the resources that wait for each other, and their positions.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use hot::diagnostic::listing;

/// Numbers of the resources that each resource waits for.
type Waits = Vec<BTreeSet<usize>>;

/// Template with these dependencies, of each kind in turn.
fn drawn(waits: &Waits) -> String {
    let mut text = String::from("heat_template_version: 2021-04-16\nresources:\n");
    for (number, others) in waits.iter().enumerate() {
        let names = |form: &dyn Fn(usize) -> String| {
            let names: Vec<String> = others.iter().map(|other| form(*other)).collect();
            names.join(", ")
        };
        let body = match number % 4 {
            0 => format!(
                "type: OS::Heat::Value, depends_on: [{}], properties: {{value: x}}",
                names(&|other| format!("r{other}"))
            ),
            1 => format!(
                "type: OS::Heat::Value, properties: {{value: [x, {}]}}",
                names(&|other| format!("{{get_resource: r{other}}}"))
            ),
            2 => format!(
                "type: OS::Heat::ResourceGroup, properties: {{count: 2, resource_def: {{type: OS::Heat::Value, properties: {{value: [x, {}]}}}}}}",
                names(&|other| format!("{{get_resource: r{other}}}"))
            ),
            _ => format!(
                "type: OS::Heat::Value, metadata: {{m: [x, {}]}}, properties: {{value: x}}",
                names(&|other| format!(
                    "{{str_replace: {{template: t, params: {{t: {{get_resource: r{other}}}}}}}}}"
                ))
            ),
        };
        text.push_str(&format!("  r{number}: {{{body}}}\n"));
    }
    text
}

/// True if the resources can be ordered.
fn has_order(waits: &Waits) -> bool {
    let mut left: BTreeMap<usize, &BTreeSet<usize>> = waits.iter().enumerate().collect();
    while let Some(next) = left
        .iter()
        .find(|(_, others)| !others.iter().any(|other| left.contains_key(other)))
        .map(|(next, _)| *next)
    {
        left.remove(&next);
    }
    left.is_empty()
}

/// Resources of a circle, as named in a message.
fn named(message: &str) -> Vec<usize> {
    let names = message.split('`').filter_map(|word| word.strip_prefix('r'));
    names.filter_map(|number| number.parse().ok()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_plan_has_an_order_or_says_where_it_has_none(
        waits in prop::collection::vec(prop::collection::btree_set(0usize..7, 0..3), 7),
        downwards in any::<bool>(),
    ) {
        // Half of the drawings have no circle.
        let waits: Waits = waits.into_iter().enumerate().map(|(number, others)| {
            others.into_iter().filter(|other| !downwards || *other < number).collect()
        }).collect();
        let text = drawn(&waits);
        let plan = plan_of(&text);
        prop_assert_eq!(plan.workflow.is_some(), has_order(&waits), "{}\n{}", text, listing(&plan.diagnostics));
        if let Some(workflow) = &plan.workflow {
            check_order(workflow);
            for (number, others) in waits.iter().enumerate() {
                let requires = &workflow.resources[&format!("r{number}")].requires;
                let missing = others.iter().find(|other| !requires.contains(&format!("r{other}")));
                prop_assert_eq!(missing, None, "{}", text);
            }
        }
        let circles = plan.diagnostics.iter().filter(|one| one.code == "circular-reference");
        let mut count = 0;
        for one in circles {
            count += 1;
            let names = named(&one.message);
            // Each resource waits for the next one, and the last for the first.
            for (index, name) in names.iter().enumerate() {
                let next = names[(index + 1) % names.len()];
                prop_assert!(waits[*name].contains(&next) || *name == next, "{}\n{}", one.message, text);
            }
            let line = one.line.unwrap_or_default() as usize;
            let there = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
            prop_assert!(names.iter().any(|name| there.starts_with(&format!("  r{name}:"))), "{line}\n{}", text);
        }
        prop_assert_eq!(count > 0, plan.workflow.is_none(), "{}", listing(&plan.diagnostics));
    }
}
