//! Catalogue items that projects uploaded, and the versions that deployments use.

use api::ItemUse;
use sqlx::Row as _;

use crate::{
    Error, Outcome, Result, Store, Tenant, Transaction,
    column::{now_text, to_json},
    database::{Row, read_all, statement},
};

/// Condition on the deployments `d` that keep a version of an item: they use it, or their last good state does.
const KEEPS: &str = "d.cloud = $1 AND d.project_id = $2 AND d.state <> 'undeployed' AND (d.good LIKE $5 ESCAPE '\\' OR EXISTS \
     (SELECT 1 FROM deployment_items i WHERE i.deployment = d.id AND i.item = $3 AND i.version = $4))";

/// A stored version of an item. Its files are complete in a folder below the data folder, which is named by their
/// digest. A server without that folder unpacks the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemRow {
    /// Name of the item.
    pub name: String,
    /// Version of the item, which never changes.
    pub version: String,
    /// SHA-256 of all paths and contents, in hexadecimal.
    pub digest: String,
    /// The user who uploaded it.
    pub author: String,
    /// The cloud's id of this user. `None` for an upload from before ids were stored.
    pub author_id: Option<String>,
    /// Time of the upload, RFC 3339.
    pub uploaded: String,
}

/// A version of an item that a deployment uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Name of the item.
    pub item: String,
    /// Pinned version of the item.
    pub version: String,
}

impl Store {
    /// All versions of all items of a project.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn item_list(&self, tenant: &Tenant) -> Result<Vec<ItemRow>> {
        let rows = sqlx::query(
            "SELECT name, version, digest, author, author_id, uploaded FROM catalog_items WHERE cloud = $1 AND project_id = $2 \
             ORDER BY name, version",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await;
        read_all(rows, item, "reading a project's catalogue")
    }

    /// Disk space of all items of a project in bytes.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn item_bytes(&self, tenant: &Tenant) -> Result<i64> {
        sqlx::query_scalar(
            "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM catalog_items WHERE cloud = $1 AND project_id = $2",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_one(&self.pool)
        .await
        .map_err(Error::at("measuring a project's catalogue"))
    }

    /// Inserts a version of an item. [`Outcome::Conflict`] if the project already has that version.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn item_insert(
        &self,
        tenant: &Tenant,
        (name, version): (&str, &str),
        digest: &str,
        bytes: i64,
        (author, author_id): (&str, &str),
        archive: &[u8],
    ) -> Result<Outcome> {
        let done = sqlx::query(
            "INSERT INTO catalog_items (cloud, project_id, name, version, digest, bytes, author, author_id, uploaded, archive) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (cloud, project_id, name, version) DO NOTHING",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(name)
        .bind(version)
        .bind(digest)
        .bind(bytes)
        .bind(author)
        .bind(author_id)
        .bind(now_text())
        .bind(archive)
        .execute(&self.pool)
        .await
        .map_err(Error::at("storing a catalogue item"))?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// Deletes a version of an item, unless a deployment keeps it: one that is not undeployed uses it, or would return to
    /// it by a roll-back. True if it is deleted.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn item_delete_unused(
        &self,
        tenant: &Tenant,
        (name, version): (&str, &str),
    ) -> Result<bool> {
        let done = sqlx::query(statement(&[
            "DELETE FROM catalog_items WHERE cloud = $1 AND project_id = $2 AND name = $3 AND version = $4 \
             AND NOT EXISTS (SELECT 1 FROM deployments d WHERE ",
            KEEPS,
            ")",
        ]))
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(name)
        .bind(version)
        .bind(entry_pattern(name, version))
        .execute(&self.pool)
        .await
        .map_err(Error::at("deleting a version of a catalogue item"))?;
        Ok(done.rows_affected() > 0)
    }

    /// Names of the deployments that keep a version of an item from its deletion.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn item_keeper_list(
        &self,
        tenant: &Tenant,
        (name, version): (&str, &str),
    ) -> Result<Vec<String>> {
        sqlx::query_scalar(statement(&[
            "SELECT d.name FROM deployments d WHERE ",
            KEEPS,
            " ORDER BY d.name",
        ]))
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(name)
        .bind(version)
        .bind(entry_pattern(name, version))
        .fetch_all(&self.pool)
        .await
        .map_err(Error::at("listing the users of a version of an item"))
    }

    /// The archive of a version of an item. `None` if there is no such version, or it has none.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn item_archive(
        &self,
        tenant: &Tenant,
        (name, version): (&str, &str),
    ) -> Result<Option<Vec<u8>>> {
        let archive: Option<Option<Vec<u8>>> = sqlx::query_scalar(
            "SELECT archive FROM catalog_items WHERE cloud = $1 AND project_id = $2 AND name = $3 AND version = $4",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(name)
        .bind(version)
        .fetch_optional(&self.pool)
        .await
        .map_err(Error::at("reading a catalogue item"))?;
        Ok(archive.flatten())
    }

    /// The versions that a deployment uses.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn pin_list(&self, tenant: &Tenant, deployment: &str) -> Result<Vec<Pin>> {
        let rows = sqlx::query(
            "SELECT i.item, i.version FROM deployment_items i JOIN deployments d ON d.id = i.deployment \
             WHERE i.deployment = $1 AND d.cloud = $2 AND d.project_id = $3",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .fetch_all(&self.pool)
        .await;
        let pin = |row: &Row| {
            Ok(Pin {
                item: row.try_get("item")?,
                version: row.try_get("version")?,
            })
        };
        read_all(rows, pin, "reading a deployment's items")
    }

    /// Deployments of a project with components of an item, by name.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn item_use_list(
        &self,
        tenant: &Tenant,
        item: &str,
        resource_type: &str,
    ) -> Result<Vec<ItemUse>> {
        let rows = sqlx::query(
            "SELECT d.id, d.name, i.version, r.name AS component FROM resources r \
             JOIN deployments d ON d.id = r.deployment \
             LEFT JOIN deployment_items i ON i.deployment = d.id AND i.item = $3 \
             WHERE d.cloud = $1 AND d.project_id = $2 AND r.type = $4 AND r.state <> 'deleted' \
             ORDER BY d.name, d.id, r.name",
        )
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(item)
        .bind(resource_type)
        .fetch_all(&self.pool)
        .await;
        let component = |row: &Row| {
            Ok(ItemUse {
                deployment: row.try_get("id")?,
                name: row.try_get("name")?,
                version: row.try_get("version")?,
                components: vec![row.try_get("component")?],
            })
        };
        let mut uses: Vec<ItemUse> = read_all(rows, component, "listing the uses of an item")?;
        uses.dedup_by(|one, kept| {
            let is_same = one.deployment == kept.deployment;
            if is_same {
                kept.components.append(&mut one.components);
            }
            is_same
        });
        Ok(uses)
    }
}

