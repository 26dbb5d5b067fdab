//! Properties that Heat reads while it validates a resource without its values.
//!
//! `validate` of most types reads a few properties, which must be present and of the right type. The list was measured
//! on Heat's engine (Zed): each property of each type got a parameter without a value, in a nested template two levels
//! down. The list contains the properties for which validation failed. Types without an entry read none.

/// Properties by type name.
const READ: &[(&str, &[&str])] = &[
    (
        "OS::Barbican::CertificateContainer",
        &[
            "name",
            "certificate_ref",
            "private_key_ref",
            "private_key_passphrase_ref",
            "intermediates_ref",
        ],
    ),
    ("OS::Barbican::GenericContainer", &["secrets"]),
    (
        "OS::Barbican::RSAContainer",
        &[
            "name",
            "private_key_ref",
            "private_key_passphrase_ref",
            "public_key_ref",
        ],
    ),
    (
        "OS::Barbican::Secret",
        &["payload_content_type", "payload_content_encoding"],
    ),
    (
        "OS::Cinder::Quota",
        &[
            "project",
            "gigabytes",
            "volumes",
            "backups",
            "backup_gigabytes",
            "snapshots",
        ],
    ),
    (
        "OS::Cinder::Volume",
        &[
            "size",
            "snapshot_id",
            "backup_id",
            "imageRef",
            "image",
            "source_volid",
        ],
    ),
    ("OS::Cinder::VolumeType", &["projects"]),
    ("OS::Designate::Zone", &["email", "type"]),
    (
        "OS::Glance::WebImage",
        &["disk_format", "container_format", "members"],
    ),
    (
        "OS::Heat::AutoScalingGroup",
        &["resource", "max_size", "min_size", "desired_capacity"],
    ),
    (
        "OS::Heat::RandomString",
        &[
            "length",
            "sequence",
            "character_classes",
            "character_sequences",
        ],
    ),
    (
        "OS::Heat::ResourceChain",
        &["resources", "resource_properties"],
    ),
    (
        "OS::Heat::ResourceGroup",
        &["count", "removal_policies", "resource_def"],
    ),
    (
        "OS::Heat::ScalingPolicy",
        &["adjustment_type", "min_adjustment_step"],
    ),
    ("OS::Heat::SoftwareComponent", &["configs"]),
    ("OS::Heat::SoftwareDeployment", &["server"]),
    (
        "OS::Heat::SoftwareDeploymentGroup",
        &[
            "servers",
            "config",
            "input_values",
            "actions",
            "name",
            "signal_transport",
        ],
    ),
    ("OS::Heat::StructuredDeployment", &["server"]),
    (
        "OS::Heat::StructuredDeploymentGroup",
        &[
            "servers",
            "config",
            "input_values",
            "actions",
            "signal_transport",
            "name",
            "input_key",
            "input_values_validate",
        ],
    ),
    ("OS::Heat::Value", &["type"]),
    ("OS::Keystone::Group", &["roles"]),
    ("OS::Keystone::GroupRoleAssignment", &["roles"]),
    ("OS::Keystone::User", &["roles"]),
    ("OS::Keystone::UserRoleAssignment", &["roles"]),
    ("OS::Magnum::ClusterTemplate", &["coe", "volume_driver"]),
    (
        "OS::Manila::ShareNetwork",
        &["neutron_network", "nova_network"],
    ),
    ("OS::Mistral::CronTrigger", &["pattern"]),
    ("OS::Mistral::Workflow", &["name", "type", "tasks"]),
    ("OS::Neutron::Firewall", &["value_specs"]),
    (
        "OS::Neutron::FloatingIP",
        &["value_specs", "port_id", "fixed_ip_address"],
    ),
    ("OS::Neutron::Net", &["value_specs"]),
    ("OS::Neutron::NetworkGateway", &["connections"]),
    (
        "OS::Neutron::Port",
        &["fixed_ips", "value_specs", "no_fixed_ips"],
    ),
    ("OS::Neutron::ProviderNet", &["segmentation_id"]),
    (
        "OS::Neutron::Quota",
        &[
            "project",
            "subnet",
            "network",
            "floatingip",
            "security_group_rule",
            "security_group",
            "router",
            "port",
            "subnetpool",
            "rbac_policy",
        ],
    ),
    ("OS::Neutron::RBACPolicy", &["object_type", "action"]),
    (
        "OS::Neutron::Router",
        &[
            "value_specs",
            "l3_agent_id",
            "l3_agent_ids",
            "distributed",
            "ha",
        ],
    ),
    (
        "OS::Neutron::RouterInterface",
        &["subnet_id", "subnet", "port_id", "port"],
    ),
    ("OS::Neutron::SecurityGroup", &["name"]),
    (
        "OS::Neutron::SecurityGroupRule",
        &[
            "port_range_min",
            "port_range_max",
            "protocol",
            "remote_group",
        ],
    ),
    (
        "OS::Neutron::Segment",
        &["network_type", "physical_network", "segmentation_id"],
    ),
    (
        "OS::Neutron::Subnet",
        &[
            "subnetpool",
            "prefixlen",
            "cidr",
            "value_specs",
            "ip_version",
            "gateway_ip",
            "ipv6_ra_mode",
            "ipv6_address_mode",
        ],
    ),
    (
        "OS::Neutron::SubnetPool",
        &["default_prefixlen", "min_prefixlen", "max_prefixlen"],
    ),
    (
        "OS::Nova::Quota",
        &[
            "project",
            "cores",
            "fixed_ips",
            "floating_ips",
            "instances",
            "injected_files",
            "injected_file_content_bytes",
            "injected_file_path_bytes",
            "key_pairs",
            "metadata_items",
            "ram",
            "security_groups",
            "security_group_rules",
            "server_groups",
            "server_group_members",
        ],
    ),
    (
        "OS::Nova::Server",
        &[
            "image",
            "block_device_mapping",
            "block_device_mapping_v2",
            "flavor",
            "networks",
            "metadata",
            "user_data_format",
            "personality",
            "tags",
        ],
    ),
    (
        "OS::Octavia::L7Policy",
        &["action", "redirect_pool", "redirect_url"],
    ),
    ("OS::Octavia::L7Rule", &["type"]),
    ("OS::Octavia::Listener", &["protocol", "loadbalancer"]),
    (
        "OS::Octavia::Pool",
        &["session_persistence", "listener", "loadbalancer"],
    ),
    (
        "OS::Octavia::Quota",
        &[
            "project",
            "healthmonitor",
            "listener",
            "loadbalancer",
            "pool",
            "member",
        ],
    ),
    (
        "OS::Trove::Instance",
        &["datastore_type", "datastore_version", "networks", "users"],
    ),
    (
        "OS::Zun::Container",
        &["restart_policy", "mounts", "networks"],
    ),
];

/// True if Heat reads the property before it creates the resource.
pub(crate) fn is_read_at_once(resource_type: &str, property: &str) -> bool {
    let found = READ.binary_search_by(|(name, _)| (*name).cmp(resource_type));
    let read = found.ok().and_then(|at| READ.get(at));
    read.is_some_and(|(_, properties)| properties.contains(&property))
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Registry;

    #[test]
    fn the_table_is_sorted_and_names_known_properties() {
        assert!(READ.is_sorted_by_key(|(name, _)| *name));
        let types = Registry::openstack();
        for (name, properties) in READ {
            let described = types.get(name).unwrap();
            for property in *properties {
                assert!(
                    described.any_property || described.property(property).is_some(),
                    "{name} has no {property}"
                );
            }
        }
        assert!(is_read_at_once("OS::Nova::Server", "flavor"));
        assert!(!is_read_at_once("OS::Nova::Server", "user_data"));
        assert!(!is_read_at_once("OS::Neutron::Trunk", "name"));
    }
}
