//! Checks of references: resources, attributes, parameters and conditions must exist.
//!
//! Only the selected branch of an `if` with a known condition is checked, as in Heat: the other branch can refer to a
//! resource that the same condition disables.

use std::collections::HashSet;

use super::*;
use hot::{expr::Function, parameter::PSEUDO_PARAMETERS, template::read::conditions};

impl Checker<'_> {
    /// Checks every reference in a value.
    pub(super) fn references(&mut self, value: &Expr, path: &Path<'_>) {
        match value {
            Expr::Literal(_) => {}
            Expr::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.references(item, &path.index(index));
                }
            }
            Expr::Map(entries) => {
                for (key, value) in entries {
                    self.references(value, &path.key(key));
                }
            }
            Expr::GetParam(name, rest) => {
                self.parameter(name, path);
                self.all(rest, path);
            }
            Expr::GetResource(name) => {
                self.resource_named(name, path);
            }
            Expr::GetAttr(name, rest) => {
                if self.resource_named(name, path) {
                    self.attribute(name, rest.first(), path);
                }
                self.all(rest, path);
            }
            Expr::Call {
                function: Function::If,
                arguments,
            } => self.branches(arguments, &path.key("if")),
            Expr::Call { function, .. } if function.is_condition() => {
                self.condition(value, true, path);
            }
            Expr::Call {
                function,
                arguments,
            } => self.references(arguments, &path.key(function.name())),
        }
    }

    /// Checks references with computed names that are known now.
    pub(super) fn computed_names(&mut self, written: &Expr, simple: &Expr, path: &Path<'_>) {
        let made = |expr: &Expr| match expr {
            Expr::Call { function, .. } => matches!(
                function,
                Function::GetParam | Function::GetResource | Function::GetAttr
            ),
            Expr::GetAttr(_, path) => path.first().is_some_and(|word| word.as_str().is_none()),
            _ => false,
        };
        let (mut any, mut there) = (false, Vec::new());
        written.walk(&mut |expr| {
            any |= made(expr);
            there.push(expr);
        });
        if !any {
            return;
        }
        let mut new = Vec::new();
        simple.walk(&mut |expr| {
            let reference = matches!(
                expr,
                Expr::GetParam(..) | Expr::GetResource(_) | Expr::GetAttr(..)
            );
            if reference && !there.contains(&expr) {
                new.push(expr);
            }
        });
        for reference in new {
            self.references(reference, path);
        }
    }

    fn all(&mut self, values: &[Expr], path: &Path<'_>) {
        values.iter().for_each(|value| self.references(value, path));
    }

    fn branches(&mut self, arguments: &Expr, path: &Path<'_>) {
        let Expr::List(items) = arguments else { return };
        let Some((condition, branches)) = items.split_first() else {
            return;
        };
        self.condition(condition, true, &path.index(0));
        let counts = match condition.holds(&self.scope) {
            Ok(true) => 0..1,
            Ok(false) => 1..2,
            Err(_) => 0..2,
        };
        for index in counts {
            if let Some(branch) = branches.get(index) {
                self.references(branch, &path.index(index + 1));
            }
        }
    }

    /// Checks names of conditions and parameters in a condition.
    pub(super) fn condition(&mut self, condition: &Expr, used: bool, path: &Path<'_>) {
        // A missing name in a part that is not evaluated is not reported: Heat stops evaluation when the result is
        // certain.
        let unresolved = match condition.holds(&self.scope) {
            Err(Unresolved::Condition(unresolved)) => Some(unresolved),
            _ => None,
        };
        for name in conditions::names(condition) {
            if self.template.condition(name).is_none() {
                let message = conditions::unknown(name, &self.template.conditions);
                if used && unresolved.as_deref() == Some(name) {
                    self.error("unknown-condition", path, message);
                } else {
                    self.warning("unknown-condition", path, message);
                }
            }
        }
        let mut parameters = Vec::new();
        condition.walk(&mut |expr| {
            if let Expr::GetParam(name, _) = expr {
                parameters.push(name.as_str());
            }
        });
        for name in parameters {
            self.parameter(name, path);
        }
    }

    fn parameter(&mut self, name: &str, path: &Path<'_>) {
        let known = || {
            self.template
                .parameters
                .iter()
                .map(|parameter| parameter.name.as_str())
                .chain(PSEUDO_PARAMETERS)
        };
        if !known().any(|known| known == name) {
            let near = did_you_mean(name, known());
            self.error(
                "unknown-parameter",
                path,
                format!(
                    "there is no parameter `{}` in the template{near}",
                    shown(name)
                ),
            );
        }
    }

    /// True if the resource exists and its condition holds.
    fn resource_named(&mut self, name: &str, path: &Path<'_>) -> bool {
        let Some(resource) = self.index.get(name).copied() else {
            self.unknown_resource(name, path);
            return false;
        };
        if resource.is_on(&self.scope) == Some(false) {
            let message = format!(
                "`{name}` is not there: its condition does not hold; give this value the same condition by `if`"
            );
            self.error("resource-off", path, message);
            return false;
        }
        true
    }

    fn attribute(&mut self, resource: &str, attribute: Option<&Expr>, path: &Path<'_>) {
        let Some(attribute) = attribute.and_then(Expr::as_str) else {
            return;
        };
        let Some(described) = self
            .index
            .get(resource)
            .and_then(|resource| self.types.get(&resource.resource_type))
        else {
            return;
        };
        // A group returns its members' values for attributes that it does not have itself.
        let of_members = self.index.get(resource).and_then(|resource| {
            let definition = match resource.resource_type.as_str() {
                hot::template::members::GROUP => resource.property("resource_def"),
                _ => None,
            };
            self.types.get(definition?.get("type")?.as_str()?)
        });
        let own = |word: &str| described.attributes.iter().any(|known| known.name == word);
        if let Some(of_members) = of_members
            && !of_members.any_attribute
            && is_of_heat(&of_members.name)
        {
            let requested = match attribute.strip_prefix("resource.") {
                Some(rest) => rest.split_once('.').map(|(_, requested)| requested),
                None => Some(attribute).filter(|word| !own(word)),
            };
            let strange = requested.filter(|requested| {
                !requested.is_empty()
                    && !of_members
                        .attributes
                        .iter()
                        .any(|known| known.name == **requested)
            });
            if let Some(strange) = strange {
                let words = of_members
                    .attributes
                    .iter()
                    .map(|known| known.name.as_str());
                let message = format!(
                    "the members of `{resource}` are of type `{}`, which has no attribute `{}`{}",
                    of_members.name,
                    shown(strange),
                    did_you_mean(strange, words)
                );
                return self.error("unknown-attribute", path, message);
            }
        }
        // A parent also has attributes named after its members.
        if described.any_attribute || attribute.starts_with("resource.") {
            return;
        }
        let is = |known: &types::Attribute| known.name == attribute;
        if !described.attributes.iter().any(is) {
            let near = did_you_mean(
                attribute,
                described.attributes.iter().map(|known| known.name.as_str()),
            );
            let message = format!(
                "`{}` of type `{}` has no attribute `{}`{near}",
                resource,
                described.name,
                shown(attribute)
            );
            return self.error("unknown-attribute", path, message);
        }
        if described.not_given.iter().any(|name| name == attribute) {
            let message = format!(
                "`{resource}` of type `{}` has no value for `{attribute}`: the cloud keeps no record that could be shown; use an \
                 attribute of the resources that it joins",
                described.name
            );
            self.warning("attribute-not-given", path, message);
        }
    }

    /// Checks conditions for errors that do not depend on parameters.
    pub(super) fn conditions(&mut self) {
        let top = Path::top("conditions");
        let template = self.template;
        let used = used(template);
        for condition in &template.conditions {
            let used = used.contains(condition.name.as_str());
            self.condition(&condition.value, used, &top.key(&condition.name));
        }
        for (name, truth) in scope::conditions(template, &self.scope) {
            if let Err(Unresolved::Invalid(message)) = truth {
                let path = top.key(name);
                if used.contains(name) {
                    self.error("function-arguments", &path, message);
                } else {
                    self.warning("function-arguments", &path, message);
                }
            }
        }
    }

    /// Checks `condition:` of a resource or an output. True if the resource or output exists, or if that is unknown.
    pub(super) fn is_on(&mut self, condition: Option<&Expr>, path: &Path<'_>) -> bool {
        let Some(condition) = condition else {
            return true;
        };
        let path = path.key("condition");
        self.condition(condition, true, &path);
        match condition.holds(&self.scope) {
            Ok(truth) => truth,
            Err(Unresolved::Invalid(message)) => {
                self.error("function-arguments", &path, message);
                true
            }
            Err(_) => true,
        }
    }
}

