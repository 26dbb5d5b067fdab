//! A socket on 169.254.169.254 inside a server's network namespace.
//!
//! A socket belongs to the namespace in which it was made, whoever holds it. So a thread of ours goes there, listens, and comes back
//! with the socket; nothing has to be routed, no port of this machine is opened, and the connection itself tells which server asks. The
//! thread ends with that: a thread that has been elsewhere is of no other use.

use std::fs::File;
use std::io::{Error, Result};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd as _;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Where servers ask, at port 80.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
/// Where the lab listens in truth: a server's own web server takes port 80 of all its addresses. The kernel translates.
pub const PORT: u16 = 64_580;

/// Listen in the namespace of this process.
pub fn listen(pid: i64) -> Result<TcpListener> {
    let there = move || -> Result<TcpListener> {
        let namespace = File::open(format!("/proc/{pid}/ns/net"))?;
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        let listener = TcpListener::bind((ADDRESS, PORT))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    let thread = std::thread::Builder::new().name("metadata".into());
    let done = thread.spawn(there)?.join();
    done.unwrap_or_else(|_| Err(Error::other("the thread that listens ended early")))
}
