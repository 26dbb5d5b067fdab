//! Names of the secrets with deployments' hidden parameters. The secrets are in the vault, which is outside of our
//! transactions.
//!
//! A row is written before the call to the vault, and deleted after the secret. It is `new` until a deployment refers
//! to it, then `kept`, and `going` once nothing refers to it any more.

use crate::{Error, Result, Store, Tenant, Transaction};

impl Store {
    /// Inserts the name of a secret before it is stored for a change.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn hidden_insert(&self, tenant: &Tenant, deployment: &str, name: &str) -> Result<()> {
        sqlx::query(
            "INSERT INTO hidden_parameters (name, cloud, project_id, deployment, state, server) VALUES ($1, $2, $3, $4, 'new', $5)",
        )
        .bind(name)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(deployment)
        .bind(self.server())
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("keeping hidden parameters"))
    }

    /// Marks a secret as unused because its change was refused.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn hidden_reject(&self, tenant: &Tenant, name: &str) -> Result<()> {
        sqlx::query(
            "UPDATE hidden_parameters SET state = 'going' WHERE name = $1 AND cloud = $2 AND project_id = $3 AND state = 'new'",
        )
        .bind(name)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("keeping hidden parameters"))
    }

    /// Marks secrets as unused if neither a deployment nor its last good content refers to them.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn hidden_release_unused(&self, tenant: &Tenant, deployment: &str) -> Result<()> {
        sqlx::query(
            "UPDATE hidden_parameters SET state = 'going' WHERE deployment = $1 AND cloud = $2 AND project_id = $3 AND state = 'kept' \
             AND name NOT IN (SELECT COALESCE(hidden, '') FROM deployments WHERE id = $1 \
                              UNION ALL SELECT COALESCE(good_hidden, '') FROM deployments WHERE id = $1)",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("keeping hidden parameters"))
    }

    /// Marks all secrets of a deployment as unused.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn hidden_release_all(&self, tenant: &Tenant, deployment: &str) -> Result<()> {
        sqlx::query(
            "UPDATE hidden_parameters SET state = 'going' WHERE deployment = $1 AND cloud = $2 AND project_id = $3",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("keeping hidden parameters"))
    }

    /// Names of the project's unused secrets.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn hidden_list_released(&self, tenant: &Tenant) -> Result<Vec<String>> {
        sqlx::query_scalar(
            "SELECT name FROM hidden_parameters WHERE cloud = $1 AND project_id = $2 AND state = 'going'",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await
        .map_err(Error::at("looking for hidden parameters of no use"))
    }

    /// Deletes the name of a secret that was deleted from the vault.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn hidden_delete(&self, tenant: &Tenant, name: &str) -> Result<()> {
        sqlx::query(
            "DELETE FROM hidden_parameters WHERE name = $1 AND cloud = $2 AND project_id = $3 AND state = 'going'",
        )
        .bind(name)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("looking for hidden parameters of no use"))
    }
}

impl Transaction {
    /// Marks a secret as kept: from this transaction on a deployment refers to it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn hidden_keep(&mut self, tenant: &Tenant, name: &str) -> Result<()> {
        sqlx::query(
            "UPDATE hidden_parameters SET state = 'kept' WHERE name = $1 AND cloud = $2 AND project_id = $3",
        )
        .bind(name)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(self.connection())
        .await
        .map(drop)
        .map_err(self.failed())
    }
}
