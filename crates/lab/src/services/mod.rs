//! The cloud as data: its resources, and the rules for changes.
//!
//! No sockets, no containers, no waiting: handlers in [`crate::services::router`] call it under a lock, and
//! [`crate::substrate`] then applies the [`wiring`] computed from it. So the same rules hold with and without Docker,
//! and tests of the rules are fast.

pub(crate) mod block_storage;
pub(crate) mod cloud;
pub(crate) mod compute;
pub(crate) mod control;
pub(crate) mod faulty;
pub(crate) mod identity;
pub(crate) mod image;
pub(crate) mod incoming;
pub(crate) mod key_manager;
pub(crate) mod lagging;
pub(crate) mod leftovers;
pub(crate) mod load_balancer;
pub(crate) mod network;
pub mod quota;
pub(crate) mod router;
pub mod store;
pub(crate) mod wiring;

pub use crate::services::block_storage::volume::VolumeStatus;
pub use crate::services::compute::server::Status;
pub use crate::services::load_balancer::ProvisioningStatus;
pub use crate::services::network::network::Network;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::kit::indexed::Indexed;
use crate::kit::ip::{Cidr, Pool};
use crate::kit::record::Record;
use crate::kit::table::Table;
use crate::services::block_storage::BlockStorage;
use crate::services::compute::aggregate::Aggregate;
use crate::services::compute::flavor::{Flavor, standard_flavors};
use crate::services::compute::keypair::KeyPair;
use crate::services::compute::server::Server;
use crate::services::compute::server_group::ServerGroup;
use crate::services::identity::Identity;
use crate::services::image::record::Image;
use crate::services::key_manager::secret::{Order, Secret, SecretContainer};
use crate::services::network::Common;
use crate::services::network::body::Body;
use crate::services::network::floating_ip::FloatingIp;
use crate::services::network::port::Port;
use crate::services::network::provider::Provider;
use crate::services::network::router::Router;
use crate::services::network::security_group::SecurityGroup;
use crate::services::network::security_group_rule::SecurityGroupRule;
use crate::services::network::subnet::Subnet;
use crate::services::network::trunk::Trunk;
use crate::services::quota::Quotas;

/// The shared handle of the running cloud.
pub(crate) type App = Arc<cloud::Cloud>;

/// A call of one of the services.
pub(crate) type Call = crate::kit::call::Call<App>;

/// The routes of a service.
pub(crate) type Routes = crate::kit::routes::Routes<App>;

/// The services: name in the catalogue, and path prefix.
pub const SERVICES: &[(&str, &str)] = &[
    ("identity", "/identity"),
    ("compute", "/compute"),
    ("network", "/network"),
    ("image", "/image"),
    ("block-storage", "/volume"),
    ("key-manager", "/key-manager"),
    ("load-balancer", "/load-balancer"),
];

/// The state of the cloud.
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
    /// Nova: deleted servers, for lists with `changes-since` and `deleted`.
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
    pub subnet_pools: Table<Record>,
    /// Neutron.
    #[serde(default)]
    pub qos_policies: Table<Record>,
    /// Neutron.
    #[serde(default)]
    pub trunks: Table<Trunk>,
    /// Neutron.
    #[serde(default)]
    pub address_scopes: Table<Record>,
    /// Neutron.
    #[serde(default)]
    pub rbac_policies: Table<Record>,
    /// Neutron.
    #[serde(default)]
    pub metering_labels: Table<Record>,
    /// Neutron.
    #[serde(default)]
    pub metering_rules: Table<Record>,
    /// Neutron.
    #[serde(default)]
    pub segments: Table<Record>,
    /// Cinder.
    #[serde(default)]
    pub block_storage: BlockStorage,
    /// Octavia.
    #[serde(default)]
    pub balancing: Table<load_balancer::Resource>,
    /// Octavia.
    #[serde(default)]
    pub balancing_flavors: Table<Record>,
    /// Octavia.
    #[serde(default)]
    pub balancing_flavor_profiles: Table<Record>,
    /// Barbican.
    pub secrets: Table<Secret>,
    /// Barbican.
    #[serde(default)]
    pub secret_containers: Table<SecretContainer>,
    /// Barbican.
    #[serde(default)]
    pub secret_orders: Table<Order>,
    /// Quotas of all services.
    pub quotas: Quotas,
    /// By subnet: no address below this one is free. It is an optimisation and not saved.
    #[serde(skip)]
    pub free_from: HashMap<String, IpAddr>,
}

/// The name of the external network.
pub const PUBLIC: &str = "public";

impl Model {
    /// A new cloud: users demo, other, reader (read-only, in project demo) and admin with their projects, an image,
    /// flavors, and the external network with this range. The host has the first address of the range; allocation
    /// starts at the tenth.
    pub fn fresh(public_cidr: Cidr) -> Self {
        let mut model = Self {
            identity: Identity::fresh(),
            ..Self::default()
        };
        let service = crate::kit::ids::stable_hex_id("project/service");
        model.images.insert(Image::debian_12(&service));
        for flavor in standard_flavors() {
            model.flavors.insert(flavor);
        }
        model.add_public_network(&service, public_cidr);
        model
    }

    fn add_public_network(&mut self, owner: &str, cidr: Cidr) {
        let common = || Common::new(owner, &mut Body::default()).unwrap_or_default();
        let (network_id, subnet_id) = (
            crate::kit::ids::stable_id("network/public"),
            crate::kit::ids::stable_id("subnet/public"),
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
                // Without the broadcast address.
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
