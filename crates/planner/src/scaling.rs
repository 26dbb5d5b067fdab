//! Groups that scale, their policies, and Heat's arithmetic for new sizes.
//!
//! A deployed group is recorded with its limits and with its members, in its attribute `refs_map`. The recorded
//! resources are therefore the only place where a size is stored. A policy is a resource without an object in the
//! cloud: [`Adjustment::new_size`] computes the size that it asks for. Source: Heat's `scaling/scalingutil.py`.

use std::collections::{BTreeMap, BTreeSet};

use hot::{expr::Expr, template::members::SCALING_POLICY};
use serde_json::Value;

pub use hot::template::members::SCALING_GROUP;

use crate::{
    graph::target,
    workflow::{ResourceSpec, Workflow},
};

/// A deployed scaling group.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingGroup {
    /// Full name.
    pub name: String,
    /// Number of members.
    pub size: u64,
    /// Smallest size.
    pub min_size: u64,
    /// Largest size.
    pub max_size: u64,
    /// Seconds after a change in which policies are not applied, for policies without their own value.
    pub cooldown_seconds: u64,
    /// Policies of the group, by name.
    pub policies: Vec<ScalingPolicy>,
}

/// A policy of a scaling group.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingPolicy {
    /// Full name.
    pub name: String,
    /// The change of the size.
    pub adjustment: Adjustment,
    /// Seconds after a change in which no policy is applied. `None` for the group's value.
    pub cooldown_seconds: Option<u64>,
}

/// A change of a group's size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adjustment {
    /// Meaning of `amount`.
    pub kind: AdjustmentType,
    /// The number. Fractions count for percentages only.
    pub amount: f64,
    /// Smallest change by a percentage, in members. 0 for none.
    pub min_step: u64,
}

/// Meaning of an adjustment's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdjustmentType {
    /// Number of members to add, or to remove if it is negative.
    Change,
    /// Number of members.
    Exact,
    /// Percentage of the present size to add, or to remove if it is negative.
    Percent,
}

impl Adjustment {
    /// Size after the change, within the limits.
    ///
    /// Percentages are rounded towards zero, except for changes of less than one member, which are one member.
    pub fn new_size(self, present: u64, min: u64, max: u64) -> u64 {
        let present = present as f64;
        let wanted = match self.kind {
            AdjustmentType::Change => present + self.amount.trunc(),
            AdjustmentType::Exact => self.amount.trunc(),
            AdjustmentType::Percent => present + self.percent_of(present),
        };
        // The cast of a float saturates: a negative size is 0.
        (wanted as u64).min(max).max(min)
    }

    fn percent_of(self, present: f64) -> f64 {
        let change = present * self.amount / 100.0;
        let rounded = if change.abs() < 1.0 {
            change.abs().ceil().copysign(change)
        } else {
            change.trunc()
        };
        let min_step = self.min_step as f64;
        if min_step > rounded.abs() {
            // As in Heat, a change of nothing becomes a removal.
            return if rounded > 0.0 { min_step } else { -min_step };
        }
        rounded
    }
}

/// True for the types that [`groups`] reads.
pub fn is_part(resource_type: &str) -> bool {
    matches!(resource_type, SCALING_GROUP | SCALING_POLICY)
}

/// True if a workflow passes the address of a policy on: then something is to apply the policy while nobody is logged in.
pub fn passes_addresses_on(workflow: &Workflow) -> bool {
    let policies = workflow
        .resources
        .iter()
        .filter(|(_, spec)| spec.resource_type == SCALING_POLICY)
        .map(|(name, _)| name.as_str())
        .collect();
    let specs = workflow.resources.values();
    let properties = specs.flat_map(|spec| spec.properties.values());
    let outputs = workflow.outputs.values().map(|output| &output.value);
    !passed_on(&policies, properties.chain(outputs)).is_empty()
}

/// The policies among `policies` whose address is in one of the values.
pub(crate) fn passed_on<'a>(
    policies: &BTreeSet<&'a str>,
    values: impl Iterator<Item = &'a Expr>,
) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut visit = |expr: &Expr| {
        if let Expr::GetAttr(name, path) = expr {
            let attribute = path.first().and_then(Expr::as_str);
            let is_address = matches!(attribute, Some("signal_url" | "alarm_url"));
            found.extend(policies.get(name.as_str()).filter(|_| is_address).copied());
        }
    };
    values.for_each(|value| value.walk(&mut visit));
    found
}

/// The scaling groups among recorded resources, by name.
pub fn groups(resources: &BTreeMap<String, ResourceSpec>) -> Vec<ScalingGroup> {
    let groups = resources.iter().filter_map(|(name, spec)| {
        if spec.resource_type != SCALING_GROUP {
            return None;
        }
        let number = |property: &str| whole_number(spec.properties.get(property)?);
        let policies = resources.iter().filter_map(|(policy, spec)| {
            let of = spec.properties.get("auto_scaling_group_id")?;
            (spec.resource_type == SCALING_POLICY && target(of) == Some(name))
                .then(|| ScalingPolicy::of(policy, spec))?
        });
        Some(ScalingGroup {
            name: name.clone(),
            size: members(spec).len() as u64,
            min_size: number("min_size")?,
            max_size: number("max_size")?,
            cooldown_seconds: number("cooldown").unwrap_or(0),
            policies: policies.collect(),
        })
    });
    groups.collect()
}

