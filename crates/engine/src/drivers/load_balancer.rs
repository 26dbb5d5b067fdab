//! `OS::Octavia::LoadBalancer`: the address where clients arrive. Source: Load Balancer API v2.

use openstack::load_balancer::Part;

use super::balancing::{Kind, Names, Piece, What};

pub(super) static LOAD_BALANCER: Piece = Piece {
    kind: Kind::Own(Part::LoadBalancer),
    same: &[
        "description",
        "vip_address",
        "provider",
        "availability_zone",
    ],
    switches: &["admin_state_up"],
    numbers: &[],
    names: &[
        Names {
            property: "flavor",
            field: "flavor_id",
            what: What::Flavor,
        },
        Names {
            property: "vip_subnet",
            field: "vip_subnet_id",
            what: What::Subnet,
        },
    ],
    fixed: &[
        "vip_address",
        "vip_subnet_id",
        "provider",
        "availability_zone",
        "flavor_id",
    ],
};
