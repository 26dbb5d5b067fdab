//! Values that are derived from a secret, in any form. Pure.
//!
//! A secret is not recognisable any more after `base64`, `str_split` or cloud-init, and a short one can equal any text.
//! So the origin of a value decides if it can be stored in clear text, not its text. Secret origins are hidden
//! parameters, values that a driver generates and does not publish, and attributes with certain names. A property with
//! a reference to one of them is secret. A resource of Heat's helper types passes the secret on in all its attributes.
//! A resource in the cloud passes it on in all attributes except those that the cloud itself sets.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use hot::expr::Expr;
use planner::workflow::ResourceSpec;
use serde_json::Value;
use types::catalog::STATS;

use crate::catalog::Catalog;
use drivers::Driver;

/// Attributes and properties that are secret by their name.
const SECRET: [&str; 13] = [
    "adminPass",
    "admin_pass",
    "admin_password",
    "console_urls",
    "decrypted_payload",
    "pass_phrase",
    "passphrase",
    "password",
    "payload",
    "private_key",
    "psk",
    "secret_key",
    "token",
];

/// A secret that a driver generates and that is in no parameter. Logs mask it, in addition to the driver's secret
/// attributes.
const MADE_ELSEWHERE: &str = "private_key";

/// True if logs must mask this attribute of a driver's resources.
pub fn is_masked(driver: Option<&dyn Driver>, attribute: &str) -> bool {
    attribute == MADE_ELSEWHERE
        || driver.is_some_and(|driver| driver.abilities().secrets.contains(&attribute))
}

/// Attributes that the cloud sets, unless a property has the same name.
const THE_CLOUDS: [&str; 30] = [
    "OS::stack_id",
    "accessIPv4",
    "accessIPv6",
    "addresses",
    "created_at",
    "fingerprint",
    "first_address",
    "fixed_ip_address",
    "fixed_ips",
    "flavor",
    "floating_ip_address",
    "floating_network_id",
    "host_key",
    "id",
    "image",
    "instance_name",
    "mac_address",
    "network_id",
    "networks",
    "port_id",
    "project_id",
    "public_key",
    "router_id",
    "size",
    "status",
    "subnets",
    "tenant_id",
    "updated_at",
    "vip_address",
    "vip_port_id",
];

/// A resource and its attribute. `None` is the reference to the resource.
type AttributeKey = (String, Option<String>);

/// Parameters in expressions that have no open value: the hidden ones, also those of nested templates.
pub fn hidden_in<'e>(
    values: impl IntoIterator<Item = &'e Expr>,
    open: &BTreeMap<String, Value>,
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for value in values {
        value.walk(&mut |expr| {
            if let Expr::GetParam(name, _) = expr
                && !open.contains_key(name)
            {
                found.insert(name.clone());
            }
        });
    }
    found
}

/// Looks up the origins of values. The descriptions must not change while it exists.
pub struct Origins<'a> {
    hidden: &'a BTreeSet<String>,
    spec_of: &'a dyn Fn(&str) -> Option<ResourceSpec>,
    catalog: Option<&'a Catalog>,
    /// Results so far. `None` while a lookup is in progress.
    found: RefCell<HashMap<AttributeKey, Option<bool>>>,
}