impl ScalingPolicy {
    /// `None` if a value is known only during a run.
    fn of(name: &str, spec: &ResourceSpec) -> Option<ScalingPolicy> {
        let number = |property: &str| match spec.properties.get(property)? {
            Expr::Literal(Value::Number(number)) => number.as_f64(),
            Expr::Literal(Value::String(text)) => text.trim().parse().ok(),
            _ => None,
        };
        let kind = match spec.properties.get("adjustment_type")?.as_str()? {
            "change_in_capacity" => AdjustmentType::Change,
            "exact_capacity" => AdjustmentType::Exact,
            "percent_change_in_capacity" => AdjustmentType::Percent,
            _ => return None,
        };
        Some(ScalingPolicy {
            name: name.to_owned(),
            adjustment: Adjustment {
                kind,
                amount: number("scaling_adjustment")?,
                min_step: number("min_adjustment_step").unwrap_or(0.0) as u64,
            },
            cooldown_seconds: number("cooldown").map(|seconds| seconds as u64),
        })
    }
}

/// Names of a group's members, oldest first, from its recorded `refs_map`.
pub fn members(group: &ResourceSpec) -> Vec<String> {
    let mut names: Vec<String> = match group.properties.get("refs_map") {
        Some(Expr::Map(members)) => members.iter().map(|(name, _)| name.clone()).collect(),
        _ => Vec::new(),
    };
    names.sort_by_key(|name| number_of(name));
    names
}

/// Number of a member: members are named by growing numbers.
pub(crate) fn number_of(member: &str) -> u64 {
    member.parse().unwrap_or_default()
}

/// A whole number, 0 or more, also as text.
pub(crate) fn whole_number(value: &Expr) -> Option<u64> {
    match value {
        Expr::Literal(Value::Number(number)) => number.as_u64(),
        Expr::Literal(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn size(kind: AdjustmentType, amount: f64, present: u64) -> u64 {
        let adjustment = Adjustment {
            kind,
            amount,
            min_step: 0,
        };
        adjustment.new_size(present, 0, 100)
    }

    /// The examples of Heat's own tests (`test_scaling_util.py`) and of its documentation.
    #[test]
    fn sizes_are_those_of_heat() {
        use AdjustmentType::*;
        assert_eq!(size(Change, 2.0, 3), 5);
        assert_eq!(size(Change, -2.0, 3), 1);
        assert_eq!(size(Change, -5.0, 3), 0);
        assert_eq!(size(Exact, 4.0, 3), 4);
        assert_eq!(size(Percent, 50.0, 4), 6);
        assert_eq!(size(Percent, -50.0, 4), 2);
        assert_eq!(size(Percent, 0.0, 4), 4);
        // Below one member: away from zero.
        assert_eq!(size(Percent, 10.0, 4), 5);
        assert_eq!(size(Percent, -10.0, 4), 3);
        // Above: towards zero.
        assert_eq!(size(Percent, 70.0, 5), 8);
        assert_eq!(size(Percent, -70.0, 5), 2);
    }

    #[test]
    fn a_percentage_has_a_smallest_step() {
        let size = |amount, min_step, present| {
            let adjustment = Adjustment {
                kind: AdjustmentType::Percent,
                amount,
                min_step,
            };
            adjustment.new_size(present, 1, 9)
        };
        assert_eq!(size(50.0, 2, 2), 4);
        assert_eq!(size(-50.0, 2, 2), 1, "and stays within the limits");
        assert_eq!(size(-25.0, 2, 6), 4);
        assert_eq!(size(100.0, 2, 4), 8, "a larger change is kept");
    }

    /// Heat's function, in whole numbers: a percentage is a fraction of hundredths.
    fn of_heat(kind: AdjustmentType, amount: i64, min_step: i64, present: i64) -> i64 {
        match kind {
            AdjustmentType::Change => present + amount,
            AdjustmentType::Exact => amount,
            AdjustmentType::Percent => {
                let hundredths = present * amount;
                let rounded = match hundredths.abs() {
                    0 => 0,
                    1..100 => hundredths.signum(),
                    _ => hundredths / 100,
                };
                let step = if min_step > rounded.abs() {
                    if rounded > 0 { min_step } else { -min_step }
                } else {
                    rounded
                };
                present + step
            }
        }
    }

    proptest! {
        #[test]
        fn sizes_agree_with_whole_number_arithmetic(
            kind in prop_oneof![Just(AdjustmentType::Change), Just(AdjustmentType::Exact), Just(AdjustmentType::Percent)],
            amount in -300_i64..300, min_step in 0_u64..5, present in 0_u64..200, min in 0_u64..10, more in 0_u64..200,
        ) {
            let max = min + more;
            let adjustment = Adjustment { kind, amount: amount as f64, min_step };
            let wanted = of_heat(kind, amount, min_step as i64, present as i64);
            let expected = wanted.clamp(min as i64, max as i64);
            prop_assert_eq!(adjustment.new_size(present, min, max), expected as u64);
        }

        #[test]
        fn a_step_up_never_shrinks_a_group_within_its_limits(percent in 1.0_f64..500.0, present in 1_u64..100) {
            let adjustment = Adjustment { kind: AdjustmentType::Percent, amount: percent, min_step: 0 };
            prop_assert!(adjustment.new_size(present, 0, 1000) > present);
        }
    }
}
