//! Bytes that are too many for the model: the data of images. In files beside the state file, else in memory.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;

/// Bytes by id.
#[derive(Debug)]
pub enum Blobs {
    /// Gone when the lab stops.
    Memory(Mutex<HashMap<String, Bytes>>),
    /// In this directory.
    Files(PathBuf),
}

impl Blobs {
    /// In memory.
    pub fn memory() -> Self {
        Self::Memory(Mutex::default())
    }

    /// In this directory; it is made when the first come.
    pub fn files(directory: PathBuf) -> Self {
        Self::Files(directory)
    }

    /// Keep bytes under an id of ours (never a name that somebody chose: it becomes a file's).
    pub fn put(&self, id: &str, bytes: Bytes) -> std::io::Result<()> {
        match self {
            Self::Memory(all) => {
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.insert(id.to_owned(), bytes);
                Ok(())
            }
            Self::Files(directory) => {
                std::fs::create_dir_all(directory)?;
                std::fs::write(directory.join(id), bytes)
            }
        }
    }

    /// The bytes of an id.
    pub fn get(&self, id: &str) -> Option<Bytes> {
        match self {
            Self::Memory(all) => {
                let all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.get(id).cloned()
            }
            Self::Files(directory) => std::fs::read(directory.join(id)).ok().map(Bytes::from),
        }
    }

    /// Forget an id.
    pub fn remove(&self, id: &str) {
        match self {
            Self::Memory(all) => {
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.remove(id);
            }
            Self::Files(directory) => {
                // One that had no data has no file.
                let _ = std::fs::remove_file(directory.join(id));
            }
        }
    }
}
