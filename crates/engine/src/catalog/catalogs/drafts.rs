//! Drafts of items: versions before they are published.

use std::collections::BTreeSet;

use types::catalog::is_draft;

use super::{Catalogs, Published, Publisher, Stage, blocking};
use crate::{Result, Tenant, catalog::folder};

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

    /// Deletes the user's drafts of an item, except the version `keep`, unless a deployment uses them.
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
        // Also the folders of drafts that another server has deleted.
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
