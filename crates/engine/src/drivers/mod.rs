//! One file per resource type: how it is made in the cloud, and how it is removed.
//!
//! A driver and its description (`topology::types`, a file of the same name) are the two halves of a
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
//! A new type is a file here, a line in [`driver_for`], and a description in `topology`.

pub mod bastion;
mod cloud_init;
mod floating_ip;
mod floating_ip_association;
mod heat;
mod key_pair;
pub mod keys;
pub mod mark;
mod net;
mod neutron;
mod port;
mod properties;
mod router;
mod router_interface;
mod rules;
mod security_group;
mod security_group_rule;
mod server;
mod ssh_key;
mod subnet;

use crate::driver::Driver;

/// The driver of a resource type; `None` for types that are not ours to make (software, unknown ones).
pub fn driver_for(resource_type: &str) -> Option<&'static dyn Driver> {
    Some(match resource_type {
        "OS::Neutron::Net" => &net::Net,
        "OS::Neutron::Subnet" => &subnet::Subnet,
        "OS::Neutron::Port" => &port::Port,
        "OS::Neutron::Router" => &router::Router,
        "OS::Neutron::RouterInterface" => &router_interface::RouterInterface,
        "OS::Neutron::FloatingIP" => &floating_ip::FloatingIp,
        "OS::Neutron::FloatingIPAssociation" => &floating_ip_association::FloatingIpAssociation,
        "OS::Neutron::SecurityGroup" => &security_group::SecurityGroup,
        "OS::Neutron::SecurityGroupRule" => &security_group_rule::SecurityGroupRule,
        "OS::Nova::KeyPair" => &key_pair::KeyPair,
        "OS::Nova::Server" => &server::Server,
        "Stackloom::SSHKey" => &ssh_key::SshKey,
        other => return heat::driver_for(other),
    })
}
