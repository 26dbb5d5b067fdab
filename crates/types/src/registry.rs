//! All resource types, by name.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock},
};

use crate::{description::ResourceType, files, read};

/// All types for templates. Cheap to clone, as descriptions are shared.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    types: BTreeMap<String, Arc<ResourceType>>,
    /// Former names to current names.
    former: HashMap<String, String>,
}

impl Registry {
    /// The described types, parsed once. Browsers load them from the server instead: the descriptions would be a large
    /// part of the WebAssembly file.
    pub fn openstack() -> Registry {
        Registry::shared().clone()
    }

    /// [`Registry::openstack`] without a copy.
    pub fn shared() -> &'static Registry {
        static OPENSTACK: LazyLock<Registry> = LazyLock::new(|| {
            // A test parses all files, so none can be invalid here.
            let described = files::FILES
                .iter()
                .filter_map(|(_, text)| read::resource_type(text).ok());
            let retired = read::retired(files::RETIRED).unwrap_or_default();
            Registry::of(described.chain(retired))
        });
        &OPENSTACK
    }

    /// A registry with only these types, such as the response of `GET /resource-types` in a browser.
    pub fn of(described: impl IntoIterator<Item = ResourceType>) -> Registry {
        let mut registry = Registry::default();
        for one in described {
            registry.insert(one);
        }
        registry
    }

    /// Adds a type, or replaces the one with the same name.
    pub fn insert(&mut self, described: ResourceType) {
        for former in &described.formerly {
            self.former.insert(former.clone(), described.name.clone());
        }
        self.types
            .insert(described.name.clone(), Arc::new(described));
    }

    /// The description of a type, by its name or a former name.
    pub fn get(&self, name: &str) -> Option<&ResourceType> {
        if let Some(described) = self.types.get(name).or_else(|| {
            let present = self.former.get(name)?;
            self.types.get(present)
        }) {
            return Some(described);
        }
        // Former name of Neutron until 2013, which Heat still accepts.
        let rest = name.strip_prefix("OS::Quantum::")?;
        self.types
            .get(&format!("OS::Neutron::{rest}"))
            .map(Arc::as_ref)
    }

    /// All types, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &ResourceType> {
        self.types.values().map(Arc::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::property::{Property, PropertyKind};

    #[test]
    fn an_unsupported_type_names_its_replacement() {
        let refusal = |name: &str| {
            Registry::openstack()
                .get(name)
                .unwrap()
                .refusal("a")
                .unwrap()
        };
        assert_eq!(
            refusal("OS::Designate::Domain"),
            "`a` cannot be deployed: Stackloom does not create `OS::Designate::Domain`. Use OS::Designate::Zone instead."
        );
        assert!(refusal("OS::Heat::Stack").contains("`type: other.yaml`"));
        assert!(refusal("OS::Zun::Container").contains("has no driver"));
    }

    #[test]
    fn every_description_is_valid_and_has_the_type_of_its_path() {
        for (path, text) in files::FILES {
            let described =
                read::resource_type(text).unwrap_or_else(|why| panic!("{path}.yaml: {why}"));
            let plain = |text: &str| text.to_lowercase().replace(['_', ':', '/'], "");
            let expected = plain(&described.name);
            assert!(
                expected.ends_with(&plain(path)),
                "{path}.yaml is of `{}`",
                described.name
            );
        }
        let retired = read::retired(files::RETIRED).unwrap();
        assert!(retired.iter().all(|one| one.any_property));
        assert_eq!(
            Registry::openstack().iter().count(),
            files::FILES.len() + retired.len(),
            "two files of one type"
        );
    }

    #[test]
    fn every_description_is_in_the_list() {
        let listed: BTreeSet<&str> = files::FILES.iter().map(|(path, _)| *path).collect();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("descriptions");
        let mut found = BTreeSet::new();
        for service in std::fs::read_dir(&folder).unwrap().flatten() {
            if !service.path().is_dir() {
                continue;
            }
            for file in std::fs::read_dir(service.path()).unwrap().flatten() {
                let path = file.path().with_extension("");
                found.insert(path.strip_prefix(&folder).unwrap().display().to_string());
            }
        }
        assert_eq!(
            found.iter().map(String::as_str).collect::<BTreeSet<_>>(),
            listed
        );
    }

    #[test]
    fn former_type_names_find_the_present_type() {
        let registry = Registry::openstack();
        for (former, present) in [
            ("OS::Quantum::Port", "OS::Neutron::Port"),
            ("OS::Ceilometer::Alarm", "OS::Aodh::Alarm"),
            (
                "OS::Heat::SoftwareDeployments",
                "OS::Heat::SoftwareDeploymentGroup",
            ),
        ] {
            assert_eq!(registry.get(former).unwrap().name, present);
        }
        let port = registry.get("OS::Neutron::Port").unwrap();
        assert_eq!(port.property("network_id").unwrap().name, "network");
    }

    #[test]
    fn every_reference_names_a_known_type() {
        fn check(registry: &Registry, owner: &str, property: &Property) {
            for to in property
                .reference
                .iter()
                .flat_map(|reference| &reference.to)
            {
                assert!(
                    registry.get(to).is_some(),
                    "{owner}.{} leads to `{to}`",
                    property.name
                );
            }
            match &property.kind {
                PropertyKind::List { of: Some(item) } => check(registry, owner, item),
                PropertyKind::Map { of } => of.iter().for_each(|key| check(registry, owner, key)),
                _ => {}
            }
        }
        let registry = Registry::openstack();
        for described in registry.iter() {
            assert!(
                !described.title.is_empty() && !described.summary.is_empty(),
                "{}",
                described.name
            );
            for property in &described.properties {
                assert!(
                    !property.summary.is_empty(),
                    "{}.{} says nothing of itself",
                    described.name,
                    property.name
                );
                check(&registry, &described.name, property);
            }
        }
    }

    #[test]
    fn a_description_survives_json() {
        for described in Registry::openstack().iter() {
            let json = serde_json::to_string(described).unwrap();
            assert_eq!(
                &serde_json::from_str::<ResourceType>(&json).unwrap(),
                described
            );
        }
    }
}
