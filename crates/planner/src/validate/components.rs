//! Checks of software on servers: hosts, connections, ports.

use super::*;
use crate::software;
use hot::constraint;
use types::{
    ResourceType,
    catalog::{Need, Requirement},
};

impl<'a> Checker<'a> {
    /// Checks the number of a component's connections.
    pub(super) fn component(
        &mut self,
        resource: &Resource,
        described: &ResourceType,
        path: &Path<'_>,
    ) {
        let Some(item) = &described.component else {
            return;
        };
        let properties = path.key("properties");
        for requirement in &item.requires {
            let Some(count) = software::connection_count(resource.property(&requirement.name))
            else {
                continue;
            };
            let at = if count == 0 {
                *path
            } else {
                properties.key(&requirement.name)
            };
            if let Some(message) = software::wrong_count(&resource.name, requirement, count) {
                self.error(software::CONNECTION_COUNT, &at, message);
            }
        }
    }

    /// Advice on a circle with a component that waits for the health of the next one.
    pub(super) fn way_out(&self, nodes: &[graph::Node<'_>], around: &[&str]) -> Option<String> {
        around.windows(2).find_map(|pair| {
            let [name, next] = pair else { return None };
            let node = nodes.iter().find(|node| node.name == *name)?;
            let item = self.types.get(node.resource_type)?.component.as_ref()?;
            let waits = |requirement: &&Requirement| {
                let mut properties = node.properties.iter();
                requirement.needs == Need::Health
                    && properties.any(|(property, value)| {
                        *property == requirement.name && value.resources().contains(next)
                    })
            };
            let requirement = item.requires.iter().find(waits)?;
            Some(format!(
                "; take one of these connections away, or set `needs: address` at `{}` in the manifest of `{}`, if `{name}` can be \
                 set up before `{next}` is healthy",
                requirement.name, item.name
            ))
        })
    }

    /// Checks that no two components of one server listen on the same port.
    pub(super) fn ports_in_use(&mut self) {
        let mut taken: HashMap<(String, String, String), &str> = HashMap::new();
        let mut problems = Vec::new();
        for resource in &self.template.resources {
            let Some(item) = self
                .types
                .get(&resource.resource_type)
                .and_then(|described| described.component.as_ref())
            else {
                continue;
            };
            let Some(host) = resource.property("host").and_then(graph::target) else {
                continue;
            };
            for listen in &item.listens {
                let given = resource
                    .property(&listen.port)
                    .and_then(|value| value.resolve(&self.scope).ok());
                let default = || {
                    item.inputs
                        .iter()
                        .find(|input| input.name == listen.port)?
                        .default
                        .clone()
                };
                let Some(port) = given.filter(|value| !value.is_null()).or_else(default) else {
                    continue;
                };
                let key = (
                    host.to_owned(),
                    listen.protocol.clone(),
                    constraint::as_text(&port),
                );
                match taken.get(&key) {
                    Some(other) if *other != resource.name => {
                        let path = match resource.property(&listen.port) {
                            Some(_) => {
                                format!("resources.{}.properties.{}", resource.name, listen.port)
                            }
                            None => format!("resources.{}", resource.name),
                        };
                        let message = format!(
                            "`{}` and `{other}` both listen on port {} of `{host}`; give one another `{}`",
                            resource.name, key.2, listen.port
                        );
                        problems.push(Diagnostic::error("port-conflict", path, message));
                    }
                    Some(_) => {}
                    None => {
                        taken.insert(key, &resource.name);
                    }
                }
            }
        }
        self.diagnostics.extend(problems);
    }
}
