//! Designs and their versions.
//!
//! A save creates a version. The version number is also the lock: a save contains its base version, and changes nothing
//! if that is no longer the newest.

use api::{Design, DesignSummary, DesignVersion, DesignVersionSummary, Layout, TemplateFiles};
use sqlx::Row as _;

use crate::{
    Error, Outcome, Page, Result, Store, Tenant, Transaction,
    column::{from_json, now_text, to_json, to_u32},
    database::{Row, read_all, read_one},
};

/// The content of a version.
#[derive(Clone, Copy, Debug)]
pub struct DesignContent<'a> {
    /// Name of the design from this version on.
    pub name: &'a str,
    /// HOT, byte for byte.
    pub template: &'a str,
    /// Files and environments.
    pub beside: &'a TemplateFiles,
    /// Positions of the nodes.
    pub layout: &'a Layout,
    /// Number of resources, for lists.
    pub resources: i64,
    /// The user who saves.
    pub author: &'a str,
}

/// Limits on the kept versions of a design. Versions with a label do not count.
#[derive(Clone, Copy, Debug)]
pub struct VersionLimits {
    /// Number of the newest versions that are all kept. Of older ones, the last of each author's ten minutes is.
    pub recent: u32,
    /// Number of versions.
    pub count: u32,
    /// Bytes of all kept versions together.
    pub bytes: u32,
}

impl Store {
    /// A page of the project's designs, the one that was saved last first.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn design_list(&self, tenant: &Tenant, page: Page) -> Result<Vec<DesignSummary>> {
        let rows = sqlx::query(
            "SELECT id, name, version, updated, author, resources FROM designs \
             WHERE cloud = $1 AND project_id = $2 ORDER BY updated DESC, id LIMIT $3 OFFSET $4",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(i64::from(page.limit))
        .bind(i64::from(page.offset))
        .fetch_all(&self.pool)
        .await;
        read_all(rows, summary, "listing designs")
    }

    /// Size of the kept versions of all designs of a project, in bytes.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn design_bytes(&self, tenant: &Tenant) -> Result<i64> {
        sqlx::query_scalar(
            "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM designs WHERE cloud = $1 AND project_id = $2",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_one(&self.pool)
        .await
        .map_err(Error::at("measuring a project's designs"))
    }

    /// The newest version of a design.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn design_find(&self, tenant: &Tenant, id: &str) -> Result<Option<Design>> {
        let row = sqlx::query(
            "SELECT d.id, d.name, d.version, d.author, d.created, d.updated, v.template, v.beside, v.layout \
             FROM designs d JOIN design_versions v ON v.design = d.id AND v.version = d.version \
             WHERE d.id = $1 AND d.cloud = $2 AND d.project_id = $3",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(&self.pool)
        .await;
        read_one(row, design, "reading a design")
    }

    /// Number of a design's newest version.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn design_newest(&self, tenant: &Tenant, id: &str) -> Result<Option<u32>> {
        let row = sqlx::query(
            "SELECT version FROM designs WHERE id = $1 AND cloud = $2 AND project_id = $3",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_optional(&self.pool)
        .await;
        read_one(
            row,
            |row| to_u32(row.try_get("version")?),
            "reading a design's version",
        )
    }

