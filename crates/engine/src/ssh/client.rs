//! A connection to a server, after login.

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use russh::{
    Channel, Preferred,
    client::{self, Msg},
    keys::{Algorithm, PrivateKey, PrivateKeyWithHashAlg, PublicKey, PublicKeyOrCertificate},
};
use tokio::time::timeout;

use super::{
    ByteStream, Execution, Host, SshError,
    route::{self, Route},
};

/// Time limit of key exchange and login.
const LOGIN: Duration = Duration::from_secs(10);

static CONFIG: LazyLock<Arc<client::Config>> = LazyLock::new(|| {
    Arc::new(client::Config {
        // The only type of host key that we generate and pin.
        preferred: Preferred {
            key: vec![Algorithm::Ed25519].into(),
            ..Preferred::DEFAULT
        },
        keepalive_interval: Some(Duration::from_secs(15)),
        keepalive_max: 4,
        inactivity_timeout: Some(Duration::from_secs(90)),
        // A terminal or a log does not need 2 MiB.
        window_size: 512 * 1024,
        ..client::Config::default()
    })
});

/// A connection to a server, after login. It ends when this and all its channels are dropped.
pub struct Client {
    handle: client::Handle<Pinned>,
    host: Host,
}

impl Client {
    /// Connects over TCP and logs in.
    ///
    /// # Errors
    /// See [`SshError`].
    pub async fn connect(host: &Host, user: &str, private_key: &str) -> Result<Client, SshError> {
        let stream = route::tcp(host).await?;
        Client::over(stream, host, user, private_key).await
    }

    /// Connects over a gateway's connection to the bastion, or over TCP, and logs in.
    ///
    /// # Errors
    /// See [`SshError`].
    pub async fn connect_through(
        gate: Option<&Client>,
        route: &Route,
        private_key: &str,
    ) -> Result<Client, SshError> {
        match gate {
            None => Client::connect(&route.host, &route.user, private_key).await,
            Some(gate) => {
                let stream = gate.forward(&route.host.address, route.host.port).await?;
                Client::over(stream, &route.host, &route.user, private_key).await
            }
        }
    }

    /// Logs in over a stream to the host's sshd.
    pub(super) async fn over(
        stream: impl ByteStream + 'static,
        host: &Host,
        user: &str,
        private_key: &str,
    ) -> Result<Client, SshError> {
        let key = |error: russh::keys::ssh_key::Error| SshError::Key(error.to_string());
        let ours = Arc::new(PrivateKey::from_openssh(private_key).map_err(key)?);
        let pinned = host.host_key.lines().map(PublicKey::from_openssh);
        let pinned = pinned.collect::<Result<Vec<_>, _>>();
        let pinned = pinned.map_err(|_| SshError::HostKey {
            server: host.name.clone(),
        })?;
        let is_other = Arc::new(AtomicBool::new(false));
        let handler = Pinned {
            keys: pinned,
            is_other: is_other.clone(),
        };
        let broken = |error: russh::Error| {
            if is_other.load(Ordering::Acquire) {
                SshError::HostKey {
                    server: host.name.clone(),
                }
            } else {
                host.broken(error)
            }
        };
        let login = async {
            let mut handle = client::connect_stream(CONFIG.clone(), stream, handler)
                .await
                .map_err(broken)?;
            let ours = PrivateKeyWithHashAlg::new(ours, None);
            let answer = handle
                .authenticate_publickey(user, ours)
                .await
                .map_err(broken)?;
            if !answer.success() {
                return Err(SshError::Denied {
                    server: host.name.clone(),
                    user: user.to_owned(),
                });
            }
            Ok(handle)
        };
        let handle = timeout(LOGIN, login)
            .await
            .map_err(|_elapsed| host.silent(LOGIN))??;
        Ok(Client {
            handle,
            host: host.clone(),
        })
    }

    /// Starts a command. The server's shell parses it.
    ///
    /// # Errors
    /// If the server opens no session or refuses the command.
    pub async fn execute(&self, command: &str) -> Result<Execution, SshError> {
        openstack::permitted_for()?;
        let open = async {
            let channel = self.handle.channel_open_session().await?;
            channel.exec(true, command).await?;
            Ok(channel)
        };
        let channel = timeout(LOGIN, open)
            .await
            .map_err(|_elapsed| self.host.silent(LOGIN))?
            .map_err(|error| self.host.broken(error))?;
        Ok(Execution::new(channel, self.host.name.clone()))
    }

    /// A session on the server, in which nothing runs yet.
    pub(super) async fn session(&self) -> Result<Channel<Msg>, SshError> {
        openstack::permitted_for()?;
        timeout(LOGIN, self.handle.channel_open_session())
            .await
            .map_err(|_elapsed| self.host.silent(LOGIN))?
            .map_err(|error| self.host.broken(error))
    }

    /// The server's resource name.
    pub(super) fn server(&self) -> &str {
        &self.host.name
    }

    /// Opens a connection from this server to a port of another host, or of its own as `localhost`.
    ///
    /// # Errors
    /// If the server refuses or fails to connect.
    pub async fn forward(
        &self,
        address: &str,
        port: u16,
    ) -> Result<impl ByteStream + use<>, SshError> {
        openstack::permitted_for()?;
        let refused = |why: String| SshError::NotForwarded {
            by: self.host.name.clone(),
            address: route::place(address, port),
            why,
        };
        let opening = self
            .handle
            .channel_open_direct_tcpip(address, port.into(), "127.0.0.1", 0);
        match timeout(LOGIN, opening).await {
            Ok(Ok(channel)) => Ok(channel.into_stream()),
            Ok(Err(russh::Error::ChannelOpenFailure(reason))) => Err(refused(match reason {
                russh::ChannelOpenFailure::AdministrativelyProhibited => {
                    "its sshd forbids forwarding (`AllowTcpForwarding`)".into()
                }
                russh::ChannelOpenFailure::ConnectFailed => "nobody answers there yet".into(),
                other => format!("{other:?}"),
            })),
            Ok(Err(error)) => Err(self.host.broken(error)),
            Err(_elapsed) => Err(refused(format!("no answer within {} s", LOGIN.as_secs()))),
        }
    }

    /// True if the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }
}

impl Host {
    pub(super) fn broken(&self, error: russh::Error) -> SshError {
        SshError::Broken {
            server: self.name.clone(),
            why: error.to_string(),
        }
    }

    pub(super) fn silent(&self, limit: Duration) -> SshError {
        SshError::Silent {
            server: self.name.clone(),
            seconds: limit.as_secs(),
        }
    }
}

/// Accepts the pinned host keys.
struct Pinned {
    keys: Vec<PublicKey>,
    is_other: Arc<AtomicBool>,
}

impl client::Handler for Pinned {
    type Error = russh::Error;

    async fn check_server_key(
        &mut self,
        shown: &PublicKeyOrCertificate,
    ) -> Result<bool, russh::Error> {
        let is_pinned = matches!(shown, PublicKeyOrCertificate::PublicKey { key, .. }
            if self.keys.iter().any(|pinned| key.key_data() == pinned.key_data()));
        self.is_other.store(!is_pinned, Ordering::Release);
        Ok(is_pinned)
    }
}
