//! Storage for image data, which is too large for the model: files beside the state file, or memory.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;

/// Bytes by id.
#[derive(Debug)]
pub enum Blobs {
    /// In memory, lost when the lab stops.
    Memory(Mutex<HashMap<String, Bytes>>),
    /// Files in this directory.
    Files(PathBuf),
}

impl Blobs {
    /// In memory.
    pub fn memory() -> Self {
        Self::Memory(Mutex::default())
    }

    /// In this directory, which is created with the first file.
    pub fn files(directory: PathBuf) -> Self {
        Self::Files(directory)
    }

    /// Stores bytes. The id becomes a file name, so it must be one that the lab generated.
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

    /// Removes the bytes of an id.
    pub fn remove(&self, id: &str) {
        match self {
            Self::Memory(all) => {
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.remove(id);
            }
            Self::Files(directory) => {
                // An id without data has no file.
                let _ = std::fs::remove_file(directory.join(id));
            }
        }
    }
}
