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
//! The layers, from the outside in: [`http`] (bodies and status codes), [`cloud`] (what happens over time), [`model`] (what there is,
//! and what may be done to it; no I/O), [`substrate`] (what it is made of).

pub mod blobs;
pub mod cloud;
pub mod faults;
pub mod http;
mod lab;
pub mod model;
pub mod store;
pub mod substrate;
mod turns;

pub use faults::{
    ActionFault, Call, CallFault, Damage, Fault, Faults, QuotaFault, ServerFault, ServerTrouble,
    VolumeFault, VolumeTrouble,
};
pub use lab::{Backend, Lab, LabConfig};
