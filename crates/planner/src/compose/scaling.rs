//! `OS::Heat::AutoScalingGroup`: one definition with a number of members that changes while the deployment lives.
//!
//! The present members are those that the deployment records for the group, in its attribute `refs_map`: there is no
//! other count. A new group starts with `desired_capacity` members, or `min_size`. Later plans keep its members, unless
//! a size is requested ([`GroupRequest`]) or the template's `desired_capacity` has changed. In each case the size stays
//! within the template's limits. Heat also returns to an unchanged `desired_capacity` when another property of the
//! group changes; here a template that is updated does not undo a scaling.
//!
//! Members are named by growing numbers, so their order is the order of their creation. As in Heat, a group that
//! shrinks loses failed members first, then the oldest ones. Source: Heat's `autoscaling_group.py` and
//! `scaling/template.py`.

use super::{
    Composer, Frame, Parent, RESOURCES_MAX, ResourceSpec, batches::Batches, group::Members,
};
use crate::{
    deployed::GroupRequest,
    scaling::{number_of, whole_number},
};
use hot::template::members::SCALING_GROUP;

/// Properties that are recorded with the group, beside its attributes.
const RECORDED: [&str; 4] = ["cooldown", "desired_capacity", "max_size", "min_size"];

impl Composer<'_> {
    pub(super) fn scaling_group(&mut self, frame: &Frame<'_>, name: &str, spec: ResourceSpec) {
        let full = frame.full(name);
        let inherits = self.waits_for(frame, &spec);
        let first = self.resources.len();
        let mut members = Vec::new();
        if self.may_nest(frame, name) {
            let present = self.present(&full);
            members = self.scaled(frame, &full, &spec, &present);
            let existing = members.iter().filter(|name| present.contains(name)).count();
            let settings = spec.properties.get("rolling_updates");
            let made = Members {
                definition: "resource",
                index_variable: None,
                names: &members,
                batches: Some(Batches::rolling(settings, existing)),
            };
            self.members(frame, name, &spec, made, &inherits);
        }
        let properties = RECORDED.iter().filter_map(|property| {
            let value = spec.properties.get(*property)?;
            Some(((*property).to_owned(), frame.global_expr(value)))
        });
        let parent = ResourceSpec {
            resource_type: SCALING_GROUP.to_owned(),
            properties: properties.collect(),
            ..spec
        };
        self.parent(
            full,
            parent,
            inherits,
            Parent::ScalingGroup { members },
            first,
        );
    }

    /// Names of the present members, in the order in which a shrinking group loses them.
    pub(super) fn present(&self, full: &str) -> Vec<String> {
        let deployed = self.input.deployed;
        let mut names = match deployed.groups.get(full) {
            Some(GroupRequest::Members(names)) => names.clone(),
            _ => deployed.members_of(full),
        };
        let start = |name: &str| format!("{full}/{name}");
        let is_in_order = |name: &String| {
            let own = start(name);
            let within = format!("{own}/");
            let resources = deployed.resources.keys();
            let mut resources = resources.filter(|one| **one == own || one.starts_with(&within));
            resources.all(|one| deployed.is_in_order(one))
        };
        names.sort_by_cached_key(|name| (is_in_order(name), number_of(name)));
        names
    }

    /// Names of the planned members, oldest first.
    fn scaled(
        &mut self,
        frame: &Frame<'_>,
        full: &str,
        spec: &ResourceSpec,
        present: &[String],
    ) -> Vec<String> {
        let mut number = |property: &str| {
            let given = spec.properties.get(property)?;
            self.whole_number(frame, full, property, given)
        };
        let (Some(min), Some(max)) = (number("min_size"), number("max_size")) else {
            return Vec::new();
        };
        // As in Heat, 0 is the same as no value.
        let desired = number("desired_capacity").filter(|desired| *desired > 0);
        let deployed = self.input.deployed;
        let recorded = deployed.resources.get(full);
        let size = match (deployed.groups.get(full), recorded) {
            (Some(GroupRequest::Size(size)), _) => {
                if !(min..=max).contains(size) {
                    let message = format!(
                        "`{full}` cannot have the size {size}: its template allows {min} to {max}; ask for a size between, or change \
                         `min_size` or `max_size`"
                    );
                    self.error("group-size", format!("resources.{full}"), message);
                }
                *size
            }
            (Some(GroupRequest::Members(names)), _) => names.len() as u64,
            (None, None) => desired.unwrap_or(min),
            (None, Some(recorded)) => {
                let before = recorded.properties.get("desired_capacity");
                let before = before.and_then(whole_number);
                let present = present.len() as u64;
                desired
                    .filter(|desired| Some(*desired) != before)
                    .unwrap_or(present)
            }
        };
        // Validation reports a minimum above the maximum.
        let size = size.min(max).max(min);
        self.resized(full, "min_size", present, size)
    }

    /// Names of the members of a group with another size, oldest first. `property` is the property with the size.
    pub(super) fn resized(
        &mut self,
        full: &str,
        property: &str,
        present: &[String],
        size: u64,
    ) -> Vec<String> {
        if size > RESOURCES_MAX as u64 {
            let message = format!(
                "`{full}` would have {size} members; there may be {RESOURCES_MAX} resources in all"
            );
            let path = format!("resources.{full}.properties.{property}");
            self.error("too-many-resources", path, message);
            return Vec::new();
        }
        let size = size as usize;
        let next = present.iter().map(|name| number_of(name) + 1).max();
        let new = (next.unwrap_or(0)..).map(|number| number.to_string());
        let lost = present.len().saturating_sub(size);
        let mut members = present[lost..].to_vec();
        members.sort_by_key(|name| number_of(name));
        let missing = size - members.len();
        members.extend(new.take(missing));
        members
    }
}
