//! Catalogue items that projects uploaded: their rows, their folders, and the catalogues of projects and deployments.
//!
//! An upload first writes the whole folder, named by its digest (`catalog/<project>/<item>/<digest>` below the data
//! folder), then the row with the archive. A crash in between leaves an unused folder, which the same upload uses
//! again. Another server with the same database unpacks the archive into its own folder when it first needs the
//! item. A version never changes. A deployment keeps the versions of its creation ([`Catalogs::of_deployment`]) until
//! it has no component of that item any more. The server's own items are kept for deployments, too ([`own`]).
//!
//! A project's item cannot have the name of one of the server's own items: `Stackloom::Catalog::nginx` in a template
//! must mean the same in every project, and in templates that projects exchange. If a later version of this program
//! contains an item whose name a project has published already, the project's own item takes precedence, so that its
//! deployments do not change.
//!
//! A draft is a version that is in no catalogue: only a deployment that asks for it uses it. Its version has a part of the
//! digest of its files, so it does not change either. The same user's next draft of the item, or the published version,
//! replaces it, as soon as no deployment uses it or would return to it by a roll-back. Every member can delete it then.
//!
//! Only the server's operator removes a published item: first its row, then its folder, then a restart.

mod drafts;
mod own;
mod versions;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex as StdMutex, PoisonError},
};

use hot::diagnostic::Diagnostic;
use sha2::{Digest, Sha256};
use store::{ItemRow, Outcome, Pin, Store, Transaction};
use tokio::sync::{Mutex, Semaphore};
use types::catalog::{
    CatalogItem, ItemCommand, MAIN_TASKS, draft_version, is_draft, precedence, recipe::RECIPE_FILE,
    role::RoleDraft,
};

use super::{
    Catalog, Content, Files, Item, Limits, check, digest, folder, hexadecimal, pack, role, unpack,
};
use crate::{Error, Result, Tenant};

/// Maximum disk space of a project's items, all versions together, in bytes.
const PROJECT_BYTES_MAX: i64 = 256 * 1024 * 1024;
/// Disk space of the smallest file, and of a folder, on common file systems, in bytes.
const BLOCK_BYTES: usize = 4096;
/// Maximum number of versions of an item. Each view of the catalogue reads all of them.
const VERSIONS_MAX: usize = 100;
/// Maximum number of a project's items, drafts included. Each view of the catalogue reads the rows of all of them.
const ITEMS_MAX: u32 = 500;
/// The design of an item's own test.
const TEST_FILE: &str = "tests/design.yaml";
/// The command that a draft has beside its own: runs the role again.
const AGAIN: &str = "again";
/// Number of archives that are unpacked at the same time.
const UNPACKED_AT_ONCE: usize = 2;

/// The catalogues of all projects.
pub struct Catalogs {
    /// The server's own items.
    own: Arc<Catalog>,
    /// The folder `catalog` below the data folder.
    folder: PathBuf,
    store: Store,
    /// By project. A project's lock is held while its items are read or stored, which can take seconds and delays no other
    /// project.
    seen: StdMutex<HashMap<Tenant, Arc<Mutex<Seen>>>>,
    unpacking: Semaphore,
}

/// A project's catalogue, with the rows that it was made from. `None` before it was read.
type Seen = Option<(Vec<ItemRow>, Arc<Catalog>)>;

/// A user who publishes an item.
#[derive(Clone, Copy, Debug)]
pub struct Publisher<'a> {
    /// The user's name.
    pub user: &'a str,
    /// The user's id in the cloud.
    pub user_id: &'a str,
    /// The user's rank.
    pub rank: Rank,
}

/// The rank of a user who publishes an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// Publishes new items, and versions of items that the user published first. Stores drafts of all items.
    Member,
    /// Publishes versions of all items.
    Administrator,
}

/// The use of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A version for all designs of the project.
    Published,
    /// A draft, for tests before it is published.
    Draft,
}

impl Publisher<'_> {
    fn is_author_of(&self, row: &ItemRow) -> bool {
        match &row.author_id {
            Some(id) => id == self.user_id,
            None => row.author == self.user,
        }
    }
}

/// The result of an upload.
#[derive(Clone, Debug)]
pub struct Published {
    /// The item in the catalogue after the upload.
    pub item: Arc<Item>,
    /// True if the project already had the same files under the same version.
    pub was_there: bool,
}

impl Catalogs {
    /// Uses a migrated database.
    pub fn new(own: Catalog, data_dir: &Path, store: Store) -> Catalogs {
        Catalogs {
            own: Arc::new(own),
            folder: data_dir.join("catalog"),
            store,
            seen: StdMutex::default(),
            unpacking: Semaphore::new(UNPACKED_AT_ONCE),
        }
    }

