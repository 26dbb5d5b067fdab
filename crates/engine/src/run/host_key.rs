//! The change from a server's given host key to its own.
//!
//! The given key was in the user data, which programs on the server and others in the project can read. So at the first
//! login, which that key verifies, the server makes its own key, and the engine pins it instead:
//!
//! 1. The server makes the key, and tells its public half. A repetition finds the same key.
//! 2. Both keys are pinned, in the server's metadata and in the journal.
//! 3. sshd gets the own key.
//! 4. When a new connection has shown it, it alone is pinned.
//!
//! A crash at any point leaves a pinned key that the server shows, and the next run continues from there. A server that cannot do
//! it, such as one without `ssh-keygen`, keeps the given key, and the log says so.

use std::time::Duration;

use drivers::HostKeys;
use serde_json::{Value, json};
use store::ResourceChange;
use tokio::time::{sleep, timeout};

use super::{
    jobs::host_key,
    outcome::Ended,
    step::{Attempt, StepResult},
};
use crate::ssh::{Client, Route, SshError};

/// Time limit of all work on one server.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause between two looks at the key that the server shows.
const PAUSE: Duration = Duration::from_millis(300);

impl Attempt {
    /// Changes the given host key of a server, which has just accepted a login, to its own.
    pub(super) async fn use_own_host_key(&self, server: &str, private_key: &str) -> StepResult {
        // A command's run describes no resources, and changes none.
        let is_described = self.run_context.workflow.resources.contains_key(server);
        let keys = self.host_keys(server).filter(|_| is_described);
        let Some(given) = keys.as_ref().and_then(HostKeys::given) else {
            return Ok(());
        };
        let changed = tokio::select! {
            changed = timeout(PATIENCE, self.change_host_key(server, given, private_key)) => changed,
            () = self.stop.cancelled() => return Err(Ended::Stopped),
        };
        let why = match changed {
            Ok(Ok(())) => {
                let message =
                    format!("`{server}` has generated its own SSH host key, which is now pinned");
                self.log.info(message).await;
                return Ok(());
            }
            Ok(Err(HostKeyError::Ssh(error))) => error.to_string(),
            Ok(Err(HostKeyError::Cloud(error))) => self.log.masked(&error.to_string()),
            Ok(Err(HostKeyError::Ended(ended))) => return Err(ended),
            Err(_elapsed) => format!("it was not done within {} s", PATIENCE.as_secs()),
        };
        self.log
            .warn(format!(
                "`{server}` keeps the SSH host key from its user data, which programs on it can read: {why}"
            ))
            .await;
        Ok(())
    }

    async fn change_host_key(
        &self,
        server: &str,
        given: &str,
        private_key: &str,
    ) -> Result<(), HostKeyError> {
        let route = self.route(server)?;
        let client = self.login_to(&route, private_key).await?;
        let own = host_key::make(&client, given).await?;
        let both = HostKeys::in_attribute(given).with_own(&own);
        let alone = both.own_alone();
        self.pin(server, &both).await?;
        host_key::put_to_use(&client, given).await?;
        drop(client);

        let mut route = self.route(server)?;
        route.host.host_key = alone.attribute();
        // sshd needs a moment to read it.
        while let Err(error) = self.login_to(&route, private_key).await {
            tracing::debug!(%error, server, "the own host key is not shown yet");
            sleep(PAUSE).await;
        }
        self.pin(server, &alone).await
    }

    /// A connection of its own to the server, over the shared one to the bastion.
    pub(super) async fn login_to(
        &self,
        route: &Route,
        private_key: &str,
    ) -> Result<Client, SshError> {
        let gateway = &self.run_context.gateway;
        let gate = match &route.bastion {
            Some(bastion) => Some(gateway.client(bastion, &route.user, private_key).await?),
            None => None,
        };
        Client::connect_through(gate.as_deref(), route, private_key).await
    }

    /// Pins these keys: in the cloud, from where the attribute is read again later, then in the journal. What the journal has
    /// is pinned already.
    async fn pin(&self, server: &str, keys: &HostKeys) -> Result<(), HostKeyError> {
        if self.host_keys(server).as_ref() == Some(keys) {
            return Ok(());
        }
        let known = &self.run_context.known;
        let Some(entry) = known.get(server) else {
            return Ok(());
        };
        if let Some(id) = &entry.physical_id {
            let compute = self.run_context.session.compute();
            let set = compute.server_add_metadata(id, &keys.metadata()).await;
            set.map_err(HostKeyError::Cloud)?;
        }
        self.note_host_keys(server, keys).await?;
        Ok(())
    }

    /// Takes the pinned keys from the server's metadata. True if they differ from the known ones: the database can be older
    /// than the server's own key, after a backup was restored.
    pub(super) async fn read_host_keys(&self, server: &str) -> StepResult<bool> {
        let entry = self.run_context.known.get(server);
        let Some(id) = entry.and_then(|entry| entry.physical_id) else {
            return Ok(false);
        };
        let found = self.run_context.session.compute().server_get(&id).await?;
        let keys = HostKeys::in_metadata(&found.metadata);
        let known = self.host_keys(server);
        match keys.filter(|keys| known.as_ref() != Some(keys)) {
            Some(keys) => self.note_host_keys(server, &keys).await.map(|()| true),
            None => Ok(false),
        }
    }

    async fn note_host_keys(&self, server: &str, keys: &HostKeys) -> StepResult {
        let known = &self.run_context.known;
        known.change(server, |entry| {
            let key = json!(keys.attribute());
            entry.attributes.insert("host_key".to_owned(), key);
        });
        let Some(entry) = known.get(server) else {
            return Ok(());
        };
        let (_, attributes) = self.to_store(server, &Value::Null, &entry.attributes);
        let change = ResourceChange::Attributes {
            attributes,
            state: entry.state,
            physical_id: entry.physical_id,
        };
        self.note(server, change).await
    }

    fn host_keys(&self, server: &str) -> Option<HostKeys> {
        let entry = self.run_context.known.get(server)?;
        let attribute = entry.attributes.get("host_key")?.as_str()?;
        Some(HostKeys::in_attribute(attribute))
    }
}

/// The reason why a host key was not changed.
enum HostKeyError {
    /// The server does not do it.
    Ssh(SshError),
    /// The cloud did not store the key.
    Cloud(openstack::Error),
    /// The step cannot continue.
    Ended(Ended),
}

impl From<SshError> for HostKeyError {
    fn from(error: SshError) -> HostKeyError {
        HostKeyError::Ssh(error)
    }
}

impl From<Ended> for HostKeyError {
    fn from(ended: Ended) -> HostKeyError {
        HostKeyError::Ended(ended)
    }
}
