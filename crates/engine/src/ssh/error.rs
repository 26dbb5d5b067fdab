//! The reasons why a login to a server is impossible.

/// The reason why a connection was not made, or ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SshError {
    /// Nothing was sent, because this server no longer holds the run.
    #[error(transparent)]
    NotPermitted(#[from] openstack::NotPermitted),
    /// No server responds at the address.
    #[error("connect to {address}: {why}")]
    Unreachable {
        /// Address and port.
        address: String,
        /// The system's error text.
        why: String,
    },
    /// The server's host key is not the pinned one.
    #[error("`{server}` showed another host key than the pinned one")]
    HostKey {
        /// The server's resource name.
        server: String,
    },
    /// The server refuses our key.
    #[error("`{server}` does not let the user {user} in with the deployment's key")]
    Denied {
        /// The server's resource name.
        server: String,
        /// The user.
        user: String,
    },
    /// A server, such as the bastion, did not connect to an address.
    #[error("`{by}` did not connect to {address}: {why}")]
    NotForwarded {
        /// The server's resource name.
        by: String,
        /// Address and port.
        address: String,
        /// The server's error text.
        why: String,
    },
    /// The time limit has passed.
    #[error("no answer from `{server}` within {seconds} s")]
    Silent {
        /// The server's resource name.
        server: String,
        /// The time limit.
        seconds: u64,
    },
    /// The connection broke, or the peer violates the protocol.
    #[error("the connection to `{server}` failed: {why}")]
    Broken {
        /// The server's resource name.
        server: String,
        /// The library's error text.
        why: String,
    },
    /// Our own key cannot be read.
    #[error("the deployment's private key cannot be read: {0}")]
    Key(String),
}
