//! One file per resource type: how it is made in the cloud, and how it is removed.
//!
//! A driver and its description (`types`, a file of the same name) are the two halves of a
//! type. All drivers follow one pattern, so that a crash at any moment leaves nothing twice:
//!
//! 1. look for what carries our [`mark`]; if it is there, that is the answer;
//! 2. look up what the properties name (images, networks by name), with an error that says which
//!    property is wrong;
//! 3. build the body (a pure function, tested without a cloud) and send it.
//!
//! Deletion needs only the id that the journal kept, or the mark where the crash came before the
//! journal. "Not there" is success. A conflict is passed on as it is: right after a server's deletion
//! its ports and groups count as used for a moment, and the engine's rule is to try once more.
//!
//! Many types say only what is peculiar about them, and a driver is made of that: [`plain::Fields`] and [`plain::Plain`]
//! (Neutron's with a description), [`told::Says`] and [`told::Told`] (without one), [`key_manager::Keeps`] and
//! [`key_manager::Kept`], [`records::Records`] and [`records::Recorded`] (administrators'), [`ties::Ties`] and [`ties::Tied`] (what
//! only joins others).
//!
//! A new type is a file here, a line in [`driver_for`], and a description in `types`.

mod address_scope;
mod balancing;
pub mod bastion;
mod certificate_container;
mod cloud_init;
mod container;
mod encrypted_volume_type;
mod extra_route;
mod extra_route_set;
mod flavor;
mod floating_ip;
mod floating_ip_association;
mod floating_ip_port_forward;
mod generic_container;
mod health_monitor;
mod heat;
mod host_aggregate;
mod inside;
mod key_manager;
mod key_pair;
pub mod keys;
mod keystone;
mod l7_policy;
mod l7_rule;
mod listener;
mod load_balancer;
pub mod mark;
mod metering_label;
mod metering_rule;
mod net;
mod neutron;
mod nova_floating_ip;
mod nova_requests;
mod order;
mod plain;
mod pool;
mod pool_member;
mod port;
mod properties;
mod provider_net;
mod qos_association;
mod qos_policy;
mod qos_rule;
mod qos_specs;
mod quota;
mod rbac_policy;
mod records;
mod router;
mod router_gateway;
mod router_interface;
mod rsa_container;
mod rules;
mod secret;
mod security_group;
mod security_group_rule;
mod segment;
mod server;
mod server_group;
mod ssh_key;
mod subnet;
mod subnet_pool;
mod ties;
mod told;
mod trunk;
mod volume;
mod volume_attachment;
mod volume_type;

use crate::driver::Driver;

/// Whether a type is the language's own: nothing of it is in a cloud.
pub fn is_of_the_language(resource_type: &str) -> bool {
    heat::driver_for(resource_type).is_some()
}

