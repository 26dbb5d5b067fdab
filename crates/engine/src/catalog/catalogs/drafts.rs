//! Drafts of items: versions before they are published.

use std::collections::BTreeSet;

use api::ItemDraft;
use types::catalog::is_draft;

use super::{Catalogs, Published, Publisher, Stage, blocking, versions::find};
use crate::{Error, Result, Tenant, catalog::folder};

impl Catalogs {
    /// Stores a draft of an item, under the rules of [`Catalogs::publish`]. It is in no catalogue.
    ///
    /// # Errors
    /// As those of [`Catalogs::publish`].
    pub async fn store_draft(
        &self,
        tenant: &Tenant,
        publisher: Publisher<'_>,
        archive: Vec<u8>,
        manifest: Option<String>,
    ) -> Result<Published> {
        let files = (archive, manifest);
        self.add(tenant, publisher, files, Stage::Draft).await
    }

    /// The drafts of a project, by name.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn drafts(&self, tenant: &Tenant) -> Result<Vec<ItemDraft>> {
        let rows = self.store.item_list(tenant).await?.into_iter();
        let drafts = rows.filter(|row| is_draft(&row.version));
        let drafts = drafts.map(|row| ItemDraft {
            name: row.name,
            version: row.version,
            author: row.author,
            time: row.uploaded,
        });
        Ok(drafts.collect())
    }

    /// Deletes a draft, also one of another user, who can have left the project.
    ///
    /// # Errors
    /// If there is no such draft, or a deployment uses it or would return to it.
    pub async fn delete_draft(&self, tenant: &Tenant, (name, version): (&str, &str)) -> Result<()> {
        // Beside uploads, so that the files of one of them stay.
        let seen = self.seen(tenant);
        let mut seen = seen.lock().await;
        let rows = self.store.item_list(tenant).await?;
        find(&rows, name, version)?;
        if !is_draft(version) {
            return Err(Error::NotPossibleNow(format!(
                "`{name}` {version} is published, and a published version stays for the deployments that rely on it; \
                 only the server's operator removes one"
            )));
        }
        let key = (name, version);
        if !self.store.item_delete_unused(tenant, key).await? {
            let keepers = self.store.item_keeper_list(tenant, key).await?;
            if !keepers.is_empty() {
                let keepers = keepers.iter().map(|keeper| format!("`{keeper}`"));
                let keepers: Vec<String> = keepers.collect();
                return Err(Error::NotPossibleNow(format!(
                    "the draft {version} of `{name}` is used by these deployments, or they would return to it by a roll-back: {}; \
                     undeploy them or change their version first",
                    keepers.join(", ")
                )));
            }
        }
        *seen = None;
        self.remove_unused_folders(tenant, name).await
    }

    /// Deletes the user's drafts of an item, except the version `keep`, unless a deployment uses them or would return
    /// to them.
    pub(super) async fn delete_drafts(
        &self,
        tenant: &Tenant,
        publisher: Publisher<'_>,
        (name, keep): (&str, &str),
    ) -> Result<()> {
        let rows = self.store.item_list(tenant).await?;
        let drafts = rows.iter().filter(|row| {
            row.name == name
                && row.version != keep
                && is_draft(&row.version)
                && publisher.is_author_of(row)
        });
        for draft in drafts {
            let key = (name, draft.version.as_str());
            self.store.item_delete_unused(tenant, key).await?;
        }
        self.remove_unused_folders(tenant, name).await
    }

    /// Removes the folders of an item's deleted versions, also of those that another server has deleted.
    async fn remove_unused_folders(&self, tenant: &Tenant, name: &str) -> Result<()> {
        let rows = self.store.item_list(tenant).await?.into_iter();
        let rows = rows.filter(|row| row.name == name);
        let wanted: BTreeSet<String> = rows.map(|row| row.digest).collect();
        let item_folder = self.item_folder(tenant, name);
        blocking(move || {
            if let Err(error) = folder::remove_others(&item_folder, &wanted) {
                tracing::warn!(%error, "folders of deleted drafts are left");
            }
        })
        .await
    }
}
