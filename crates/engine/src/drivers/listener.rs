//! `OS::Octavia::Listener`: a port of a load balancer that listens. Source: Load Balancer API v2, "Listeners".

use openstack::load_balancer::Part;

use super::balancing::{Kind, Names, Piece, What};

pub(super) static LISTENER: Piece = Piece {
    kind: Kind::Own(Part::Listener),
    same: &[
        "description",
        "protocol",
        "allowed_cidrs",
        "default_tls_container_ref",
        "sni_container_refs",
        "insert_headers",
        "alpn_protocols",
    ],
    switches: &["admin_state_up"],
    numbers: &["protocol_port", "connection_limit"],
    names: &[
        Names {
            property: "loadbalancer",
            field: "loadbalancer_id",
            what: What::LoadBalancer,
        },
        Names {
            property: "default_pool",
            field: "default_pool_id",
            what: What::Pool,
        },
    ],
    fixed: &["loadbalancer_id", "protocol", "protocol_port"],
};
