//! The connection path to a server.

use std::time::Duration;

use tokio::{net::TcpStream, time::timeout};

use super::{PORT, SshError, stream::PermittedStream};

/// Time limit of a TCP connection.
const CONNECT: Duration = Duration::from_secs(5);

/// A host to connect to by SSH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The server's resource name.
    pub name: String,
    /// The address to connect to.
    pub address: String,
    /// The port of its sshd.
    pub port: u16,
    /// Pinned host keys, `ssh-ed25519 AAAA...`, one per line.
    pub host_key: String,
}

impl Host {
    /// A host with sshd on the usual port.
    pub fn new(
        name: impl Into<String>,
        address: impl Into<String>,
        host_key: impl Into<String>,
    ) -> Host {
        Host {
            name: name.into(),
            address: address.into(),
            port: PORT,
            host_key: host_key.into(),
        }
    }

    pub(super) fn place(&self) -> String {
        place(&self.address, self.port)
    }
}

/// An address and a port in an error.
pub(super) fn place(address: &str, port: u16) -> String {
    format!("{address} port {port}")
}

/// The connection path to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The host itself.
    pub host: Host,
    /// The bastion in between, if it is another server.
    pub bastion: Option<Host>,
    /// The user that cloud-init creates on both.
    pub user: String,
}

/// A TCP connection to a host, which sends nothing more after the end of this task's permission.
pub(super) async fn tcp(host: &Host) -> Result<PermittedStream, SshError> {
    openstack::permitted_for()?;
    let unreachable = |why: String| SshError::Unreachable {
        address: host.place(),
        why,
    };
    let connecting = TcpStream::connect((host.address.as_str(), host.port));
    let stream = timeout(CONNECT, connecting)
        .await
        .map_err(|_elapsed| unreachable(format!("no answer within {} s", CONNECT.as_secs())))?
        .map_err(|error| unreachable(error.to_string()))?;
    // Keystrokes and Ansible's small packets must not be delayed (Nagle's algorithm).
    stream
        .set_nodelay(true)
        .map_err(|error| unreachable(error.to_string()))?;
    Ok(PermittedStream::new(stream))
}