/// The driver of a resource type; `None` for types that are not ours to make (software, unknown ones).
pub fn driver_for(resource_type: &str) -> Option<&'static dyn Driver> {
    Some(match resource_type {
        "OS::Neutron::Net" => &plain::Plain(net::Net),
        "OS::Neutron::Subnet" => &subnet::Subnet,
        "OS::Neutron::Port" => &port::Port,
        "OS::Neutron::Router" => &router::Router,
        "OS::Neutron::RouterInterface" => &router_interface::RouterInterface,
        "OS::Neutron::RouterGateway" => &router_gateway::RouterGateway,
        "OS::Neutron::ExtraRouteSet" => &extra_route_set::EXTRA_ROUTE_SET,
        "OS::Neutron::ExtraRoute" => &extra_route::EXTRA_ROUTE,
        "OS::Neutron::ProviderNet" => &plain::Plain(provider_net::ProviderNet),
        "OS::Neutron::Segment" => &plain::Plain(segment::Segment),
        "OS::Neutron::AddressScope" => &address_scope::AddressScope,
        "OS::Neutron::RBACPolicy" => &told::Told(rbac_policy::RbacPolicy),
        "OS::Neutron::MeteringLabel" => &plain::Plain(metering_label::MeteringLabel),
        "OS::Neutron::MeteringRule" => &told::Told(metering_rule::MeteringRule),
        "OS::Neutron::FloatingIPPortForward" => &floating_ip_port_forward::FloatingIpPortForward,
        "OS::Neutron::Quota" => &quota::Quota(openstack::Service::Network),
        "OS::Neutron::Trunk" => &plain::Plain(trunk::Trunk),
        "OS::Neutron::QoSPolicy" => &plain::Plain(qos_policy::QosPolicy),
        "OS::Neutron::QoSBandwidthLimitRule" => &qos_rule::BANDWIDTH_LIMIT,
        "OS::Neutron::QoSDscpMarkingRule" => &qos_rule::DSCP_MARKING,
        "OS::Neutron::QoSMinimumBandwidthRule" => &qos_rule::MINIMUM_BANDWIDTH,
        "OS::Neutron::QoSMinimumPacketRateRule" => &qos_rule::MINIMUM_PACKET_RATE,
        "OS::Neutron::SubnetPool" => &plain::Plain(subnet_pool::SubnetPool),
        "OS::Neutron::FloatingIP" => &floating_ip::FloatingIp,
        "OS::Neutron::FloatingIPAssociation" => &floating_ip_association::FloatingIpAssociation,
        "OS::Neutron::SecurityGroup" => &security_group::SecurityGroup,
        "OS::Neutron::SecurityGroupRule" => &security_group_rule::SecurityGroupRule,
        "OS::Nova::FloatingIP" => &nova_floating_ip::FloatingIp,
        "OS::Nova::FloatingIPAssociation" => &nova_floating_ip::FloatingIpAssociation,
        "OS::Nova::KeyPair" => &key_pair::KeyPair,
        "OS::Nova::Server" => &server::Server,
        "OS::Nova::ServerGroup" => &server_group::ServerGroup,
        "OS::Nova::Flavor" => &records::Recorded(flavor::Flavor),
        "OS::Nova::HostAggregate" => &records::Recorded(host_aggregate::HostAggregate),
        "OS::Nova::Quota" => &quota::Quota(openstack::Service::Compute),
        "OS::Cinder::Volume" => &volume::Volume,
        "OS::Cinder::VolumeAttachment" => &volume_attachment::VolumeAttachment,
        "OS::Barbican::Secret" => &key_manager::Kept(secret::Secret),
        "OS::Barbican::GenericContainer" => &generic_container::GENERIC_CONTAINER,
        "OS::Barbican::RSAContainer" => &rsa_container::RSA_CONTAINER,
        "OS::Barbican::CertificateContainer" => &certificate_container::CERTIFICATE_CONTAINER,
        "OS::Barbican::Order" => &key_manager::Kept(order::Order),
        "OS::Cinder::VolumeType" => &records::Recorded(volume_type::VolumeType),
        "OS::Cinder::EncryptedVolumeType" => &encrypted_volume_type::EncryptedVolumeType,
        "OS::Cinder::QoSSpecs" => &qos_specs::QosSpecs,
        "OS::Cinder::QoSAssociation" => &ties::Tied(qos_association::QosAssociation),
        "OS::Cinder::Quota" => &quota::Quota(openstack::Service::BlockStorage),
        "OS::Octavia::Quota" => &quota::Quota(openstack::Service::LoadBalancer),
        "OS::Octavia::LoadBalancer" => &load_balancer::LOAD_BALANCER,
        "OS::Octavia::Listener" => &listener::LISTENER,
        "OS::Octavia::Pool" => &pool::POOL,
        "OS::Octavia::PoolMember" => &pool_member::POOL_MEMBER,
        "OS::Octavia::HealthMonitor" => &health_monitor::HEALTH_MONITOR,
        "OS::Octavia::L7Policy" => &l7_policy::L7_POLICY,
        "OS::Octavia::L7Rule" => &l7_rule::L7_RULE,
        "Stackloom::SSHKey" => &ssh_key::SshKey,
        other => return keystone::driver_for(other).or_else(|| heat::driver_for(other)),
    })
}
