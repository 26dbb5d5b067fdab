//! The services of a cloud, with their types in the catalogue and supported versions.

use std::fmt;

/// An OpenStack service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Keystone.
    Identity,
    /// Nova.
    Compute,
    /// Neutron.
    Network,
    /// Glance.
    Image,
    /// Cinder.
    BlockStorage,
    /// Barbican.
    KeyManager,
    /// Heat.
    Orchestration,
    /// Octavia.
    LoadBalancer,
    /// Designate.
    Dns,
    /// Swift.
    ObjectStore,
    /// Placement.
    Placement,
    /// Aodh.
    Alarming,
}

impl Service {
    /// Services that a session uses from the catalogue.
    pub(crate) const USED_SERVICES: [Service; 9] = [
        Service::Compute,
        Service::Network,
        Service::Image,
        Service::BlockStorage,
        Service::KeyManager,
        Service::LoadBalancer,
        Service::Dns,
        Service::ObjectStore,
        Service::Alarming,
    ];

    /// The official service type.
    pub fn as_str(self) -> &'static str {
        self.types()[0]
    }

    /// The official service type, then the aliases in order of preference.
    pub fn types(self) -> &'static [&'static str] {
        match self {
            Service::Identity => &["identity"],
            Service::Compute => &["compute", "computev21"],
            Service::Network => &["network"],
            Service::Image => &["image"],
            Service::BlockStorage => &["block-storage", "block-store", "volumev3", "volume"],
            Service::KeyManager => &["key-manager"],
            Service::Orchestration => &["orchestration"],
            Service::LoadBalancer => &["load-balancer"],
            Service::Dns => &["dns"],
            Service::ObjectStore => &["object-store"],
            Service::Placement => &["placement"],
            Service::Alarming => &["alarm", "alarming"],
        }
    }

    /// The supported major version, and its path segment for services without version discovery.
    pub(crate) fn version(self) -> Option<(u32, &'static str)> {
        match self {
            Service::Identity => Some((3, "v3")),
            Service::Compute => Some((2, "v2.1")),
            Service::Network => Some((2, "v2.0")),
            Service::Image => Some((2, "v2")),
            Service::BlockStorage => Some((3, "v3")),
            Service::KeyManager => Some((1, "v1")),
            Service::Orchestration => Some((1, "v1")),
            Service::LoadBalancer => Some((2, "v2")),
            Service::Dns | Service::Alarming => Some((2, "v2")),
            Service::ObjectStore | Service::Placement => None,
        }
    }

    /// The name of the service in the microversion header.
    pub(crate) fn microversion_name(self) -> &'static str {
        match self {
            // Cinder's header does not use the official service type.
            Service::BlockStorage => "volume",
            other => other.as_str(),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
