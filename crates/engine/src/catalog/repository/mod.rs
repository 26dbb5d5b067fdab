//! Items in git repositories: a folder of a repository as the archive that an author would upload.
//!
//! The program `git` reads the repository, into a folder that is removed afterwards. What it may do is limited by its
//! settings, not by trust in the repository: only https to a host that the operator lists ([`GitHost`]), at addresses
//! that were checked here (curl resolves nothing itself), without redirects, credentials, hooks, filters or submodules,
//! with nothing of the server's own environment, and with limits on time, memory and the size of files. The repository
//! is bare: no file of it is written under its own name. The archive is then unpacked and checked as any other.

mod hosts;

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{io::AsyncReadExt, process::Command, sync::Semaphore};

pub use hosts::GitHost;

use crate::{Error, Result};

/// Time in which a repository must arrive.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Size of the largest file that `git` may write, in bytes: the packed commit.
const PACK_BYTES_MAX: u64 = 64 << 20;
/// Memory of one `git`, in bytes.
const MEMORY_BYTES_MAX: u64 = 1 << 30;
/// Repositories that are read at the same time.
const READ_AT_ONCE: usize = 2;
/// Bytes of git's messages that are kept.
const MESSAGE_BYTES: usize = 8 << 10;

/// A reader of repositories.
pub struct Repositories {
    hosts: Vec<GitHost>,
    /// Certificates of the hosts' own authority. The machine's if not set.
    authority: Option<PathBuf>,
    /// Time in which a repository must arrive.
    time_max: Duration,
    reading: Semaphore,
}

impl Repositories {
    /// Reads repositories of these hosts.
    pub fn new(hosts: Vec<GitHost>, authority: Option<PathBuf>) -> Repositories {
        Repositories {
            hosts,
            authority,
            time_max: TIME_MAX,
            reading: Semaphore::new(READ_AT_ONCE),
        }
    }

    /// The hosts, as they stand in URLs.
    pub fn hosts(&self) -> Vec<String> {
        self.hosts.iter().map(GitHost::to_string).collect()
    }

    /// A folder of a repository as tar.gz, at most `limit` bytes.
    ///
    /// # Errors
    /// If the repository may not be read, cannot be read, or is too large.
    pub async fn pack(&self, wanted: &api::Repository, limit: usize) -> Result<Vec<u8>> {
        let source = self.source(wanted).map_err(Error::RepositoryRefused)?;
        let addresses = source.host.addresses().await;
        let addresses = addresses.map_err(Error::RepositoryRefused)?;
        let _turn = self.reading.acquire().await;
        let folder = tempfile::Builder::new().prefix("stackloom-git-").tempdir();
        let folder = folder.map_err(|error| {
            Error::Unavailable(format!("no folder for the repository: {error}"))
        })?;
        let git = Git {
            folder: folder.path(),
            resolve: resolve(source.host, &addresses),
            authority: self.authority.as_deref(),
        };
        let packed = tokio::time::timeout(self.time_max, git.pack(&source, limit)).await;
        let late = || {
            let seconds = self.time_max.as_secs();
            Error::RepositoryRefused(format!("it did not arrive within {seconds} s"))
        };
        packed.map_err(|_| late())?
    }

    /// The parts of a request, checked.
    fn source<'a>(&'a self, wanted: &'a api::Repository) -> Result<Source<'a>, String> {
        let url = wanted.url.trim();
        let rest = url.strip_prefix("https://");
        let rest = rest.ok_or("its address must begin with `https://`")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if host.contains('@') {
            return Err(
                "its address contains a name or password; only public repositories are read"
                    .to_owned(),
            );
        }
        let listed = self.hosts.iter();
        let mut listed = listed.filter(|one| one.to_string() == host.to_ascii_lowercase());
        let Some(host) = listed.next() else {
            let hosts = self.hosts();
            return Err(if hosts.is_empty() {
                "this server reads no repositories: its operator lists hosts in STACKLOOM_GIT_HOSTS"
                    .to_owned()
            } else {
                format!(
                    "its host is not among those that this server reads: {}",
                    hosts.join(", ")
                )
            });
        };
        let reference = given(wanted.reference.as_deref()).unwrap_or("HEAD");
        let folder = given(wanted.folder.as_deref()).map(|folder| folder.trim_matches('/'));
        let folder = folder.filter(|folder| !folder.is_empty());
        for (what, text) in [
            ("its path", Some(path)),
            ("its branch, tag or commit", Some(reference)),
            ("its folder", folder),
        ] {
            let text = text.unwrap_or("x");
            if !is_plain(text) {
                return Err(format!(
                    "{what} can contain letters, digits and `._~+-/` only, and begins with a letter or digit"
                ));
            }
        }
        Ok(Source {
            url,
            host,
            reference,
            folder,
        })
    }
}

/// A text that is not only blank.
fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// True if git takes the text for a name, and for nothing else.
fn is_plain(text: &str) -> bool {
    let is_letter =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '~' | '+' | '-' | '/');
    let begins = text
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '~'));
    begins && text.len() <= 300 && text.chars().all(is_letter) && !text.contains("..")
}

/// Curl's setting for the addresses of a host.
fn resolve(host: &GitHost, addresses: &[IpAddr]) -> String {
    let addresses: Vec<String> = addresses
        .iter()
        .map(|address| match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        })
        .collect();
    format!("{}:{}:{}", host.name, host.port, addresses.join(","))
}

/// A checked request.
#[derive(Debug)]
struct Source<'a> {
    url: &'a str,
    host: &'a GitHost,
    reference: &'a str,
    folder: Option<&'a str>,
}

