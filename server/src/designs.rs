//! Stored designs and their versions.
//!
//! Every query takes the tenant: another project's design is not found, it is not forbidden. A save
//! makes a version; the canvas saves often, so only the newest [`VERSIONS_KEPT_MAX`] are kept, and of large ones
//! fewer ([`VERSIONS_BYTES_MAX`]). The
//! version number is also the lock: a save says which version it was made from, and a save from an
//! older one is a conflict that changes nothing.

use api::{Beside, Design, DesignRequest, DesignSummary, DesignVersion};
use engine::Tenant;
use hot::document::Document;
use sqlx::{FromRow, Row, SqlitePool, sqlite::SqliteRow};

use crate::{
    codes,
    problem::{Error, Result},
};

/// How many versions of a design are kept.
pub const VERSIONS_KEPT_MAX: u32 = 200;

/// How much the kept versions may take together: they are listed in one answer.
pub const VERSIONS_BYTES_MAX: u32 = 16 * 1024 * 1024;

const NAME_CHARS_MAX: usize = 200;

/// The store.
#[derive(Clone)]
pub struct Designs {
    pool: SqlitePool,
}

impl Designs {
    /// Over a migrated database.
    pub fn new(pool: SqlitePool) -> Designs {
        Designs { pool }
    }

    /// The project's designs, the one that was saved last first.
    pub async fn list(&self, tenant: &Tenant) -> Result<Vec<DesignSummary>> {
        let rows: Vec<Summary> = sqlx::query_as(
            "SELECT id, name, version, updated, author, resources FROM designs
             WHERE cloud = ? AND project_id = ? ORDER BY updated DESC, id",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(|row| row.0).collect())
    }

    /// Version 1 of a new design.
    pub async fn create(
        &self,
        tenant: &Tenant,
        author: &str,
        request: &DesignRequest,
    ) -> Result<Design> {
        let name = checked_name(&request.name)?;
        let id = uuid::Uuid::now_v7().to_string();
        let now = now();
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query(
            "INSERT INTO designs (id, cloud, project_id, name, version, resources, author, created, updated)
             VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)",
        )
        .bind(&id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(name)
        .bind(resources(&request.template))
        .bind(author)
        .bind(&now)
        .bind(&now)
        .execute(&mut *transaction)
        .await?;
        version_insert(&mut transaction, &id, 1, author, &now, request).await?;
        transaction.commit().await?;
        self.get(tenant, &id).await
    }

    /// The newest version.
    pub async fn get(&self, tenant: &Tenant, id: &str) -> Result<Design> {
        design_get(&self.pool, tenant, id).await
    }

    /// Save: a new version, unless nothing differs.
    ///
    /// # Errors
    /// `version-conflict` where `base_version` is not the newest.
    pub async fn save(
        &self,
        tenant: &Tenant,
        author: &str,
        id: &str,
        request: &DesignRequest,
    ) -> Result<Design> {
        let name = checked_name(&request.name)?;
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        let stored = design_get(&mut *transaction, tenant, id).await?;
        if let Some(base) = request.base_version.filter(|base| *base != stored.version) {
            return Err(Error::new(
                codes::VERSION_CONFLICT,
                format!(
                    "`{}` is at version {} by now, saved by {}; yours was made from version {base}.",
                    stored.name, stored.version, stored.author
                ),
            )
            .hint("Nothing was overwritten. Load the newer version, or save yours as another design.")
            .path("base_version"));
        }
        // Files that a save does not speak of stay.
        let beside = request.beside.clone().or(&stored.beside);
        let request = &DesignRequest {
            beside: beside.clone(),
            ..request.clone()
        };
        if stored.name == name
            && stored.template == request.template
            && stored.beside == beside
            && stored.layout == request.layout
        {
            return Ok(stored);
        }
        let now = now();
        let version = stored.version + 1;
        sqlx::query(
            "UPDATE designs SET name = ?, version = ?, resources = ?, author = ?, updated = ?
             WHERE id = ? AND cloud = ? AND project_id = ?",
        )
        .bind(name)
        .bind(version)
        .bind(resources(&request.template))
        .bind(author)
        .bind(&now)
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(&mut *transaction)
        .await?;
        version_insert(&mut transaction, id, version, author, &now, request).await?;
        // Counted from the newest on: the one that goes over the limit goes, and all before it.
        sqlx::query(
            "DELETE FROM design_versions WHERE design = ?1 AND version < ?2 AND version <= MAX(?2 - ?3, (
                 SELECT COALESCE(MAX(version), 0) FROM (
                     SELECT version, SUM(octet_length(template) + octet_length(beside) + octet_length(layout))
                         OVER (ORDER BY version DESC) AS bytes
                     FROM design_versions WHERE design = ?1)
                 WHERE bytes > ?4))",
        )
        .bind(id)
        .bind(version)
        .bind(VERSIONS_KEPT_MAX)
        .bind(VERSIONS_BYTES_MAX)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        self.get(tenant, id).await
    }

    /// Remove it with all its versions. Deployments that were made from it stay.
    pub async fn delete(&self, tenant: &Tenant, id: &str) -> Result<()> {
        let done = sqlx::query("DELETE FROM designs WHERE id = ? AND cloud = ? AND project_id = ?")
            .bind(id)
            .bind(&tenant.cloud)
            .bind(&tenant.project_id)
            .execute(&self.pool)
            .await?;
        if done.rows_affected() == 0 {
            Err(Error::not_found("design", id))
        } else {
            Ok(())
        }
    }

    /// The kept versions, newest first.
    pub async fn versions(&self, tenant: &Tenant, id: &str) -> Result<Vec<DesignVersion>> {
        let rows: Vec<Version> = sqlx::query_as(
            "SELECT v.version, v.saved, v.author, v.template, v.beside
             FROM design_versions v JOIN designs d ON d.id = v.design
             WHERE d.id = ? AND d.cloud = ? AND d.project_id = ? ORDER BY v.version DESC",
        )
        .bind(id)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await?;
        if rows.is_empty() {
            return Err(Error::not_found("design", id));
        }
        Ok(rows.into_iter().map(|row| row.0).collect())
    }
}

