//! Versions of the server's own catalogue items that deployments use or used. They belong to the server, not to a project.

use sqlx::Row as _;

use crate::{
    Error, Result, Store,
    database::{Row, read_all},
};

/// A stored version of one of the server's own items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerItemRow {
    /// Name of the item.
    pub name: String,
    /// Version of the item.
    pub version: String,
    /// SHA-256 of all paths and contents, in hexadecimal.
    pub digest: String,
}

impl Store {
    /// All stored versions, by name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn server_item_list(&self) -> Result<Vec<ServerItemRow>> {
        let rows =
            sqlx::query("SELECT name, version, digest FROM server_items ORDER BY name, version")
                .fetch_all(&self.pool)
                .await;
        let item = |row: &Row| {
            Ok(ServerItemRow {
                name: row.try_get("name")?,
                version: row.try_get("version")?,
                digest: row.try_get("digest")?,
            })
        };
        read_all(rows, item, "listing the server's own items")
    }

    /// The archive of a version. `None` if it is not stored.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn server_item_archive(&self, name: &str, version: &str) -> Result<Option<Vec<u8>>> {
        sqlx::query_scalar("SELECT archive FROM server_items WHERE name = $1 AND version = $2")
            .bind(name)
            .bind(version)
            .fetch_optional(&self.pool)
            .await
            .map_err(Error::at("reading one of the server's own items"))
    }

    /// Stores a version. Other files under the same version replace the stored ones.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn server_item_put(&self, item: &ServerItemRow, archive: &[u8]) -> Result<()> {
        sqlx::query(
            "INSERT INTO server_items (name, version, digest, archive) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (name, version) DO UPDATE SET digest = excluded.digest, archive = excluded.archive",
        )
        .bind(&item.name)
        .bind(&item.version)
        .bind(&item.digest)
        .bind(archive)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("storing one of the server's own items"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Database;

    #[tokio::test]
    async fn a_version_is_stored_once_with_its_newest_files() {
        for Database { store, .. } in &Database::each().await {
            let nginx = |version: &str, digest: &str| ServerItemRow {
                name: "nginx".to_owned(),
                version: version.to_owned(),
                digest: digest.to_owned(),
            };
            for (item, archive) in [
                (nginx("1.2.0", "d1"), b"first"),
                (nginx("1.3.0", "d2"), b"other"),
                (nginx("1.2.0", "d3"), b"third"),
            ] {
                store.server_item_put(&item, archive).await.unwrap();
            }
            let listed = store.server_item_list().await.unwrap();
            assert_eq!(listed, [nginx("1.2.0", "d3"), nginx("1.3.0", "d2")]);
            let archive = store.server_item_archive("nginx", "1.2.0").await.unwrap();
            assert_eq!(archive.as_deref(), Some(b"third".as_slice()));
            let missing = store.server_item_archive("nginx", "9.0.0").await.unwrap();
            assert_eq!(missing, None);
        }
    }
}
