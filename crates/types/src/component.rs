//! Catalogue items as resource types.

use crate::{
    catalog::{CatalogItem, STATS},
    category::{Category, Shape},
    description::{Executable, ResourceType},
    names::SERVER,
    property::{Attribute, list, string},
    registry::Registry,
};

impl CatalogItem {
    /// The item as a resource type: property `host`, then the requirements, then the inputs.
    pub fn resource_type(&self) -> ResourceType {
        let host = string("host")
            .required()
            .nests(&[SERVER])
            .summary("The server that it runs on.");
        let requirements = self.requires.iter().map(|requirement| {
            let capability = format!("component:{}", requirement.capability);
            let item = string(&requirement.name).connects(&[&capability]);
            let property = list(&requirement.name, item)
                .connects(&[&capability])
                .updates()
                .summary(&requirement.summary);
            if requirement.min > 0 {
                property.required()
            } else {
                property
            }
        });
        let properties = std::iter::once(host)
            .chain(requirements)
            .chain(self.inputs.iter().cloned())
            .collect();
        ResourceType {
            name: self.type_name(),
            title: self.title.clone(),
            summary: self.summary.clone(),
            category: Category::Software,
            shape: Shape::Chip,
            properties,
            attributes: self
                .outputs
                .iter()
                .map(|output| Attribute {
                    name: output.name.clone(),
                    summary: if output.value.contains(&format!("{{{STATS}")) {
                        "A value that the role sets.".to_owned()
                    } else {
                        format!("Such as {}.", output.value)
                    },
                })
                .collect(),
            executable: Executable::Local,
            component: Some(self.clone()),
            ..ResourceType::default()
        }
    }
}

impl Registry {
    /// Adds the items of the catalogue as `Stackloom::Catalog::<name>`.
    pub fn with_catalog(mut self, items: impl IntoIterator<Item = CatalogItem>) -> Registry {
        for item in items {
            self.insert(item.resource_type());
        }
        self
    }
}
