//! People who have a design open.
//!
//! Each page in a browser has a row, renews it while it is visible, and deletes it when it is left. A row that was not
//! renewed for a while does not count, and the next page removes it.

use sqlx::Row as _;

use crate::{
    Error, Result, Store, Tenant,
    column::{from_json, to_json},
    database::{Row, read_all},
};

/// A page on which a user has a design open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewerRow {
    /// Random id, made by the page.
    pub page: String,
    /// Keystone's id of the user.
    pub user_id: String,
    /// Name of the user.
    pub name: String,
    /// Names of the selected resources.
    pub selected: Vec<String>,
    /// Time of the last renewal, in seconds since 1970.
    pub seen: i64,
}

impl Store {
    /// Pages on which a design is open, by the name of their users, without those that were last renewed before `since`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn design_viewer_list(
        &self,
        tenant: &Tenant,
        design: &str,
        since: i64,
    ) -> Result<Vec<ViewerRow>> {
        let rows = sqlx::query(
            "SELECT v.page, v.user_id, v.name, v.selected, v.seen \
             FROM design_viewers v JOIN designs d ON d.id = v.design \
             WHERE d.id = $1 AND d.cloud = $2 AND d.project_id = $3 AND v.seen >= $4 ORDER BY v.name, v.page",
        )
        .bind(design)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(since)
        .fetch_all(&self.pool)
        .await;
        read_all(rows, viewer, "listing the viewers of a design")
    }

    /// Inserts or renews a page, and deletes those that were last renewed before `since`. Beyond `limit` pages of a
    /// design, further ones are not stored.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn design_viewer_put(
        &self,
        tenant: &Tenant,
        design: &str,
        viewer: &ViewerRow,
        since: i64,
        limit: u32,
    ) -> Result<()> {
        const DOING: &str = "storing a viewer of a design";
        sqlx::query(
            "DELETE FROM design_viewers WHERE seen < $4 AND design IN \
             (SELECT id FROM designs WHERE id = $1 AND cloud = $2 AND project_id = $3)",
        )
        .bind(design)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(since)
        .execute(&self.pool)
        .await
        .map_err(Error::at(DOING))?;
        sqlx::query(
            "INSERT INTO design_viewers (design, page, user_id, name, selected, seen) \
             SELECT d.id, $4, $5, $6, $7, $8 FROM designs d \
             WHERE d.id = $1 AND d.cloud = $2 AND d.project_id = $3 \
             AND (SELECT COUNT(*) FROM design_viewers v WHERE v.design = d.id AND v.page <> $4) < $9 \
             ON CONFLICT (design, page) DO UPDATE \
             SET user_id = excluded.user_id, name = excluded.name, selected = excluded.selected, seen = excluded.seen",
        )
        .bind(design)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(&viewer.page)
        .bind(&viewer.user_id)
        .bind(&viewer.name)
        .bind(to_json(&viewer.selected))
        .bind(viewer.seen)
        .bind(i64::from(limit))
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at(DOING))
    }

    /// Deletes a page of a user, if it is there.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn design_viewer_delete(
        &self,
        tenant: &Tenant,
        design: &str,
        page: &str,
        user_id: &str,
    ) -> Result<()> {
        sqlx::query(
            "DELETE FROM design_viewers WHERE page = $4 AND user_id = $5 AND design IN \
             (SELECT id FROM designs WHERE id = $1 AND cloud = $2 AND project_id = $3)",
        )
        .bind(design)
        .bind(&tenant.cloud)
        .bind(&tenant.project_id)
        .bind(page)
        .bind(user_id)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("deleting a viewer of a design"))
    }
}

fn viewer(row: &Row) -> sqlx::Result<ViewerRow> {
    Ok(ViewerRow {
        page: row.try_get("page")?,
        user_id: row.try_get("user_id")?,
        name: row.try_get("name")?,
        selected: from_json(row.try_get("selected")?)?,
        seen: row.try_get("seen")?,
    })
}

#[cfg(test)]
mod tests {
    use api::{Layout, TemplateFiles};

    use super::*;
    use crate::{
        DesignContent, Outcome,
        testing::{Database, strangers, tenant},
    };

    fn ada(page: &str, seen: i64) -> ViewerRow {
        ViewerRow {
            page: page.to_owned(),
            user_id: "u1".to_owned(),
            name: "ada".to_owned(),
            selected: vec!["web".to_owned()],
            seen,
        }
    }

    #[tokio::test]
    async fn pages_of_a_design_are_listed_until_they_are_not_renewed() {
        for database in Database::each().await {
            let (store, tenant) = (&database.store, tenant());
            let content = DesignContent {
                name: "shop",
                template: "",
                beside: &TemplateFiles::default(),
                layout: &Layout::default(),
                resources: 0,
                author: "ada",
            };
            let id = store.design_insert(&tenant, content, 1).await.unwrap();
            let id = id.unwrap();
            let put = async |tenant: &Tenant, page, seen, limit| {
                let viewer = ada(page, seen);
                let put = store.design_viewer_put(tenant, &id, &viewer, seen - 20, limit);
                put.await.unwrap();
            };
            let pages = async |tenant: &Tenant, since| {
                let found = store.design_viewer_list(tenant, &id, since).await.unwrap();
                found.into_iter().map(|one| one.page).collect::<Vec<_>>()
            };
            put(&tenant, "one", 100, 9).await;
            put(&tenant, "two", 110, 9).await;
            put(&tenant, "one", 115, 9).await;
            assert_eq!(pages(&tenant, 95).await, ["one", "two"]);
            assert_eq!(pages(&tenant, 112).await, ["one"], "two was not renewed");
            put(&tenant, "three", 116, 2).await;
            assert_eq!(pages(&tenant, 95).await, ["one", "two"], "the limit");
            put(&tenant, "three", 132, 2).await;
            assert_eq!(pages(&tenant, 0).await, ["one", "three"], "two was deleted");
            let stored = store.design_viewer_list(&tenant, &id, 132).await.unwrap();
            assert_eq!(stored, [ada("three", 132)]);
            for stranger in strangers() {
                put(&stranger, "four", 133, 9).await;
                assert_eq!(pages(&stranger, 0).await, Vec::<String>::new());
            }
            assert_eq!(pages(&tenant, 0).await, ["one", "three"]);
            let leave = async |tenant: &Tenant, page, user| {
                let left = store.design_viewer_delete(tenant, &id, page, user);
                left.await.unwrap();
            };
            for stranger in strangers() {
                leave(&stranger, "one", "u1").await;
            }
            leave(&tenant, "one", "u2").await;
            assert_eq!(pages(&tenant, 0).await, ["one", "three"], "not their page");
            leave(&tenant, "one", "u1").await;
            assert_eq!(pages(&tenant, 0).await, ["three"]);
            let deleted = store.design_delete(&tenant, &id).await.unwrap();
            assert_eq!(deleted, Outcome::Done);
            assert_eq!(pages(&tenant, 0).await, Vec::<String>::new());
        }
    }
}
