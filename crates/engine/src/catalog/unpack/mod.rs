//! Unpacks an uploaded tar.gz or zip in memory.
//!
//! The archive is not trusted. Its paths are used on the disk only after they were split and all parts were checked.
//! Links and special files are refused. The limit applies to the size of the unpacked data, not to the size in the
//! headers: the stream ends with an error at the limit, so that a small archive cannot become a large one.

mod zip;

use std::{
    cell::Cell,
    io::{self, Read},
};

use flate2::read::MultiGzDecoder;
use hot::diagnostic::Diagnostic;
use tar::{Archive, Entry, EntryType};

use super::{Files, ITEM_BYTES_MAX};

/// Limits on an archive's contents.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum size of all files together.
    pub bytes: usize,
    /// Maximum number of files and folders.
    pub entries: usize,
    /// Maximum depth of nested folders.
    pub depth: usize,
    /// Maximum length of a path in bytes.
    pub path_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            bytes: ITEM_BYTES_MAX,
            entries: 500,
            depth: 8,
            path_bytes: 200,
        }
    }
}

/// Number of problems after which the rest of an archive is not checked.
const PROBLEMS_MAX: usize = 20;
/// Bytes of an entry besides its content: its header, the padding to a whole block, and room for a long name.
const ENTRY_OVERHEAD_BYTES: usize = 2048;

/// The files of an item, by path inside its folder. The archive contains the item itself, or one folder with the item.
///
/// # Errors
/// The refused entries. Paths are the entries' paths.
pub fn unpack(archive: &[u8], limits: &Limits) -> Result<Files, Vec<Diagnostic>> {
    let mut unpacking = Unpacking {
        limits,
        files: Files::new(),
        bytes: 0,
        is_full: false,
        has_history: false,
        problems: Vec::new(),
    };
    if zip::is_zip(archive) {
        if let Err(error) = unpacking.all_of_zip(archive) {
            unpacking.problems.push(broken("zip", &error));
        }
    } else {
        let is_over = Cell::new(false);
        let stream = Limited {
            inner: MultiGzDecoder::new(archive),
            left: limits.bytes + limits.entries * ENTRY_OVERHEAD_BYTES,
            is_over: &is_over,
        };
        if let Err(error) = unpacking.all(&mut Archive::new(stream)) {
            unpacking.problems.push(if is_over.get() {
                too_large(limits)
            } else {
                broken("tar.gz", &error)
            });
        }
    }
    // First, because it explains the others. Everybody with the item could read the repository, passwords in it included.
    if unpacking.has_history {
        let problem = Diagnostic::error("archive-invalid", ".git", HISTORY);
        unpacking.problems.insert(0, problem);
    }
    if !unpacking.problems.is_empty() {
        return Err(unpacking.problems);
    }
    item_in(unpacking.files)
}

struct Unpacking<'l> {
    limits: &'l Limits,
    files: Files,
    bytes: usize,
    is_full: bool,
    /// True if it contains a git repository.
    has_history: bool,
    problems: Vec<Diagnostic>,
}

impl Unpacking<'_> {
    fn all(&mut self, archive: &mut Archive<impl Read>) -> io::Result<()> {
        for (number, entry) in archive.entries()?.enumerate() {
            if !self.goes_on(number) {
                return Ok(());
            }
            self.one(entry?)?;
        }
        Ok(())
    }

    fn all_of_zip(&mut self, archive: &[u8]) -> io::Result<()> {
        for (number, entry) in zip::entries(archive)?.into_iter().enumerate() {
            if !self.goes_on(number) {
                return Ok(());
            }
            let kind = match entry.kind {
                zip::Kind::File => Kind::File,
                zip::Kind::Folder => Kind::Folder,
                other => {
                    let why = match other {
                        zip::Kind::Link => LINK,
                        zip::Kind::Encrypted => "it is encrypted: pack it without a password",
                        _ => "it is compressed in an unusual way: pack it as other programs do",
                    };
                    self.problem(&String::from_utf8_lossy(entry.path), why);
                    continue;
                }
            };
            self.take(entry.path, kind, entry.content())?;
        }
        Ok(())
    }

    /// Whether an entry of this number is looked at.
    fn goes_on(&mut self, number: usize) -> bool {
        if number == self.limits.entries {
            let most = self.limits.entries;
            self.problem("", format!("it has more than {most} files and folders"));
        }
        let is_enough = self.is_full || self.problems.len() >= PROBLEMS_MAX;
        !is_enough && number < self.limits.entries
    }

    fn one(&mut self, mut entry: Entry<'_, impl Read>) -> io::Result<()> {
        let path = entry.path_bytes().into_owned();
        let named = String::from_utf8_lossy(&path);
        let kind = match entry.header().entry_type() {
            // Comments of the program that made the archive, for example git.
            EntryType::XGlobalHeader => return Ok(()),
            EntryType::Regular | EntryType::Continuous => Kind::File,
            EntryType::Directory => Kind::Folder,
            EntryType::Symlink | EntryType::Link => {
                self.problem(&named, LINK);
                return Ok(());
            }
            _ => {
                self.problem(&named, "only files and folders are accepted");
                return Ok(());
            }
        };
        self.take(&path, kind, &mut entry)
    }

    /// Takes a file with this content.
    fn take(&mut self, path: &[u8], kind: Kind, content: impl Read) -> io::Result<()> {
        let named = String::from_utf8_lossy(path);
        let path = match plain_path(path, self.limits) {
            Ok(path) => path,
            Err(why) => {
                self.problem(&named, why);
                return Ok(());
            }
        };
        self.has_history |= path.split('/').any(|name| name == ".git");
        if kind == Kind::Folder || path.is_empty() || is_leftover(&path) {
            return Ok(());
        }
        let left = self.limits.bytes - self.bytes;
        let mut bytes = Vec::new();
        content.take(left as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > left {
            self.problems.push(too_large(self.limits));
            self.is_full = true;
            return Ok(());
        }
        self.bytes += bytes.len();
        if self.files.insert(path, bytes).is_some() {
            self.problem(&named, "it is in the archive twice");
        }
        Ok(())
    }

    fn problem(&mut self, path: &str, what: impl std::fmt::Display) {
        let shown: String = path.chars().filter(|c| !c.is_control()).take(200).collect();
        let message = if shown.is_empty() {
            what.to_string()
        } else {
            format!("{shown}: {what}")
        };
        self.problems
            .push(Diagnostic::error("archive-invalid", shown, message));
    }
}