/// Names of conditions that are used by a resource, an output, an `if`, or another used condition.
fn used(template: &Template) -> HashSet<&str> {
    let mut waiting: Vec<&str> = Vec::new();
    let resources = template.resources.iter();
    let values = resources
        .clone()
        .flat_map(|resource| {
            let properties = resource.properties.iter().map(|property| &property.value);
            properties
                .chain(&resource.metadata)
                .chain(&resource.external_id)
                .chain(&resource.deletion_policy)
                .chain(&resource.update_policy)
        })
        .chain(template.outputs.iter().map(|output| &output.value));
    for value in values {
        value.walk(&mut |expr| {
            if let Expr::Call {
                function: Function::If,
                arguments,
            } = expr
                && let Expr::List(items) = arguments.as_ref()
                && let Some(condition) = items.first()
            {
                waiting.extend(conditions::names(condition));
            }
        });
    }
    let outputs = template.outputs.iter();
    let direct = resources
        .filter_map(|resource| resource.condition.as_ref())
        .chain(outputs.filter_map(|output| output.condition.as_ref()));
    waiting.extend(direct.flat_map(conditions::names));
    let mut used = HashSet::new();
    while let Some(name) = waiting.pop() {
        if used.insert(name)
            && let Some(condition) = template.condition(name)
        {
            waiting.extend(conditions::names(&condition.value));
        }
    }
    used
}
