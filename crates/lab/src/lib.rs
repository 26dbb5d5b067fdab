//! The lab: an OpenStack-compatible cloud on one machine, for trials, development and tests.
//!
//! It implements Keystone v3, Nova v2.1, Neutron v2.0, Glance v2, Cinder v3, Octavia v2 and Barbican v1 on one port of
//! the loopback interface. With Docker, servers are containers with sshd and cloud-init, security groups are packet
//! filters, and floating IPs are reachable. In memory, servers only become ACTIVE, which is fast and enough for most
//! tests.
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
//! # Real and simulated parts
//!
//! A reconciliation task repeats its passes until the wiring matches the rows; it needs no list of changes. A load
//! balancer is ACTIVE when HAProxy reports that it runs the latest configuration. On Docker these work: servers with
//! cloud-init (from a NoCloud seed that replaces the config drive), the metadata service (a socket in each server's
//! network namespace), networks, routers, floating IPs (with one-to-one NAT or port forwarding), security groups, port
//! security, load balancers for TCP and HTTP with L7 rules and monitors, and images created from servers. These do not,
//! or only in part:
//!
//! - Volumes are block devices that can be formatted and read, but not mounted: the right to mount would let a server
//!   escape its container. The lab creates their device nodes from outside and runs no program of a server's image with
//!   its own privileges.
//! - A suspended server is paused.
//! - QoS, trunks, segments, metering, provider attributes and IPv6 are stored and shown as in Neutron, without effect on
//!   packets. Of allowed address pairs, the IPv4 addresses have an effect.
//! - TLS and UDP load balancing, rescue, migration and graphical consoles are refused in the services' wording.
//! - An uploaded image can be downloaded again, but servers from it boot Debian. `config_drive` is always true. An
//!   invalid fixed address is refused immediately, where Nova lets the server fail.
//!
//! The contract suite of `openstack` checks that the lab and real clouds give the same responses. Remaining differences
//! have no effect on clients: schema texts in refusals, the order of keys, revision numbers.
//!
//! The layers, from the bottom up:
//!
//! - [`kit`]: the parts of all services: tables, queries, responses, refusals, microversions, faults.
//! - [`wiring`]: the interfaces, routes and packet filters of servers, routers and load balancers, as data.
//! - [`substrate`]: the backend of the wiring: Docker, or memory.
//! - [`services`]: one folder for each OpenStack service, with its rows, rules and calls.

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