const HISTORY: &str = "it contains a git repository, `.git`: pack the item without it, as `git archive -o item.tar.gz HEAD` does";
const LINK: &str = "links are not accepted: use the file itself";

#[derive(PartialEq)]
enum Kind {
    File,
    Folder,
}

/// The path as plain names of folders and of the file. Empty for the archive's root.
fn plain_path(path: &[u8], limits: &Limits) -> Result<String, String> {
    let path = std::str::from_utf8(path).map_err(|_| "its name is no UTF-8 text")?;
    if path.len() > limits.path_bytes {
        return Err(format!(
            "its path has more than {} bytes",
            limits.path_bytes
        ));
    }
    if path.starts_with('/') {
        return Err("absolute paths are not accepted".to_owned());
    }
    let mut names = Vec::new();
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        if name == ".." {
            return Err("`..` leads out of the item's folder".to_owned());
        }
        if let Some(odd) = name.chars().find(|c| !is_plain(*c)) {
            return Err(format!(
                "{odd:?} cannot be part of a name: use letters, digits, blanks and `._-+@,=`"
            ));
        }
        names.push(name);
    }
    if names.len() > limits.depth + 1 {
        return Err(format!("it is more than {} folders deep", limits.depth));
    }
    Ok(names.join("/"))
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '@' | ',' | '=' | ' ')
}

/// True for files that file managers add to archives.
fn is_leftover(path: &str) -> bool {
    let mut names = path.split('/');
    names.any(|name| name.starts_with("._") || matches!(name, ".DS_Store" | "__MACOSX"))
}

/// The item's own files: all files of the archive, or those of its only folder.
fn item_in(files: Files) -> Result<Files, Vec<Diagnostic>> {
    let problem = |path: &str, message: String| {
        Err(vec![Diagnostic::error("archive-invalid", path, message)])
    };
    for path in files.keys() {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        if let Some(both) = above.into_iter().find(|above| files.contains_key(*above)) {
            return problem(both, format!("{both}: it is a file and a folder"));
        }
    }
    if is_role(&files, "") {
        return Ok(files);
    }
    let Some((top, _)) = files.keys().next().and_then(|path| path.split_once('/')) else {
        return problem("item.yml", nothing_there());
    };
    let top = format!("{top}/");
    let is_alone = files.keys().all(|path| path.starts_with(&top));
    if !is_alone || !is_role(&files, &top) {
        return problem("item.yml", nothing_there());
    }
    let inside = |(path, content): (String, Vec<u8>)| (path[top.len()..].to_owned(), content);
    Ok(files.into_iter().map(inside).collect())
}

/// True if a manifest or the tasks of a role are in a folder of the archive.
fn is_role(files: &Files, folder: &str) -> bool {
    let mut marks = ["item.yml", "tasks/main.yml", "tasks/main.yaml"].iter();
    marks.any(|path| files.contains_key(&format!("{folder}{path}")))
}

fn nothing_there() -> String {
    "there is neither an `item.yml` nor a role's `tasks/main.yml`, neither in the archive itself nor in its only folder"
        .to_owned()
}

fn broken(format: &str, error: &io::Error) -> Diagnostic {
    let message = format!("this is not a complete {format} archive: {error}");
    Diagnostic::error("archive-invalid", "", message)
}

fn too_large(limits: &Limits) -> Diagnostic {
    let kib = limits.bytes / 1024;
    Diagnostic::error(
        "archive-invalid",
        "",
        format!("its files have more than {kib} KiB together"),
    )
}

/// A reader that fails when the input exceeds the limit.
struct Limited<'c, R> {
    inner: R,
    left: usize,
    is_over: &'c Cell<bool>,
}

impl<R: Read> Read for Limited<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        match self.left.checked_sub(read) {
            Some(left) => self.left = left,
            None => {
                self.is_over.set(true);
                return Err(io::Error::other("more than may come"));
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
