//! Drivers: creation, update and deletion of resources in the cloud.
//!
//! Most types are data: the `api` block of their description lists the calls, and [`described`] makes them. A file here
//! is a type that needs code, as hooks of the generic driver or as a separate driver. All follow one pattern, so that
//! a crash at any moment leaves no duplicates:
//!
//! 1. Search for a resource with our [`marker`], and return it if it exists.
//! 2. Look up the references in the properties (images, networks by name). An error contains the name of the property.
//! 3. Build the body and send it.
//!
//! A deletion needs only the id in the journal, or the marker if the crash came before the journal entry. A missing
//! resource is success. A conflict is returned unchanged: for a moment after a server's deletion, its ports and groups
//! still count as used, and the engine repeats the call.
//!
//! A new plain type is a description with an `api` block. A type that needs code is also a file here and a line in
//! [`driver_for`] or [`hooks_of`].

mod alarm;
mod association;
mod balancing;
pub mod bastion;
mod certificate_container;
mod cloud_init;
mod container;
mod described;
mod designate;
mod driver;
mod encrypted_volume_type;
mod extra_route;
mod extra_route_set;
mod flavor;
mod floating_ip;
mod floating_ip_association;
mod floating_ip_port_forward;
mod generic_container;
mod heat;
mod host_aggregate;
mod key_manager;
mod key_pair;
pub mod keys;
mod keystone;
mod live;
pub mod marker;
mod metering_rule;
mod nested;
mod net;
mod nova_floating_ip;
mod nova_requests;
mod order;
mod port;
mod properties;
mod qos_association;
mod qos_rule;
mod qos_specs;
mod quota;
mod rbac_policy;
mod record;
mod router;
mod router_gateway;
mod router_interface;
mod rsa_container;
mod rules;
mod secret;
mod security_group;
mod security_group_rule;
mod server;
mod server_group;
mod ssh_key;
mod swift_container;
mod trunk;
mod volume;
mod volume_attachment;
mod volume_type;

use std::{collections::BTreeMap, sync::LazyLock};

use types::api::{Api, MarkerPlace};

pub use driver::{
    Abilities, Accepted, ByName, Context, DelayedDeletion, Difference, Driver, DriverError,
    Duplicates, Earlier, Handover, Inspect, Inspection, ListMarked, Login, Marked, Marker,
    Namesakes, OnDemand, Progress, Proof, Ready, Received, Release, Request, Restore, Search,
    SignalAddress, Signals, Snapshot, Suspend, Suspension, Update, Vault,
};
pub use live::{LiveList, LiveState, live_lists};
pub use server::host_keys::HostKeys;

use balancing::OctaviaDriver;
use described::{Described, Hooks, NoHooks, content::ByContent};

/// Whether a type belongs to the template language and has no resources in a cloud.
pub fn is_of_the_language(resource_type: &str) -> bool {
    heat::driver_for(resource_type).is_some()
}

