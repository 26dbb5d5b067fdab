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
    /// If project and server do not have one of the versions, or the database cannot be read.
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
        if let Some(name) = self.missing(tenant, versions).await? {
            let version = versions.get(name).map_or("", String::as_str);
            return Err(no_version(name, version));
        }
        let pins = pins.into_iter().map(|pin| (pin.item, pin.version));
        let all = pins.chain(versions.clone()).collect();
        self.pinned(tenant, &all).await
    }

    /// The first item of which project and server do not have this version.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn missing<'v>(
        &self,
        tenant: &Tenant,
        versions: &'v BTreeMap<String, String>,
    ) -> Result<Option<&'v str>> {
        let rows = self.store.item_list(tenant).await?;
        for (name, version) in versions {
            if self.own_version(&rows, name, version).await?.is_none()
                && find(&rows, name, version).is_err()
            {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    async fn pinned(
        &self,
        tenant: &Tenant,
        versions: &BTreeMap<String, String>,
    ) -> Result<Arc<Catalog>> {
        let catalog = self.of(tenant).await?;
        let is_newest = |(name, version): (&String, &String)| {
            let newest = catalog.get(name);
            newest.is_some_and(|item| item.described.version == *version)
        };
        if versions.iter().all(is_newest) {
            return Ok(catalog);
        }
        let rows = self.store.item_list(tenant).await?;
        let mut others = catalog.items.clone();
        others.retain(|name, _| !versions.contains_key(name));
        for (name, version) in versions {
            if let Some(own) = self.own_version(&rows, name, version).await? {
                others.insert(name.clone(), own);
            }
        }
        let others = Arc::new(Catalog::of(others, Vec::new()));
        let rows = rows.into_iter();
        let rows = rows.filter(|row| versions.get(&row.name) == Some(&row.version));
        let rows = rows.map(|row| (row, Vec::new())).collect();
        let (catalog, _) = self.read(tenant, others, rows).await?;
        Ok(catalog)
    }

    /// All versions of each item that a deployment can change to, newest first, by name: the published ones of the
    /// project's items, and the present and the stored ones of the server's own.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn versions(&self, tenant: &Tenant) -> Result<BTreeMap<String, Vec<String>>> {
        let rows = self.store.item_list(tenant).await?;
        let mut versions = self.own_versions().await?;
        versions.extend(newest(rows).into_iter().map(|(row, all)| (row.name, all)));
        Ok(versions)
    }

    /// One version of an item. The server's own items have the present version and those that deployments use or used.
    ///
    /// # Errors
    /// If the project does not have it, or it cannot be read.
    pub async fn version(&self, tenant: &Tenant, name: &str, version: &str) -> Result<Arc<Item>> {
        let rows = self.store.item_list(tenant).await?;
        if let Some(own) = self.own_version(&rows, name, version).await? {
            return Ok(own);
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
    found.ok_or_else(|| no_version(name, version))
}

fn no_version(name: &str, version: &str) -> Error {
    Error::NotFound {
        what: "version of an item",
        id: format!("{name} {version}"),
    }
}
