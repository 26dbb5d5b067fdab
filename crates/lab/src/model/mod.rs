//! The cloud as data: what there is, and what may be done to it.
//!
//! No sockets, no containers, no waiting: handlers in [`crate::http`] call it under a lock, [`crate::substrate`] is told afterwards
//! what [`wiring`] makes of it. So the same rules hold with Docker and without, and tests of the rules are fast.

pub mod aggregate;
pub mod application_credential;
pub mod asker;
pub mod block_storage;
pub mod directory;
pub mod flavor;
pub mod grants;
pub mod identity;
pub mod ids;
pub mod image;
pub mod indexed;
pub mod keypair;
pub mod leftovers;
pub mod load_balancing;
pub mod network;
pub mod refusal;
pub mod second_factor;
pub mod secret;
pub mod server;
pub mod server_action;
pub mod server_changes;
pub mod server_create;
pub mod server_disks;
pub mod server_group;
pub mod table;
pub mod wiring;

use std::collections::HashMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use aggregate::Aggregate;
use block_storage::BlockStorage;
use flavor::{Flavor, standard_flavors};
use identity::Identity;
use image::Image;
use indexed::Indexed;
use keypair::KeyPair;
use network::address_scope::AddressScope;
use network::floating_ip::FloatingIp;
use network::ip::{Cidr, Pool};
use network::metering::{MeteringLabel, MeteringRule};
use network::network::Network;
use network::port::Port;
use network::provider::Provider;
use network::qos_policy::QosPolicy;
use network::quota::Quotas;
use network::rbac_policy::RbacPolicy;
use network::router::Router;
use network::security_group::SecurityGroup;
use network::security_group_rule::SecurityGroupRule;
use network::segment::Segment;
use network::subnet::Subnet;
use network::subnet_pool::SubnetPool;
use network::trunk::Trunk;
use network::{Common, attributes::Attributes};
use secret::{Order, Secret, SecretContainer};
use server::Server;
use server_group::ServerGroup;
use table::Table;

/// Everything.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Model {
    /// Keystone.
    pub identity: Identity,
    /// Glance.
    pub images: Table<Image>,
    /// Nova.
    pub flavors: Table<Flavor>,
    /// Nova.
    pub keypairs: Table<KeyPair>,
    /// Nova.
    pub servers: Table<Server>,
    /// Nova: those that are no more, for who asks what has changed.
    #[serde(default)]
    pub deleted_servers: Table<Server>,
    /// Nova.
    #[serde(default)]
    pub server_groups: Table<ServerGroup>,
    /// Nova.
    #[serde(default)]
    pub aggregates: Table<Aggregate>,
    /// Neutron.
    pub networks: Table<Network>,
    /// Neutron.
    pub subnets: Table<Subnet>,
    /// Neutron.
    pub ports: Indexed<Port>,
    /// Neutron.
    pub routers: Table<Router>,
    /// Neutron.
    pub floating_ips: Indexed<FloatingIp>,
    /// Neutron.
    pub security_groups: Table<SecurityGroup>,
    /// Neutron.
    pub security_group_rules: Table<SecurityGroupRule>,
    /// Neutron.
    #[serde(default)]
    pub subnet_pools: Table<SubnetPool>,
    /// Neutron.
    #[serde(default)]
    pub qos_policies: Table<QosPolicy>,
    /// Neutron.
    #[serde(default)]
    pub trunks: Table<Trunk>,
    /// Neutron.
    #[serde(default)]
    pub address_scopes: Table<AddressScope>,
    /// Neutron.
    #[serde(default)]
    pub rbac_policies: Table<RbacPolicy>,
    /// Neutron.
    #[serde(default)]
    pub metering_labels: Table<MeteringLabel>,
    /// Neutron.
    #[serde(default)]
    pub metering_rules: Table<MeteringRule>,
    /// Neutron.
    #[serde(default)]
    pub segments: Table<Segment>,
    /// Cinder.
    #[serde(default)]
    pub block_storage: BlockStorage,
    /// Octavia.
    #[serde(default)]
    pub balancing: Table<load_balancing::Piece>,
    /// Barbican.
    pub secrets: Table<Secret>,
    /// Barbican.
    #[serde(default)]
    pub secret_containers: Table<SecretContainer>,
    /// Barbican.
    #[serde(default)]
    pub secret_orders: Table<Order>,
    /// Limits.
    pub quotas: Quotas,
    /// By subnet: no address below this one is free. A hint only, so it is not kept.
    #[serde(skip)]
    pub free_from: HashMap<String, IpAddr>,
}

/// The name of the external network.
pub const PUBLIC: &str = "public";

impl Model {
    /// A fresh cloud: two projects with a user each, one who may only look at the first, an administrator, an image, flavors, and the external network with this range. The range's
    /// first address is the host's, and the tenth the first that is handed out.
    pub fn fresh(public_cidr: Cidr) -> Self {
        let mut model = Self::default();
        for role in ["admin", "member", "reader"] {
            model.identity.add_role(role);
        }
        for (name, role) in [("demo", "member"), ("other", "member"), ("admin", "admin")] {
            let project = model.identity.add_project(name);
            model.identity.add_user(name, name, &project, role);
        }
        let demo = ids::stable_hex_id("project/demo");
        model.identity.add_user("reader", "reader", &demo, "reader");
        let service = model.identity.add_project("service");
        model.images.insert(Image::debian_12(&service));
        for flavor in standard_flavors() {
            model.flavors.insert(flavor);
        }
        model.add_public_network(&service, public_cidr);
        model
    }

    fn add_public_network(&mut self, owner: &str, cidr: Cidr) {
        let common = || Common::new(owner, &mut Attributes::default()).unwrap_or_default();
        let (network_id, subnet_id) = (
            ids::stable_id("network/public"),
            ids::stable_id("subnet/public"),
        );
        self.networks.insert(Network {
            id: network_id.clone(),
            name: PUBLIC.into(),
            admin_state_up: true,
            status: "ACTIVE".into(),
            subnets: vec![subnet_id.clone()],
            shared: false,
            external: true,
            mtu: 1500,
            port_security_enabled: true,
            availability_zone_hints: Vec::new(),
            availability_zones: vec!["nova".into()],
            ipv4_address_scope: None,
            ipv6_address_scope: None,
            provider: Provider {
                network_type: Some(network::provider::FLAT.into()),
                physical_network: Some(PUBLIC.into()),
                segmentation_id: None,
            },
            common: common(),
        });
        self.subnets.insert(Subnet {
            id: subnet_id,
            name: "public-subnet".into(),
            network_id,
            ip_version: 4,
            cidr,
            gateway_ip: Some(cidr.nth(1)),
            allocation_pools: vec![Pool {
                start: cidr.nth(10),
                // All but the last, which is that of all.
                end: cidr.nth((1 << (32 - cidr.prefix())) - 2),
            }],
            dns_nameservers: Vec::new(),
            host_routes: Vec::new(),
            enable_dhcp: false,
            ipv6_address_mode: None,
            ipv6_ra_mode: None,
            subnetpool_id: None,
            service_types: Vec::new(),
            common: common(),
        });
    }

    /// The range of the external network.
    pub fn public_cidr(&self) -> Option<Cidr> {
        let network = self.networks.iter().find(|network| network.external)?;
        self.subnets
            .get(network.subnets.first()?)
            .map(|subnet| subnet.cidr)
    }
}
