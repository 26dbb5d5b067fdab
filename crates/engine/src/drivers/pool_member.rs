//! `OS::Octavia::PoolMember`: a server of a pool. Source: Load Balancer API v2, "Members".

use super::balancing::{Kind, Names, Piece, What};

pub(super) static POOL_MEMBER: Piece = Piece {
    kind: Kind::Member("pool"),
    same: &["address", "monitor_address"],
    switches: &["admin_state_up", "backup"],
    numbers: &["protocol_port", "monitor_port", "weight"],
    names: &[Names {
        property: "subnet",
        field: "subnet_id",
        what: What::Subnet,
    }],
    fixed: &["address", "protocol_port", "subnet_id"],
};
