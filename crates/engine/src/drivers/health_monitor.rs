//! `OS::Octavia::HealthMonitor`: how the servers of a pool are watched. Source: Load Balancer API v2,
//! "Health monitors".

use openstack::load_balancer::Part;

use super::balancing::{Kind, Names, Piece, What};

pub(super) static HEALTH_MONITOR: Piece = Piece {
    kind: Kind::Own(Part::HealthMonitor),
    same: &["type", "http_method", "url_path", "expected_codes"],
    switches: &["admin_state_up"],
    numbers: &["delay", "timeout", "max_retries", "max_retries_down"],
    names: &[Names {
        property: "pool",
        field: "pool_id",
        what: What::Pool,
    }],
    fixed: &["pool_id", "type"],
};
