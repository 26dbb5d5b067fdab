//! The id of an installed server, by which it finds its own sandboxes again after a crash.
//!
//! Servers can share a Docker daemon, and their data folders have the same path on each machine. So the id is random. It is kept in
//! the data folder, which a server that starts again still has.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use uuid::Uuid;

const FILE: &str = "sandboxes.id";

/// The id of the server with this data folder. Made at its first start.
///
/// # Errors
/// If the file with the id cannot be read or written.
pub fn owner_id(data_dir: &Path) -> io::Result<String> {
    let path = data_dir.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => {
            if let Ok(id) = Uuid::parse_str(text.trim()) {
                return Ok(id.to_string());
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let id = Uuid::new_v4().to_string();
    // Whole or not at all, even in a power cut.
    let begun = data_dir.join(format!(".{FILE}-{id}"));
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&begun)?;
    writeln!(file, "{id}")?;
    file.sync_all()?;
    fs::rename(begun, path)?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_differ_and_each_stays_the_same_after_a_restart() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let id = owner_id(one.path()).unwrap();
        assert_eq!(owner_id(one.path()).unwrap(), id);
        assert_ne!(owner_id(two.path()).unwrap(), id);
        let files = fs::read_dir(one.path()).unwrap();
        assert_eq!(files.count(), 1, "nothing else is left");
    }

    #[test]
    fn a_damaged_id_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "").unwrap();
        let id = owner_id(folder.path()).unwrap();
        assert_eq!(owner_id(folder.path()).unwrap(), id);
    }
}
