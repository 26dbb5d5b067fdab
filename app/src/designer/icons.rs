//! Sprite icons of resource types, and their hues.
//!
//! The longest matching prefix is used, so that the entry of a type has precedence over the entry of its service. Types
//! without an entry get the icon of their category. Names without a service (`web.yaml`) are nested templates.

use types::Category;

/// Prefix of a type's name, and its icon (`style/icons.txt`).
const ICONS: [(&str, &str); 52] = [
    ("OS::Nova::Server", "server"),
    ("OS::Nova::ServerGroup", "layers"),
    ("OS::Nova::HostAggregate", "layers"),
    ("OS::Nova::Flavor", "cpu"),
    ("OS::Nova::KeyPair", "key-round"),
    ("OS::Nova::FloatingIP", "map-pin"),
    ("OS::Nova::Quota", "gauge"),
    ("OS::Neutron::FloatingIP", "map-pin"),
    ("OS::Neutron::Port", "plug"),
    ("OS::Neutron::Router", "router"),
    ("OS::Neutron::ExtraRoute", "route"),
    ("OS::Neutron::SecurityGroup", "shield"),
    ("OS::Neutron::Firewall", "shield"),
    ("OS::Neutron::QoS", "gauge"),
    ("OS::Neutron::Quota", "gauge"),
    ("OS::Neutron::RBACPolicy", "share-2"),
    ("OS::Neutron::Trunk", "cable"),
    ("OS::Neutron::Segment", "cable"),
    ("OS::Neutron::VPNService", "lock"),
    ("OS::Neutron::IKEPolicy", "lock"),
    ("OS::Neutron::IPsec", "lock"),
    ("OS::Octavia::Quota", "gauge"),
    ("OS::Octavia::", "scale"),
    ("OS::Designate::", "at-sign"),
    ("OS::Cinder::Quota", "gauge"),
    ("OS::Cinder::QoS", "gauge"),
    ("OS::Cinder::EncryptedVolumeType", "lock"),
    ("OS::Glance::", "disc-3"),
    ("OS::Swift::", "archive"),
    ("OS::Barbican::", "lock"),
    ("OS::Keystone::Project", "folder"),
    ("OS::Keystone::", "users"),
    ("OS::Heat::ResourceGroup", "layers"),
    ("OS::Heat::ResourceChain", "layers"),
    ("OS::Heat::InstanceGroup", "layers"),
    ("OS::Heat::AutoScalingGroup", "layers"),
    ("OS::Heat::RandomString", "dice-5"),
    ("OS::Heat::Software", "file-text"),
    ("OS::Heat::Structured", "file-text"),
    ("OS::Heat::CloudConfig", "file-text"),
    ("OS::Heat::MultipartMime", "file-text"),
    ("OS::Heat::WaitCondition", "timer"),
    ("OS::Heat::UpdateWaitCondition", "timer"),
    ("OS::Heat::SwiftSignal", "timer"),
    ("OS::Heat::Delay", "timer"),
    ("OS::Heat::Value", "equal"),
    ("OS::Heat::Stack", "layout-template"),
    ("OS::Heat::", "box"),
    ("OS::Aodh::", "bell"),
    ("OS::Trove::", "database"),
    ("Stackloom::SSHKey", "key-round"),
    ("Stackloom::Catalog::", "blocks"),
];

/// Hue of a category: the value of `data-category`, and the name of its colour.
pub fn hue(category: Category) -> &'static str {
    match category {
        Category::Compute => "compute",
        Category::Network => "network",
        Category::Security => "security",
        Category::Storage => "storage",
        Category::Software => "software",
        Category::Orchestration => "orchestration",
    }
}

/// Name of a type's icon. An empty type gets the icon of the Internet.
pub fn icon_name(resource_type: &str, category: Category) -> &'static str {
    if resource_type.is_empty() {
        return "globe";
    }
    // The longest prefix is used: `OS::Nova::ServerGroup` is not a server.
    let own = ICONS
        .iter()
        .filter(|(start, _)| resource_type.starts_with(start));
    if let Some((_, icon)) = own.max_by_key(|(start, _)| start.len()) {
        return icon;
    }
    if !resource_type.contains("::") {
        return "layout-template";
    }
    match category {
        Category::Storage => "hard-drive",
        Category::Security => "shield",
        Category::Network => "network",
        Category::Software => "blocks",
        _ => "box",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use types::Registry;

    use super::*;

    #[test]
    fn every_type_has_an_icon_that_the_sprite_has() {
        let sprite: HashSet<&str> = include_str!("../../../style/icons.txt").lines().collect();
        let registry = Registry::openstack();
        let types = registry.iter().map(|one| (one.name.as_str(), one.category));
        for (name, category) in types.chain([("web.yaml", Category::Orchestration)]) {
            let icon = icon_name(name, category);
            assert!(sprite.contains(icon), "{name} has {icon}");
        }
        let unused = |(start, _): &&(&str, &str)| {
            !start.starts_with("Stackloom::")
                && !registry.iter().any(|one| one.name.starts_with(start))
        };
        assert_eq!(ICONS.iter().find(unused), None, "stands for no type");
    }

    #[test]
    fn the_longest_matching_prefix_decides_the_icon() {
        let icon = |name| icon_name(name, Category::Compute);
        assert_eq!(icon("OS::Nova::Server"), "server");
        assert_eq!(icon("OS::Nova::ServerGroup"), "layers");
        assert_eq!(icon("OS::Strange::Thing"), "box");
        assert_eq!(icon(""), "globe");
    }
}
