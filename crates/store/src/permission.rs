//! Standing permissions, and the application credentials behind them.
//!
//! A credential exists in the cloud and here. Its name is stored as unused before it is created, and again when its
//! permission ends. So each credential either has a permission or waits for its deletion, and no crash loses one. The
//! sealed secret is destroyed when the permission ends, even if the cloud does not respond.
//!
//! The caller seals and opens the secret; the store cannot read it.

use api::Permission;
use jiff::Timestamp;
use sqlx::Row as _;

use crate::{
    Error, Operator, Outcome, Result, Store, Tenant, Transaction,
    column::{from_json, now_text, time, to_json},
    database::{Row, read_all, read_one, statement},
};

/// A permission that is about to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewPermission<'a> {
    /// Id of the deployment.
    pub deployment: &'a str,
    /// Keystone id of the user who gives it.
    pub user_id: &'a str,
    /// Fields of the permission for the API.
    pub given: &'a Permission,
    /// Name of the application credential.
    pub credential: &'a str,
    /// Id and secret of the application credential, sealed.
    pub sealed: &'a str,
}

/// A permission as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionRow {
    /// Owner of the deployment.
    pub tenant: Tenant,
    /// Id of the deployment.
    pub deployment: String,
    /// Keystone id of the user who gave it.
    pub user_id: String,
    /// Fields of the permission for the API.
    pub given: Permission,
    /// Name of the application credential.
    pub credential: String,
    /// The credential's id and secret, sealed. `None` after the end.
    pub sealed: Option<String>,
    /// Time of the next check. `None` without checks.
    next_check: Option<String>,
}

const SELECT: &str = "SELECT deployment, cloud, project_id, user_id, given, credential, sealed, next_check, problem FROM permissions";

const UNUSED: &str = "INSERT INTO unused_credentials (cloud, project_id, user_id, credential, since) \
    SELECT cloud, project_id, user_id, credential, $1 FROM permissions";

const TWICE: &str = " ON CONFLICT (cloud, project_id, user_id, credential) DO NOTHING";

impl Store {
    /// Stores a credential that is about to be created. It is unused unless it has a permission by `since`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn credential_announce(
        &self,
        tenant: &Tenant,
        user_id: &str,
        credential: &str,
        since: Timestamp,
    ) -> Result<()> {
        sqlx::query(
            "INSERT INTO unused_credentials (cloud, project_id, user_id, credential, since) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(user_id)
        .bind(credential)
        .bind(as_text(since))
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("storing a credential"))
    }

    /// Names of a user's unused credentials in a project.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn credential_list_unused(
        &self,
        tenant: &Tenant,
        user_id: &str,
        now: Timestamp,
    ) -> Result<Vec<String>> {
        let rows = sqlx::query(
            "SELECT credential FROM unused_credentials \
             WHERE cloud = $1 AND project_id = $2 AND user_id = $3 AND since <= $4 ORDER BY credential",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(user_id)
        .bind(as_text(now))
        .fetch_all(&self.pool)
        .await;
        read_all(
            rows,
            |row: &Row| row.try_get("credential"),
            "listing credentials",
        )
    }

    /// Forgets an unused credential, because it is deleted.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn credential_forget(
        &self,
        tenant: &Tenant,
        user_id: &str,
        credential: &str,
    ) -> Result<()> {
        sqlx::query(
            "DELETE FROM unused_credentials WHERE cloud = $1 AND project_id = $2 AND user_id = $3 AND credential = $4",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(user_id)
        .bind(credential)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("forgetting a credential"))
    }

    /// Stores a permission in place of an earlier one, whose credential is unused from now on. [`Outcome::Conflict`] if
    /// the project has no such deployment, or it is undeployed.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn permission_put(
        &self,
        tenant: &Tenant,
        new: &NewPermission<'_>,
    ) -> Result<Outcome> {
        let mut transaction = self.begin("storing a permission").await?;
        // The row is locked, so that no undeployment begins meanwhile.
        let live = sqlx::query(statement(&[
            "SELECT id FROM deployments WHERE id = $1 AND cloud = $2 AND project_id = $3 AND state <> 'undeployed'",
            self.kind.lock_rows(),
        ]))
        .bind(new.deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        if live.is_none() {
            return Ok(Outcome::Conflict);
        }
        let _former = transaction
            .permission_revoke(tenant, new.deployment)
            .await?;
        let minutes = new.given.may.check_minutes;
        let expires = time(&new.given.expires).map_err(transaction.failed())?;
        sqlx::query(
            "INSERT INTO permissions (deployment, cloud, project_id, user_id, given, expires, next_check, credential, sealed) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        )
        .bind(new.deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(new.user_id)
        .bind(to_json(new.given))
        .bind(as_text(expires))
        .bind(minutes.map(|minutes| later(Timestamp::now(), minutes)))
        .bind(new.credential)
        .bind(new.sealed)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        sqlx::query(
            "DELETE FROM unused_credentials WHERE cloud = $1 AND project_id = $2 AND user_id = $3 AND credential = $4",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(new.user_id)
        .bind(new.credential)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        transaction.commit().await?;
        Ok(Outcome::Done)
    }

    /// The permission of a deployment.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn permission_find(
        &self,
        tenant: &Tenant,
        deployment: &str,
    ) -> Result<Option<PermissionRow>> {
        let found = sqlx::query(statement(&[
            SELECT,
            " WHERE deployment = $1 AND cloud = $2 AND project_id = $3",
        ]))
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(&self.pool)
        .await;
        read_one(found, permission, "reading a permission")
    }

    /// Notes why a permission could not be used, or that it could.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn permission_set_problem(
        &self,
        row: &PermissionRow,
        problem: Option<&str>,
    ) -> Result<()> {
        sqlx::query(
            "UPDATE permissions SET problem = $1 \
             WHERE deployment = $2 AND cloud = $3 AND project_id = $4 AND credential = $5",
        )
        .bind(problem)
        .bind(&row.deployment)
        .bind(&row.tenant.cloud)
        .bind(&row.tenant.project_id)
        .bind(&row.credential)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("storing the problem of a permission"))
    }
}

