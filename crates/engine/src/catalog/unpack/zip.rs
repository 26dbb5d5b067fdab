//! The entries of a zip archive, as far as items need them: stored or deflated files in an archive of less than 4 GiB.
//!
//! Source: PKWARE's APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16. The list at the end of the archive counts; the sizes
//! in it are not trusted.

use std::io::{self, Read};

use flate2::{Crc, read::DeflateDecoder};

/// The first bytes of the end of the list.
const END: &[u8] = b"PK\x05\x06";
const END_BYTES: usize = 22;
/// The first bytes of an entry of the list.
const LISTED: &[u8] = b"PK\x01\x02";
const LISTED_BYTES: usize = 46;
/// The first bytes of an entry.
const ENTRY: &[u8] = b"PK\x03\x04";
const ENTRY_BYTES: usize = 30;
/// Maximum length of the comment after the list.
const COMMENT_BYTES_MAX: usize = 0xffff;
/// The system of archives whose entries have a Unix mode.
const UNIX: u16 = 3;

/// An entry of an archive.
pub struct Entry<'a> {
    /// The path as the archive has it.
    pub path: &'a [u8],
    /// Kind of the entry.
    pub kind: Kind,
    packed: &'a [u8],
    is_deflated: bool,
    checksum: u32,
}

/// The kind of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A file with a password.
    Encrypted,
    /// A file with another compression.
    Foreign,
}

/// Whether the bytes begin like a zip archive.
pub fn is_zip(archive: &[u8]) -> bool {
    archive.starts_with(ENTRY) || archive.starts_with(END)
}

/// All entries of an archive.
///
/// # Errors
/// If the list of entries is not complete.
pub fn entries(archive: &[u8]) -> io::Result<Vec<Entry<'_>>> {
    read_list(archive).ok_or_else(|| io::Error::other("its list of files is not complete"))
}

fn read_list(archive: &[u8]) -> Option<Vec<Entry<'_>>> {
    let first = archive.len().saturating_sub(END_BYTES + COMMENT_BYTES_MAX);
    let last = archive.len().checked_sub(END_BYTES)?;
    let end = (first..=last).rev();
    let end = end
        .map(|at| &archive[at..])
        .find(|it| it.starts_with(END))?;
    let count = u16_at(end, 10)?;
    let mut at = u32_at(end, 16)? as usize;
    let mut entries = Vec::new();
    for _ in 0..count {
        let listed = archive.get(at..)?;
        if !listed.starts_with(LISTED) {
            return None;
        }
        let [name, extra, comment] = [28, 30, 32].map(|field| u16_at(listed, field));
        let name = usize::from(name?);
        entries.push(entry(archive, listed, name)?);
        at += LISTED_BYTES + name + usize::from(extra?) + usize::from(comment?);
    }
    Some(entries)
}

/// The entry at the beginning of a part of the list.
fn entry<'a>(archive: &'a [u8], listed: &'a [u8], name: usize) -> Option<Entry<'a>> {
    let path = listed.get(LISTED_BYTES..LISTED_BYTES + name)?;
    let (system, flags, method) = (
        u16_at(listed, 4)? >> 8,
        u16_at(listed, 8)?,
        u16_at(listed, 10)?,
    );
    let mode = u32_at(listed, 38)? >> 16;
    let kind = match method {
        _ if system == UNIX && mode & 0o170_000 == 0o120_000 => Kind::Link,
        _ if path.ends_with(b"/") => Kind::Folder,
        _ if flags & 1 != 0 => Kind::Encrypted,
        0 | 8 => Kind::File,
        _ => Kind::Foreign,
    };
    let local = archive.get(u32_at(listed, 42)? as usize..)?;
    if !local.starts_with(ENTRY) {
        return None;
    }
    // The entry's own fields can have other lengths than those in the list.
    let begin = ENTRY_BYTES + usize::from(u16_at(local, 26)?) + usize::from(u16_at(local, 28)?);
    let packed = local.get(begin..)?.get(..u32_at(listed, 20)? as usize)?;
    Some(Entry {
        path,
        kind,
        packed,
        is_deflated: method == 8,
        checksum: u32_at(listed, 16)?,
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

impl<'a> Entry<'a> {
    /// The unpacked content, which fails at its end if its checksum is another one.
    pub fn content(&self) -> impl Read + 'a {
        let inner: Box<dyn Read + 'a> = if self.is_deflated {
            Box::new(DeflateDecoder::new(self.packed))
        } else {
            Box::new(self.packed)
        };
        Checked {
            inner,
            crc: Crc::new(),
            wanted: self.checksum,
        }
    }
}

/// A reader that compares the checksum at the end.
struct Checked<R> {
    inner: R,
    crc: Crc,
    wanted: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.crc.update(buffer.get(..read).unwrap_or_default());
        if read == 0 && !buffer.is_empty() && self.crc.sum() != self.wanted {
            return Err(io::Error::other("a file in it is damaged"));
        }
        Ok(read)
    }
}
