//! Users of the rules that let SSH into bastions: runs, and people's terminals and checks.
//!
//! A rule is in the cloud while it has a user, by bastion and address of the orchestrator. Users are rows and not a
//! number, so that a crashed one can be told from the others: a run is gone when it has ended, a terminal or check when
//! its server has no lease any more.
//!
//! The last user to leave removes the rule, and a new one may come meanwhile. So a user that leaves is first marked as
//! closing, in a transaction that also tells which rules have other users. A user that enters waits until no living
//! server closes rules of the deployment, and then makes sure of its rule. Both transactions lock the deployment's row:
//! one of the two always sees the other.

use sqlx::Row as _;

use crate::{
    Error, Operator, Outcome, Result, Store, Tenant, Transaction,
    database::{Row, read_all, read_one, statement},
};

/// The kind of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BastionUserKind {
    /// A run. It has its own sealed token.
    Run,
    /// A terminal or a check. It uses a person's session, and is stored as `terminal`.
    Person,
}

/// A user that enters.
#[derive(Clone, Copy, Debug)]
pub struct BastionUser<'a> {
    /// Id of the run, the terminal or the check.
    pub id: &'a str,
    /// Kind of the user.
    pub kind: BastionUserKind,
    /// Id of the deployment.
    pub deployment: &'a str,
    /// Name of the bastion's resource.
    pub bastion: &'a str,
    /// The orchestrator's address, which the rule lets in.
    pub address: &'a str,
    /// Keystone id of the person.
    pub user_id: Option<&'a str>,
    /// The person's token, sealed.
    pub sealed: Option<&'a str>,
}

/// Users that leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BastionLeaving {
    /// Ids of the user and of all that are gone.
    pub users: Vec<String>,
    /// The bastions that they used.
    pub bastions: Vec<String>,
    /// Bastion and address of each rule that has another user.
    pub still_used: Vec<(String, String)>,
}

/// A terminal with a sealed token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedTerminal {
    /// Owner of the deployment.
    pub tenant: Tenant,
    /// Id of the deployment.
    pub deployment: String,
    /// Id of the terminal.
    pub id: String,
    /// The sealed token.
    pub sealed: String,
}

/// True if a user is gone.
const IS_GONE: &str = "(kind = 'terminal' AND server NOT IN (SELECT id FROM servers) OR kind = 'run' AND EXISTS \
    (SELECT 1 FROM runs r WHERE r.id = bastion_users.id AND r.state IN ('succeeded', 'failed', 'cancelled')))";

impl BastionUserKind {
    fn text(self) -> &'static str {
        match self {
            BastionUserKind::Run => "run",
            BastionUserKind::Person => "terminal",
        }
    }
}

