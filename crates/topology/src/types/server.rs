//! `OS::Nova::Server`: a virtual machine.
//!
//! A new image replaces the server: a rebuild would keep the id and lose the disk, which a person
//! should see coming. A new flavor resizes it in place. `networks` updates in place because ports can
//! be plugged and unplugged. Source: Compute API, "Servers".

use super::*;

pub(super) fn resource_type() -> ResourceType {
    ResourceType {
        name: SERVER.to_owned(),
        title: "Server".to_owned(),
        summary: "A virtual machine.".to_owned(),
        category: Category::Compute,
        shape: Shape::Card,
        properties: vec![
            string("name")
                .updates()
                .summary("Its name in the cloud; made from the deployment's name where absent."),
            string("image")
                .choices(Choices::Image)
                .summary("What it boots from: an image's name or id."),
            string("flavor")
                .required()
                .updates()
                .choices(Choices::Flavor)
                .summary("Its size: CPUs, memory, disk."),
            list("networks", map("network", network_keys()))
                .updates()
                .summary("The networks that it is attached to, the first one first."),
            string("key_name")
                .choices(Choices::KeyPair)
                .connects(&[KEY_PAIR])
                .summary("A key pair for your own login."),
            list(
                "security_groups",
                string("security_group").connects(&[SECURITY_GROUP]),
            )
            .default(serde_json::json!([]))
            .summary("Who may talk to it; for ports that are drawn, theirs count."),
            string("user_data")
                .multiline()
                .summary("A script or cloud-config that runs at the first boot."),
            string("user_data_format")
                .default("RAW")
                .one_of(&["HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG"])
                .summary("How user data is handed over; we hand it over as it is."),
            string("availability_zone")
                .choices(Choices::AvailabilityZone)
                .summary("Where in the cloud it runs."),
            map("metadata", vec![])
                .updates()
                .summary("Keys and values that the server can read of itself."),
            boolean("config_drive")
                .summary("Hand user data over on a drive, for clouds without a metadata service."),
            string("admin_pass")
                .secret()
                .updates()
                .summary("Password of the administrator, where the image honours it."),
            tags(),
            map("scheduler_hints", vec![]).summary("Wishes for the cloud's scheduler."),
            string("diskConfig")
                .one_of(&["AUTO", "MANUAL"])
                .summary("Whether the disk is one partition that fills it."),
            string("flavor_update_policy")
                .default("RESIZE")
                .updates()
                .one_of(&["RESIZE", "REPLACE"])
                .summary("What a new flavor does."),
            string("image_update_policy")
                .default("REBUILD")
                .updates()
                .one_of(&["REBUILD", "REPLACE", "REBUILD_PRESERVE_EPHEMERAL"])
                .summary("What a new image does in Heat; here it replaces."),
            string("user_data_update_policy")
                .default("REPLACE")
                .updates()
                .one_of(&["REPLACE", "IGNORE"])
                .summary("What new user data does."),
            list("block_device_mapping", map("device", vec![]))
                .summary("Volumes at boot, in the old form."),
            list("block_device_mapping_v2", map("device", vec![])).summary("Disks at boot."),
            map("personality", vec![])
                .default(serde_json::json!({}))
                .summary("Files to put into it: path to content."),
            string("reservation_id").summary("A reservation to use."),
            string("software_config_transport")
                .updates()
                .summary("For Heat's in-server agents; not used here."),
            map("deployment_swift_data", vec![])
                .updates()
                .summary("For Heat's in-server agents; not used here."),
        ],
        attributes: vec![
            attribute("first_address", "Its first address."),
            attribute("networks", "Addresses by network: `{front: [10.0.0.4]}`."),
            attribute("addresses", "Addresses by network, with MAC and type."),
            attribute("name", "Its name in the cloud."),
            attribute("instance_name", "Its name on the hypervisor."),
            attribute("accessIPv4", "The address that the cloud shows for access."),
            attribute(
                "accessIPv6",
                "The IPv6 address that the cloud shows for access.",
            ),
            attribute("console_urls", "Addresses of its consoles."),
            attribute("tags", "Its tags."),
            attribute("os_collect_config", "For Heat's in-server agents."),
            attribute(
                "host_key",
                "The public part of the SSH host key that we gave it.",
            ),
            attribute("show", "All that the cloud tells about it."),
        ],
        component: None,
    }
}

fn network_keys() -> Vec<Property> {
    vec![
        string("network")
            .nests(&[NET])
            .choices(Choices::Network)
            .summary("A network; a port is made for it."),
        string("port")
            .connects(&[PORT])
            .summary("A port that is drawn."),
        string("subnet")
            .connects(&[SUBNET])
            .summary("The subnet that the address comes from."),
        string("fixed_ip")
            .custom("ip_addr")
            .summary("The address that it shall have."),
        string("floating_ip")
            .connects(&[FLOATING_IP])
            .summary("A public address for it."),
        string("allocate_network")
            .one_of(&["none", "auto"])
            .summary("Let the cloud choose, or have no network."),
        string("uuid").summary("The old name of `network`."),
        string("tag").summary("A word that the server sees on this device."),
        map("port_extra_properties", vec![])
            .summary("Further properties of the port that is made."),
    ]
}