    /// The catalogue of a project: the newest version of each of its items, and the server's own items.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn of(&self, tenant: &Tenant) -> Result<Arc<Catalog>> {
        let seen = self.seen(tenant);
        let mut seen = seen.lock().await;
        let rows = self.store.item_list(tenant).await?;
        if let Some((of, known)) = &*seen
            && *of == rows
        {
            return Ok(known.clone());
        }
        let newest = newest(rows.clone());
        let (catalog, is_whole) = if newest.is_empty() {
            (self.own.clone(), true)
        } else {
            self.read(tenant, self.own.clone(), newest).await?
        };
        // An incomplete catalogue is not cached: a read that failed can succeed later.
        if is_whole {
            *seen = Some((rows, catalog.clone()));
        }
        Ok(catalog)
    }

    /// The catalogue of a project as it was seen last.
    fn seen(&self, tenant: &Tenant) -> Arc<Mutex<Seen>> {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(tenant.clone()).or_default().clone()
    }

    /// Stores the versions of these types' items for a deployment. `catalog` is the one that the plan used. The files of
    /// the server's own items are stored before ([`Catalogs::keep_own`]).
    pub async fn pin(
        &self,
        transaction: &mut Transaction,
        (tenant, deployment): (&Tenant, &str),
        catalog: &Catalog,
        types: &BTreeSet<&str>,
    ) -> Result<()> {
        let items = types.iter().filter_map(|name| catalog.of_type(name));
        let pins = items.map(|item| Pin {
            item: item.described.name.clone(),
            version: item.described.version.clone(),
        });
        let pins: Vec<Pin> = pins.collect();
        Ok(transaction.pin_replace(tenant, deployment, &pins).await?)
    }

    /// The draft of a manifest for a role.
    ///
    /// # Errors
    /// If the archive is not a role.
    pub async fn draft(&self, archive: Vec<u8>) -> Result<RoleDraft> {
        let _slot = self.unpacking.acquire().await;
        let unpacked = blocking(move || unpack(archive.as_slice(), &Limits::default())).await?;
        Ok(role::draft(&unpacked.map_err(Error::ItemRefused)?))
    }

    /// Adds an item from a tar.gz or zip to a project's catalogue. A role without a manifest gets `manifest`.
    ///
    /// # Errors
    /// If the archive is not an item, its name is one of the server's own, its version exists with other files, another user
    /// owns the item, or the project has no room left.
    pub async fn publish(
        &self,
        tenant: &Tenant,
        publisher: Publisher<'_>,
        archive: Vec<u8>,
        manifest: Option<String>,
    ) -> Result<Published> {
        let files = (archive, manifest);
        self.add(tenant, publisher, files, Stage::Published).await
    }

    /// As [`Catalogs::publish`], for a version or a draft.
    async fn add(
        &self,
        tenant: &Tenant,
        publisher: Publisher<'_>,
        (archive, manifest): (Vec<u8>, Option<String>),
        stage: Stage,
    ) -> Result<Published> {
        let turn = self.unpacking.acquire().await;
        let checked = blocking(move || checked(archive, manifest.as_deref()));
        let (described, files, archive) = checked.await?.map_err(Error::ItemRefused)?;
        let digest = digest(&files);
        drop(turn);
        let name = described.name;
        let version = match stage {
            Stage::Published => described.version,
            Stage::Draft => draft_version(&described.version, &digest),
        };

        // One upload of a project at a time: the checks here still hold when the row is written.
        let seen = self.seen(tenant);
        let mut seen = seen.lock().await;
        let rows = self.store.item_list(tenant).await?;
        if !is_published(&rows, &name) && self.is_own(&name).await? {
            return Err(Error::ItemNameTaken(name));
        }
        let same = |row: &&ItemRow| row.name == name && row.version == version;
        let was_there = match rows.iter().find(same) {
            Some(row) if row.digest != digest => {
                return Err(Error::ItemVersionTaken { name, version });
            }
            Some(_) => true,
            None => false,
        };
        let bytes = bytes_on_disk(&files);
        if !was_there {
            if stage == Stage::Published {
                check_owner(&rows, publisher, &name)?;
            }
            check_numbers(&rows, &name, &version)?;
            self.check_room(tenant, bytes).await?;
        }
        self.write(tenant, &name, &digest, files).await?;
        if !was_there {
            let key = (name.as_str(), version.as_str());
            let author = (publisher.user, publisher.user_id);
            let inserted = self
                .store
                .item_insert(tenant, key, &digest, bytes, author, &archive);
            // Another server with the same database was faster.
            if inserted.await? == Outcome::Conflict {
                return Err(Error::ItemVersionTaken { name, version });
            }
        }
        self.delete_drafts(tenant, publisher, (&name, &version))
            .await?;
        *seen = None;
        drop(seen);
        let item = match stage {
            Stage::Published => self.of(tenant).await?.get(&name).cloned(),
            Stage::Draft => Some(self.version(tenant, &name, &version).await?),
        };
        let item = item.ok_or_else(|| {
            Error::Unavailable(format!("`{name}` is stored and cannot be read again"))
        })?;
        Ok(Published { item, was_there })
    }

    async fn check_room(&self, tenant: &Tenant, bytes: i64) -> Result<()> {
        let used = self.store.item_bytes(tenant).await?;
        if used + bytes > PROJECT_BYTES_MAX {
            Err(Error::CatalogFull(PROJECT_BYTES_MAX / (1024 * 1024)))
        } else {
            Ok(())
        }
    }

    async fn write(&self, tenant: &Tenant, name: &str, digest: &str, files: Files) -> Result<()> {
        let place = self.place(tenant, name, digest);
        blocking(move || folder::store_files(&place, &files))
            .await?
            .map_err(|error| Error::Unavailable(format!("the item cannot be written: {error}")))
    }

    /// Reads the items of these rows from their folders and adds them to `below`. Unreadable items are logged and
    /// skipped; the second value is true if there were none.
    async fn read(
        &self,
        tenant: &Tenant,
        below: Arc<Catalog>,
        rows: Vec<(ItemRow, Vec<String>)>,
    ) -> Result<(Arc<Catalog>, bool)> {
        let placed = rows.into_iter().map(|(row, versions)| {
            let place = self.place(tenant, &row.name, &row.digest);
            (row, versions, place)
        });
        let placed: Vec<_> = placed.collect();
        for (row, _, place) in &placed {
            if !place.exists() {
                self.restore(tenant, row).await?;
            }
        }
        blocking(move || {
            let mut items = below.items.clone();
            let mut is_whole = true;
            for (row, versions, place) in placed {
                // If a project's item cannot be read, its name does not fall back to the server's own item.
                items.remove(&row.name);
                match stored_item(&row, versions, place) {
                    Ok(item) => {
                        items.insert(row.name, Arc::new(item));
                    }
                    Err(why) => {
                        is_whole = false;
                        tracing::error!(
                            item = row.name,
                            version = row.version,
                            "an uploaded item is left out: {why}"
                        );
                    }
                }
            }
            (
                Arc::new(Catalog::of(items, below.problems.clone())),
                is_whole,
            )
        })
        .await
    }

    /// Unpacks an item that another server received. Whatever does not work shows when the item is read.
    async fn restore(&self, tenant: &Tenant, row: &ItemRow) -> Result<()> {
        let key = (row.name.as_str(), row.version.as_str());
        let Some(archive) = self.store.item_archive(tenant, key).await? else {
            return Ok(());
        };
        let unpacked = blocking(move || unpack(archive.as_slice(), &Limits::default())).await?;
        match unpacked {
            Ok(files) if digest(&files) == row.digest => {
                self.write(tenant, &row.name, &row.digest, files).await
            }
            _ => Ok(()),
        }
    }

    fn place(&self, tenant: &Tenant, name: &str, digest: &str) -> PathBuf {
        self.item_folder(tenant, name).join(digest)
    }

    /// The folder with all versions of an item.
    fn item_folder(&self, tenant: &Tenant, name: &str) -> PathBuf {
        // The cloud chooses project ids, so they cannot be used in a path.
        let owner = Sha256::new()
            .chain_update((tenant.cloud.len() as u64).to_be_bytes())
            .chain_update(&tenant.cloud)
            .chain_update(&tenant.project_id)
            .finalize();
        self.folder.join(hexadecimal(&owner[..16])).join(name)
    }
}

