//! `OS::Octavia::Pool`: servers that share work. Source: Load Balancer API v2, "Pools".

use openstack::load_balancer::Part;

use super::balancing::{Kind, Names, Piece, What};

pub(super) static POOL: Piece = Piece {
    kind: Kind::Own(Part::Pool),
    same: &[
        "description",
        "protocol",
        "lb_algorithm",
        "session_persistence",
    ],
    switches: &["admin_state_up", "tls_enabled"],
    numbers: &[],
    names: &[
        Names {
            property: "loadbalancer",
            field: "loadbalancer_id",
            what: What::LoadBalancer,
        },
        Names {
            property: "listener",
            field: "listener_id",
            what: What::Listener,
        },
    ],
    fixed: &["loadbalancer_id", "listener_id", "protocol"],
};
