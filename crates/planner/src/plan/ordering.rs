//! Order in which resources are created and changed, including hand-overs.
//!
//! A resource comes after all its requirements, and after resources that release a value which it takes
//! ([`exclusive::handed_over`]). If that would make a circle, requirements have priority, and the other resource
//! releases its value first.

use std::collections::{HashMap, HashSet};

use super::{
    exclusive::{self, HandOver},
    *,
};

/// Order of the model's resources.
pub(super) struct Ordering<'a> {
    /// Names, each after all that it waits for.
    pub order: Vec<&'a str>,
    /// Resources that a resource waits for in addition to its requirements.
    pub after: HashMap<&'a str, Vec<&'a str>>,
    /// Resources that release a value before this one takes it, and are changed later.
    pub takes_from: HashMap<&'a str, Vec<&'a str>>,
}

/// Names in an order in which each comes after all its requirements. The error is a circle.
pub(super) fn order<'a>(
    resources: impl Iterator<Item = (&'a str, &'a ResourceSpec)>,
) -> Result<Vec<&'a str>, Vec<String>> {
    let (names, requires): (Vec<&str>, Vec<Vec<&str>>) = resources
        .map(|(name, spec)| (name, spec.requires.iter().map(String::as_str).collect()))
        .unzip();
    match graph::order(&names, &requires) {
        Ok(order) => Ok(order.into_iter().map(|index| names[index]).collect()),
        Err(circle) => Err(circle.into_iter().map(str::to_owned).collect()),
    }
}

impl<'a> Ordering<'a> {
    /// Order for these changes. The error is a circle of requirements.
    pub fn of(
        model: &'a Model,
        deployed: &'a Deployed,
        changes: &'a [Change],
    ) -> Result<Ordering<'a>, Vec<String>> {
        let mut ordering = Ordering {
            order: order(model.iter())?,
            after: HashMap::new(),
            takes_from: HashMap::new(),
        };
        let replaced: HashSet<&str> = changes
            .iter()
            .filter(|change| change.action == Action::Replace && !change.may)
            .map(|change| change.resource.as_str())
            .collect();
        let is_replaced = |name: &str| replaced.contains(name);
        let scope = exclusive::Scope {
            deployed,
            model,
            is_replaced: &is_replaced,
        };
        let all = exclusive::handed_over(&scope, changes);
        for HandOver { to, from } in &all {
            let (waits, on) = if ordering.waits_for(model, from, to) {
                ordering.takes_from.entry(to).or_default().push(from);
                (from, to)
            } else {
                (to, from)
            };
            ordering.after.entry(waits).or_default().push(on);
        }
        if !all.is_empty() {
            let waits: Vec<Vec<&str>> = ordering
                .order
                .iter()
                .map(|name| ordering.all_before(model, name).collect())
                .collect();
            // The additional order is used only where it makes no circle.
            if let Ok(order) = graph::order(&ordering.order, &waits) {
                ordering.order = order.into_iter().map(|at| ordering.order[at]).collect();
            }
        }
        Ok(ordering)
    }

    /// All resources that a resource waits for directly.
    pub fn all_before<'t>(
        &'t self,
        model: &'a Model,
        name: &str,
    ) -> impl Iterator<Item = &'a str> + use<'a, 't> {
        let required = model.get(name).map(|spec| spec.requires.as_slice());
        let after = self.after.get(name).map(Vec::as_slice);
        let required = required.unwrap_or_default().iter().map(String::as_str);
        required.chain(after.unwrap_or_default().iter().copied())
    }

    /// True if one resource waits for another, directly or indirectly.
    fn waits_for(&self, model: &'a Model, name: &'a str, other: &str) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            for before in self.all_before(model, name) {
                if before == other {
                    return true;
                }
                if seen.insert(before) {
                    open.push(before);
                }
            }
        }
        false
    }
}

/// The nearest resources with a step before each resource. The order holds through a resource without a step, as if it
/// had one. Resources are added after those before them.
#[derive(Default)]
pub(super) struct Nearest<'a> {
    /// Those before each resource with a step.
    before: HashMap<&'a str, Vec<&'a str>>,
    /// Those before each resource without a step.
    skipped: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Nearest<'a> {
    /// The resources with a step that stand for these: each itself, or the nearest ones before it. Of the latter, those
    /// for which another one waits already are left out.
    pub fn of(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
        let mut found: Vec<&str> = Vec::new();
        let mut nearest: Vec<&str> = Vec::new();
        let mut seen = HashSet::new();
        for name in names {
            if !seen.insert(name) {
                continue;
            }
            if self.before.contains_key(name) {
                found.push(name);
            }
            nearest.extend(self.skipped.get(name).into_iter().flatten());
        }
        if nearest.is_empty() {
            return found;
        }
        let all = found.iter().chain(&nearest);
        let implied: HashSet<&str> = all
            .filter_map(|name| self.before.get(name))
            .flatten()
            .copied()
            .collect();
        let is_new = |name: &&'a str| !implied.contains(name) && seen.insert(*name);
        found.extend(nearest.into_iter().filter(is_new));
        found
    }

    /// Adds a resource with a step, and the resources before it.
    pub fn add(&mut self, name: &'a str, before: Vec<&'a str>) {
        self.before.insert(name, before);
    }

    /// Adds a resource without a step, and the resources before it.
    pub fn skip(&mut self, name: &'a str, before: impl IntoIterator<Item = &'a str>) {
        let before = self.of(before);
        self.skipped.insert(name, before);
    }

    /// The resources before a resource with a step.
    pub fn before(&self, name: &str) -> &[&'a str] {
        self.before.get(name).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use crate::{plan::tests::from_to, testing::resources};

    const LED: &str = "
  net: {type: OS::Neutron::Net}
  one: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  two: {type: OS::Neutron::Port, properties: {network: {get_resource: net}}}
  first: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: one}}}
  second: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}}
";

    #[test]
    fn the_resource_that_releases_a_value_changes_first() {
        let before = resources(LED);
        let after = before
            .replace("public, port_id: {get_resource: one}", "public")
            .replace("second: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}",
                "second: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: one}}");
        let (_, steps) = from_to(&before, &after);
        insta::assert_snapshot!(steps, @r"
        first:update <- 
        second:update <- first:update
        ");
    }

    #[test]
    fn one_of_two_resources_that_swap_values_releases_first() {
        let before = resources(LED).replace(
            "second: {type: OS::Neutron::FloatingIP, properties: {floating_network: public}",
            "second: {type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: two}}",
        );
        let after = before
            .replace("get_resource: one}}}", "get_resource: three}}}")
            .replace("get_resource: two}}}", "get_resource: one}}}")
            .replace("get_resource: three}}}", "get_resource: two}}}");
        let (_, steps) = from_to(&before, &after);
        insta::assert_snapshot!(steps, @r"
        second:update <- 
        first:update <- second:update
        ");
    }

    #[test]
    fn required_resources_come_before_released_values() {
        let before = resources(LED).replace("second: {type", "second: {depends_on: first, type");
        let after = before
            .replace("port_id: {get_resource: one}", "port_id: {get_resource: two}")
            .replace(
                "second: {depends_on: first, type: OS::Neutron::FloatingIP, properties: {floating_network: public}",
                "second: {depends_on: first, type: OS::Neutron::FloatingIP, properties: {floating_network: public, port_id: {get_resource: one}}",
            );
        let (_, steps) = from_to(&before, &after);
        insta::assert_snapshot!(steps, @r"
        first:update <- 
        second:update <- first:update
        ");
    }
}
