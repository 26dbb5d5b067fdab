//! The state file: the whole model as JSON, written to a new file and then renamed.
//!
//! Changes in quick succession are written together, so a killed lab can lose the last ones. All its objects in Docker
//! have the lab's label, and `reset` removes them.

use std::path::{Path, PathBuf};

use crate::services::Model;

/// The location of the state file.
#[derive(Debug, Clone)]
pub struct Store {
    file: PathBuf,
}

impl Store {
    /// A store in this directory, which is created if needed.
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

    /// Writes the model.
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

    /// The directory of image data.
    pub fn blobs(&self) -> PathBuf {
        self.file.with_file_name("images")
    }

    /// Removes the model and the image data.
    pub fn remove(&self) -> std::io::Result<()> {
        let gone = |tried: std::io::Result<()>| match tried {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        gone(std::fs::remove_file(&self.file))?;
        gone(std::fs::remove_dir_all(self.blobs()))
    }
}
