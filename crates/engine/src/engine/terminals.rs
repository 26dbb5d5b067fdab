//! Terminals for people, and the closing of bastions that crashed ones left open.

use drivers::{DriverError, Marker, Vault};
use hot::expr::Scope;
use openstack::Session;
use store::{DeploymentRow, SealedTerminal};
use types::SERVER;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::Engine;
use crate::{
    Actor, Error, Result, Tenant,
    bastion::{self, Bastion, Rule},
    resources::{ResourceEntry, ResourceTable},
    run::parameters,
    secrets::attributes,
    terminal::{self, NewTerminal, Size, Terminal},
};

/// The purpose of the sealed token of a terminal or a check.
pub(super) fn purpose(terminal: &str) -> String {
    format!("terminal/{terminal}")
}

/// A server of a deployment, with all that leads to it.
pub(super) struct Found {
    row: DeploymentRow,
    known: ResourceTable,
    pub(super) server: ResourceEntry,
}

impl Engine {
    /// Checks that a deployment has a server of this name.
    ///
    /// # Errors
    /// If it has not, or there is no such deployment.
    pub async fn check_server(
        &self,
        tenant: &Tenant,
        deployment: &str,
        server: &str,
    ) -> Result<()> {
        self.find_server(tenant, deployment, server).await.map(drop)
    }

    /// A server of a deployment by name.
    pub(super) async fn find_server(
        &self,
        tenant: &Tenant,
        deployment: &str,
        server: &str,
    ) -> Result<Found> {
        let row = self.deployment_row(tenant, deployment).await?;
        let rows = self
            .core
            .store
            .resource_list_all(tenant, deployment)
            .await?;
        let known = ResourceTable::of(attributes::open(&self.core.keys, deployment, rows));
        let found = known.get(server);
        let found = found.filter(|thing| thing.spec.resource_type == SERVER);
        let server = found.ok_or_else(|| Error::NotFound {
            what: "server",
            id: server.to_owned(),
        })?;
        Ok(Found { row, known, server })
    }

    /// Opens a terminal on a server of a deployment. It returns at once; the terminal's first events tell whether it
    /// opens.
    ///
    /// # Errors
    /// If there is no such server in the deployment, it does not run, it has no login, the deployment's key cannot be
    /// read, or too many terminals are open.
    pub async fn open_terminal(
        &self,
        actor: &Actor,
        deployment: &str,
        server: &str,
        size: Size,
    ) -> Result<Terminal> {
        self.core.check_running()?;
        let tenant = &actor.tenant;
        let found = self.find_server(tenant, deployment, server).await?;
        let Found {
            row,
            known,
            server: found,
        } = found;
        self.check_not_suspended(&row).await?;
        let place = self.terminals.enter(tenant, &actor.session.user().id)?;
        let values = parameters(&row, &Default::default());
        let scope = known.scope(&values);
        let impossible = Error::NotPossibleNow;
        let bastion = Bastion::of(&known, &scope, None).ok_or_else(|| no_bastion(server))?;
        check_running(&actor.session, server, found.physical_id.as_deref()).await?;
        let route = bastion::route(&known, &scope, Some(&bastion), server).map_err(impossible)?;
        let configured = self.core.config.orchestrator_address;
        let entrance = bastion.entrance(configured).map_err(impossible)?;
        let private_key = self
            .private_key(actor, &row.shown.id, &row.shown.name, &known)
            .await?;

        let id = Uuid::now_v7().to_string();
        let token = actor.session.token().expose();
        let new = NewTerminal {
            sealed: self.core.keys.seal(&purpose(&id), token),
            rule: self.rule(actor, &row.shown.id, &row.shown.name),
            id,
            entrance,
            route,
            private_key,
            size,
        };
        Ok(terminal::start(new, &self.terminals, place))
    }

    pub(super) fn rule(&self, actor: &Actor, deployment: &str, name: &str) -> Rule {
        Rule {
            core: self.core.clone(),
            tenant: actor.tenant.clone(),
            deployment: deployment.to_owned(),
            deployment_name: name.to_owned(),
            session: actor.session.clone(),
        }
    }

    pub(super) async fn private_key(
        &self,
        actor: &Actor,
        deployment: &str,
        deployment_name: &str,
        known: &ResourceTable,
    ) -> Result<Zeroizing<String>> {
        let impossible = |why: String| Error::NotPossibleNow(why);
        let key = bastion::key_pair(known);
        let (name, _) =
            key.ok_or_else(|| impossible("the deployment has no key pair to log in with".into()))?;
        let incarnation = known.get(&name).map_or(0, |thing| thing.incarnation);
        let marker = Marker {
            deployment: deployment.to_owned(),
            deployment_name: deployment_name.to_owned(),
            resource: Marker::resource_of(&name, incarnation),
        };
        let name = drivers::marker::marker_name(&marker);
        let stored = self.vault(actor).get(&name).await.map_err(|error| match error {
            DriverError::Cloud(error) if error.status() == Some(403) => impossible(format!(
                "`{}` may not read the deployment's private key in the cloud's key manager. Its owner, or an administrator of the \
                 project, can permit it: the secret is `{name}`",
                actor.user
            )),
            DriverError::Cloud(error) => Error::Cloud(error),
            DriverError::Storage(error) => Error::Storage(error),
            other => impossible(format!("the deployment's private key cannot be read: {other}")),
        })?;
        stored.map(Zeroizing::new).ok_or_else(|| {
            impossible("the deployment's private key is gone from the key manager; undeploy and deploy again to get a new one".into())
        })
    }