async fn design_get(
    database: impl sqlx::SqliteExecutor<'_>,
    tenant: &Tenant,
    id: &str,
) -> Result<Design> {
    let found: Option<Whole> = sqlx::query_as(
        "SELECT d.id, d.name, d.version, d.author, d.created, d.updated, v.template, v.beside, v.layout
         FROM designs d JOIN design_versions v ON v.design = d.id AND v.version = d.version
         WHERE d.id = ? AND d.cloud = ? AND d.project_id = ?",
    )
    .bind(id)
    .bind(&tenant.cloud)
    .bind(&tenant.project_id)
    .fetch_optional(database)
    .await?;
    found
        .map(|row| row.0)
        .ok_or_else(|| Error::not_found("design", id))
}

async fn version_insert(
    transaction: &mut sqlx::Transaction<'_, sqlx::Sqlite>,
    design: &str,
    version: u32,
    author: &str,
    saved: &str,
    request: &DesignRequest,
) -> Result<()> {
    let layout = serde_json::to_string(&request.layout)
        .map_err(|error| Error::internal("storing a layout", error))?;
    let beside = serde_json::to_string(&request.beside)
        .map_err(|error| Error::internal("storing files", error))?;
    sqlx::query(
        "INSERT INTO design_versions (design, version, template, beside, layout, author, saved) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(design)
    .bind(version)
    .bind(&request.template)
    .bind(beside)
    .bind(layout)
    .bind(author)
    .bind(saved)
    .execute(&mut **transaction)
    .await?;
    Ok(())
}

/// Any text that a person can read; pages and logs escape it.
fn checked_name(name: &str) -> Result<&str> {
    let name = name.trim();
    if name.is_empty()
        || name.chars().count() > NAME_CHARS_MAX
        || name.chars().any(char::is_control)
    {
        return Err(Error::new(
            codes::INVALID_REQUEST,
            format!("A design's name has 1 to {NAME_CHARS_MAX} characters on one line."),
        )
        .path("name"));
    }
    Ok(name)
}

/// How many resources are drawn; of a half-typed template as many as can be read.
fn resources(template: &str) -> i64 {
    i64::try_from(Document::parse(template).template().resources.len()).unwrap_or(i64::MAX)
}

fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

struct Summary(DesignSummary);

impl FromRow<'_, SqliteRow> for Summary {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Summary(DesignSummary {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            version: row.try_get("version")?,
            updated: row.try_get("updated")?,
            author: row.try_get("author")?,
            resources: row.try_get("resources")?,
        }))
    }
}

fn beside(row: &SqliteRow) -> sqlx::Result<Beside> {
    let text: String = row.try_get("beside")?;
    serde_json::from_str(&text).map_err(|error| sqlx::Error::Decode(error.into()))
}

struct Whole(Design);

impl FromRow<'_, SqliteRow> for Whole {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        let layout: String = row.try_get("layout")?;
        Ok(Whole(Design {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            template: row.try_get("template")?,
            beside: beside(row)?,
            layout: serde_json::from_str(&layout)
                .map_err(|error| sqlx::Error::Decode(error.into()))?,
            version: row.try_get("version")?,
            created: row.try_get("created")?,
            updated: row.try_get("updated")?,
            author: row.try_get("author")?,
        }))
    }
}

struct Version(DesignVersion);

impl FromRow<'_, SqliteRow> for Version {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Self> {
        Ok(Version(DesignVersion {
            version: row.try_get("version")?,
            saved: row.try_get("saved")?,
            author: row.try_get("author")?,
            template: row.try_get("template")?,
            beside: beside(row)?,
        }))
    }
}
