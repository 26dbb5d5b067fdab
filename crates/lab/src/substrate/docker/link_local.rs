//! A socket on 169.254.169.254 inside a server's network namespace.
//!
//! Made by [`namespace::within`]: nothing has to be routed, no port of this machine is opened, and the connection itself tells
//! which server asks.

use std::io::Result;
use std::net::{Ipv4Addr, TcpListener};

use crate::substrate::docker::namespace;

/// Where servers ask, at port 80.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
/// Where the lab listens in truth: a server's own web server takes port 80 of all its addresses. The kernel translates.
pub const PORT: u16 = 64_580;

/// Listen in the namespace of this process.
pub fn listen(pid: i64) -> Result<TcpListener> {
    namespace::within(pid, || {
        let listener = TcpListener::bind((ADDRESS, PORT))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    })
}
