//! Where the cloud cannot hold old and new at the same time, the old one goes first.
//!
//! Everything else is made anew before the old one is removed, so that a failure leaves what worked. A
//! server's ports are no reason: the driver unplugs them from the old server, which stays until the
//! new one is there.

use crate::{
    expr::Expr,
    types::{
        FLOATING_IP, FLOATING_IP_ASSOCIATION, KEY_PAIR, PORT, ROUTER_INTERFACE,
        SECURITY_GROUP_RULE, SERVER,
    },
    workflow::ResourceSpec,
};

/// Why the old one goes first, if it does. `is_replaced` tells of other resources.
pub(super) fn reason(
    old: &ResourceSpec,
    new: &ResourceSpec,
    is_replaced: impl Fn(&str) -> bool,
) -> Option<&'static str> {
    if old.resource_type != new.resource_type {
        return None;
    }
    let same = |property: &str| {
        let (one, other) = (old.properties.get(property), new.properties.get(property));
        one == other && !one.is_some_and(|one| one.resources().iter().any(|name| is_replaced(name)))
    };
    let given = |property: &str| old.properties.contains_key(property);
    match old.resource_type.as_str() {
        ROUTER_INTERFACE if same("subnet") && same("port") => {
            Some("a subnet has one gateway address")
        }
        FLOATING_IP
            if given("port_id")
                || (given("floating_ip_address") && same("floating_ip_address")) =>
        {
            Some("a port has one floating IP")
        }
        FLOATING_IP_ASSOCIATION => Some("a floating IP leads to one port"),
        KEY_PAIR if same("name") => Some("its name is taken"),
        PORT if same("network") && has_fixed_address(old) => Some("its address is taken"),
        SECURITY_GROUP_RULE => {
            let mut names = old.properties.keys().chain(new.properties.keys());
            names
                .all(|name| name == "description" || same(name))
                .then_some("a group has a rule once")
        }
        SERVER if carries_volumes(old) => Some("a volume is attached to one server"),
        "OS::Cinder::VolumeAttachment" if same("volume_id") => {
            Some("a volume is attached to one server")
        }
        _ => None,
    }
}

fn has_fixed_address(port: &ResourceSpec) -> bool {
    let listed = match port.properties.get("fixed_ips") {
        Some(Expr::List(addresses)) => addresses.iter().any(|one| one.get("ip_address").is_some()),
        _ => false,
    };
    listed || port.properties.contains_key("mac_address")
}

fn carries_volumes(server: &ResourceSpec) -> bool {
    ["block_device_mapping", "block_device_mapping_v2"]
        .iter()
        .filter_map(|property| server.properties.get(*property))
        .any(|devices| match devices {
            Expr::List(devices) => devices.iter().any(|one| one.get("volume_id").is_some()),
            _ => true,
        })
}
