//! Signals that are fetched over SSH, for waits on a server that the cloud's servers cannot reach.
//!
//! Before each look at the signals of a wait, the spools of its servers are read. A signal is stored as one over HTTP is,
//! and then removed from its server. After a crash in between it is read again and, because its source is known, not
//! stored twice. A server that does not answer is asked again at the next look: only the wait's time limits that.

use std::time::Duration;

use drivers::DriverError;
use hot::expr::Expr;
use store::{NewSignal, SIGNALS_MAX, SignalOutcome, SignalTarget};
use tokio::time::timeout;
use zeroize::Zeroizing;

use super::{
    access::HOST_KEY_CHANGED,
    jobs::spool::{self, SpoolFile},
    outcome::Ended,
    signals::target,
    step::{Attempt, StepResult},
};
use crate::{
    signals::{self, SIGNAL_BYTES_MAX},
    ssh::{Client, SshError},
};

/// Time limit of the work on one server.
const PATIENCE: Duration = Duration::from_secs(20);

/// The spools of a handle, on the servers that signal to it.
pub(super) struct Spools {
    /// The folder on each server.
    folder: String,
    target: SignalTarget,
    private_key: Zeroizing<String>,
    servers: Vec<SpoolServer>,
}

struct SpoolServer {
    name: String,
    /// A look does not log in again.
    client: Option<Client>,
    /// The last trouble with it that was logged.
    trouble: String,
}

impl Attempt {
    /// The spools for a wait whose signals are fetched. `None` for all other resources.
    pub(super) async fn spools(&self) -> StepResult<Option<Spools>> {
        let spec = self.spec()?;
        let resources = &self.run_context.workflow.resources;
        let servers = spec.signal_servers(|name| resources.get(name));
        let servers: Vec<SpoolServer> = servers
            .map(|name| SpoolServer {
                name: name.to_owned(),
                client: None,
                trouble: String::new(),
            })
            .collect();
        let handles = spec.properties.get("handle").map(Expr::resources);
        let known = &self.run_context.known;
        let handle = handles.into_iter().flatten().find_map(|name| {
            let entry = known.get(name)?;
            let is_handle = types::is_wait_condition_handle(&entry.spec.resource_type);
            is_handle.then(|| target(&self.run_context, name, entry.incarnation))
        });
        let Some(target) = handle.filter(|_| !servers.is_empty()) else {
            return Ok(None);
        };
        Ok(Some(Spools {
            folder: signals::spool(&target),
            target,
            private_key: self.private_key().await?,
            servers,
        }))
    }

    /// Stores the signals that are in the spools now.
    pub(super) async fn fetch_signals(&self, spools: &mut Spools) -> StepResult {
        let Spools {
            folder,
            target,
            private_key,
            servers,
        } = spools;
        let (folder, target, private_key) = (&*folder, &*target, &*private_key);
        let looks = servers
            .iter_mut()
            .map(|server| self.fetch_from(server, folder, target, private_key));
        let looks = futures::future::join_all(looks);
        let ended = tokio::select! {
            ended = looks => ended,
            () = self.stop.cancelled() => return Err(Ended::Stopped),
        };
        ended.into_iter().collect()
    }

    async fn fetch_from(
        &self,
        server: &mut SpoolServer,
        folder: &str,
        target: &SignalTarget,
        private_key: &str,
    ) -> StepResult {
        // A wait can have as many servers as a deployment.
        let slots = &self.run_context.core.ssh_attempts;
        let _slot = slots.of(&self.run_context.tenant).acquire_owned().await;
        let name = server.name.clone();
        let client = server.client.take().filter(|client| !client.is_closed());
        let look = timeout(PATIENCE, async {
            let client = match client {
                Some(client) => client,
                None => {
                    let route = self.route(&name).map_err(Trouble::Ended)?;
                    self.login_to(&route, private_key).await?
                }
            };
            let files = spool::read(&client, folder).await?;
            let refused = self.store_signals(&name, target, &files).await;
            let refused = refused.map_err(Trouble::Ended)?;
            let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
            if !names.is_empty() {
                spool::discard(&client, folder, &names).await?;
            }
            Ok::<_, Trouble>((client, refused))
        });
        let trouble = match look.await {
            Ok(Ok((client, refused))) => {
                server.client = Some(client);
                refused.map(|why| format!("`{name}` left a signal that is no signal: {why}"))
            }
            Ok(Err(Trouble::Ended(ended))) => return Err(ended),
            Ok(Err(Trouble::Ssh(SshError::HostKey { server }))) => {
                return Err(Ended::lasting(format!("`{server}` {HOST_KEY_CHANGED}")));
            }
            Ok(Err(Trouble::Ssh(error))) => Some(format!(
                "signals of `{name}` cannot be fetched now: {error}"
            )),
            Err(_elapsed) => Some(format!(
                "signals of `{name}` cannot be fetched now: no answer within {} s",
                PATIENCE.as_secs()
            )),
        };
        if let Some(trouble) = trouble.filter(|trouble| *trouble != server.trouble) {
            self.log.warn(&trouble).await;
            server.trouble = trouble;
        }
        Ok(())
    }

    /// Stores the signals of a server. Returns why the last one that is not stored is refused.
    async fn store_signals(
        &self,
        server: &str,
        target: &SignalTarget,
        files: &[SpoolFile],
    ) -> StepResult<Option<String>> {
        let mut refused = None;
        for SpoolFile { name, body } in files {
            if body.len() > SIGNAL_BYTES_MAX {
                refused = Some(format!("it has more than {SIGNAL_BYTES_MAX} bytes"));
                continue;
            }
            let signal = match signals::parse(body) {
                Ok(signal) => NewSignal {
                    source: Some(format!("{server}/{name}")),
                    ..signal
                },
                Err(why) => {
                    refused = Some(why);
                    continue;
                }
            };
            let stored = self.run_context.core.store.signal_put(target, &signal);
            match stored.await.map_err(DriverError::Storage)? {
                SignalOutcome::Stored => {}
                SignalOutcome::NoTarget => refused = Some("its handle is gone".to_owned()),
                SignalOutcome::Full => {
                    refused = Some(format!(
                        "the handle has {SIGNALS_MAX} signals, and keeps no more"
                    ));
                }
            }
        }
        Ok(refused)
    }
}

/// The reason why a server's spool was not read.
enum Trouble {
    /// The server does not do it.
    Ssh(SshError),
    /// The step cannot continue.
    Ended(Ended),
}

impl From<SshError> for Trouble {
    fn from(error: SshError) -> Trouble {
        Trouble::Ssh(error)
    }
}
