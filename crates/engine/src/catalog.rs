//! The service catalogue's folder: one folder an item, which is an Ansible role with an `item.yml`.

use std::{collections::BTreeMap, fs, io, path::Path, sync::Arc};

use topology::{catalog::CatalogItem, diagnostic::Diagnostic, types::Registry};

/// All items, read once.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    items: BTreeMap<String, Arc<Item>>,
    /// Folders that are no item, and why.
    pub problems: Vec<Problem>,
}

/// One item.
#[derive(Clone, Debug)]
pub struct Item {
    /// What the designer and the planner know of it.
    pub described: CatalogItem,
    /// The role's files, by path inside the item's folder.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// An item that cannot be used.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The folder.
    pub folder: String,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Bytes of one item, all files together. It travels to the sandbox with every execution.
const ITEM_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Type names of items begin with it.
const PREFIX: &str = "Stackloom::Catalog::";

impl Catalog {
    /// Reads the folder. An item with mistakes is left out, and told of in [`Catalog::problems`].
    ///
    /// # Errors
    /// Where the folder cannot be read; one that is missing is empty.
    pub fn load(folder: &Path) -> io::Result<Catalog> {
        let mut catalog = Catalog::default();
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(catalog),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            if !path.join("item.yml").is_file() {
                continue;
            }
            match read_item(&path)? {
                Ok(item) => {
                    catalog
                        .items
                        .insert(item.described.name.clone(), Arc::new(item));
                }
                Err(diagnostics) => {
                    let folder = path
                        .file_name()
                        .unwrap_or_default()
                        .to_string_lossy()
                        .into_owned();
                    tracing::warn!(folder, ?diagnostics, "a catalogue item is left out");
                    catalog.problems.push(Problem {
                        folder,
                        diagnostics,
                    });
                }
            }
        }
        Ok(catalog)
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
    pub fn items(&self) -> impl Iterator<Item = &CatalogItem> {
        self.items.values().map(|item| &item.described)
    }

    /// OpenStack's types and the items.
    pub fn registry(&self) -> Registry {
        Registry::openstack().with_catalog(self.items().cloned())
    }
}

/// The item's name in a type name.
pub fn item_name(resource_type: &str) -> Option<&str> {
    resource_type.strip_prefix(PREFIX)
}

fn read_item(folder: &Path) -> io::Result<Result<Item, Vec<Diagnostic>>> {
    let mut files = BTreeMap::new();
    let mut bytes = 0;
    read_files(folder, "", &mut files, &mut bytes)?;
    let text = |path: &str| {
        files
            .get(path)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .unwrap_or_default()
    };
    let described = CatalogItem::parse(&text("item.yml"), &text("meta/argument_specs.yml"));
    let (icon, readme) = (text("icon.svg"), text("README.md"));
    Ok(described.map(|described| Item {
        described: CatalogItem {
            icon,
            readme,
            ..described
        },
        files,
    }))
}

fn read_files(
    folder: &Path,
    inside: &str,
    files: &mut BTreeMap<String, Vec<u8>>,
    bytes: &mut usize,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if inside.is_empty() {
            name
        } else {
            format!("{inside}/{name}")
        };
        let kind = entry.file_type()?;
        // A symbolic link could lead to anything on this machine.
        if kind.is_dir() {
            read_files(&entry.path(), &path, files, bytes)?;
        } else if kind.is_file() {
            let content = fs::read(entry.path())?;
            *bytes += content.len();
            if *bytes > ITEM_BYTES_MAX {
                return Err(io::Error::other(format!(
                    "catalogue item {} has more than {ITEM_BYTES_MAX} bytes",
                    folder.display()
                )));
            }
            files.insert(path, content);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_items_are_whole() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
        let catalog = Catalog::load(&folder).unwrap();
        assert!(catalog.problems.is_empty(), "{:?}", catalog.problems);
        for name in ["haproxy", "nginx", "script"] {
            let item = catalog.get(name).unwrap();
            let text = |path: &str| String::from_utf8(item.files[path].clone()).unwrap();
            assert!(text("tasks/main.yml").starts_with("- name: Refuse values"));
            assert!(text("README.md").starts_with("# ") && text("icon.svg").starts_with("<svg"));
            // What the form shows as a default is what the role does without a value.
            let defaults = text("defaults/main.yml");
            for input in item.described.inputs.iter().filter(|input| !input.required) {
                let given = |line: &str| line.starts_with(&format!("{}:", input.name));
                assert!(defaults.lines().any(given), "{name}: {}", input.name);
            }
        }
        let script = &catalog.get("script").unwrap().described;
        let input = |name: &str| {
            script
                .inputs
                .iter()
                .find(|input| input.name == name)
                .unwrap()
        };
        assert!(input("script").multiline && input("secret_variables").secret);
    }
}
