//! References to resources, attributes and parameters: that there is such a thing.

use super::*;
use crate::template::PSEUDO_PARAMETERS;

impl Checker<'_> {
    /// Every reference in a value.
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
                if !self.index.contains_key(name.as_str()) {
                    self.unknown_resource(name, path);
                }
            }
            Expr::GetAttr(name, rest) => {
                if self.index.contains_key(name.as_str()) {
                    self.attribute(name, rest.first(), path);
                } else {
                    self.unknown_resource(name, path);
                }
                self.all(rest, path);
            }
            Expr::StrReplace { template, params } => {
                let path = path.key("str_replace");
                self.references(template, &path.key("template"));
                self.references(params, &path.key("params"));
            }
            Expr::ListJoin { delimiter, lists } => {
                let path = path.key("list_join");
                self.references(delimiter, &path.index(0));
                for (index, list) in lists.iter().enumerate() {
                    self.references(list, &path.index(index + 1));
                }
            }
        }
    }

    fn all(&mut self, values: &[Expr], path: &Path<'_>) {
        values.iter().for_each(|value| self.references(value, path));
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

    fn attribute(&mut self, resource: &str, attribute: Option<&Expr>, path: &Path<'_>) {
        let Some(attribute) = attribute else {
            let message = format!("`get_attr` of `{resource}` needs the name of an attribute");
            return self.error("function-arguments", path, message);
        };
        let Some(attribute) = attribute.as_str() else {
            return;
        };
        let Some(described) = self
            .index
            .get(resource)
            .and_then(|resource| self.types.get(&resource.resource_type))
        else {
            return;
        };
        // A parent gives what its members give, by their names.
        if described.any_attribute || attribute.starts_with("resource.") {
            return;
        }
        if !described
            .attributes
            .iter()
            .any(|known| known.name == attribute)
        {
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
            self.warning("unknown-attribute", path, message);
        }
    }
}
