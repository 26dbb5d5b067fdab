//! `OS::Octavia::L7Rule`: what makes a request special. Source: Load Balancer API v2, "L7 rules".

use super::balancing::{Kind, Piece};

pub(super) static L7_RULE: Piece = Piece {
    kind: Kind::L7Rule("l7policy"),
    same: &["type", "compare_type", "key", "value"],
    switches: &["admin_state_up", "invert"],
    numbers: &[],
    names: &[],
    fixed: &[],
};
