//! The folder of a step's programs on a server, and the shell scripts that work on it.

use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::ssh::{Client, Execution, Output, SshError};

const BEGIN: &str = include_str!("begin.sh");
const END: &str = include_str!("end.sh");
const FOLLOW: &str = include_str!("follow.sh");
const LAUNCH: &str = include_str!("launch.sh");
const LOCKS: &str = include_str!("locks.sh");
const PACKAGES: &str = include_str!("packages.sh");

/// Configuration of apt on a server, in addition to the server's own.
pub const APT_CONFIG: &str = "/var/lib/stackloom/apt.conf";
/// Seconds for which a package manager waits for its lock, in any role.
pub const LOCK_SECONDS: u64 = 600;

const ROOT: &str = "/var/lib/stackloom/jobs";
/// Logs of package managers, of which a server has some.
const PACKAGE_LOGS: [&str; 3] = [
    "/var/log/apt/term.log",
    "/var/log/dnf.rpm.log",
    "/var/log/yum.log",
];
/// Number of bytes of a script's complaints that are shown.
const COMPLAINTS_BYTES_MAX: usize = 1024;

/// The folder of the programs of one attempt at a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFolder {
    /// The deployment's resource, the same in each run.
    place: String,
    /// The run, the step and the attempt.
    generation: String,
}

/// The state of a folder when a step begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The job is new.
    New,
    /// The engine has crashed after it began the same attempt.
    Again,
}

impl JobFolder {
    /// The folder of an attempt at a resource's step.
    pub fn new(
        (deployment, resource): (&str, &str),
        (run, step, attempt): (&str, &str, u32),
    ) -> JobFolder {
        let name = |text: String| format!("{:x}", Sha256::digest(text))[..16].to_owned();
        JobFolder {
            place: name(format!("{deployment} {resource}")),
            generation: name(format!("{run} {step} {attempt}")),
        }
    }

    /// Path of the folder on the server.
    pub fn path(&self) -> String {
        format!("{ROOT}/{}-{}", self.place, self.generation)
    }

    /// The id of an execution in the log.
    pub fn job(&self, name: &str) -> String {
        format!("{}/{name}", self.generation)
    }

    /// Makes the folder on the server, and ends what other attempts left.
    ///
    /// # Errors
    /// If the server does not answer, or lacks a program that this needs.
    pub async fn begin(&self, client: &Client) -> Result<Begun, SshError> {
        let script = format!("{END}{BEGIN}");
        let apt = format!("DPkg::Lock::Timeout \"{LOCK_SECONDS}\";\n");
        let command = as_root(&script, &[&self.place, &self.generation, LAUNCH, &apt]);
        let printed = printed(client.execute(&command).await?).await?;
        Ok(if printed.contains("again") {
            Begun::Again
        } else {
            Begun::New
        })
    }

    /// Ends the programs that still run, and removes the folder.
    ///
    /// # Errors
    /// If the server does not answer.
    pub async fn end(&self, client: &Client) -> Result<(), SshError> {
        let command = as_root(&format!("{END}end \"$1\""), &[&self.path()]);
        printed(client.execute(&command).await?).await.map(drop)
    }

    /// The names of executions, as they begin.
    pub(super) async fn watch(&self, client: &Client) -> Result<Execution, SshError> {
        let path = self.path();
        // `$PPID` is the process of the connection.
        let command = format!("exec sudo -n tail --pid=$PPID -s 0.1 -f -n +1 {path}/started");
        client.execute(&command).await
    }

    /// An execution's output and errors, each from a byte.
    pub(super) async fn follow(
        &self,
        client: &Client,
        name: &str,
        [out, err]: [u64; 2],
    ) -> Result<Execution, SshError> {
        let job = format!("{}/{name}", self.path());
        // `tail` counts from 1.
        let from = [out + 1, err + 1].map(|byte| byte.to_string());
        client
            .execute(&as_root(FOLLOW, &[&job, &from[0], &from[1]]))
            .await
    }
}

/// Lines that package managers write from now on. A line of its input comes back behind what was written before.
pub(super) async fn package_log(client: &Client) -> Result<Execution, SshError> {
    client.execute(&as_root(PACKAGES, &PACKAGE_LOGS)).await
}

/// Waits until nobody holds a package manager's lock. The output says who does.
pub async fn locks(client: &Client, patience: Duration) -> Result<Execution, SshError> {
    let seconds = patience.as_secs().to_string();
    client.execute(&as_root(LOCKS, &[&seconds])).await
}

/// Standard output of a successful execution, else its standard error as an error. Long output is cut off.
pub(super) async fn printed(execution: Execution) -> Result<String, SshError> {
    printed_up_to(execution, COMPLAINTS_BYTES_MAX).await
}

/// As [`printed`], with at most `bytes_max` bytes of output.
pub(super) async fn printed_up_to(
    mut execution: Execution,
    bytes_max: usize,
) -> Result<String, SshError> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    while let Some(output) = execution.output().await? {
        let (to, bytes, bytes_max) = match &output {
            Output::Out(bytes) => (&mut out, bytes, bytes_max),
            Output::Err(bytes) => (&mut err, bytes, COMPLAINTS_BYTES_MAX),
        };
        let free = bytes_max.saturating_sub(to.len());
        to.extend_from_slice(&bytes[..bytes.len().min(free)]);
    }
    let server = execution.server().to_owned();
    match execution.code().await? {
        0 => Ok(String::from_utf8_lossy(&out).into_owned()),
        code => Err(SshError::Broken {
            server,
            why: format!("exit code {code}: {}", String::from_utf8_lossy(&err).trim()),
        }),
    }
}

/// A command for the login user's shell that runs a script as root.
pub(super) fn as_root(script: &str, arguments: &[&str]) -> String {
    let words = ["sudo", "-n", "sh", "-c", script, "sh"];
    let words = words.iter().chain(arguments).map(|word| quoted(word));
    words.collect::<Vec<_>>().join(" ")
}

/// A word in a shell's quotes.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_has_one_folder_and_the_next_attempt_another_in_the_same_place() {
        let of = |run, attempt| JobFolder::new(("d", "web"), (run, "web:configure", attempt));
        assert_eq!(of("r", 1), of("r", 1));
        assert_ne!(of("r", 1), of("r", 2));
        assert_ne!(of("r", 1), of("s", 1));
        assert_eq!(of("r", 1).place, of("s", 2).place);
        assert!(
            of("r", 1)
                .path()
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"/-".contains(&byte))
        );
    }

    #[test]
    fn a_step_waits_until_cloud_init_has_ended_and_says_so() {
        let root = tempfile::tempdir().unwrap();
        let cloud_init = root.path().join("run/cloud-init");
        std::fs::create_dir_all(&cloud_init).unwrap();
        // Not the files of the computer that runs the test.
        let script = ["/run/", "/var/", "/usr/"]
            .iter()
            .fold(LOCKS.to_owned(), |script, folder| {
                script.replace(folder, &format!("$ROOT{folder}"))
            });
        let locks = || {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", script.as_str(), "sh", "1"]);
            let output = shell.env("ROOT", root.path()).output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            (output.status.code(), said)
        };
        assert_eq!(locks(), (Some(0), String::new()), "a server without it");
        std::fs::write(cloud_init.join("status.json"), "{}").unwrap();
        let waited = "cloud-init has not ended\n".to_owned();
        assert_eq!(locks(), (Some(1), waited));
        std::fs::write(cloud_init.join("result.json"), "{}").unwrap();
        assert_eq!(locks(), (Some(0), String::new()));
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_is() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
