//! The lab: an OpenStack-compatible cloud on one machine, for trying, developing and testing.
//!
//! It speaks Keystone v3, Nova v2.1, Neutron v2.0, Glance v2, Cinder v3, Octavia v2 and Barbican v1 on one port of the loopback interface. With Docker,
//! servers are containers with sshd and cloud-init, security groups are packet filters and floating IPs lead somewhere; in
//! memory, servers only become ACTIVE, which is enough for most tests, and fast.
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! let lab = lab::Lab::memory().await?;
//! println!("auth_url: {}", lab.auth_url());
//! lab.faults().add(lab::Fault::Call(lab::CallFault {
//!     service: Some("network".into()),
//!     nth: Some(2),
//!     status: Some(503),
//!     ..Default::default()
//! }));
//! lab.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! The layers, from the bottom up:
//!
//! - [`kit`]: what all services are built from: tables, queries, answers, refusals, microversions, faults.
//! - [`wiring`]: the interfaces, routes and packet filters that servers, routers and load balancers need, as data.
//! - [`substrate`]: what the wiring is made of: Docker, or memory.
//! - [`services`]: one folder for each OpenStack service, with its rows, its rules and its calls.

pub mod kit;
mod lab;
pub mod services;
pub mod substrate;
pub mod wiring;

pub use crate::kit::faults::{
    ActionFault, Call, CallFault, Damage, Fault, Faults, QuotaFault, ServerFault, ServerTrouble,
    VolumeFault, VolumeTrouble,
};
pub use crate::lab::{Backend, Lab, LabConfig};
