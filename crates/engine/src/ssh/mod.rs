//! The engine's own SSH client: logins with pinned host keys, through the bastion if there is one.
//!
//! The library is russh: it is maintained, asynchronous, and uses the symmetric ciphers of ring, like rustls. A
//! connection is a task and a socket, so a thousand booting servers need no process, container or thread.
//!
//! - [`Route`]: the connection path to a server, with the pinned keys of all hosts on it.
//! - [`Client`]: a connection after login. It runs commands with live output ([`Execution`]) and forwards TCP.
//! - [`Gateway`]: the connection to the bastion, shared by many checks. sshd drops unauthenticated connections above
//!   ten (`MaxStartups`), so hundreds of servers behind one bastion must not log in to it one by one.
//! - [`dial`]: the bytes of a server's SSH port, for a client in a sandbox that does its own key exchange.
//! - [`Shell`]: a login shell for a person, with its output and input.
//! - [`Wait`]: the attempts until a login to a server succeeds.
//!
//! A server knows no leases, as a cloud does not. So each connection and each command asks first whether the run may still be
//! acted on ([`openstack::permitted_for`]): connections in `tcp` and [`Client::forward`], where all of them begin, commands in
//! [`Client::execute`] and [`Shell::open`]. All connections are over TCP in the end, and one whose permission has ended sends
//! nothing more (`stream::PermittedStream`): a sandbox, a command's input and a terminal then reach no server.
//!
//! The design depends on two properties of russh. A channel whose reader stalls stops its whole connection once 100
//! packets wait, so [`dial`] and shells make their own connections and do not share the gateway. And a key exchange with a silent
//! peer continues after its future was dropped, so each connection has an inactivity limit; keepalives reset it while
//! the peer responds.

mod client;
mod dial;
mod error;
mod execution;
mod gateway;
mod route;
mod shell;
mod stream;
mod wait;

pub use client::Client;
pub use dial::{connect_alone, dial};
pub use error::SshError;
pub use execution::{Execution, Output};
pub use gateway::Gateway;
pub use route::{Host, Route};
pub use shell::{Shell, ShellInput, ShellOutput, Size};
pub use stream::ByteStream;
pub use wait::{Wait, WaitProgress};

/// The port of each server's sshd.
pub const PORT: u16 = 22;

/// The user that cloud-init creates on every server with our login.
pub const LOGIN_USER: &str = "stackloom";
