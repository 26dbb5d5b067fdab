//! The service catalogue of a project: the server's own items, and items that the project's members uploaded.
//!
//! An item is an Ansible role with an `item.yml`. No part of a role is evaluated here: two of its files are parsed as
//! data, all other files are bytes for the sandbox. In reading order: [`folder`] reads the server's own items,
//! [`unpack`] unpacks an uploaded archive, [`repository`] makes one of a git repository, [`check`] checks if files form an item, [`catalogs`] stores uploaded items
//! and returns the catalogue of a project or of one of its deployments.
//!
//! An upload is unpacked in memory, with limits on bytes, entries, depth and names; links and special files are
//! refused. Its files are written below the data folder under their hash before the row is stored. The hash is checked
//! each time before a sandbox gets the files. A version of an item never changes. A deployment keeps its versions as
//! long as it has components of them: planner, update form and configure step use those. Users' values are passed to
//! Ansible as unsafe values, so they are never evaluated as templates. Values that a role sets by `set_stats` can be
//! outputs, with secrets masked.
//!
//! A [`Catalog`] never changes. An upload creates a new one, and a run or plan with the old one continues with it.

mod catalogs;
mod check;
mod folder;
pub(crate) mod lint;
mod pack;
mod repository;
mod role;
mod unpack;

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use hot::diagnostic::Diagnostic;
use sha2::{Digest, Sha256};
use types::{Registry, catalog::CatalogItem};

pub use catalogs::{Catalogs, Published, Publisher, Rank, Stage};
pub use pack::pack;
pub use repository::{GitHost, Repositories};
pub use unpack::{Limits, unpack};

/// The files of a role, by path inside its folder.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Maximum size of one item in bytes, all files together. An item is sent to the sandbox with every execution.
pub const ITEM_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The items, and the registry of all resource types: the items and OpenStack's types.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    items: BTreeMap<String, Arc<Item>>,
    registry: Registry,
    described: OnceLock<Described>,
    /// Folders without a valid item, with the reason.
    pub problems: Vec<Problem>,
}

/// One item.
#[derive(Clone, Debug)]
pub struct Item {
    /// The description for the designer and the planner.
    pub described: CatalogItem,
    /// The user and time of the upload. `None` for the server's own items.
    pub uploaded: Option<api::Uploaded>,
    content: Content,
}

/// The location of an item's files.
#[derive(Clone, Debug)]
enum Content {
    Kept(Files),
    /// A folder below the data folder, with the digest of its files.
    Stored(PathBuf, String),
}

/// All resource types, serialised once for all clients.
#[derive(Clone, Debug)]
pub struct Described {
    /// A list of types.
    pub json: Arc<[u8]>,
    /// The version of this list: the beginning of its SHA-256.
    pub digest: String,
}

/// A folder with an invalid item.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The folder's name.
    pub folder: String,
    /// The problems of its files.
    pub diagnostics: Vec<Diagnostic>,
}

impl Catalog {
    fn of(items: BTreeMap<String, Arc<Item>>, problems: Vec<Problem>) -> Catalog {
        let described = items.values().map(|item| item.described.clone());
        Catalog {
            registry: Registry::openstack().with_catalog(described),
            items,
            described: OnceLock::new(),
            problems,
        }
    }

    /// The item with this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Item>> {
        self.items.get(name)
    }

    /// The item of a resource type, if it is one.
    pub fn of_type(&self, resource_type: &str) -> Option<&Arc<Item>> {
        self.get(item_name(resource_type)?)
    }

    /// All items, by name.
    pub fn items(&self) -> impl Iterator<Item = &Arc<Item>> {
        self.items.values()
    }

    /// The registry of OpenStack's types and the items.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// All resource types as JSON.
    pub fn described(&self) -> &Described {
        self.described.get_or_init(|| {
            // Descriptions consist of texts, numbers and lists, so serialisation cannot fail.
            let json = serde_json::to_vec(&self.registry.iter().collect::<Vec<_>>());
            let json = json.unwrap_or_else(|_| b"[]".to_vec());
            Described {
                digest: hexadecimal(&Sha256::digest(&json)[..12]),
                json: json.into(),
            }
        })
    }
}

impl Item {
    /// The item in the API's format.
    pub fn entry(&self) -> api::CatalogEntry {
        api::CatalogEntry {
            item: self.described.clone(),
            uploaded: self.uploaded.clone(),
        }
    }

    /// The role's files. Reads those of an uploaded item from the disk, so call it where blocking is allowed.
    ///
    /// # Errors
    /// If files are missing or differ from the upload.
    pub fn files(&self) -> io::Result<Files> {
        match &self.content {
            Content::Kept(files) => Ok(files.clone()),
            Content::Stored(folder, digest) => folder::stored_files(folder, digest),
        }
    }
}

/// The item's name in a type name.
pub fn item_name(resource_type: &str) -> Option<&str> {
    resource_type.strip_prefix(types::CATALOG)
}

/// True for resources on a server, which have no id in the cloud: catalogue items and software deployments.
pub fn is_software(resource_type: &str) -> bool {
    item_name(resource_type).is_some() || types::is_software_deployment(resource_type)
}

/// A digest of paths and contents. It does not depend on their order.
fn digest(files: &Files) -> String {
    let mut hash = Sha256::new();
    for (path, content) in files {
        for part in [path.as_bytes(), content] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    }
    hexadecimal(&hash.finalize())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