    /// Ends the terminals of this login at this server, and returns when their bastions are closed. Call it before the
    /// login's token is revoked.
    pub async fn close_terminals(&self, actor: &Actor) {
        self.terminals.log_out(&actor.session).await;
    }

    /// Closes the bastions that runs or terminals of the project left open, with this user's session. Call it at login.
    ///
    /// # Errors
    /// If the database cannot be read. A bastion that cannot be closed stays open until its next user leaves.
    pub async fn close_bastions(&self, actor: &Actor) -> Result<()> {
        let store = &self.core.store;
        for (deployment, user) in store.bastion_list_gone(&actor.tenant).await? {
            let row = self.deployment_row(&actor.tenant, &deployment).await?;
            let rule = self.rule(actor, &deployment, &row.shown.name);
            let closed = rule.close(&user, None);
            let closed = openstack::while_permitted(self.core.lease.tenure(), closed);
            if let Err(error) = closed.await {
                tracing::warn!(%error, deployment.id = deployment, "a bastion stays open");
            }
        }
        Ok(())
    }

    /// Closes the bastions of terminals whose server is gone, with their sealed tokens.
    pub(super) async fn close_abandoned_bastions(&self) -> Result<()> {
        let terminals = self.core.operator.bastion_list_abandoned().await?;
        // In parallel: a cloud that does not answer keeps no other bastion open.
        let all = terminals.into_iter().map(async |terminal| {
            let closed = openstack::while_permitted(
                self.core.lease.tenure(),
                Box::pin(self.close_abandoned_bastion(&terminal)),
            );
            match closed.await {
                Ok(()) => tracing::info!(
                    deployment.id = terminal.deployment,
                    "the bastion of a terminal that is gone is closed"
                ),
                Err(error) => {
                    tracing::warn!(%error, deployment.id = terminal.deployment, "the bastion of a terminal that is gone stays open")
                }
            }
        });
        futures::future::join_all(all).await;
        Ok(())
    }

    async fn close_abandoned_bastion(&self, terminal: &SealedTerminal) -> Result<(), DriverError> {
        let store = &self.core.store;
        let SealedTerminal {
            tenant,
            deployment,
            id,
            sealed,
        } = terminal;
        let forget = async || {
            store
                .bastion_forget_token(tenant, id)
                .await
                .map_err(DriverError::Storage)
        };
        let Ok(token) = self.core.keys.open(&purpose(id), sealed) else {
            return forget().await;
        };
        let session = match self.core.session_of_token(tenant, &token).await {
            Ok(session) => session,
            // Somebody's next login closes it.
            Err(Error::Cloud(error @ openstack::Error::WrongCredentials { .. })) => {
                forget().await?;
                return Err(error.into());
            }
            Err(error) => return Err(DriverError::Other(error.to_string())),
        };
        let row = store.deployment_find(tenant, deployment).await;
        let row = row.map_err(DriverError::Storage)?;
        let rule = Rule {
            core: self.core.clone(),
            tenant: tenant.clone(),
            deployment: deployment.clone(),
            deployment_name: row.map(|row| row.shown.name).unwrap_or_default(),
            session,
        };
        rule.close(id, None).await.map(drop)
    }
}

/// The error for a server that nothing leads to.
pub(super) fn no_bastion(server: &str) -> Error {
    Error::NotPossibleNow(no_bastion_reason(server))
}

fn no_bastion_reason(server: &str) -> String {
    format!(
        "the deployment has no bastion through which `{server}` could be reached. It gets one, and its servers get a login for \
         Stackloom, with its first software: put software on a server and deploy it again"
    )
}

/// The reason why no terminal can be opened on a server, whether it runs or not. `None` if there is none.
pub(super) fn terminal_obstacle(
    known: &ResourceTable,
    scope: &dyn Scope,
    server: &str,
) -> Option<String> {
    let Some(bastion) = Bastion::of(known, scope, None) else {
        return Some(no_bastion_reason(server));
    };
    bastion::route(known, scope, Some(&bastion), server).err()
}

/// Checks that a server runs in the cloud.
async fn check_running(session: &Session, server: &str, id: Option<&str>) -> Result<()> {
    let id = id.ok_or_else(|| {
        Error::NotPossibleNow(format!("`{server}` is not created yet; wait for its run"))
    })?;
    let found = match session.compute().server_get(id).await {
        Err(error) if error.status() == Some(404) => {
            return Err(Error::NotPossibleNow(format!(
                "`{server}` is gone from the cloud; update the deployment to create it again"
            )));
        }
        found => found?,
    };
    if found.status == "ACTIVE" {
        return Ok(());
    }
    Err(Error::NotPossibleNow(format!(
        "`{server}` does not run: it is {} in the cloud. Start it there, then open the terminal again",
        found.status
    )))
}
