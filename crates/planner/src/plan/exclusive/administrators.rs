//! Exclusive properties of administrators' resources: mostly a name that must be unique in the cloud.
//!
//! A generated name differs between copies, so only names from the template are compared.

use super::{Exclusive, claims, exclusive};

pub(super) const REGION: &str = "OS::Keystone::Region";
pub(super) const ENDPOINT: &str = "OS::Keystone::Endpoint";
const NAME: &str = "its name is taken";
const LIMITS: &str = "a project has its limits once";

const fn named(of: &'static str) -> Exclusive {
    exclusive(of, NAME, |one| claims::all_of(one, &["name"]))
}

const fn named_in_domain(of: &'static str) -> Exclusive {
    exclusive(of, NAME, claims::name_in_domain)
}

const fn limits(of: &'static str) -> Exclusive {
    exclusive(of, LIMITS, |one| claims::all_of(one, &["project"]))
}

/// Types with their exclusive properties.
pub(super) const TABLE: &[Exclusive] = &[
    named("OS::Nova::Flavor"),
    exclusive("OS::Nova::Flavor", "its id is taken", |flavor| {
        claims::all_of(flavor, &["flavorid"])
    }),
    named("OS::Nova::HostAggregate"),
    limits("OS::Nova::Quota"),
    named("OS::Cinder::VolumeType"),
    exclusive(
        "OS::Cinder::EncryptedVolumeType",
        "a volume type has one encryption",
        |one| claims::all_of(one, &["volume_type"]),
    ),
    named("OS::Cinder::QoSSpecs"),
    exclusive(
        "OS::Cinder::QoSAssociation",
        "a volume type has one quality of service",
        |one| claims::texts(one, "volume_types"),
    ),
    limits("OS::Cinder::Quota"),
    limits("OS::Neutron::Quota"),
    limits("OS::Octavia::Quota"),
    exclusive("OS::Neutron::RBACPolicy", "it is shared once", |one| {
        claims::all_of(
            one,
            &["object_type", "object_id", "action", "target_tenant"],
        )
    }),
    exclusive(
        "OS::Neutron::MeteringRule",
        "a label has a rule once",
        claims::all_but_description,
    ),
    named("OS::Keystone::Domain"),
    named_in_domain("OS::Keystone::Project"),
    named_in_domain("OS::Keystone::User"),
    named_in_domain("OS::Keystone::Group"),
    // A global role and a role of the default domain differ; both at once are rare.
    named_in_domain("OS::Keystone::Role"),
    exclusive(REGION, "its name is taken", |region| {
        claims::all_of(region, &["id"])
    }),
    exclusive(
        "OS::Keystone::UserRoleAssignment",
        "a role is given once",
        |one| claims::grants(one, "user"),
    ),
    exclusive(
        "OS::Keystone::GroupRoleAssignment",
        "a role is given once",
        |one| claims::grants(one, "group"),
    ),
];
