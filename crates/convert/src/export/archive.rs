//! Several files in one.
//!
//! A gzipped tar, because every system that runs Heat's or Terraform's client unpacks it, and the program speaks it already for
//! catalogue items. The same files give the same bytes: no times, no owners.

use std::io;

use flate2::{Compression, write::GzEncoder};

use crate::export::Export;

/// As HTTP calls it.
pub const MEDIA_TYPE: &str = "application/gzip";

impl Export {
    /// What a person gets: the file itself, or an archive of it and those beside it.
    pub fn download_name(&self) -> String {
        if self.beside.is_empty() {
            self.file_name.clone()
        } else {
            format!("{}.tar.gz", self.folder())
        }
    }

    /// `shop.hot` for `shop.hot.yaml`: the archive's only folder.
    fn folder(&self) -> &str {
        let stem = self.file_name.rsplit_once('.');
        stem.map_or(self.file_name.as_str(), |(stem, _)| stem)
    }

    /// All files below one folder.
    ///
    /// # Errors
    /// Where a path cannot stand in an archive, such as one with a null byte.
    pub fn archive(&self) -> io::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
        let main = (self.file_name.as_str(), self.text.as_str());
        let beside = self.beside.iter();
        let beside = beside.map(|file| (file.path.as_str(), file.text.as_str()));
        for (path, text) in std::iter::once(main).chain(beside) {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_mtime(0);
            let path = format!("{}/{path}", self.folder());
            archive.append_data(&mut header, path, text.as_bytes())?;
        }
        archive.into_inner()?.finish()
    }
}
