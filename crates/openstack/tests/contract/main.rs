//! Our assumptions about OpenStack clouds, checked against the lab and against real clouds.
//!
//! The engine, its drivers or the forms rely on every check: a status code, the format of a body, a filter, a conflict,
//! the link to the next page. The real cloud is the reference. If the lab differs, the lab is wrong, so no check is
//! weakened for the lab. [`world::KnownFailures`] lists checks that the lab does not pass yet.
//!
//! By default, the tests run against the lab in memory. `cargo xtask contract --cloud real --clouds FILE` runs them
//! against a real cloud. It needs an external network, an image and a flavor; nothing else in the project is touched.
//! All resources of a case have a name that begins with `contract-`, and are deleted at its end, also after a failure.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::large_futures, reason = "a case is one long story, told once")]

mod compute;
mod flavors;
mod identity;
mod identity_admin;
mod image;
mod instance_actions;
mod ipv6;
mod key_manager;
mod limits;
mod lists;
mod load_balancer;
mod network;
mod network_extensions;
mod network_more;
mod qos;
mod quota;
mod second_factor;
mod volume;
mod volume_types;
mod world;
