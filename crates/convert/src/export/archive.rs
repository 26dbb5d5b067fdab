//! Packs an export of several files into one archive.
//!
//! The format is a gzipped tar, because every system with a client of Heat or Terraform can unpack it, and this program
//! already reads it for catalogue items. Equal files give equal bytes: the archive has no times and no owners.

use std::io;

use flate2::{Compression, write::GzEncoder};

use crate::export::Export;

/// Media type of the archive.
pub const MEDIA_TYPE: &str = "application/gzip";

impl Export {
    /// File name of a download: the file itself, or an archive of it and the files beside it.
    pub fn download_name(&self) -> String {
        if self.files.is_empty() {
            self.file_name.clone()
        } else {
            format!("{}.tar.gz", self.folder())
        }
    }

    /// Name of the archive's only folder: `shop.hot` for `shop.hot.yaml`.
    fn folder(&self) -> &str {
        let stem = self.file_name.rsplit_once('.');
        stem.map_or(self.file_name.as_str(), |(stem, _)| stem)
    }

    /// The archive, with all files below one folder.
    ///
    /// # Errors
    /// A path is invalid in an archive, such as one with a null byte.
    pub fn archive(&self) -> io::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
        let main = (self.file_name.as_str(), self.text.as_str());
        let files = self.files.iter();
        let files = files.map(|file| (file.path.as_str(), file.text.as_str()));
        for (path, text) in std::iter::once(main).chain(files) {
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
