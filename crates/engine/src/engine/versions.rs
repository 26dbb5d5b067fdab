//! Versions of catalogue items on deployments: which are in use, what differs between two, and the upgrade from one to
//! another.
//!
//! An upgrade is an update without a change of the template. The plan compares the versions that the components were set
//! up with (`ResourceSpec::version`), and the last good state keeps the versions, so that a roll-back returns to them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use api::{CloudFacts, DeployedItem, FileChange, ItemComparison, ItemUse, Started, UpgradeRequest};
use store::ResourceRow;

use super::{Changes, Engine};
use crate::{
    Actor, Error, Result, Tenant,
    catalog::{Files, Item, item_name},
};

/// Size up to which a file is shown in a comparison, in bytes.
const SHOWN_BYTES_MAX: usize = 128 * 1024;

impl Engine {
    /// The items that a deployment uses.
    pub(super) async fn items_in_use(
        &self,
        tenant: &Tenant,
        deployment: &str,
        resources: &[ResourceRow],
    ) -> Result<Vec<DeployedItem>> {
        let is_software = |row: &ResourceRow| item_name(&row.spec.resource_type).is_some();
        if !resources.iter().any(is_software) {
            return Ok(Vec::new());
        }
        let store = &self.core.store;
        let pins = store.pin_list(tenant, deployment).await?;
        if pins.is_empty() {
            return Ok(Vec::new());
        }
        let mut versions = self.core.catalogs.versions(tenant).await?;
        let items = pins.into_iter().map(|pin| {
            let components = resources.iter();
            let components =
                components.filter(|row| item_name(&row.spec.resource_type) == Some(&*pin.item));
            DeployedItem {
                components: components.map(|row| row.name.clone()).collect(),
                versions: versions.remove(&pin.item).unwrap_or_default(),
                name: pin.item,
                version: pin.version,
            }
        });
        let mut items: Vec<DeployedItem> = items.collect();
        items.retain(|item| !item.components.is_empty());
        items.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(items)
    }

    /// The deployment's resources. A component that was set up before versions were recorded has the deployment's
    /// version of its item.
    pub(super) async fn versioned_resources(
        &self,
        tenant: &Tenant,
        deployment: &str,
    ) -> Result<Vec<ResourceRow>> {
        let store = &self.core.store;
        let mut resources = store.resource_list(tenant, deployment).await?;
        let pins = store.pin_list(tenant, deployment).await?;
        for ResourceRow { spec, .. } in &mut resources {
            if spec.version.is_none()
                && let Some(name) = item_name(&spec.resource_type)
            {
                let pin = pins.iter().find(|pin| pin.item == name);
                spec.version = pin.map(|pin| pin.version.clone());
            }
        }
        Ok(resources)
    }

    /// Deployments of a project with components of an item, by name.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn item_uses(&self, tenant: &Tenant, item: &str) -> Result<Vec<ItemUse>> {
        let resource_type = format!("{}{item}", types::CATALOG);
        let store = &self.core.store;
        Ok(store.item_use_list(tenant, item, &resource_type).await?)
    }

    pub(super) async fn begin_upgrade(
        &self,
        actor: &Actor,
        deployment: &str,
        request: UpgradeRequest,
        cloud: CloudFacts,
    ) -> Result<Started> {
        let tenant = &actor.tenant;
        let row = self.live_row(tenant, deployment).await?;
        let there = self.core.store.resource_list(tenant, deployment).await?;
        let items = self.items_in_use(tenant, deployment, &there).await?;
        if !items.iter().any(|item| item.name == request.item) {
            return Err(Error::NotFound {
                what: "item in the deployment",
                id: request.item,
            });
        }
        let changes = Changes {
            base_run: request.base_run.or(row.shown.last_run.clone()),
            versions: BTreeMap::from([(request.item, request.version)]),
            plan_digest: request.plan_digest,
            on_failure: request.on_failure,
            upgrade_batch: request.batch.unwrap_or(1) as usize,
            ..Changes::unchanged(&row, cloud)
        };
        self.begin_update(actor, deployment, changes).await
    }

    /// The files that differ between two versions of an item.
    ///
    /// # Errors
    /// If project and server have no such version.
    pub async fn compare_versions(
        &self,
        tenant: &Tenant,
        item: &str,
        (from, to): (&str, &str),
    ) -> Result<ItemComparison> {
        let catalogs = &self.core.catalogs;
        let (old, new): (Arc<Item>, Arc<Item>) = (
            catalogs.version(tenant, item, from).await?,
            catalogs.version(tenant, item, to).await?,
        );
        let (old, new) = (old.read_files().await?, new.read_files().await?);
        Ok(ItemComparison {
            files: differences(&old, &new),
        })
    }
}

fn differences(old: &Files, new: &Files) -> Vec<FileChange> {
    let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let changed = paths
        .into_iter()
        .filter(|path| old.get(*path) != new.get(*path));
    let shown = |files: &Files, path: &str| files.get(path).map(|content| shown(content));
    changed
        .map(|path| FileChange {
            old: shown(old, path),
            new: shown(new, path),
            path: path.clone(),
        })
        .collect()
}

/// The text of a file, or a word about one that is no text.
fn shown(content: &[u8]) -> String {
    match std::str::from_utf8(content) {
        Ok(text) if text.len() <= SHOWN_BYTES_MAX => text.to_owned(),
        Ok(_) => format!("(a text of {} KiB)", content.len() / 1024),
        Err(_) => format!("(no text, {} bytes)", content.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_differ_are_listed_with_both_texts() {
        let files = |all: &[(&str, &[u8])]| -> Files {
            all.iter()
                .map(|(path, content)| ((*path).to_owned(), content.to_vec()))
                .collect()
        };
        let old = files(&[("a", b"1"), ("b", b"same"), ("c", b"gone")]);
        let new = files(&[("a", b"2"), ("b", b"same"), ("d", &[0xff])]);
        let change = |path: &str, old: Option<&str>, new: Option<&str>| FileChange {
            path: path.to_owned(),
            old: old.map(str::to_owned),
            new: new.map(str::to_owned),
        };
        assert_eq!(
            differences(&old, &new),
            [
                change("a", Some("1"), Some("2")),
                change("c", Some("gone"), None),
                change("d", None, Some("(no text, 1 bytes)")),
            ]
        );
    }
}
