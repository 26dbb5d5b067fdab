//! The bytes of a server's SSH port, for a client that does its own key exchange.

use super::{
    ByteStream, Client, SshError,
    route::{Route, tcp},
};

/// The bytes of a host's SSH port, through a separate login at the bastion if there is one.
///
/// # Errors
/// See [`SshError`].
pub async fn dial(route: &Route, private_key: &str) -> Result<Box<dyn ByteStream>, SshError> {
    match &route.bastion {
        None => Ok(Box::new(tcp(&route.host).await?)),
        Some(bastion) => {
            let gate = Client::connect(bastion, &route.user, private_key).await?;
            // The stream keeps the connection open.
            Ok(Box::new(
                gate.forward(&route.host.address, route.host.port).await?,
            ))
        }
    }
}

/// A login at a host over its own connection to the bastion, if there is one. Output that waits for its reader delays nobody
/// else then.
///
/// # Errors
/// See [`SshError`].
pub async fn connect_alone(route: &Route, private_key: &str) -> Result<Client, SshError> {
    let stream = dial(route, private_key).await?;
    Client::over(stream, &route.host, &route.user, private_key).await
}
