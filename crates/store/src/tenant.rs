//! The tenant of a row.

use sqlx::Row as _;

use crate::database::Row;

/// A project in a cloud.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tenant {
    /// Name in the server's `clouds.yaml`.
    pub cloud: String,
    /// Project id.
    pub project_id: String,
}

impl Tenant {
    /// The tenant in the columns `cloud` and `project_id`.
    pub(crate) fn read(row: &Row) -> sqlx::Result<Tenant> {
        Ok(Tenant {
            cloud: row.try_get("cloud")?,
            project_id: row.try_get("project_id")?,
        })
    }
}