    /// Inserts a design with version 1. Returns its id; `None` if the project has `limit` designs already.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn design_insert(
        &self,
        tenant: &Tenant,
        content: DesignContent<'_>,
        limit: u32,
    ) -> Result<Option<String>> {
        let id = uuid::Uuid::now_v7().to_string();
        let now = now_text();
        let mut transaction = self.begin("storing a design").await?;
        let count: i64 =
            sqlx::query_scalar("SELECT COUNT(*) FROM designs WHERE cloud = $1 AND project_id = $2")
                .bind(&tenant.cloud)
                .bind(&tenant.project_id)
                .fetch_one(transaction.connection())
                .await
                .map_err(transaction.failed())?;
        if count >= i64::from(limit) {
            return Ok(None);
        }
        sqlx::query(
            "INSERT INTO designs (id, cloud, project_id, name, version, resources, author, created, updated) \
             VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $7)",
        )
        .bind(&id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(content.name)
        .bind(content.resources)
        .bind(content.author)
        .bind(&now)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        version_insert(&mut transaction, &id, 1, &now, content).await?;
        note_bytes(&mut transaction, &id).await?;
        transaction.commit().await?;
        Ok(Some(id))
    }

    /// Stores the version after `base`, and removes versions beyond the limits. [`Outcome::Conflict`] if `base` is not
    /// the newest version, or there is no such design.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn design_save(
        &self,
        tenant: &Tenant,
        id: &str,
        base: u32,
        content: DesignContent<'_>,
        limits: VersionLimits,
    ) -> Result<Outcome> {
        let now = now_text();
        let version = i64::from(base) + 1;
        let mut transaction = self.begin("storing a design").await?;
        let saved = sqlx::query(
            "UPDATE designs SET name = $1, version = $2, resources = $3, author = $4, updated = $5 \
             WHERE id = $6 AND cloud = $7 AND project_id = $8 AND version = $9",
        )
        .bind(content.name)
        .bind(version)
        .bind(content.resources)
        .bind(content.author)
        .bind(&now)
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(i64::from(base))
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        if saved.rows_affected() == 0 {
            return Ok(Outcome::Conflict);
        }
        version_insert(&mut transaction, id, version, &now, content).await?;
        // The first 15 characters of a time end with the tens of its minutes.
        sqlx::query(
            "DELETE FROM design_versions WHERE design = $1 AND label IS NULL AND version <= $2 AND EXISTS ( \
                 SELECT 1 FROM design_versions later WHERE later.design = $1 AND later.version <= $2 \
                     AND later.version > design_versions.version AND later.author = design_versions.author \
                     AND substr(later.saved, 1, 15) = substr(design_versions.saved, 1, 15))",
        )
        .bind(id)
        .bind(version - i64::from(limits.recent))
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        // Counted from the newest version: the version that exceeds a limit and all older ones are deleted.
        sqlx::query(
            "DELETE FROM design_versions WHERE design = $1 AND version < $2 AND version IN ( \
                 SELECT version FROM ( \
                     SELECT version, ROW_NUMBER() OVER (ORDER BY version DESC) AS place, \
                         SUM(octet_length(template) + octet_length(beside) + octet_length(layout)) \
                         OVER (ORDER BY version DESC) AS bytes \
                     FROM design_versions WHERE design = $1 AND label IS NULL) AS sizes \
                 WHERE place > $3 OR bytes > $4)",
        )
        .bind(id)
        .bind(version)
        .bind(i64::from(limits.count))
        .bind(i64::from(limits.bytes))
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        note_bytes(&mut transaction, id).await?;
        transaction.commit().await?;
        Ok(Outcome::Done)
    }

    /// Deletes a design with all its versions. [`Outcome::Conflict`] if there is none.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn design_delete(&self, tenant: &Tenant, id: &str) -> Result<Outcome> {
        let done =
            sqlx::query("DELETE FROM designs WHERE id = $1 AND cloud = $2 AND project_id = $3")
                .bind(id)
                .bind(&tenant.cloud)
                .bind(&tenant.project_id)
                .execute(&self.pool)
                .await
                .map_err(Error::at("removing a design"))?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// The kept versions of a design, newest first. Empty if there is no such design.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn design_version_list(
        &self,
        tenant: &Tenant,
        id: &str,
    ) -> Result<Vec<DesignVersionSummary>> {
        let rows = sqlx::query(
            "SELECT v.version, v.saved, v.author, v.label \
             FROM design_versions v JOIN designs d ON d.id = v.design \
             WHERE d.id = $1 AND d.cloud = $2 AND d.project_id = $3 ORDER BY v.version DESC",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await;
        read_all(rows, version_summary, "listing the versions of a design")
    }

    /// A kept version of a design.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn design_version_find(
        &self,
        tenant: &Tenant,
        id: &str,
        number: u32,
    ) -> Result<Option<DesignVersion>> {
        let row = sqlx::query(
            "SELECT v.version, v.saved, v.author, v.label, v.template, v.beside, v.layout \
             FROM design_versions v JOIN designs d ON d.id = v.design \
             WHERE d.id = $1 AND d.cloud = $2 AND d.project_id = $3 AND v.version = $4",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(i64::from(number))
        .fetch_optional(&self.pool)
        .await;
        read_one(row, version, "reading a version of a design")
    }

    /// Labels a version, or removes its label. `None` if `limit` others of the design have one already.
    /// [`Outcome::Conflict`] if there is no such version.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn design_version_label(
        &self,
        tenant: &Tenant,
        id: &str,
        number: u32,
        label: Option<&str>,
        limit: u32,
    ) -> Result<Option<Outcome>> {
        let mut transaction = self.begin("labelling a version").await?;
        let others: i64 = sqlx::query_scalar(
            "SELECT COUNT(*) FROM design_versions v JOIN designs d ON d.id = v.design \
             WHERE d.id = $1 AND d.cloud = $2 AND d.project_id = $3 AND v.version <> $4 AND v.label IS NOT NULL",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(i64::from(number))
        .fetch_one(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        if label.is_some() && others >= i64::from(limit) {
            return Ok(None);
        }
        let done = sqlx::query(
            "UPDATE design_versions SET label = $1 WHERE version = $2 AND design = ( \
                 SELECT id FROM designs WHERE id = $3 AND cloud = $4 AND project_id = $5)",
        )
        .bind(label)
        .bind(i64::from(number))
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(transaction.connection())
        .await
        .map_err(transaction.failed())?;
        transaction.commit().await?;
        Ok(Some(Outcome::of(done.rows_affected())))
    }
}

async fn version_insert(
    transaction: &mut Transaction,
    design: &str,
    version: i64,
    saved: &str,
    content: DesignContent<'_>,
) -> Result<()> {
    sqlx::query(
        "INSERT INTO design_versions (design, version, template, beside, layout, author, saved) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(design)
    .bind(version)
    .bind(content.template)
    .bind(to_json(content.beside))
    .bind(to_json(content.layout))
    .bind(content.author)
    .bind(saved)
    .execute(transaction.connection())
    .await
    .map(drop)
    .map_err(transaction.failed())
}

/// Notes the size of a design's kept versions.
async fn note_bytes(transaction: &mut Transaction, design: &str) -> Result<()> {
    sqlx::query(
        "UPDATE designs SET bytes = ( \
             SELECT COALESCE(SUM(octet_length(template) + octet_length(beside) + octet_length(layout)), 0) \
             FROM design_versions WHERE design = $1) \
         WHERE id = $1",
    )
    .bind(design)
    .execute(transaction.connection())
    .await
    .map(drop)
    .map_err(transaction.failed())
}

fn summary(row: &Row) -> sqlx::Result<DesignSummary> {
    Ok(DesignSummary {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        version: to_u32(row.try_get("version")?)?,
        updated: row.try_get("updated")?,
        author: row.try_get("author")?,
        resources: to_u32(row.try_get("resources")?)?,
    })
}

fn design(row: &Row) -> sqlx::Result<Design> {
    Ok(Design {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        template: row.try_get("template")?,
        beside: from_json(row.try_get("beside")?)?,
        layout: from_json(row.try_get("layout")?)?,
        version: to_u32(row.try_get("version")?)?,
        created: row.try_get("created")?,
        updated: row.try_get("updated")?,
        author: row.try_get("author")?,
    })
}

fn version_summary(row: &Row) -> sqlx::Result<DesignVersionSummary> {
    Ok(DesignVersionSummary {
        version: to_u32(row.try_get("version")?)?,
        saved: row.try_get("saved")?,
        author: row.try_get("author")?,
        label: row.try_get("label")?,
    })
}

fn version(row: &Row) -> sqlx::Result<DesignVersion> {
    Ok(DesignVersion {
        summary: version_summary(row)?,
        template: row.try_get("template")?,
        beside: from_json(row.try_get("beside")?)?,
        layout: from_json(row.try_get("layout")?)?,
    })
}

#[cfg(test)]
mod tests;
