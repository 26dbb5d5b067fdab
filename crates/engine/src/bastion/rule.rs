//! The rule that lets SSH into a bastion, and its users.
//!
//! Runs, terminals and checks use the same rule. It is opened for its first user and closed after its last one, by address of
//! the orchestrator. The users are rows in the store ([`store::BastionUser`]): a row is written before the rule is
//! opened, and removed after it is closed. After a crash the rows tell who closes: a run is recovered and closes by
//! itself, and the token of a terminal or check is sealed in its row. Whoever closes also closes for users that are gone.
//!
//! The closing is its own task. A step that is aborted must not leave a row behind that is marked as closing, for
//! which others would wait.

use std::{net::IpAddr, sync::Arc, time::Duration};

use drivers::{DriverError, Marker};
use openstack::Session;
use store::{BastionLeaving, BastionUser, BastionUserKind, Outcome};

use super::Entrance;
use crate::{Tenant, shared::Core};

/// Pause between two looks at users that are about to close the rule.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The rule of one deployment's bastion, with the session that changes it.
#[derive(Clone)]
pub struct Rule {
    pub core: Arc<Core>,
    pub tenant: Tenant,
    pub deployment: String,
    pub deployment_name: String,
    pub session: Session,
}

/// A user of the rule.
#[derive(Clone, Copy, Debug)]
pub enum RuleUser<'a> {
    /// A run, by its id.
    Run(&'a str),
    /// A terminal or a check of the session's user, by its id.
    Person {
        id: &'a str,
        /// The session's token, sealed.
        sealed: &'a str,
    },
}

/// The users that a rule has after a closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    /// No users: the rule is closed.
    None,
    /// Others: the rule stays open.
    Others,
}

impl Rule {
    /// Adds a user, and makes sure that the rule is open.
    ///
    /// # Errors
    /// If the database or the cloud fails. The user may have been added: close the rule in any case.
    pub async fn open(&self, entrance: &Entrance, user: RuleUser<'_>) -> Result<(), DriverError> {
        let store = &self.core.store;
        let address = entrance.from.to_string();
        let (id, kind, user_id, sealed) = match user {
            RuleUser::Run(id) => (id, BastionUserKind::Run, None, None),
            RuleUser::Person { id, sealed } => {
                let person = self.session.user().id.as_str();
                (id, BastionUserKind::Person, Some(person), Some(sealed))
            }
        };
        let user = BastionUser {
            id,
            kind,
            deployment: &self.deployment,
            bastion: &entrance.server,
            address: &address,
            user_id,
            sealed,
        };
        let entered = store.bastion_enter(&self.tenant, &user).await;
        if entered.map_err(DriverError::Storage)? == Outcome::Conflict {
            return Err(DriverError::Other("the deployment is gone".into()));
        }
        while self.is_closing().await? {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let marker = self.marker(&entrance.server);
        drivers::bastion::open(&self.session, &entrance.group, &marker, entrance.from).await
    }

    async fn is_closing(&self) -> Result<bool, DriverError> {
        let store = &self.core.store;
        let closing = store.bastion_is_closing(&self.tenant, &self.deployment);
        closing.await.map_err(DriverError::Storage)
    }

    /// Removes a user and all that are gone, and closes the rules that have no user any more. `bastion` is the bastion
    /// of a user who may have no row.
    ///
    /// # Errors
    /// If the database or the cloud fails. The next user closes the rule then.
    pub async fn close(&self, user: &str, bastion: Option<&str>) -> Result<Users, DriverError> {
        let (rule, user) = (self.clone(), user.to_owned());
        let bastion = bastion.map(str::to_owned);
        let work = async move { rule.close_now(&user, bastion).await };
        let work = self.core.tasks.spawn(openstack::under_same_permit(work));
        let closed = work.await;
        closed.unwrap_or_else(|error| Err(DriverError::Other(error.to_string())))
    }

    async fn close_now(&self, user: &str, bastion: Option<String>) -> Result<Users, DriverError> {
        let (store, tenant) = (&self.core.store, &self.tenant);
        let leaving = store.bastion_leave(tenant, &self.deployment, user).await;
        let leaving = leaving.map_err(DriverError::Storage)?;
        let removed = self.remove(&leaving, bastion).await;
        let noted = match &removed {
            Ok(_) => store.bastion_left(tenant, &leaving).await,
            Err(_) => store.bastion_stays(tenant, &leaving).await,
        };
        let users = removed?;
        noted.map_err(DriverError::Storage)?;
        Ok(users)
    }

    async fn remove(
        &self,
        leaving: &BastionLeaving,
        bastion: Option<String>,
    ) -> Result<Users, DriverError> {
        let mut bastions = leaving.bastions.clone();
        bastions.extend(bastion.filter(|name| !leaving.bastions.contains(name)));
        for bastion in bastions {
            let addresses = leaving.still_used.iter();
            let addresses = addresses.filter(|(used, _)| *used == bastion);
            let addresses: Vec<IpAddr> = addresses
                .filter_map(|(_, from)| from.parse().ok())
                .collect();
            drivers::bastion::close(&self.session, &self.marker(&bastion), &addresses).await?;
        }
        Ok(if leaving.still_used.is_empty() {
            Users::None
        } else {
            Users::Others
        })
    }

    fn marker(&self, bastion: &str) -> Marker {
        Marker {
            deployment: self.deployment.clone(),
            deployment_name: self.deployment_name.clone(),
            resource: bastion.to_owned(),
        }
    }
}
