//! Custom constraints that are looked up in the cloud.
//!
//! Heat requests each value from the service. Here whole lists are read: the lists for forms always, the others only if
//! a template needs them ([`required_lists`]), because a project can have thousands of ports. An unknown list causes no
//! errors. A constraint without an entry here is not looked up; parameters with such a constraint get a notice, and
//! `docs/constraints.md` lists these constraints.

use std::collections::BTreeSet;

use crate::cloud::{CloudFacts, Named};
use hot::{bundle::Bundle, constraint::Constraint, document::Document, template::Template};
use types::{Property, PropertyKind, Registry};

/// Constraint with a look-up in the cloud.
#[derive(Debug)]
pub(crate) struct Lookup {
    /// Heat's name of the constraint.
    pub name: &'static str,
    /// Name of the object in messages: `the cloud has no subnet ...`.
    pub what: &'static str,
    /// Type that creates such an object. Objects of the template itself need not exist yet.
    pub made_by: &'static str,
}

const fn lookup(name: &'static str, what: &'static str, made_by: &'static str) -> Lookup {
    Lookup {
        name,
        what,
        made_by,
    }
}

/// Lists that forms need, and that the facts about every cloud contain.
const ALWAYS_READ: [Lookup; 6] = [
    lookup("cinder.vtype", "volume type", "OS::Cinder::VolumeType"),
    lookup("glance.image", "image", "OS::Glance::WebImage"),
    lookup("neutron.network", "network", "OS::Neutron::Net"),
    lookup("nova.flavor", "flavor", "OS::Nova::Flavor"),
    lookup("nova.keypair", "key pair", "OS::Nova::KeyPair"),
    lookup("nova.network", "network", "OS::Neutron::Net"),
];

/// Lists that are read only if a template needs them.
pub(crate) const ON_DEMAND: [Lookup; 26] = [
    lookup("barbican.secret", "secret", "OS::Barbican::Secret"),
    lookup("cinder.backup", "backup", ""),
    lookup("cinder.qos_specs", "QoS specs", "OS::Cinder::QoSSpecs"),
    lookup("cinder.snapshot", "volume snapshot", ""),
    lookup("cinder.volume", "volume", "OS::Cinder::Volume"),
    lookup("keystone.domain", "domain", "OS::Keystone::Domain"),
    lookup("keystone.group", "group", "OS::Keystone::Group"),
    lookup("keystone.project", "project", "OS::Keystone::Project"),
    lookup("keystone.region", "region", "OS::Keystone::Region"),
    lookup("keystone.role", "role", "OS::Keystone::Role"),
    lookup("keystone.service", "service", "OS::Keystone::Service"),
    lookup("keystone.user", "user", "OS::Keystone::User"),
    lookup(
        "neutron.address_scope",
        "address scope",
        "OS::Neutron::AddressScope",
    ),
    lookup("neutron.port", "port", "OS::Neutron::Port"),
    lookup("neutron.qos_policy", "QoS policy", "OS::Neutron::QoSPolicy"),
    lookup("neutron.router", "router", "OS::Neutron::Router"),
    lookup(
        "neutron.security_group",
        "security group",
        "OS::Neutron::SecurityGroup",
    ),
    lookup("neutron.segment", "segment", "OS::Neutron::Segment"),
    lookup("neutron.subnet", "subnet", "OS::Neutron::Subnet"),
    lookup(
        "neutron.subnetpool",
        "subnet pool",
        "OS::Neutron::SubnetPool",
    ),
    lookup("nova.server", "server", "OS::Nova::Server"),
    lookup(
        "octavia.flavor",
        "load balancer flavor",
        "OS::Octavia::Flavor",
    ),
    lookup("octavia.l7policy", "L7 policy", "OS::Octavia::L7Policy"),
    lookup("octavia.listener", "listener", "OS::Octavia::Listener"),
    lookup(
        "octavia.loadbalancer",
        "load balancer",
        "OS::Octavia::LoadBalancer",
    ),
    lookup("octavia.pool", "pool", "OS::Octavia::Pool"),
];

/// Look-up of a constraint. `None` if it is not looked up.
pub(crate) fn of(name: &str) -> Option<&'static Lookup> {
    let mut all = ALWAYS_READ.iter().chain(&ON_DEMAND);
    all.find(|one| one.name == name)
}

/// Ids and names of all objects that satisfy a constraint. `None` if they are unknown.
pub(crate) fn known_values<'c>(
    name: &str,
    cloud: &'c CloudFacts,
) -> Option<Vec<(&'c str, &'c str)>> {
    let named = |list: &'c Vec<Named>| {
        let pairs = list.iter().map(|one| (one.id.as_str(), one.name.as_str()));
        pairs.collect::<Vec<_>>()
    };
    match name {
        "nova.flavor" => {
            let flavors = cloud.flavors.as_ref()?.iter();
            let known = flavors.map(|one| (one.id.as_str(), one.name.as_str()));
            Some(known.collect())
        }
        "cinder.vtype" => cloud.volume_types.as_ref().map(named),
        "glance.image" => cloud.images.as_ref().map(named),
        "nova.keypair" => cloud.key_pairs.as_ref().map(named),
        "neutron.network" | "nova.network" => {
            let mut known = named(cloud.networks.as_ref()?);
            known.extend(cloud.external_networks.iter().flat_map(named));
            Some(known)
        }
        other => cloud.things.get(other).map(named),
    }
}