impl Transaction {
    /// Replaces the versions that a deployment uses.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn pin_replace(
        &mut self,
        tenant: &Tenant,
        deployment: &str,
        pins: &[Pin],
    ) -> Result<()> {
        sqlx::query(
            "DELETE FROM deployment_items WHERE deployment IN \
             (SELECT id FROM deployments WHERE id = $1 AND cloud = $2 AND project_id = $3)",
        )
        .bind(deployment)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .execute(self.connection())
        .await
        .map_err(self.failed())?;
        for pin in pins {
            sqlx::query(
                "INSERT INTO deployment_items (deployment, item, version) \
                 SELECT id, $4, $5 FROM deployments WHERE id = $1 AND cloud = $2 AND project_id = $3",
            )
            .bind(deployment)
            .bind(&tenant.cloud)
            .bind(&tenant.project_id)
            .bind(&pin.item)
            .bind(&pin.version)
            .execute(self.connection())
            .await
            .map_err(self.failed())?;
        }
        Ok(())
    }
}

/// The pattern of a last good state with a version of an item, which is an entry of a map in its JSON. Quotes inside a text
/// of the JSON are escaped, so that no template looks like it.
fn entry_pattern(name: &str, version: &str) -> String {
    let entry = format!("{}:{}", to_json(&name), to_json(&version));
    let literal = entry
        .replace('\\', "\\\\")
        .replace('%', "\\%")
        .replace('_', "\\_");
    format!("%{literal}%")
}

fn item(row: &Row) -> sqlx::Result<ItemRow> {
    Ok(ItemRow {
        name: row.try_get("name")?,
        version: row.try_get("version")?,
        digest: row.try_get("digest")?,
        author: row.try_get("author")?,
        author_id: row.try_get("author_id")?,
        uploaded: row.try_get("uploaded")?,
    })
}

#[cfg(test)]
mod tests {
    use api::DeploymentState;

    use super::*;
    use crate::{
        deployment,
        testing::{Database, deployment_insert, strangers, tenant},
    };