/// The program in its folder.
struct Git<'a> {
    folder: &'a Path,
    resolve: String,
    authority: Option<&'a Path>,
}

impl Git<'_> {
    async fn pack(&self, source: &Source<'_>, limit: usize) -> Result<Vec<u8>> {
        self.text(&["init", "--quiet", "--bare", "--template="])
            .await?;
        self.text(&[
            "fetch",
            "--quiet",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-commit-graph",
            source.url,
            source.reference,
        ])
        .await?;
        let tree = format!("FETCH_HEAD:{}", source.folder.unwrap_or_default());
        // A line is `mode type object\tpath`. Type `commit` is a submodule.
        let listed = self
            .text(&["ls-tree", "-r", &tree])
            .await
            .map_err(|error| match (error, source.folder) {
                (Error::RepositoryRefused(_), Some(folder)) => {
                    Error::RepositoryRefused(format!("it has no folder `{folder}`"))
                }
                (error, _) => error,
            })?;
        let submodule = listed.lines().find(|line| line.starts_with("160000 "));
        if let Some((_, path)) = submodule.and_then(|line| line.split_once('\t')) {
            return Err(Error::RepositoryRefused(format!(
                "`{path}` is a submodule, and those are not read: put its files there"
            )));
        }
        self.run(&["archive", "--format=tar.gz", &tree], limit)
            .await
    }

    async fn text(&self, args: &[&str]) -> Result<String> {
        // Paths and ids only: an item has at most some hundred files.
        let output = self.run(args, 4 << 20).await?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// Runs git and returns its output.
    async fn run(&self, args: &[&str], limit: usize) -> Result<Vec<u8>> {
        let unavailable =
            |error: std::io::Error| Error::Unavailable(format!("`git` cannot be run: {error}"));
        let mut child = self.command(args).spawn().map_err(unavailable)?;
        let _group = Group(child.id());
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let messages = tokio::spawn(read_at_most(stderr, MESSAGE_BYTES));
        let output = read_at_most(stdout, limit + 1).await;
        if output.len() > limit {
            return Err(Error::RepositoryRefused(format!(
                "it is larger than {} MiB, packed",
                limit >> 20
            )));
        }
        if child.wait().await.map_err(unavailable)?.success() {
            Ok(output)
        } else {
            let messages = messages.await.unwrap_or_default();
            Err(Error::RepositoryRefused(reason(&messages)))
        }
    }

    fn command(&self, args: &[&str]) -> Command {
        // The shell counts blocks of 512 bytes, and KiB of memory.
        let limited = format!(
            "ulimit -f {}; ulimit -v {}; exec git \"$@\"",
            PACK_BYTES_MAX / 512,
            MEMORY_BYTES_MAX / 1024,
        );
        let mut command = Command::new("sh");
        command.args(["-c", &limited, "git"]);
        for setting in [
            "protocol.allow=never",
            "protocol.https.allow=always",
            "http.followRedirects=false",
            "http.lowSpeedLimit=1000",
            "http.lowSpeedTime=15",
            "http.emptyAuth=false",
            "credential.helper=",
            "core.hooksPath=/dev/null",
            "core.symlinks=false",
            "fetch.fsckObjects=true",
            "fetch.unpackLimit=1",
            "pack.threads=1",
            "gc.auto=0",
            "maintenance.auto=false",
        ] {
            command.args(["-c", setting]);
        }
        command.args(["-c", &format!("http.curloptResolve={}", self.resolve)]);
        command.args(args);
        command.current_dir(self.folder).env_clear();
        command.envs([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "true"),
        ]);
        command.env("HOME", self.folder).env("GIT_DIR", self.folder);
        if let Some(authority) = self.authority {
            command.env("GIT_SSL_CAINFO", authority);
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command
    }
}

/// The processes of one `git`. Ended when dropped.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let id = self.0.and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(id) = id {
            // Without an effect if all of them have ended.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

async fn read_at_most(stream: Option<impl AsyncReadExt + Unpin>, limit: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What could not be read is missing, and the exit code says why.
        let _ = stream.take(limit as u64).read_to_end(&mut bytes).await;
    }
    bytes
}

/// The reason in git's messages, in a sentence.
fn reason(messages: &[u8]) -> String {
    let messages = String::from_utf8_lossy(messages);
    let known = [
        (
            "couldn't find remote ref",
            "it has no such branch, tag or commit",
        ),
        (
            "not our ref",
            "it has no such commit, or its host does not serve single commits",
        ),
        (
            "could not read Username",
            "it does not exist, or is not public",
        ),
        (
            "Authentication failed",
            "it does not exist, or is not public",
        ),
        ("not found", "it does not exist, or is not public"),
        (
            "unable to update url base from redirection",
            "its address leads to another one; redirects are not followed",
        ),
        (
            "error: 30",
            "its address leads to another one; redirects are not followed",
        ),
        ("certificate", "its host's certificate is not valid"),
        ("File too large", "it is too large"),
        ("out of memory", "it is too large"),
    ];
    if let Some((_, meaning)) = known.iter().find(|(words, _)| messages.contains(words)) {
        return (*meaning).to_owned();
    }
    let mut lines = messages.lines().map(str::trim);
    let last = lines.rfind(|line| !line.is_empty());
    let last = last.unwrap_or("git failed without a message");
    let plain = last.chars().filter(|c| !c.is_control()).take(300);
    format!("git says: {}", plain.collect::<String>())
}

#[cfg(test)]
mod tests;