/// True if `value` is the id or name of one of these objects. Secrets are named by their URL, which ends with the id.
pub(crate) fn is_among(value: &str, known: &[(&str, &str)]) -> bool {
    let last = value.rsplit('/').next().unwrap_or(value);
    let is_one = |(id, name): &(&str, &str)| *id == value || *name == value || *id == last;
    known.iter().any(is_one)
}

/// All names that [`required_lists`] can return.
pub fn on_demand_lists() -> impl Iterator<Item = &'static str> {
    ON_DEMAND.iter().map(|one| one.name)
}

/// Lists that a template and its files need in addition to those of forms, by the names of their constraints.
pub fn required_lists(
    document: &Document,
    bundle: &Bundle,
    types: &Registry,
) -> BTreeSet<&'static str> {
    let mut required_lists = BTreeSet::new();
    of_template(document.template(), types, &mut required_lists);
    for (path, _) in bundle.files() {
        if let Some(document) = bundle.document(path) {
            of_template(document.template(), types, &mut required_lists);
        }
    }
    required_lists
}

fn of_template(template: &Template, types: &Registry, required_lists: &mut BTreeSet<&'static str>) {
    for parameter in &template.parameters {
        let constraints = parameter.constraints.iter().map(|rule| &rule.constraint);
        constraints.for_each(|one| note(one, required_lists));
    }
    for resource in &template.resources {
        for described in resource
            .types()
            .into_iter()
            .filter_map(|name| types.get(name))
        {
            // The properties of a group's members are nested deeper, so all lists of their type are requested.
            let is_member = described.name != resource.resource_type;
            let given = |one: &&Property| is_member || resource.property(&one.name).is_some();
            described
                .properties
                .iter()
                .filter(given)
                .for_each(|one| of_property(one, required_lists));
        }
    }
}

fn of_property(property: &Property, required_lists: &mut BTreeSet<&'static str>) {
    property
        .constraints
        .iter()
        .for_each(|one| note(one, required_lists));
    match &property.kind {
        PropertyKind::List { of: Some(of) } => of_property(of, required_lists),
        PropertyKind::Map { of } => of.iter().for_each(|one| of_property(one, required_lists)),
        _ => {}
    }
}

fn note(constraint: &Constraint, required_lists: &mut BTreeSet<&'static str>) {
    if let Constraint::Custom(name) = constraint {
        let mut on_demand = ON_DEMAND.iter();
        required_lists.extend(on_demand.find(|one| one.name == name).map(|one| one.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::resources;
    use hot::constraint::{CUSTOM, is_custom, is_format_only};
    use types::Registry;

    #[test]
    fn each_lookup_is_a_constraint_of_heat_and_names_known_types() {
        let types = Registry::openstack();
        for one in ALWAYS_READ.iter().chain(&ON_DEMAND) {
            assert!(is_custom(one.name), "{}", one.name);
            assert!(
                one.made_by.is_empty() || types.get(one.made_by).is_some(),
                "{}",
                one.made_by
            );
        }
        assert!(ON_DEMAND.is_sorted_by_key(|one| one.name));
    }

    #[test]
    fn the_page_for_authors_has_each_constraint_where_it_belongs() {
        let page = include_str!("../../../docs/constraints.md");
        let part = |from: &str, to: &str| {
            let (_, rest) = page.split_once(from).expect(from);
            rest.split_once(to)
                .map_or(rest, |(part, _)| part)
                .to_owned()
        };
        let (looked_up, look, not) = (
            part("## Looked up", "\n## "),
            part("## Checked by format", "\n## "),
            part("## Not looked up", "\n## "),
        );
        for name in CUSTOM {
            let word = format!("`{name}`");
            let belongs = match (of(name), is_format_only(name)) {
                (Some(_), _) => &looked_up,
                (None, true) => &look,
                (None, false) => &not,
            };
            for part in [&looked_up, &look, &not] {
                assert_eq!(part.contains(&word), std::ptr::eq(part, belongs), "{name}");
            }
        }
    }

    #[test]
    fn a_template_looks_up_the_names_in_its_values() {
        let required_lists = |text: &str| {
            let document = Document::parse(resources(text));
            let required_lists =
                super::required_lists(&document, &Bundle::default(), &Registry::openstack());
            required_lists.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(required_lists("  a: {type: OS::Neutron::Net}\n"), [""; 0]);
        assert_eq!(
            required_lists(
                "  a: {type: OS::Neutron::RouterInterface, properties: {router: r, subnet: s}}\n"
            ),
            ["neutron.router", "neutron.subnet"]
        );
        let parameter = "  a: {type: OS::Neutron::Net}\nparameters: {v: {type: string, constraints: [{custom_constraint: cinder.volume}]}}\n";
        assert_eq!(required_lists(parameter), ["cinder.volume"]);
        let member = "  g: {type: OS::Heat::ResourceGroup, properties: {resource_def: {type: OS::Cinder::VolumeAttachment, properties: {}}}}\n";
        assert_eq!(required_lists(member), ["cinder.volume"]);
    }
}
