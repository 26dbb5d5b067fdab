//! SSH spoken by the engine itself: logins with pinned host keys, through the bastion where there is one.
//!
//! The library is russh: it is maintained, asynchronous, and takes its symmetric ciphers from ring, which rustls uses already. A
//! connection is a task and a socket, so a thousand servers that boot cost no process, no container and no thread.
//!
//! - [`Route`]: the way to a server, with the pinned keys of everybody on it.
//! - [`Client`]: a connection after login. It runs commands with live output ([`Execution`]) and forwards TCP.
//! - [`Gateway`]: the connection to the bastion that many checks share. sshd drops unauthenticated connections above ten
//!   (`MaxStartups`), so hundreds of servers behind one bastion must not log in to it one by one.
//! - [`dial`]: the bytes of a server's SSH port, for a client in a sandbox that does its own key exchange.
//! - [`Wait`]: the attempts until a server lets us in.
//!
//! Two properties of russh shape this. A channel whose reader stalls stops its whole connection once 100 packets wait, so [`dial`]
//! makes a connection of its own and shares the gateway with nobody. And a key exchange with a silent peer outlives the future
//! that wanted it, so each connection has an inactivity limit; keepalives reset it while the peer lives.

mod client;
mod dial;
mod error;
mod execution;
mod gateway;
mod route;
mod stream;
mod wait;

pub use client::Client;
pub use dial::dial;
pub use error::SshError;
pub use execution::{Execution, Output};
pub use gateway::Gateway;
pub use route::{Host, Route};
pub use stream::ByteStream;
pub use wait::{News, Wait};

/// The port of every server's sshd.
pub const PORT: u16 = 22;