impl Transaction {
    /// Ends the permission of a deployment: its secret is destroyed, and its credential is unused from now on.
    /// [`Outcome::Conflict`] if there is none.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn permission_revoke(
        &mut self,
        tenant: &Tenant,
        deployment: &str,
    ) -> Result<Outcome> {
        let failed = self.failed();
        sqlx::query(statement(&[
            UNUSED,
            " WHERE deployment = $2 AND cloud = $3 AND project_id = $4",
            TWICE,
        ]))
        .bind(now_text())
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(self.connection())
        .await
        .map_err(&failed)?;
        let revoked = sqlx::query(
            "DELETE FROM permissions WHERE deployment = $1 AND cloud = $2 AND project_id = $3",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(self.connection())
        .await
        .map_err(&failed)?;
        Ok(Outcome::of(revoked.rows_affected()))
    }
}

impl Operator {
    /// Claims the checks that are due, and sets the time of the next ones. Of several servers with a lease, one gets each.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn permission_take_checks(&self, now: Timestamp) -> Result<Vec<PermissionRow>> {
        const DOING: &str = "looking for checks that are due";
        let pool = &self.store().pool;
        let rows = sqlx::query(statement(&[
            SELECT,
            " WHERE sealed IS NOT NULL AND expires > $1 AND next_check <= $1 ORDER BY next_check",
        ]))
        .bind(as_text(now))
        .fetch_all(pool)
        .await;
        let mut taken = Vec::new();
        for row in read_all(rows, permission, DOING)? {
            let minutes = row.given.may.check_minutes;
            let updated = sqlx::query(
                "UPDATE permissions SET next_check = $1 WHERE deployment = $2 AND next_check = $3 AND credential = $4 \
                 AND $5 IN (SELECT id FROM servers)",
            )
            .bind(minutes.map(|minutes| later(now, minutes)))
            .bind(&row.deployment)
            .bind(&row.next_check)
            .bind(&row.credential)
            .bind(self.store().server())
            .execute(pool)
            .await
            .map_err(Error::at(DOING))?;
            if Outcome::of(updated.rows_affected()) == Outcome::Done {
                taken.push(row);
            }
        }
        Ok(taken)
    }

    /// Destroys the secrets of permissions that have expired. Their credentials are unused from now on. Returns their
    /// number.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn permission_end_expired(&self, now: Timestamp) -> Result<u64> {
        let now = as_text(now);
        let mut transaction = self.store().begin("ending permissions").await?;
        sqlx::query(statement(&[
            UNUSED,
            " WHERE sealed IS NOT NULL AND expires <= $2",
            TWICE,
        ]))
        .bind(now_text())
        .bind(&now)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        let ended = sqlx::query(
            "UPDATE permissions SET sealed = NULL, next_check = NULL WHERE sealed IS NOT NULL AND expires <= $1",
        )
        .bind(&now)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        transaction.commit().await?;
        Ok(ended.rows_affected())
    }

    /// All permissions with a sealed secret.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn permission_list_sealed(&self) -> Result<Vec<PermissionRow>> {
        let rows = sqlx::query(statement(&[
            SELECT,
            " WHERE sealed IS NOT NULL ORDER BY deployment",
        ]))
        .fetch_all(&self.store().pool)
        .await;
        read_all(rows, permission, "listing permissions")
    }

    /// Replaces the sealed secret of a permission, unless it has changed meanwhile.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn permission_replace_sealed(&self, old: &PermissionRow, text: &str) -> Result<()> {
        sqlx::query("UPDATE permissions SET sealed = $1 WHERE deployment = $2 AND sealed = $3")
            .bind(text)
            .bind(&old.deployment)
            .bind(&old.sealed)
            .execute(&self.store().pool)
            .await
            .map(drop)
            .map_err(Error::at("sealing a value anew"))
    }
}

