//! Checks of members of groups, like any resource, with the path of their definition.

use super::*;
use crate::members::{index_variable, put_index};
use hot::template::members::SCALING_GROUP;
use hot::template::members::{CHAIN, GROUP};
use hot::{template::ResourceProperty, text::Position};

impl Checker<'_> {
    /// True if a property is a definition of members, which is checked like the members.
    pub(super) fn defines_members(resource_type: &str, property: &str) -> bool {
        (resource_type == GROUP && property == "resource_def")
            || (resource_type == SCALING_GROUP && property == "resource")
    }

    /// Checks the members of a group or chain.
    pub(super) fn members(&mut self, resource: &Resource, path: &Path<'_>) {
        match resource.resource_type.as_str() {
            GROUP => self.group(resource, path),
            CHAIN => self.chain(resource, path),
            SCALING_GROUP => self.scaling_group(resource, path),
            _ => {}
        }
    }

    /// Checks the first member. Like Heat, does not check an empty group, because `count: 0` disables a feature.
    fn group(&mut self, resource: &Resource, path: &Path<'_>) {
        let properties = path.key("properties");
        let path = properties.key("resource_def");
        if let Some(Expr::Map(entries)) = resource.property("resource_def") {
            self.definition_keys(entries, &path);
        }
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
            self.of_member(&member, &simple, described, &path);
        }
        // Groups in groups.
        self.members(&member, &path);
    }

    /// Checks a member's properties, as far as Heat checks them before it creates the member.
    fn of_member(
        &mut self,
        member: &Resource,
        simple: &Simple<'_>,
        described: &ResourceType,
        path: &Path<'_>,
    ) {
        let before = self.diagnostics.len();
        let outside = std::mem::replace(&mut self.is_made_later, true);
        self.properties(member, simple, described, path);
        self.is_made_later = outside;
        for one in &mut self.diagnostics[before..] {
            downgrade_if_unread(one, &member.resource_type);
        }
    }

    fn definition_keys(&mut self, entries: &[(String, Expr)], path: &Path<'_>) {
        const KEYS: [&str; 3] = ["type", "properties", "metadata"];
        for (key, _) in entries {
            if !KEYS.contains(&key.as_str()) {
                let message = format!(
                    "a member's definition has no `{}`; it has {}{}",
                    shown(key),
                    listed(&KEYS),
                    did_you_mean(key, KEYS)
                );
                self.error("unknown-property", &path.key(key), message);
            }
        }
    }

    /// Checks the first member, if the group starts with one, and that the group's sizes are consistent.
    fn scaling_group(&mut self, resource: &Resource, path: &Path<'_>) {
        let properties = path.key("properties");
        let number = |name: &str| {
            let value = resource.property(name)?.simplify(&self.scope).ok()?;
            match value {
                Expr::Literal(Value::Number(number)) => number.as_i64(),
                Expr::Literal(Value::String(text)) => text.trim().parse().ok(),
                _ => None,
            }
        };
        let (min, max, wanted) = (
            number("min_size"),
            number("max_size"),
            number("desired_capacity"),
        );
        if let (Some(min), Some(max)) = (min, max) {
            if min > max {
                let message = format!(
                    "`min_size` is {min} and `max_size` {max}: that leaves no number between"
                );
                self.error("property-constraint", &properties.key("min_size"), message);
            } else if let Some(wanted) = wanted.filter(|wanted| !(min..=max).contains(wanted)) {
                let message =
                    format!("`desired_capacity` is {wanted}: it must be from {min} to {max}");
                self.error(
                    "property-constraint",
                    &properties.key("desired_capacity"),
                    message,
                );
            }
        }
        let path = properties.key("resource");
        let entries = match resource.property("resource") {
            Some(Expr::Map(entries)) => entries,
            Some(Expr::Literal(value)) if !value.is_null() => {
                let message = "`resource` takes a map".to_owned();
                return self.error("property-type", &path, message);
            }
            _ => return,
        };
        let definition = |key: &str| {
            let entry = entries.iter().find(|(name, _)| name == key);
            entry.map(|(_, value)| value)
        };
        let Some(written) = definition("type") else {
            let message = format!("the members of `{}` need a `type`", resource.name);
            return self.error("resource-type-missing", &path, message);
        };
        let written = written.simplify(&self.scope).ok();
        let Some(written) = written.as_ref().and_then(Expr::as_str) else {
            return;
        };
        if let Some(policy) = definition("deletion_policy").and_then(Expr::as_str)
            && DeletionPolicy::of_text(policy).is_none()
        {
            let message = format!("`{}` is no deletion policy", shown(policy));
            self.error(
                "deletion-policy-unknown",
                &path.key("deletion_policy"),
                message,
            );
        }
        if wanted.or(min) == Some(0) {
            return;
        }
        let given = match definition("properties") {
            Some(Expr::Map(entries)) => entries.as_slice(),
            _ => &[],
        };
        let mut member = member(resource, written, given.iter().cloned());
        member.update_policy = definition("update_policy").cloned();
        self.resource_type(&member, &path);
        if let Some(described) = self.types.get(written) {
            let inner = path.key("properties");
            let simple = self.simple(&member, &inner);
            self.of_member(&member, &simple, described, &path);
            self.update_policy(&member, described, &path);
        }
        self.members(&member, &path);
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
                // The properties are in `resource_properties`, beside the list of types.
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