fn stored_item(row: &ItemRow, versions: Vec<String>, place: PathBuf) -> Result<Item, String> {
    let mut files = folder::stored_files(&place, &row.digest).map_err(|error| error.to_string())?;
    // An item that was accepted under less strict rules still works, but without its icon.
    files.retain(|path, text| {
        path != "icon.svg" || std::str::from_utf8(text).is_ok_and(check::is_drawing)
    });
    let described = check::item(&files).map_err(|problems| {
        let messages: Vec<String> = problems.into_iter().map(|one| one.message).collect();
        messages.join("; ")
    })?;
    let is_draft = is_draft(&row.version);
    let mut commands = described.commands;
    if is_draft && !commands.iter().any(|command| command.name == AGAIN) {
        commands.push(ItemCommand {
            name: AGAIN.to_owned(),
            summary: "Runs the role again, which should change nothing.".to_owned(),
            tasks: MAIN_TASKS.to_owned(),
        });
    }
    let test = files.get(TEST_FILE).filter(|_| is_draft);
    Ok(Item {
        described: CatalogItem {
            // The version of a draft is not the one of its manifest.
            version: row.version.clone(),
            commands,
            ..described
        },
        uploaded: Some(api::Uploaded {
            author: row.author.clone(),
            time: row.uploaded.clone(),
            versions,
            from_form: files.contains_key(RECIPE_FILE),
            test: test.and_then(|text| String::from_utf8(text.clone()).ok()),
        }),
        content: Content::Stored(place, row.digest.clone()),
    })
}

