//! Requirements of components that need addresses only.
//!
//! A component does not wait for the set-up of the others then, but for all that their endpoints are made from: their
//! servers, and the resources that their ports, shared inputs and secrets refer to. So components can require each other.
//!
//! The members of groups and nested templates are known in a plan only. In a template, connections between a component and
//! such a parent give no order, except those of a component that waits for health.

use std::collections::HashMap;

use hot::expr::Expr;
use types::{
    Registry,
    catalog::{CatalogItem, Need},
};

use super::{Node, Rules, target};
use crate::members::is_parent;

/// Components among the nodes of a graph.
pub(super) struct Components<'n, 'a> {
    pub nodes: &'n [Node<'a>],
    /// Index of each node, by name.
    pub known: &'n HashMap<&'a str, usize>,
    pub types: &'n Registry,
    pub rules: Rules,
}

impl<'a> Components<'_, 'a> {
    /// The resources that must exist before a node, because of this property of it.
    pub fn before(&self, node: &Node<'a>, property: &str, value: &'a Expr) -> Vec<&'a str> {
        let requirement = self
            .item(node)
            .and_then(|item| item.requirement(property))
            .filter(|requirement| requirement.needs == Need::Address);
        let Some(requirement) = requirement else {
            let mut all = value.resources();
            // Each member waits for what it uses of the component.
            if self.is_unexpanded_parent(node) {
                all.retain(|name| self.node(name).is_none_or(|of| self.item(of).is_none()));
            }
            return all;
        };
        providers(value)
            .iter()
            .flat_map(|provider| {
                self.of_endpoint(node.name, &requirement.capability, provider)
                    .unwrap_or_else(|| {
                        let mut all = provider.resources();
                        all.retain(|name| {
                            self.node(name)
                                .is_none_or(|of| !self.is_unexpanded_parent(of))
                        });
                        all
                    })
            })
            .collect()
    }

    /// The resources that an endpoint is made from. `None` if it is not one of a component, or if it depends on its
    /// consumer: such a circle has no order.
    fn of_endpoint(
        &self,
        consumer: &str,
        capability: &str,
        provider: &'a Expr,
    ) -> Option<Vec<&'a str>> {
        let provider = self.node(target(provider)?)?;
        let offered = self.item(provider)?.capability(capability)?;
        let properties = std::iter::once("host")
            .chain(offered.endpoint_inputs())
            .chain(offered.consumers.as_deref());
        let mentioned: Vec<&str> = properties
            .filter_map(|property| provider.property(property))
            .flat_map(Expr::resources)
            .collect();
        (!mentioned.contains(&consumer)).then_some(mentioned)
    }

    fn node(&self, name: &str) -> Option<&Node<'a>> {
        self.nodes.get(*self.known.get(name)?)
    }

    /// True for groups and nested templates whose members are not among the nodes.
    fn is_unexpanded_parent(&self, node: &Node<'_>) -> bool {
        self.rules == Rules::Heat && is_parent(node.resource_type)
    }

    fn item(&self, node: &Node<'_>) -> Option<&CatalogItem> {
        self.types.get(node.resource_type)?.component.as_ref()
    }
}

/// The values in the property of a requirement, one for each provider.
pub(crate) fn providers(value: &Expr) -> &[Expr] {
    match value {
        Expr::List(items) => items,
        one => std::slice::from_ref(one),
    }
}