impl Store {
    /// Adds a user, or renews a run's entry. [`Outcome::Conflict`] if there is no such deployment.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn bastion_enter(&self, tenant: &Tenant, user: &BastionUser<'_>) -> Result<Outcome> {
        let mut transaction = self.begin("opening a bastion").await?;
        if !self
            .lock_deployment(&mut transaction, tenant, user.deployment)
            .await?
        {
            return Ok(Outcome::Conflict);
        }
        sqlx::query(
            "INSERT INTO bastion_users (id, kind, cloud, project_id, deployment, bastion, address, server, user_id, sealed) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO UPDATE SET \
             bastion = excluded.bastion, address = excluded.address, server = excluded.server, closing = 0",
        )
        .bind(user.id)
        .bind(user.kind.text())
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(user.deployment)
        .bind(user.bastion)
        .bind(user.address)
        .bind(self.server())
        .bind(user.user_id)
        .bind(user.sealed)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        transaction.commit().await?;
        Ok(Outcome::Done)
    }

    /// True if a living server is about to remove rules of the deployment's bastion.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn bastion_is_closing(&self, tenant: &Tenant, deployment: &str) -> Result<bool> {
        let count: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM bastion_users WHERE deployment = $1 AND cloud = $2 AND project_id = $3 \
             AND closing = 1 AND server IN (SELECT id FROM servers)",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_one(&self.pool)
        .await
        .map_err(Error::at("looking for users of a bastion"))?;
        Ok(count > 0)
    }

    /// Marks a user, and all that are gone, as closing.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn bastion_leave(
        &self,
        tenant: &Tenant,
        deployment: &str,
        user: &str,
    ) -> Result<BastionLeaving> {
        let mut transaction = self.begin("closing a bastion").await?;
        self.lock_deployment(&mut transaction, tenant, deployment)
            .await?;
        let rows = sqlx::query(statement(&[
            "SELECT id, bastion, address, closing, CASE WHEN id = $1 OR ",
            IS_GONE,
            " THEN 1 ELSE 0 END AS leaves FROM bastion_users \
              WHERE deployment = $2 AND cloud = $3 AND project_id = $4 ORDER BY id",
        ]))
        .bind(user)
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        let mut leaving = BastionLeaving::default();
        for row in &rows {
            leaving.add(row).map_err(transaction.failed())?;
        }
        for id in &leaving.users {
            sqlx::query("UPDATE bastion_users SET closing = 1, server = $1 WHERE id = $2")
                .bind(self.server())
                .bind(id)
                .execute(transaction.connection())
                .await
                .map_err(transaction.failed())?;
        }
        transaction.commit().await?;
        Ok(leaving)
    }

    /// Removes users whose rules are closed.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn bastion_left(&self, tenant: &Tenant, leaving: &BastionLeaving) -> Result<()> {
        self.change_leaving(tenant, leaving, "DELETE FROM bastion_users")
            .await
    }

    /// Notes that the rules of users could not be closed. Terminals among them are gone, and are closed later.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn bastion_stays(&self, tenant: &Tenant, leaving: &BastionLeaving) -> Result<()> {
        self.change_leaving(
            tenant,
            leaving,
            "UPDATE bastion_users SET closing = 0, server = ''",
        )
        .await
    }

    async fn change_leaving(
        &self,
        tenant: &Tenant,
        leaving: &BastionLeaving,
        change: &'static str,
    ) -> Result<()> {
        for id in &leaving.users {
            sqlx::query(statement(&[
                change,
                " WHERE id = $1 AND cloud = $2 AND project_id = $3 AND closing = 1 AND server = $4",
            ]))
            .bind(id)
            .bind(&tenant.cloud)
            .bind(&tenant.project_id)
            .bind(self.server())
            .execute(&self.pool)
            .await
            .map_err(Error::at("closing a bastion"))?;
        }
        Ok(())
    }

    /// Removes the token of a terminal, because the cloud refuses it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn bastion_forget_token(&self, tenant: &Tenant, user: &str) -> Result<()> {
        sqlx::query(
            "UPDATE bastion_users SET sealed = NULL WHERE id = $1 AND cloud = $2 AND project_id = $3",
        )
        .bind(user)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("removing a token"))
    }

    /// The project's users that are gone: deployment and id of each.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn bastion_list_gone(&self, tenant: &Tenant) -> Result<Vec<(String, String)>> {
        let rows = sqlx::query(statement(&[
            "SELECT deployment, id FROM bastion_users WHERE cloud = $1 AND project_id = $2 AND ",
            IS_GONE,
        ]))
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await;
        let gone = |row: &Row| Ok((row.try_get("deployment")?, row.try_get("id")?));
        read_all(rows, gone, "looking for users of bastions")
    }

    /// True if a terminal of a person may use their token, at any server.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn bastion_has_terminal(&self, tenant: &Tenant, user_id: &str) -> Result<bool> {
        let row = sqlx::query(
            "SELECT id FROM bastion_users WHERE cloud = $1 AND project_id = $2 AND user_id = $3 AND sealed IS NOT NULL LIMIT 1",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(user_id)
        .fetch_optional(&self.pool)
        .await;
        let found = read_one(row, |_| Ok(()), "looking for terminals")?;
        Ok(found.is_some())
    }

    /// False if there is no such deployment.
    async fn lock_deployment(
        &self,
        transaction: &mut Transaction,
        tenant: &Tenant,
        id: &str,
    ) -> Result<bool> {
        let row = sqlx::query(statement(&[
            "SELECT id FROM deployments WHERE id = $1 AND cloud = $2 AND project_id = $3",
            self.kind.lock_rows(),
        ]))
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(transaction.connection())
        .await;
        Ok(row.map_err(transaction.failed())?.is_some())
    }
}

impl BastionLeaving {
    fn add(&mut self, row: &Row) -> sqlx::Result<()> {
        let (bastion, closing): (String, i64) = (row.try_get("bastion")?, row.try_get("closing")?);
        if row.try_get::<i64, _>("leaves")? == 1 {
            self.users.push(row.try_get("id")?);
            if !self.bastions.contains(&bastion) {
                self.bastions.push(bastion);
            }
        } else if closing == 0 {
            self.still_used.push((bastion, row.try_get("address")?));
        }
        Ok(())
    }
}

impl Operator {
    /// The terminals that are gone and whose token can close their rule.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn bastion_list_abandoned(&self) -> Result<Vec<SealedTerminal>> {
        self.sealed_terminals(&[" AND ", IS_GONE]).await
    }

    /// All terminals with a sealed token.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn bastion_list_sealed(&self) -> Result<Vec<SealedTerminal>> {
        self.sealed_terminals(&[]).await
    }

    async fn sealed_terminals(&self, which: &[&'static str]) -> Result<Vec<SealedTerminal>> {
        let all = "SELECT cloud, project_id, deployment, id, sealed FROM bastion_users WHERE sealed IS NOT NULL";
        let rows = sqlx::query(statement(&[&[all], which, &[" ORDER BY id"]].concat()))
            .fetch_all(&self.store().pool)
            .await;
        let terminal = |row: &Row| {
            Ok(SealedTerminal {
                tenant: Tenant {
                    cloud: row.try_get("cloud")?,
                    project_id: row.try_get("project_id")?,
                },
                deployment: row.try_get("deployment")?,
                id: row.try_get("id")?,
                sealed: row.try_get("sealed")?,
            })
        };
        read_all(rows, terminal, "looking for users of bastions")
    }

    /// Replaces the sealed token of a terminal, unless it has changed meanwhile.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn bastion_replace_sealed(&self, old: &SealedTerminal, text: &str) -> Result<()> {
        sqlx::query("UPDATE bastion_users SET sealed = $1 WHERE id = $2 AND sealed = $3")
            .bind(text)
            .bind(&old.id)
            .bind(&old.sealed)
            .execute(&self.store().pool)
            .await
            .map(drop)
            .map_err(Error::at("sealing a value anew"))
    }
}

#[cfg(test)]
mod tests;
