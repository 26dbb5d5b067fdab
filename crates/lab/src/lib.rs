//! The lab: an OpenStack-compatible cloud on one machine, for trying, developing and testing.
//!
//! It speaks Keystone v3, Nova v2.1, Neutron v2.0, Glance v2, Cinder v3, Octavia v2 and Barbican v1 on one port of the loopback
//! interface. With Docker, servers are containers with sshd and cloud-init, security groups are packet filters and floating IPs
//! lead somewhere; in memory, servers only become ACTIVE, which is enough for most tests, and fast.
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
//! # What is real
//!
//! One task makes the wiring agree with all rows, again and again until they do; nothing tells it what has
//! changed. A load balancer is ACTIVE when HAProxy itself says that it runs the configuration that it got last.
//! On Docker these are real: servers with cloud-init (from a NoCloud seed, as from a config drive), the metadata
//! service (a socket in each server's network namespace), networks, routers, floating IPs (whole or port by
//! port), security groups, port security, load balancers for TCP and HTTP with L7 rules and monitors, and images
//! made of servers. These are not:
//!
//! - Volumes are block devices that can be formatted and read, but not mounted: the right to mount would let a server out
//!   of its container. The lab makes their device nodes from outside and runs no program of a server's image
//!   with its own rights.
//! - A suspended server is paused.
//! - QoS, trunks, segments, metering, provider attributes, allowed address pairs and all of IPv6 are stored and
//!   shown as Neutron would, without effect on packets.
//! - TLS and UDP load balancing, rescue, migration and graphical consoles are refused in the services' words.
//! - An uploaded image is kept and given back, and boots as Debian. `config_drive` is always true, and a wrong
//!   fixed address is refused at once, where Nova lets the server fail.
//!
//! The contract suite of `openstack` holds lab and real clouds to the same answers. What still differs is left
//! where no client acts on it: texts of schemas in refusals, the order of keys, revision numbers.
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
