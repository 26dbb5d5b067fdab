//! Packs files to the tar.gz that an author would upload.

use std::io;

use flate2::{Compression, write::GzEncoder};
use tar::{Builder, Header};

use super::Files;

/// The archive of the files. Equal files give equal bytes.
///
/// # Errors
/// If a path is too long for an archive.
pub fn pack(files: &Files) -> io::Result<Vec<u8>> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (path, content) in files {
        let mut header = Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, content.as_slice())?;
    }
    builder.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Limits, unpack};

    #[test]
    fn what_was_packed_is_unpacked_alike() {
        let files = Files::from([
            ("item.yml".to_owned(), b"name: hello".to_vec()),
            ("templates/0-a.j2".to_owned(), vec![0xff; 70_000]),
        ]);
        let archive = pack(&files).unwrap();
        assert_eq!(archive, pack(&files).unwrap());
        assert_eq!(
            unpack(archive.as_slice(), &Limits::default()).unwrap(),
            files
        );
    }
}