impl<'a> Origins<'a> {
    /// Origins of values, from the names of hidden parameters and the resources' descriptions.
    pub fn of(
        hidden: &'a BTreeSet<String>,
        spec_of: &'a dyn Fn(&str) -> Option<ResourceSpec>,
    ) -> Origins<'a> {
        Origins {
            hidden,
            spec_of,
            catalog: None,
            found: RefCell::default(),
        }
    }

    /// Adds the texts of the items' outputs. Without them, every output of a component with a secret input is secret.
    pub fn with_items(self, catalog: &'a Catalog) -> Origins<'a> {
        Origins {
            catalog: Some(catalog),
            ..self
        }
    }

    /// True if a value is a secret, or can contain one.
    pub fn is_secret(&self, value: &Expr) -> bool {
        let mut secret = false;
        value.walk(&mut |expr| {
            secret = secret
                || match expr {
                    Expr::GetParam(name, _) => self.hidden.contains(name),
                    Expr::GetResource(name) => self.reference_is_secret(name),
                    Expr::GetAttr(name, path) => match path.first().map(Expr::as_str) {
                        Some(Some(attribute)) => self.attribute_is_secret(name, attribute),
                        // Any of the properties.
                        _ => self.any_is_secret(name),
                    },
                    _ => false,
                };
        });
        secret
    }

    /// True if a property of a resource contains a secret.
    pub fn property_is_secret(&self, spec: &ResourceSpec, name: &str) -> bool {
        SECRET.contains(&name)
            || spec
                .properties
                .get(name)
                .is_some_and(|value| self.is_secret(value))
    }

    /// True if `get_attr` of this attribute returns a secret.
    pub fn attribute_is_secret(&self, resource: &str, attribute: &str) -> bool {
        SECRET.contains(&attribute)
            || self.remembered(resource, Some(attribute), |spec| {
                let made_up = drivers::driver_for(&spec.resource_type)
                    .is_some_and(|driver| driver.abilities().secrets.contains(&attribute));
                made_up
                    || match Kind::of(spec) {
                        Kind::Parent => self.property_is_secret(spec, attribute),
                        Kind::OfTheLanguage => self.any_property_is(spec),
                        Kind::Software => self.result_is_secret(spec, attribute),
                        Kind::OfTheCloud if THE_CLOUDS.contains(&attribute) => {
                            self.property_is_secret(spec, attribute)
                        }
                        Kind::OfTheCloud => self.any_property_is(spec),
                    }
            })
    }

    /// True if `get_resource` returns a secret.
    pub fn reference_is_secret(&self, resource: &str) -> bool {
        self.remembered(resource, None, |spec| {
            let made_up = drivers::driver_for(&spec.resource_type)
                .is_some_and(|driver| !driver.abilities().secrets.is_empty());
            made_up
                || match Kind::of(spec) {
                    Kind::Parent => self.property_is_secret(spec, "OS::stack_id"),
                    Kind::OfTheLanguage => self.any_property_is(spec),
                    // The reference of some types is their name.
                    Kind::OfTheCloud => self.property_is_secret(spec, "name"),
                    Kind::Software => false,
                }
        })
    }

    fn any_is_secret(&self, resource: &str) -> bool {
        let reads_one = || {
            let driver =
                (self.spec_of)(resource).and_then(|spec| drivers::driver_for(&spec.resource_type));
            let names = driver.map(|driver| driver.names_on_demand());
            let mut names = names.unwrap_or_default().iter();
            names.any(|name| SECRET.contains(name))
        };
        self.reference_is_secret(resource)
            || self.attribute_is_secret(resource, "show")
            || reads_one()
    }

    /// An output of a catalogue item contains the inputs that its text names. Every other result of software can contain
    /// any property.
    fn result_is_secret(&self, spec: &ResourceSpec, attribute: &str) -> bool {
        let item = self
            .catalog
            .and_then(|all| all.of_type(&spec.resource_type));
        let mut outputs = item.into_iter().flat_map(|item| &item.described.outputs);
        match outputs.find(|output| output.name == attribute) {
            Some(output) if !output.value.contains(&format!("{{{STATS}")) => {
                let mut named = spec
                    .properties
                    .keys()
                    .filter(|input| output.value.contains(&format!("{{{input}}}")));
                named.any(|input| self.property_is_secret(spec, input))
            }
            _ => self.any_property_is(spec),
        }
    }

    fn any_property_is(&self, spec: &ResourceSpec) -> bool {
        spec.properties.values().any(|value| self.is_secret(value))
    }

    /// Looks up each value only once, because values are used many times. A cycle, which plans exclude, adds nothing.
    fn remembered(
        &self,
        resource: &str,
        attribute: Option<&str>,
        look: impl FnOnce(&ResourceSpec) -> bool,
    ) -> bool {
        let key = (resource.to_owned(), attribute.map(str::to_owned));
        if let Some(found) = self.found.borrow().get(&key) {
            return found.unwrap_or(false);
        }
        self.found.borrow_mut().insert(key.clone(), None);
        let found = (self.spec_of)(resource).is_some_and(|spec| look(&spec));
        self.found.borrow_mut().insert(key, Some(found));
        found
    }
}

enum Kind {
    /// A group or nested template: its attributes are its properties.
    Parent,
    OfTheLanguage,
    Software,
    OfTheCloud,
}