/// The driver of a resource type. `None` for types without a driver (software, unknown types).
pub fn driver_for(resource_type: &str) -> Option<&'static dyn Driver> {
    Some(match resource_type {
        "OS::Aodh::CompositeAlarm" => &alarm::COMPOSITE,
        "OS::Aodh::EventAlarm" => &alarm::EVENT,
        "OS::Aodh::GnocchiAggregationByMetricsAlarm" => &alarm::METRICS,
        "OS::Aodh::GnocchiAggregationByResourcesAlarm" => &alarm::RESOURCES,
        "OS::Aodh::GnocchiResourcesAlarm" => &alarm::RESOURCE,
        "OS::Aodh::PrometheusAlarm" => &alarm::PROMETHEUS,
        "OS::Designate::RecordSet" => &designate::record_set::RecordSet,
        "OS::Designate::Zone" => &designate::zone::Zone,
        "OS::Neutron::RouterInterface" => &router_interface::RouterInterface,
        "OS::Neutron::RouterGateway" => &router_gateway::RouterGateway,
        "OS::Neutron::ExtraRouteSet" => &extra_route_set::EXTRA_ROUTE_SET,
        "OS::Neutron::ExtraRoute" => &extra_route::EXTRA_ROUTE,
        "OS::Neutron::FloatingIPPortForward" => &floating_ip_port_forward::FloatingIpPortForward,
        "OS::Neutron::Quota" => &quota::Quota(openstack::Service::Network),
        "OS::Neutron::QoSBandwidthLimitRule" => &qos_rule::BANDWIDTH_LIMIT,
        "OS::Neutron::QoSDscpMarkingRule" => &qos_rule::DSCP_MARKING,
        "OS::Neutron::QoSMinimumBandwidthRule" => &qos_rule::MINIMUM_BANDWIDTH,
        "OS::Neutron::QoSMinimumPacketRateRule" => &qos_rule::MINIMUM_PACKET_RATE,
        "OS::Neutron::FloatingIPAssociation" => &floating_ip_association::FloatingIpAssociation,
        "OS::Nova::FloatingIPAssociation" => &nova_floating_ip::FloatingIpAssociation,
        "OS::Nova::KeyPair" => &key_pair::KeyPair,
        "OS::Nova::Server" => &server::Server,
        "OS::Nova::ServerGroup" => &server_group::ServerGroup,
        "OS::Nova::Quota" => &quota::Quota(openstack::Service::Compute),
        "OS::Cinder::Volume" => &volume::Volume,
        "OS::Cinder::VolumeAttachment" => &volume_attachment::VolumeAttachment,
        "OS::Barbican::Secret" => &key_manager::KeyManagerDriver(secret::Secret),
        "OS::Barbican::GenericContainer" => &generic_container::GENERIC_CONTAINER,
        "OS::Barbican::RSAContainer" => &rsa_container::RSA_CONTAINER,
        "OS::Barbican::CertificateContainer" => &certificate_container::CERTIFICATE_CONTAINER,
        "OS::Barbican::Order" => &key_manager::KeyManagerDriver(order::Order),
        "OS::Cinder::EncryptedVolumeType" => &encrypted_volume_type::EncryptedVolumeType,
        "OS::Cinder::QoSSpecs" => &qos_specs::QosSpecs,
        "OS::Cinder::QoSAssociation" => {
            &association::AssociationDriver(qos_association::QosAssociation)
        }
        "OS::Cinder::Quota" => &quota::Quota(openstack::Service::BlockStorage),
        "OS::Octavia::Quota" => &quota::Quota(openstack::Service::LoadBalancer),
        "OS::Swift::Container" => &swift_container::Container,
        "Stackloom::SSHKey" => &ssh_key::SshKey,
        "OS::Keystone::UserRoleAssignment" => &keystone::role_assignment::OF_USER,
        "OS::Keystone::GroupRoleAssignment" => &keystone::role_assignment::OF_GROUP,
        other => return heat::driver_for(other).or_else(|| generic(other)),
    })
}

/// The generic driver of a type with an `api` block.
fn generic(resource_type: &str) -> Option<&'static dyn Driver> {
    static ALL: LazyLock<BTreeMap<&'static str, Box<dyn Driver>>> = LazyLock::new(|| {
        let all = Api::all().iter().filter_map(|(name, api)| {
            let of = Described::of(name, hooks_of(name))?;
            let driver: Box<dyn Driver> = match &api.marker {
                MarkerPlace::Content(fields) => Box::new(ByContent { of, fields }),
                MarkerPlace::Tag => Box::new(OctaviaDriver::of(of)?),
                _ => Box::new(of),
            };
            Some((name.as_str(), driver))
        });
        all.collect()
    });
    Some(&**ALL.get(resource_type)?)
}

/// The hooks of a type.
fn hooks_of(resource_type: &str) -> &'static dyn Hooks {
    match resource_type {
        "OS::Cinder::VolumeType" => &volume_type::VolumeType,
        "OS::Keystone::Domain" => &keystone::domain::Domain,
        "OS::Keystone::Group" => &keystone::group::Group,
        "OS::Keystone::Project" => &keystone::project::Project,
        "OS::Keystone::User" => &keystone::user::User,
        "OS::Neutron::FloatingIP" => &floating_ip::FloatingIp,
        "OS::Neutron::MeteringRule" => &metering_rule::MeteringRule,
        "OS::Neutron::Net" | "OS::Neutron::ProviderNet" => &net::Net,
        "OS::Neutron::Port" => &port::Port,
        "OS::Neutron::RBACPolicy" => &rbac_policy::RbacPolicy,
        "OS::Neutron::Router" => &router::Router,
        "OS::Neutron::SecurityGroup" => &security_group::SecurityGroup,
        "OS::Neutron::SecurityGroupRule" => &security_group_rule::SecurityGroupRule,
        "OS::Neutron::Trunk" => &trunk::Trunk,
        "OS::Nova::Flavor" => &flavor::Flavor,
        "OS::Nova::FloatingIP" => &nova_floating_ip::FloatingIp,
        "OS::Nova::HostAggregate" => &host_aggregate::HostAggregate,
        _ => &NoHooks,
    }
}
