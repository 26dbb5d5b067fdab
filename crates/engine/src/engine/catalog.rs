//! The catalogue of a project: reading it, and publishing items from archives and from forms.

use std::sync::Arc;

use types::catalog::{
    is_draft,
    recipe::{RECIPE_FILE, Recipe},
    role::RoleDraft,
};

use super::Engine;
use crate::{
    Actor, Error, Result, Tenant,
    catalog::{Catalog, Files, Item, Published, Publisher, Rank, Stage, pack},
};

impl Engine {
    /// The catalogue of a project: the server's own items and the project's uploads.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn catalog(&self, tenant: &Tenant) -> Result<Arc<Catalog>> {
        self.core.catalogs.of(tenant).await
    }

    /// Hosts of git repositories whose items can be published, as they stand in URLs.
    pub fn git_hosts(&self) -> Vec<String> {
        self.core.repositories.hosts()
    }

    /// A folder of a git repository as tar.gz, at most `limit` bytes.
    ///
    /// # Errors
    /// If the repository may not be read, cannot be read, or is too large.
    pub async fn pack_repository(
        &self,
        repository: &api::Repository,
        limit: usize,
    ) -> Result<Vec<u8>> {
        self.core.repositories.pack(repository, limit).await
    }

    /// The draft of a manifest for a role that has none.
    ///
    /// # Errors
    /// If the archive is not a role.
    pub async fn role_draft(&self, archive: Vec<u8>) -> Result<RoleDraft> {
        self.core.catalogs.draft(archive).await
    }

    /// Drafts of the project's items, by name.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn drafts(&self, tenant: &Tenant) -> Result<Vec<api::ItemDraft>> {
        self.core.catalogs.drafts(tenant).await
    }

    /// Deletes a draft of an item, whoever stored it.
    ///
    /// # Errors
    /// If there is no such draft, or a deployment uses it or would return to it by a roll-back.
    pub async fn delete_draft(&self, actor: &Actor, name: &str, version: &str) -> Result<()> {
        self.core.check_running()?;
        let catalogs = &self.core.catalogs;
        catalogs.delete_draft(&actor.tenant, (name, version)).await
    }

    /// One version of an item, which can be a draft.
    ///
    /// # Errors
    /// If the project does not have it, or it cannot be read.
    pub async fn item_version(
        &self,
        tenant: &Tenant,
        name: &str,
        version: &str,
    ) -> Result<Arc<Item>> {
        self.core.catalogs.version(tenant, name, version).await
    }

    /// Adds an item from a tar.gz or zip to the project's catalogue, or stores it as a draft. A role without a manifest gets
    /// `manifest`.
    ///
    /// # Errors
    /// If the archive is not an item, its name or version is taken, or the disk is almost full. Then nothing has changed.
    pub async fn publish(
        &self,
        actor: &Actor,
        archive: Vec<u8>,
        manifest: Option<String>,
        stage: Stage,
    ) -> Result<Published> {
        self.core.check_running()?;
        self.core.disk.check()?;
        let catalogs = &self.core.catalogs;
        let is_administrator = actor.session.has_role("admin");
        let rank = if is_administrator {
            Rank::Administrator
        } else {
            Rank::Member
        };
        let publisher = Publisher {
            user: &actor.user,
            user_id: &actor.session.user().id,
            rank,
        };
        let tenant = &actor.tenant;
        match stage {
            Stage::Published => catalogs.publish(tenant, publisher, archive, manifest).await,
            Stage::Draft => {
                let draft = catalogs.store_draft(tenant, publisher, archive, manifest);
                draft.await
            }
        }
    }

    /// Publishes a draft, whoever stored it: the same files, under the version of their manifest.
    ///
    /// # Errors
    /// If there is no such draft, or its files cannot be published. Then nothing has changed.
    pub async fn publish_draft(
        &self,
        actor: &Actor,
        name: &str,
        version: &str,
    ) -> Result<Published> {
        if !is_draft(version) {
            return Err(Error::NotFound {
                what: "draft",
                id: format!("{name} {version}"),
            });
        }
        let draft = self.item_version(&actor.tenant, name, version).await?;
        let archive = packed(&draft.read_files().await?)?;
        self.publish(actor, archive, None, Stage::Published).await
    }

    /// Adds the item of a form to the project's catalogue, or stores it as a draft.
    ///
    /// # Errors
    /// If the recipe has problems, or the item's name or version is taken. Then nothing has changed.
    pub async fn publish_recipe(
        &self,
        actor: &Actor,
        recipe: &Recipe,
        stage: Stage,
    ) -> Result<Published> {
        let archive = packed(&files_of(recipe)?)?;
        self.publish(actor, archive, None, stage).await
    }

    /// The recipe of an item's newest version. `None` if the item was not made from a form.
    ///
    /// # Errors
    /// If the item does not exist, or its files cannot be read.
    pub async fn recipe(&self, tenant: &Tenant, name: &str) -> Result<Option<Recipe>> {
        let files = self.item_files(tenant, name).await?;
        let recipe = files.get(RECIPE_FILE);
        Ok(recipe.and_then(|json| serde_json::from_slice(json).ok()))
    }

    /// The files of an item's newest version.
    pub(super) async fn item_files(&self, tenant: &Tenant, name: &str) -> Result<Files> {
        let catalog = self.catalog(tenant).await?;
        let item = catalog.get(name).ok_or_else(|| Error::NotFound {
            what: "item",
            id: name.to_owned(),
        })?;
        item.read_files().await
    }
}

/// The archive of an item's files.
fn packed(files: &Files) -> Result<Vec<u8>> {
    pack(files).map_err(|error| Error::Unavailable(format!("the item cannot be packed: {error}")))
}

/// The files of the role that a recipe becomes.
pub(super) fn files_of(recipe: &Recipe) -> Result<Files> {
    let problems = recipe.check();
    if !problems.is_empty() {
        return Err(Error::ItemRefused(problems));
    }
    let files = recipe.files().into_iter();
    Ok(files
        .map(|(path, text)| (path, text.into_bytes()))
        .collect())
}
