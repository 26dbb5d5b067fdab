//! Resources that wait for another one.

use std::collections::HashSet;

use super::*;

/// The resources that require a resource, by the required one.
pub(crate) struct Dependents<'m>(HashMap<&'m str, Vec<&'m str>>);

impl<'m> Dependents<'m> {
    pub fn of(model: &'m Model, types: &Registry) -> Dependents<'m> {
        let nodes: Vec<graph::Node<'m>> =
            model.iter().map(|(name, spec)| node(name, spec)).collect();
        let mut dependents: HashMap<&str, Vec<&str>> = HashMap::new();
        let required = graph::requirements(&nodes, graph::Rules::Plan, types);
        for (node, required) in nodes.iter().zip(required) {
            for name in required {
                dependents.entry(name).or_default().push(node.name);
            }
        }
        Dependents(dependents)
    }

    /// The resources that require this one, directly or through others.
    pub fn of_resource(&self, name: &str) -> HashSet<&'m str> {
        let mut found = HashSet::new();
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            for &dependent in self.0.get(name).into_iter().flatten() {
                if found.insert(dependent) {
                    open.push(dependent);
                }
            }
        }
        found
    }
}