/// The item of an upload, its files, and the archive to store.
fn checked(
    archive: Vec<u8>,
    manifest: Option<&str>,
) -> Result<(CatalogItem, Files, Vec<u8>), Vec<Diagnostic>> {
    let mut files = unpack(archive.as_slice(), &Limits::default())?;
    let is_added = manifest.is_some_and(|manifest| role::complete(&mut files, manifest));
    let described = check::item(&files)?;
    let archive = if is_added {
        pack(&files)
            .map_err(|error| vec![Diagnostic::error("archive-invalid", "", error.to_string())])?
    } else {
        archive
    };
    Ok((described, files, archive))
}

/// Disk space of the files, in bytes: whole blocks, plus a block for each folder and for the item's own folder.
fn bytes_on_disk(files: &Files) -> i64 {
    let folders: BTreeSet<&Path> = files
        .keys()
        .flat_map(|path| Path::new(path).ancestors().skip(1))
        .collect();
    let blocks = files
        .values()
        .map(|file| file.len().div_ceil(BLOCK_BYTES).max(1));
    ((blocks.sum::<usize>() + folders.len()) * BLOCK_BYTES) as i64
}

/// Checks that the user may publish a version. Everybody deploys the newest version next, so only the item's owner publishes
/// one: the user who published the first.
fn check_owner(rows: &[ItemRow], publisher: Publisher<'_>, name: &str) -> Result<()> {
    let published = rows.iter().filter(|row| !is_draft(&row.version));
    let versions = published.filter(|row| row.name == name);
    let first = versions.min_by(|one, other| one.uploaded.cmp(&other.uploaded));
    match first {
        Some(first) if publisher.rank != Rank::Administrator && !publisher.is_author_of(first) => {
            Err(Error::ItemOwned {
                owner: first.author.clone(),
                name: name.to_owned(),
            })
        }
        _ => Ok(()),
    }
}

/// Checks the limits for another version: versions, or drafts, of its item, and items of the project.
fn check_numbers(rows: &[ItemRow], name: &str, version: &str) -> Result<()> {
    let is_alike = |row: &&ItemRow| row.name == name && is_draft(&row.version) == is_draft(version);
    if rows.iter().filter(is_alike).count() >= VERSIONS_MAX {
        return Err(Error::TooManyVersions {
            name: name.to_owned(),
            limit: VERSIONS_MAX,
        });
    }
    let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    if names.len() >= ITEMS_MAX as usize && !names.contains(name) {
        return Err(Error::ProjectFull {
            what: "catalogue items, drafts included",
            limit: ITEMS_MAX,
        });
    }
    Ok(())
}

/// True if a project, whose rows these are, has published an item of this name.
fn is_published(rows: &[ItemRow], name: &str) -> bool {
    rows.iter()
        .any(|row| row.name == name && !is_draft(&row.version))
}

/// The newest published version of each name, with the names of all its versions, newest first.
fn newest(rows: Vec<ItemRow>) -> Vec<(ItemRow, Vec<String>)> {
    let mut by_name: BTreeMap<String, Vec<ItemRow>> = BTreeMap::new();
    for row in rows.into_iter().filter(|row| !is_draft(&row.version)) {
        by_name.entry(row.name.clone()).or_default().push(row);
    }
    let newest = by_name.into_values().filter_map(|mut rows| {
        rows.sort_by(|one, other| precedence(&other.version, &one.version));
        let versions = rows.iter().map(|row| row.version.clone()).collect();
        Some((rows.into_iter().next()?, versions))
    });
    newest.collect()
}

impl Item {
    /// As [`Item::files`], for async callers.
    ///
    /// # Errors
    /// If files are missing or differ from the upload.
    pub async fn read_files(self: &Arc<Item>) -> Result<Files> {
        let item = self.clone();
        blocking(move || item.files()).await?.map_err(|error| {
            Error::Unavailable(format!("the item's files cannot be read: {error}"))
        })
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        Error::Unavailable(format!(
            "the work of the catalogue was interrupted: {error}"
        ))
    })
}

#[cfg(test)]
mod tests;