/// A time as [`now_text`] writes it, so that texts compare as times do.
fn as_text(time: Timestamp) -> String {
    format!("{time:.3}")
}

fn later(now: Timestamp, minutes: u32) -> String {
    let minutes = jiff::SignedDuration::from_mins(i64::from(minutes));
    as_text(now.saturating_add(minutes).unwrap_or(now))
}

fn permission(row: &Row) -> sqlx::Result<PermissionRow> {
    let mut given: Permission = from_json(row.try_get("given")?)?;
    given.problem = row.try_get("problem")?;
    Ok(PermissionRow {
        tenant: Tenant {
            cloud: row.try_get("cloud")?,
            project_id: row.try_get("project_id")?,
        },
        deployment: row.try_get("deployment")?,
        user_id: row.try_get("user_id")?,
        given,
        credential: row.try_get("credential")?,
        sealed: row.try_get("sealed")?,
        next_check: row.try_get("next_check")?,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use api::{DeploymentState, PermittedActions};
    use jiff::SignedDuration;

    use super::*;
    use crate::testing::{
        self, Database, deployment_insert, deployment_set_state, servers, strangers, tenant,
    };

    const PATIENCE: Duration = Duration::from_secs(60);

    fn given() -> Permission {
        Permission {
            author: "demo".into(),
            created: now_text(),
            expires: in_minutes(60),
            may: PermittedActions {
                check_minutes: Some(5),
                ..PermittedActions::default()
            },
            has_access_rules: true,
            opens_secrets: false,
            problem: None,
        }
    }

    fn in_minutes(minutes: i64) -> String {
        as_text(Timestamp::now() + SignedDuration::from_mins(minutes))
    }

    async fn put(store: &Store, tenant: &Tenant, credential: &str) -> Outcome {
        let given = given();
        let new = NewPermission {
            deployment: "d",
            user_id: "u",
            given: &given,
            credential,
            sealed: "sealed",
        };
        store.permission_put(tenant, &new).await.unwrap()
    }

    async fn revoke(store: &Store, tenant: &Tenant) -> Outcome {
        let mut transaction = store.begin("testing").await.unwrap();
        let revoked = transaction.permission_revoke(tenant, "d").await.unwrap();
        transaction.commit().await.unwrap();
        revoked
    }

    async fn unused(store: &Store, tenant: &Tenant, user_id: &str) -> Vec<String> {
        let soon = Timestamp::now() + SignedDuration::from_mins(1);
        let unused = store.credential_list_unused(tenant, user_id, soon);
        unused.await.unwrap()
    }

    #[tokio::test]
    async fn a_credential_has_a_permission_or_waits_for_its_deletion() {
        for Database { store, .. } in &Database::each().await {
            let tenant = tenant();
            deployment_insert(store, &tenant, "d").await;
            let now = Timestamp::now();
            for (credential, minutes) in [("c0", 5), ("c1", 0)] {
                let since = now + SignedDuration::from_mins(minutes);
                let announced = store.credential_announce(&tenant, "u", credential, since);
                announced.await.unwrap();
            }
            let waits = unused(store, &tenant, "u").await;
            assert_eq!(waits, ["c1"], "the other one may still get a permission");
            assert_eq!(put(store, &tenant, "c1").await, Outcome::Done);
            assert_eq!(unused(store, &tenant, "u").await, Vec::<String>::new());
            let found = store.permission_find(&tenant, "d").await.unwrap().unwrap();
            assert_eq!(found.sealed.as_deref(), Some("sealed"));
            assert_eq!(found.given.author, "demo");

            assert_eq!(put(store, &tenant, "c2").await, Outcome::Done);
            assert_eq!(unused(store, &tenant, "u").await, ["c1"], "it is replaced");
            for stranger in strangers() {
                assert_eq!(put(store, &stranger, "c3").await, Outcome::Conflict);
                assert_eq!(revoke(store, &stranger).await, Outcome::Conflict);
                let found = store.permission_find(&stranger, "d").await.unwrap();
                assert_eq!(found, None);
                assert_eq!(unused(store, &stranger, "u").await, Vec::<String>::new());
            }
            assert_eq!(revoke(store, &tenant).await, Outcome::Done);
            assert_eq!(revoke(store, &tenant).await, Outcome::Conflict);
            assert_eq!(unused(store, &tenant, "u").await, ["c1", "c2"]);
            assert_eq!(unused(store, &tenant, "other").await, Vec::<String>::new());
            assert_eq!(
                testing::table(store, "permissions").await,
                Vec::<String>::new()
            );
            store.credential_forget(&tenant, "u", "c1").await.unwrap();
            assert_eq!(unused(store, &tenant, "u").await, ["c2"]);

            deployment_set_state(store, "d", DeploymentState::Undeployed).await;
            assert_eq!(put(store, &tenant, "c4").await, Outcome::Conflict);
        }
    }

    #[tokio::test]
    async fn an_expired_permission_keeps_no_secret() {
        for Database {
            store, operator, ..
        } in &Database::each().await
        {
            let tenant = tenant();
            deployment_insert(store, &tenant, "d").await;
            assert_eq!(put(store, &tenant, "c").await, Outcome::Done);
            let now = Timestamp::now();
            assert_eq!(operator.permission_end_expired(now).await.unwrap(), 0);
            let then = now + SignedDuration::from_mins(61);
            assert_eq!(operator.permission_end_expired(then).await.unwrap(), 1);
            assert_eq!(operator.permission_end_expired(then).await.unwrap(), 0);
            let found = store.permission_find(&tenant, "d").await.unwrap().unwrap();
            assert_eq!(found.sealed, None, "people still see that it has ended");
            assert_eq!(unused(store, &tenant, "u").await, ["c"]);
            assert_eq!(operator.permission_list_sealed().await.unwrap(), []);
        }
    }

    #[tokio::test]
    async fn one_of_two_servers_takes_a_check() {
        let [first, second] = servers().await;
        let store = first.store();
        deployment_insert(store, &tenant(), "d").await;
        assert_eq!(put(store, &tenant(), "c").await, Outcome::Done);
        let take = async |server: &Operator, minutes: i64| {
            let now = Timestamp::now() + SignedDuration::from_mins(minutes);
            server.permission_take_checks(now).await.unwrap().len()
        };
        assert_eq!(take(&first, 6).await, 0, "it has no lease");
        for server in [&first, &second] {
            server.server_join(PATIENCE, "key").await.unwrap();
        }
        assert_eq!(take(&first, 4).await, 0, "it is not due");
        let taken = tokio::join!(take(&first, 6), take(&second, 6));
        assert_eq!(taken.0 + taken.1, 1);
        assert_eq!(take(&first, 10).await, 0, "the next one is later");
        assert_eq!(take(&second, 12).await, 1);
        assert_eq!(take(&first, 61).await, 0, "it has expired");
    }

    #[tokio::test]
    async fn a_problem_is_kept_with_its_permission() {
        for Database {
            store, operator, ..
        } in &Database::each().await
        {
            let tenant = tenant();
            deployment_insert(store, &tenant, "d").await;
            assert_eq!(put(store, &tenant, "c").await, Outcome::Done);
            let row = store.permission_find(&tenant, "d").await.unwrap().unwrap();
            let problem = async |problem| {
                store.permission_set_problem(&row, problem).await.unwrap();
                let found = store.permission_find(&tenant, "d").await.unwrap();
                found.unwrap().given.problem
            };
            assert_eq!(problem(Some("no role")).await.as_deref(), Some("no role"));
            assert_eq!(problem(None).await, None);
            operator
                .permission_replace_sealed(&row, "anew")
                .await
                .unwrap();
            operator
                .permission_replace_sealed(&row, "late")
                .await
                .unwrap();
            let found = store.permission_find(&tenant, "d").await.unwrap().unwrap();
            assert_eq!(found.sealed.as_deref(), Some("anew"));
        }
    }
}
