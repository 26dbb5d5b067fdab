//! Members of groups, checked like any resource, where they are written.

use super::*;
use crate::{
    compose::{CHAIN, GROUP, index_variable, put_index},
    template::{Position, ResourceProperty},
};

impl Checker<'_> {
    /// Whether a property is a definition of members, which is checked as they are.
    pub(super) fn defines_members(resource_type: &str, property: &str) -> bool {
        resource_type == GROUP && property == "resource_def"
    }

    /// The members of a group or chain.
    pub(super) fn members(&mut self, resource: &Resource, path: &Path<'_>) {
        match resource.resource_type.as_str() {
            GROUP => self.group(resource, path),
            CHAIN => self.chain(resource, path),
            _ => {}
        }
    }

    /// As the first member. A group of none is not looked into, as in Heat: so features are switched off.
    fn group(&mut self, resource: &Resource, path: &Path<'_>) {
        let properties = path.key("properties");
        let path = properties.key("resource_def");
        let count = resource
            .property("count")
            .and_then(|count| count.simplify(&self.scope).ok());
        let none = matches!(&count, Some(Expr::Literal(Value::Number(number))) if number.as_u64() == Some(0));
        let Some(definition) = resource.property("resource_def").filter(|_| !none) else {
            return;
        };
        let Some(written) = definition.get("type").and_then(Expr::as_str) else {
            return;
        };
        let word = index_variable(resource.property("index_var"));
        let given = match definition.get("properties") {
            Some(Expr::Map(entries)) => entries.as_slice(),
            _ => &[],
        };
        let given = given
            .iter()
            .map(|(name, value)| (name.clone(), put_index(value, word, "0")));
        let member = member(resource, written, given);
        self.resource_type(&member, &path);
        if let Some(described) = self.types.get(written) {
            let simple = self.simple(&member, &path);
            self.properties(&member, &simple, described, &path);
        }
    }

    fn chain(&mut self, resource: &Resource, path: &Path<'_>) {
        let Some(Expr::List(types)) = resource.property("resources") else {
            return;
        };
        let shared = match resource.property("resource_properties") {
            Some(Expr::Map(entries)) => entries.as_slice(),
            _ => &[],
        };
        let properties = path.key("properties");
        for written in types.iter().filter_map(Expr::as_str) {
            let member = member(resource, written, shared.iter().cloned());
            if let Some(described) = self.types.get(written) {
                // Its properties stand beside the list of types.
                let path = properties.key("resource_properties");
                let simple = self.simple(&member, &path);
                self.properties(&member, &simple, described, &path);
            }
        }
    }
}

fn member(
    parent: &Resource,
    written: &str,
    properties: impl Iterator<Item = (String, Expr)>,
) -> Resource {
    Resource {
        name: format!("{}/0", parent.name),
        resource_type: written.to_owned(),
        properties: properties
            .map(|(name, value)| ResourceProperty {
                name,
                at: Position::default(),
                value,
            })
            .collect(),
        depends_on: Vec::new(),
        metadata: None,
        ..parent.clone()
    }
}
