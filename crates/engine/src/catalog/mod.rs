//! The service catalogue as a project sees it: the server's own items, and those that its members uploaded.
//!
//! An item is an Ansible role with an `item.yml`. Nothing of a role is evaluated here: two of its files are parsed as data, all others
//! are bytes that go to the sandbox. In reading order: [`folder`] reads the server's own items, [`unpack`] takes a stranger's archive
//! apart, [`check`] tells whether files make an item, [`catalogs`] keeps uploaded ones and answers what a project, or one of its
//! deployments, has.
//!
//! An upload is unpacked in memory, below limits on bytes, entries, depth and names; links and special files are refused. Its files
//! are written below the data folder under their hash before the row is stored, and the hash is checked each time before a sandbox gets
//! them. A version of an item never changes. A deployment keeps the versions that it was made with for as long as it has components of
//! them: planner, update form and configure step use those. Values that users type reach Ansible marked as unsafe, so they are no
//! templates. Values that a role sets by `set_stats` can be outputs, with secrets masked.
//!
//! A [`Catalog`] never changes. An upload makes another one, and who holds the old one (a run, a plan) goes on with it.

mod catalogs;
mod check;
mod folder;
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

pub use catalogs::{Catalogs, Published};
pub use unpack::{Limits, unpack};

/// The files of a role, by path inside its folder.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Bytes of one item, all files together. It travels to the sandbox with every execution.
pub const ITEM_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Type names of items begin with it.
const PREFIX: &str = "Stackloom::Catalog::";

/// Items and, made from them and OpenStack's types, all resource types.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    items: BTreeMap<String, Arc<Item>>,
    registry: Registry,
    described: OnceLock<Described>,
    /// Folders that are no item, and why.
    pub problems: Vec<Problem>,
}

/// One item.
#[derive(Clone, Debug)]
pub struct Item {
    /// What the designer and the planner know of it.
    pub described: CatalogItem,
    /// Who uploaded it; the server's own have nobody.
    pub uploaded: Option<api::Uploaded>,
    content: Content,
}

/// Where an item's files are.
#[derive(Clone, Debug)]
enum Content {
    Kept(Files),
    /// Below the data folder, with the digest that they must have.
    Stored(PathBuf, String),
}

/// All resource types, written once for all who ask.
#[derive(Clone, Debug)]
pub struct Described {
    /// A list of types.
    pub json: Arc<[u8]>,
    /// Names this very list: the beginning of its SHA-256.
    pub digest: String,
}

/// An item that cannot be used.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The folder.
    pub folder: String,
    /// What is wrong with it.
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

    /// By name.
    pub fn get(&self, name: &str) -> Option<&Arc<Item>> {
        self.items.get(name)
    }

    /// The item behind a resource type, if it is one.
    pub fn of_type(&self, resource_type: &str) -> Option<&Arc<Item>> {
        self.get(item_name(resource_type)?)
    }

    /// All, by name.
    pub fn items(&self) -> impl Iterator<Item = &Arc<Item>> {
        self.items.values()
    }

    /// OpenStack's types and the items.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// All resource types as JSON.
    pub fn described(&self) -> &Described {
        self.described.get_or_init(|| {
            // Descriptions are texts, numbers and lists of them: they can always be written.
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
    /// As others see it.
    pub fn entry(&self) -> api::CatalogEntry {
        api::CatalogEntry {
            item: self.described.clone(),
            uploaded: self.uploaded.clone(),
        }
    }

    /// The role's files. Those of an uploaded item are read from the disk: call it where that may be waited for.
    ///
    /// # Errors
    /// Where files are gone, or are not those that were uploaded.
    pub fn files(&self) -> io::Result<Files> {
        match &self.content {
            Content::Kept(files) => Ok(files.clone()),
            Content::Stored(folder, digest) => folder::stored_files(folder, digest),
        }
    }
}

/// The item's name in a type name.
pub fn item_name(resource_type: &str) -> Option<&str> {
    resource_type.strip_prefix(PREFIX)
}

/// Names paths and contents, whatever the order in which they came.
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
