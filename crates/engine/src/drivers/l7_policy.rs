//! `OS::Octavia::L7Policy`: where requests go that are special. Source: Load Balancer API v2, "L7 policies".

use openstack::load_balancer::Part;

use super::balancing::{Kind, Names, Piece, What};

pub(super) static L7_POLICY: Piece = Piece {
    kind: Kind::Own(Part::L7Policy),
    same: &["description", "action", "redirect_url", "redirect_prefix"],
    switches: &["admin_state_up"],
    numbers: &["position", "redirect_http_code"],
    names: &[
        Names {
            property: "listener",
            field: "listener_id",
            what: What::Listener,
        },
        Names {
            property: "redirect_pool",
            field: "redirect_pool_id",
            what: What::Pool,
        },
    ],
    fixed: &["listener_id"],
};
