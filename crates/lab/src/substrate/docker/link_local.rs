//! A socket on 169.254.169.254 inside a server's network namespace.
//!
//! It is created by [`namespace::within`]. It needs no routes and no port of the host, and the socket identifies the
//! server of a request.

use std::io::Result;
use std::net::{Ipv4Addr, TcpListener};

use crate::substrate::docker::namespace;

/// The address of the metadata service, at port 80.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
/// The port of the lab's listener. The kernel redirects port 80 to it, since a server's own web server can bind port 80
/// on all addresses.
pub const PORT: u16 = 64_580;

/// Creates a listener in the network namespace of this process.
pub fn listen(pid: i64) -> Result<TcpListener> {
    namespace::within(pid, || {
        let listener = TcpListener::bind((ADDRESS, PORT))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    })
}