    #[tokio::test]
    async fn a_version_that_a_roll_back_needs_is_kept() {
        for Database { store, .. } in &Database::each().await {
            deployment_insert(store, &tenant(), "blog").await;
            let use_version = async |version: &str, state: DeploymentState| {
                let pin = Pin {
                    item: "my-item".to_owned(),
                    version: version.to_owned(),
                };
                let mut transaction = store.begin("pinning a version").await.unwrap();
                let pinned = transaction.pin_replace(&tenant(), "blog", &[pin]).await;
                pinned.unwrap();
                let connection = transaction.connection();
                deployment::set_state(connection, "blog", state, "2026-01-01T00:00:00Z")
                    .await
                    .unwrap();
                transaction.commit().await.unwrap();
            };
            for (name, version) in [
                ("my-item", "1.0.0"),
                ("my-item", "1.1.0"),
                ("my_item", "1.0.0"),
            ] {
                let ada = ("ada", "ada");
                let tenant = tenant();
                let inserted = store.item_insert(&tenant, (name, version), "d", 1, ada, b"x");
                assert_eq!(inserted.await.unwrap(), Outcome::Done);
            }
            use_version("1.0.0", DeploymentState::Deployed).await;
            use_version("1.1.0", DeploymentState::Failed).await;

            let keepers = async |tenant: &Tenant, version: &str| {
                let keepers = store.item_keeper_list(tenant, ("my-item", version)).await;
                keepers.unwrap()
            };
            let delete = async |name: &str, version: &str| {
                let deleted = store.item_delete_unused(&tenant(), (name, version)).await;
                deleted.unwrap()
            };
            for version in ["1.0.0", "1.1.0"] {
                assert_eq!(keepers(&tenant(), version).await, ["blog"]);
                assert!(!delete("my-item", version).await, "{version}");
                for stranger in strangers() {
                    assert!(keepers(&stranger, version).await.is_empty());
                }
            }
            // `_` stands for itself.
            assert!(delete("my_item", "1.0.0").await);

            use_version("1.1.0", DeploymentState::Deployed).await;
            assert!(delete("my-item", "1.0.0").await);
            use_version("1.1.0", DeploymentState::Undeployed).await;
            assert!(keepers(&tenant(), "1.1.0").await.is_empty());
            assert!(delete("my-item", "1.1.0").await);
        }
    }

    #[tokio::test]
    async fn an_item_lists_the_deployments_that_use_it_and_their_version() {
        for Database { store, .. } in &Database::each().await {
            for deployment in ["blog", "shop", "gone"] {
                deployment_insert(store, &tenant(), deployment).await;
            }
            let resources = [
                ("blog", "web", "ready", "nginx"),
                ("blog", "spare", "failed", "nginx"),
                ("blog", "proxy", "ready", "haproxy"),
                ("shop", "front", "creating", "nginx"),
                ("gone", "web", "deleted", "nginx"),
            ];
            for (deployment, name, state, item) in resources {
                sqlx::query(
                    "INSERT INTO resources (deployment, name, type, spec, state) VALUES ($1, $2, $3, '{}', $4)",
                )
                .bind(deployment)
                .bind(name)
                .bind(format!("Stackloom::Catalog::{item}"))
                .bind(state)
                .execute(&store.pool)
                .await
                .unwrap();
            }
            let mut transaction = store.begin("pinning a version").await.unwrap();
            let pin = Pin {
                item: "nginx".to_owned(),
                version: "1.2.0".to_owned(),
            };
            let pinned = transaction.pin_replace(&tenant(), "blog", &[pin]).await;
            pinned.unwrap();
            transaction.commit().await.unwrap();

            let uses = async |tenant: &Tenant| {
                let resource_type = "Stackloom::Catalog::nginx";
                let uses = store.item_use_list(tenant, "nginx", resource_type).await;
                let uses = uses.unwrap().into_iter();
                uses.map(|one| (one.deployment, one.version, one.components.join(" ")))
                    .collect::<Vec<_>>()
            };
            let own = |deployment: &str, version: Option<&str>, components: &str| {
                let version = version.map(str::to_owned);
                (deployment.to_owned(), version, components.to_owned())
            };
            // A version that a deployment uses is not deleted.
            let archive = async |version: &str| {
                let archive = store.item_archive(&tenant(), ("nginx", version)).await;
                archive.unwrap()
            };
            for (version, is_used) in [("1.2.0", true), ("1.3.0", false)] {
                let key = ("nginx", version);
                let inserted = store
                    .item_insert(&tenant(), key, "d", 1, ("ada", "ada"), b"x")
                    .await;
                assert_eq!(inserted.unwrap(), Outcome::Done);
                for stranger in strangers() {
                    let deleted = store.item_delete_unused(&stranger, key).await;
                    assert!(!deleted.unwrap());
                }
                store.item_delete_unused(&tenant(), key).await.unwrap();
                assert_eq!(archive(version).await.is_some(), is_used, "{version}");
            }

            let expected = [
                own("blog", Some("1.2.0"), "spare web"),
                own("shop", None, "front"),
            ];
            assert_eq!(uses(&tenant()).await, expected);
            for stranger in strangers() {
                assert_eq!(uses(&stranger).await, []);
            }
        }
    }
}
