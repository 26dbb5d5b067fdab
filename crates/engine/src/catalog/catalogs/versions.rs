//! Versions of items: those of a deployment, and single ones.

use std::{collections::BTreeMap, sync::Arc};

use store::ItemRow;

use super::{Catalogs, newest};
use crate::{
    Error, Result, Tenant,
    catalog::{Catalog, Item},
};

impl Catalogs {
    /// The catalogue of a deployment: as [`Catalogs::of`], but with the deployment's versions of the items.
    ///
    /// A deleted version is missing here. It is not replaced by another one.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn of_deployment(&self, tenant: &Tenant, deployment: &str) -> Result<Arc<Catalog>> {
        let pins = self.store.pin_list(tenant, deployment).await?;
        let versions = pins.into_iter().map(|pin| (pin.item, pin.version));
        self.pinned(tenant, &versions.collect()).await
    }

    /// As [`Catalogs::of_deployment`], with these versions of some items instead of the deployment's. Without a
    /// deployment, as [`Catalogs::of`] with these versions.
    ///
    /// # Errors
    /// If the project does not have one of the versions, or the database cannot be read.
    pub async fn with_versions(
        &self,
        tenant: &Tenant,
        deployment: Option<&str>,
        versions: &BTreeMap<String, String>,
    ) -> Result<Arc<Catalog>> {
        let pins = match deployment {
            Some(deployment) => self.store.pin_list(tenant, deployment).await?,
            None => Vec::new(),
        };
        let rows = self.store.item_list(tenant).await?;
        for (name, version) in versions {
            find(&rows, name, version)?;
        }
        let pins = pins.into_iter().map(|pin| (pin.item, pin.version));
        let all = pins.chain(versions.clone()).collect();
        self.pinned(tenant, &all).await
    }

    async fn pinned(
        &self,
        tenant: &Tenant,
        versions: &BTreeMap<String, String>,
    ) -> Result<Arc<Catalog>> {
        let catalog = self.of(tenant).await?;
        let is_newest = |(name, version): (&String, &String)| {
            let newest = catalog.get(name);
            let newest = newest.filter(|item| item.uploaded.is_some());
            newest.is_some_and(|item| item.described.version == *version)
        };
        if versions.iter().all(is_newest) {
            return Ok(catalog);
        }
        let rows = self.store.item_list(tenant).await?.into_iter();
        let rows = rows.filter(|row| versions.get(&row.name) == Some(&row.version));
        let mut others = catalog.items.clone();
        others.retain(|name, _| !versions.contains_key(name));
        let others = Arc::new(Catalog::of(others, Vec::new()));
        let rows = rows.map(|row| (row, Vec::new())).collect();
        let (catalog, _) = self.read(tenant, others, rows).await?;
        Ok(catalog)
    }

    /// All published versions of each of the project's items, newest first, by name.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn versions(&self, tenant: &Tenant) -> Result<BTreeMap<String, Vec<String>>> {
        let newest = newest(self.store.item_list(tenant).await?).into_iter();
        let versions = newest.map(|(row, versions)| (row.name, versions));
        Ok(versions.collect())
    }

    /// One version of an item. Of the server's own items, there is one.
    ///
    /// # Errors
    /// If the project does not have it, or it cannot be read.
    pub async fn version(&self, tenant: &Tenant, name: &str, version: &str) -> Result<Arc<Item>> {
        let rows = self.store.item_list(tenant).await?;
        let is_uploaded = rows.iter().any(|row| row.name == name);
        let own = self.own.get(name).filter(|_| !is_uploaded);
        if let Some(own) = own.filter(|item| item.described.version == version) {
            return Ok(own.clone());
        }
        let row = find(&rows, name, version)?.clone();
        let nothing = Arc::new(Catalog::default());
        let mut all = newest(rows).into_iter();
        let published = all.find(|(newest, _)| newest.name == name);
        let versions = published.map(|(_, versions)| versions).unwrap_or_default();
        let (catalog, _) = self.read(tenant, nothing, vec![(row, versions)]).await?;
        let item = catalog.get(name).cloned();
        item.ok_or_else(|| Error::Unavailable(format!("`{name}` {version} cannot be read")))
    }
}

pub(super) fn find<'r>(rows: &'r [ItemRow], name: &str, version: &str) -> Result<&'r ItemRow> {
    let mut rows = rows.iter();
    let found = rows.find(|row| row.name == name && row.version == version);
    found.ok_or_else(|| Error::NotFound {
        what: "version of an item",
        id: format!("{name} {version}"),
    })
}
