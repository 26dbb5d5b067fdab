//! Creation order of resources.
//!
//! Most dependencies are references. One in a requirement that needs an address only leads to what the endpoint is made from
//! (`addresses`). The rest are Heat's implicit dependencies: requirements of Neutron that no property names, such as the
//! router interface for a floating IP (`implicit`). All look-ups use indexes that are built once, so ordering thousands of
//! resources takes near-linear time.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use hot::expr::Expr;
use types::Registry;

mod addresses;
mod implicit;

pub(crate) use addresses::providers;

use addresses::Components;
use implicit::Implicit;

/// Set of implicit rules to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Heat's rules only: the order defined by a template.
    Heat,
    /// Heat's rules and further requirements of the cloud: the order of a plan.
    Plan,
}

/// Resource with the fields that decide its order.
pub(crate) struct Node<'a> {
    pub name: &'a str,
    pub resource_type: &'a str,
    pub properties: Vec<(&'a str, &'a Expr)>,
    pub depends_on: Vec<&'a str>,
    /// True if a pass added it.
    pub derived: bool,
}

impl<'a> Node<'a> {
    fn property(&self, name: &str) -> Option<&'a Expr> {
        self.properties
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }
}

/// Target of a plain reference.
pub(crate) fn target(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::GetResource(name) => Some(name),
        _ => None,
    }
}

/// The required nodes of each node, by name: they must exist before it. In the given order, without duplicates and
/// unknown names.
pub(crate) fn requirements<'a>(
    nodes: &[Node<'a>],
    rules: Rules,
    types: &Registry,
) -> Vec<Vec<&'a str>> {
    let known: HashMap<&str, usize> = nodes
        .iter()
        .enumerate()
        .map(|(index, node)| (node.name, index))
        .collect();
    let implicit = Implicit::of(nodes, rules);
    let components = Components {
        nodes,
        known: &known,
        types,
        rules,
    };
    nodes
        .iter()
        .map(|node| {
            let mut seen = HashSet::new();
            let mut required: Vec<usize> = Vec::new();
            let mut require = |name: &str, required: &mut Vec<usize>| {
                if let Some(&index) = known.get(name)
                    && name != node.name
                    && seen.insert(index)
                {
                    required.push(index);
                }
            };
            for name in node
                .properties
                .iter()
                .flat_map(|(property, value)| components.before(node, property, value))
                .chain(node.depends_on.iter().copied())
            {
                require(name, &mut required);
            }
            for name in implicit.of_node(node, &required, nodes, &known) {
                require(name, &mut required);
            }
            // A node's own name has the lifetime of all nodes.
            required
                .into_iter()
                .map(|index| nodes[index].name)
                .collect()
        })
        .collect()
}

/// Indices in an order in which each name comes after all its requirements, and otherwise in the given order. The error
/// is one circle, in its order.
pub(crate) fn order<'a>(
    names: &[&'a str],
    requires: &[Vec<&'a str>],
) -> Result<Vec<usize>, Vec<&'a str>> {
    let index: HashMap<&str, usize> = names
        .iter()
        .enumerate()
        .map(|(index, name)| (*name, index))
        .collect();
    let mut waiting: Vec<usize> = vec![0; names.len()];
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); names.len()];
    for (node, required) in requires.iter().enumerate() {
        for name in required {
            if let Some(&on) = index.get(name) {
                waiting[node] += 1;
                dependents[on].push(node);
            }
        }
    }
    let mut ready: VecDeque<usize> = (0..names.len())
        .filter(|node| waiting[*node] == 0)
        .collect();
    let mut order = Vec::with_capacity(names.len());
    while let Some(node) = ready.pop_front() {
        order.push(node);
        for &dependent in &dependents[node] {
            waiting[dependent] -= 1;
            if waiting[dependent] == 0 {
                ready.push_back(dependent);
            }
        }
    }
    if order.len() == names.len() {
        return Ok(order);
    }
    Err(circle(names, requires, &index, &waiting))
}

/// Follows unready nodes, starting at one of them, until a node repeats.
fn circle<'a>(
    names: &[&'a str],
    requires: &[Vec<&'a str>],
    index: &HashMap<&str, usize>,
    waiting: &[usize],
) -> Vec<&'a str> {
    let mut at = waiting.iter().position(|count| *count > 0).unwrap_or(0);
    let mut path: Vec<usize> = Vec::new();
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    while !seen.contains_key(&at) {
        seen.insert(at, path.len());
        path.push(at);
        let next = requires[at]
            .iter()
            .filter_map(|name| index.get(name))
            .find(|next| waiting[**next] > 0);
        match next {
            Some(next) => at = *next,
            None => break,
        }
    }
    let start = seen.get(&at).copied().unwrap_or(0);
    path[start..].iter().map(|node| names[*node]).collect()
}

#[cfg(test)]
mod tests;
