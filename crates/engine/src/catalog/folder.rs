//! Folders of items: the server's own, which are trusted and kept in memory, and uploaded ones below the data folder.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use hot::diagnostic::Diagnostic;
use uuid::Uuid;

use super::{Catalog, Content, Files, ITEM_BYTES_MAX, Item, Problem, check, digest};

impl Catalog {
    /// Reads the server's own items. Invalid items are skipped and listed in [`Catalog::problems`].
    ///
    /// # Errors
    /// If the folder cannot be read. A missing folder counts as empty.
    pub fn load(folder: &Path) -> io::Result<Catalog> {
        let mut items = BTreeMap::new();
        let mut problems = Vec::new();
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Catalog::of(items, problems));
            }
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = entry?.path();
            if !path.join("item.yml").is_file() {
                continue;
            }
            match read_item(&path)? {
                Ok(item) => {
                    items.insert(item.described.name.clone(), Arc::new(item));
                }
                Err(diagnostics) => {
                    let name = path.file_name().unwrap_or_default().to_string_lossy();
                    for one in &diagnostics {
                        let (place, line) = (&one.path, one.line.unwrap_or_default());
                        tracing::warn!(place, line, "item {name} is left out: {}", one.message);
                    }
                    problems.push(Problem {
                        folder: name.into_owned(),
                        diagnostics,
                    });
                }
            }
        }
        Ok(Catalog::of(items, problems))
    }
}

fn read_item(folder: &Path) -> io::Result<Result<Item, Vec<Diagnostic>>> {
    let files = read_files(folder)?;
    Ok(check::item(&files).map(|described| Item {
        described,
        uploaded: None,
        content: Content::Kept(files),
    }))
}

/// All files below a folder.
///
/// # Errors
/// If a file cannot be read, or all files together exceed the size limit of an item.
fn read_files(folder: &Path) -> io::Result<Files> {
    let mut files = Files::new();
    let mut bytes = 0;
    collect(folder, "", &mut files, &mut bytes)?;
    Ok(files)
}

fn collect(folder: &Path, inside: &str, files: &mut Files, bytes: &mut usize) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if inside.is_empty() {
            name
        } else {
            format!("{inside}/{name}")
        };
        let kind = entry.file_type()?;
        // A symbolic link could point to anything on this machine.
        if kind.is_dir() {
            collect(&entry.path(), &path, files, bytes)?;
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

/// The files of an uploaded item, if they still have the digest of the upload.
pub fn stored_files(folder: &Path, wanted: &str) -> io::Result<Files> {
    let files = read_files(folder)?;
    if digest(&files) == wanted {
        Ok(files)
    } else {
        Err(io::Error::other(
            "its files are not those that were uploaded",
        ))
    }
}

/// Writes an item's files to their folder: first to a temporary folder beside it, which is then renamed, so that a
/// folder with the final name is always complete. An existing, complete folder is kept.
///
/// # Errors
/// If the disk refuses; then no files are left.
pub fn store_files(folder: &Path, files: &Files) -> io::Result<()> {
    if stored_files(folder, &digest(files)).is_ok() {
        return Ok(());
    }
    let parent = folder.parent().unwrap_or(folder);
    fs::create_dir_all(parent)?;
    let begun = Begun(parent.join(format!(".{}", Uuid::new_v4())));
    for (path, content) in files {
        let path = begun.0.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&begun.0))?;
        fs::write(path, content)?;
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::rename(&begun.0, folder),
    }
}

/// Removes the versions in an item's folder whose digest is not `wanted`. Temporary folders stay.
///
/// # Errors
/// If the disk refuses.
pub fn remove_others(item: &Path, wanted: &BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(item)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && !wanted.contains(&name) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// A temporary folder that is removed on drop unless it was renamed.
struct Begun(PathBuf);

impl Drop for Begun {
    fn drop(&mut self) {
        // An error means that the folder has been renamed or removed.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_items_are_valid() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
        let catalog = Catalog::load(&folder).unwrap();
        assert!(catalog.problems.is_empty(), "{:?}", catalog.problems);
        for name in [
            "alertmanager",
            "apache",
            "application",
            "baseline",
            "dnsmasq",
            "etcd",
            "haproxy",
            "job",
            "keepalived",
            "mariadb",
            "memcached",
            "nginx",
            "node_exporter",
            "playbook",
            "postgresql",
            "postgresql_replica",
            "prometheus",
            "rabbitmq",
            "redis",
            "redis_replica",
            "script",
            "service",
            "wordpress",
        ] {
            let item = catalog.get(name).unwrap();
            let files = item.files().unwrap();
            let text = |path: &str| String::from_utf8(files[path].clone()).unwrap();
            assert!(text("tasks/main.yml").starts_with("- name: Validate the properties"));
            assert!(item.described.readme.starts_with("# "));
            assert!(item.described.icon.starts_with("<svg"));
            // The default in a form must be the value that the role uses without an input.
            let defaults = text("defaults/main.yml");
            for input in item.described.inputs.iter().filter(|input| !input.required) {
                let given = |line: &str| line.starts_with(&format!("{}:", input.name));
                assert!(defaults.lines().any(given), "{name}: {}", input.name);
            }
            // Another package manager can be at work, as at the first boot of a server.
            for path in files.keys().filter(|path| path.starts_with("tasks/")) {
                let count = |word: &str| text(path).matches(word).count();
                assert_eq!(
                    count("builtin.apt:"),
                    count("lock_timeout: "),
                    "{name}: {path}"
                );
            }
            // Scripts and playbooks do what only their authors can take back, and a service of one's own is not set up by its item.
            assert_eq!(
                item.described.removes,
                !["script", "playbook", "service"].contains(&name)
            );
            let named = format!("Stackloom::Catalog::{name}");
            assert!(catalog.registry().get(&named).is_some());
        }
        let script = &catalog.get("script").unwrap().described;
        let mut inputs = script.inputs.iter();
        assert!(inputs.any(|input| input.name == "script" && input.multiline));
        assert!(inputs.any(|input| input.name == "secret_variables" && input.secret));
    }

    #[test]
    fn a_missing_folder_and_a_broken_item_are_not_fatal() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Catalog::load(&folder.path().join("nowhere")).unwrap();
        assert_eq!(missing.items().count(), 0);
        let item = folder.path().join("nginx");
        fs::create_dir_all(&item).unwrap();
        fs::write(item.join("item.yml"), "name: [").unwrap();
        let catalog = Catalog::load(folder.path()).unwrap();
        assert_eq!((catalog.items().count(), catalog.problems.len()), (0, 1));
    }

    #[test]
    fn an_incomplete_stored_item_is_not_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("hello/abc");
        let files = Files::from([("tasks/main.yml".to_owned(), b"[]".to_vec())]);
        store_files(&place, &files).unwrap();
        store_files(&place, &files).unwrap();
        assert_eq!(stored_files(&place, &digest(&files)).unwrap(), files);
        fs::write(place.join("tasks/main.yml"), "- evil").unwrap();
        assert!(stored_files(&place, &digest(&files)).is_err());
        store_files(&place, &files).unwrap();
        assert_eq!(stored_files(&place, &digest(&files)).unwrap(), files);
        let left = fs::read_dir(folder.path().join("hello")).unwrap().count();
        assert_eq!(left, 1, "nothing is left beside it");
    }
}