impl Kind {
    fn of(spec: &ResourceSpec) -> Kind {
        if planner::members::is_parent(&spec.resource_type) {
            Kind::Parent
        } else if drivers::is_of_the_language(&spec.resource_type) {
            Kind::OfTheLanguage
        } else if crate::catalog::is_software(&spec.resource_type) {
            Kind::Software
        } else {
            Kind::OfTheCloud
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use hot::document::Document;
    use serde_json::json;

    use super::*;

    const TEMPLATE: &str = "heat_template_version: 2021-04-16
parameters:
  word: {type: string, hidden: true}
  open: {type: string}
resources:
  random: {type: OS::Heat::RandomString}
  pin: {type: OS::Heat::Value, properties: {value: {str_split: [',', {get_param: word}, 0]}}}
  size: {type: OS::Heat::Value, properties: {value: {get_param: open}}}
  both: {type: OS::Heat::Value, properties: {value: [{get_attr: [pin, value]}, {get_attr: [size, value]}]}}
  setup: {type: OS::Heat::CloudConfig, properties: {cloud_config: {password: {get_resource: random}}}}
  web: {type: OS::Nova::Server, properties: {user_data: {get_resource: setup}, metadata: {size: {get_attr: [size, value]}}}}
  other: {type: OS::Nova::Server, properties: {metadata: {at: {get_attr: [web, first_address]}}}}
  all: {type: OS::Heat::Value, properties: {value: {get_attr: [web]}}}
  db: {type: Stackloom::Catalog::mariadb, properties: {user: {get_attr: [pin, value]}, password: {get_attr: [pin, value]}}}
";

    fn check(look: impl FnOnce(Origins<'_>)) {
        let document = Document::parse(TEMPLATE);
        let resources: BTreeMap<String, ResourceSpec> = document
            .template()
            .resources
            .iter()
            .map(|resource| {
                let properties = resource.properties.iter();
                let properties =
                    properties.map(|property| (property.name.as_str(), property.value.clone()));
                (
                    resource.name.clone(),
                    crate::testing::resource(&resource.resource_type, properties),
                )
            })
            .collect();
        let hidden = BTreeSet::from(["word".to_owned()]);
        let spec_of = |name: &str| resources.get(name).cloned();
        look(Origins::of(&hidden, &spec_of));
    }

    #[test]
    fn values_derived_through_other_resources_stay_secret() {
        check(|origins| {
            assert!(origins.reference_is_secret("random"));
            assert!(origins.attribute_is_secret("pin", "value"));
            assert!(!origins.attribute_is_secret("size", "value"));
            assert!(origins.attribute_is_secret("both", "value"));
            assert!(origins.reference_is_secret("setup"));
            assert!(origins.attribute_is_secret("setup", "config"));
            assert!(origins.attribute_is_secret("all", "value"));
        });
    }

    #[test]
    fn values_that_the_cloud_decides_have_no_secret_origin() {
        check(|origins| {
            for attribute in ["first_address", "addresses", "networks"] {
                assert!(
                    !origins.attribute_is_secret("web", attribute),
                    "{attribute}"
                );
            }
            for attribute in ["show", "metadata", "admin_pass"] {
                assert!(origins.attribute_is_secret("web", attribute), "{attribute}");
            }
            assert!(!origins.reference_is_secret("web"));
            assert!(!origins.attribute_is_secret("other", "show"));
        });
    }

    #[test]
    fn outputs_of_items_have_the_secrets_that_their_texts_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog");
        let catalog = Catalog::load(folder.as_ref()).unwrap();
        check(|origins| {
            assert!(origins.attribute_is_secret("db", "address"), "unknown item");
        });
        check(|origins| {
            let origins = origins.with_items(&catalog);
            assert!(!origins.attribute_is_secret("db", "address"));
            assert!(origins.attribute_is_secret("db", "url"), "has the user");
            assert!(origins.attribute_is_secret("db", "other"));
        });
    }

    #[test]
    fn parameters_without_an_open_value_are_hidden() {
        let document = Document::parse(TEMPLATE);
        let resources = document.template().resources.iter();
        let properties = resources.flat_map(|resource| &resource.properties);
        let open = BTreeMap::from([("open".to_owned(), json!("x"))]);
        let hidden = hidden_in(properties.map(|property| &property.value), &open);
        assert_eq!(hidden, BTreeSet::from(["word".to_owned()]));
    }

    #[test]
    fn properties_with_a_hidden_parameter_have_a_secret_origin() {
        check(|origins| {
            let spec = crate::testing::resource(
                "OS::Nova::Server",
                [
                    ("user_data", Expr::GetResource("setup".into())),
                    ("key_name", Expr::Literal(json!("mine"))),
                    ("admin_pass", Expr::Literal(json!("x"))),
                ],
            );
            assert!(origins.property_is_secret(&spec, "user_data"));
            assert!(!origins.property_is_secret(&spec, "key_name"));
            assert!(origins.property_is_secret(&spec, "admin_pass"));
        });
    }
}
