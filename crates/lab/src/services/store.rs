//! The state file: the whole model as JSON, written to a new file and moved into place.
//!
//! Changes within a moment of each other are written once. A lab that is killed loses at most that moment; what it had in Docker
//! by then carries the lab's label, and `reset` removes it.

use std::path::{Path, PathBuf};

use crate::services::Model;

/// Where the model is kept.
#[derive(Debug, Clone)]
pub struct Store {
    file: PathBuf,
}

impl Store {
    /// In this directory; it is made if it is not there.
    pub fn new(directory: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        Ok(Self {
            file: directory.join("lab.json"),
        })
    }

    /// The stored model, if there is one.
    pub fn load(&self) -> std::io::Result<Option<Model>> {
        match std::fs::read(&self.file) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keep it.
    pub fn save(&self, bytes: &[u8]) -> std::io::Result<()> {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let new = self.file.with_extension("json.new");
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        std::fs::rename(&new, &self.file)
    }

    /// Where the data of images are.
    pub fn blobs(&self) -> PathBuf {
        self.file.with_file_name("images")
    }

    /// Forget it all.
    pub fn remove(&self) -> std::io::Result<()> {
        let gone = |tried: std::io::Result<()>| match tried {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        gone(std::fs::remove_file(&self.file))?;
        gone(std::fs::remove_dir_all(self.blobs()))
    }
}
