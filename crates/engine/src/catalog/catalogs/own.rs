//! The server's own items, in the versions that deployments use.
//!
//! The server's folder has one version of each item. A deployment stays on its version when the operator brings another
//! one, so a version's files are stored before the first deployment uses it. They stay stored: releases are few, and
//! their items are small.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hot::diagnostic::Diagnostic;
use store::{ItemRow, ServerItemRow};
use types::catalog::{CatalogItem, precedence};

use super::{Catalogs, blocking, is_published};
use crate::{
    Error, Result,
    catalog::{Catalog, Content, ITEM_BYTES_MAX, Item, Limits, check, digest, pack, unpack},
};

/// Limits on a stored archive, which the server packed itself: only its size is limited.
const LIMITS: Limits = Limits {
    bytes: ITEM_BYTES_MAX,
    entries: 100_000,
    depth: 100,
    path_bytes: 4096,
};

impl Catalogs {
    /// Stores the files of the server's own items among these types, before a deployment gets these versions.
    ///
    /// # Errors
    /// If the files cannot be packed, or the database fails.
    pub async fn keep_own(&self, catalog: &Catalog, types: &BTreeSet<&str>) -> Result<()> {
        let items = types.iter().filter_map(|name| catalog.of_type(name));
        let items: Vec<&Arc<Item>> = items.filter(|item| item.uploaded.is_none()).collect();
        if items.is_empty() {
            return Ok(());
        }
        let stored = self.store.server_item_list().await?;
        for item in items {
            let files = item.read_files().await?;
            let CatalogItem { name, version, .. } = &item.described;
            let row = ServerItemRow {
                name: name.clone(),
                version: version.clone(),
                digest: digest(&files),
            };
            if stored.contains(&row) {
                continue;
            }
            if stored
                .iter()
                .any(|one| one.name == *name && one.version == *version)
            {
                tracing::warn!(
                    item = name,
                    version,
                    "the server's item has other files than before under the same version: deployments on this version \
                     use the new files; changed files need another version"
                );
            }
            let archive = blocking(move || pack(&files)).await?.map_err(|error| {
                Error::Unavailable(format!("`{name}` {version} cannot be packed: {error}"))
            })?;
            self.store.server_item_put(&row, &archive).await?;
        }
        Ok(())
    }

    /// A version of one of the server's own items: the present one, or a stored one. `None` if there is no such version,
    /// or if the project, whose rows these are, has published an item of that name.
    pub(super) async fn own_version(
        &self,
        rows: &[ItemRow],
        name: &str,
        version: &str,
    ) -> Result<Option<Arc<Item>>> {
        if is_published(rows, name) {
            return Ok(None);
        }
        let present = self.own.get(name);
        if let Some(present) = present.filter(|item| item.described.version == version) {
            return Ok(Some(present.clone()));
        }
        let Some(archive) = self.store.server_item_archive(name, version).await? else {
            return Ok(None);
        };
        let read = blocking(move || -> Result<Item, Vec<Diagnostic>> {
            let files = unpack(&archive, &LIMITS)?;
            Ok(Item {
                described: check::item(&files)?,
                uploaded: None,
                content: Content::Kept(files),
            })
        });
        match read.await? {
            Ok(item) => Ok(Some(Arc::new(item))),
            Err(problems) => {
                let messages: Vec<String> = problems.into_iter().map(|one| one.message).collect();
                let why = messages.join("; ");
                tracing::error!(item = name, version, "a stored item is left out: {why}");
                Ok(None)
            }
        }
    }

    /// True if this is the name of one of the server's own items, or was and deployments use it.
    pub(super) async fn is_own(&self, name: &str) -> Result<bool> {
        if self.own.get(name).is_some() {
            return Ok(true);
        }
        let stored = self.store.server_item_list().await?;
        Ok(stored.iter().any(|one| one.name == name))
    }

    /// The present and the stored versions of each of the server's own items, newest first, by name. Versions newer than
    /// the present one are left out: the operator went back.
    pub(super) async fn own_versions(&self) -> Result<BTreeMap<String, Vec<String>>> {
        let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for ServerItemRow { name, version, .. } in self.store.server_item_list().await? {
            let present = self.own.get(&name);
            let is_older = present
                .is_none_or(|present| precedence(&version, &present.described.version).is_lt());
            if is_older {
                versions.entry(name).or_default().push(version);
            }
        }
        for present in self.own.items() {
            let CatalogItem { name, version, .. } = &present.described;
            versions
                .entry(name.clone())
                .or_default()
                .push(version.clone());
        }
        for versions in versions.values_mut() {
            versions.sort_by(|one, other| precedence(other, one));
        }
        Ok(versions)
    }
}
