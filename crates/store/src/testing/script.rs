//! Scripts that run servers until their standard input ends.
//!
//! So a server never outlives the process that started it, even if that process panics or is killed.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::{Mutex, PoisonError},
};

/// A running script with its own folder. It stops, and the folder is removed, on drop or when the process ends.
#[derive(Debug)]
pub struct Script {
    child: Child,
    output: Mutex<BufReader<ChildStdout>>,
    folder: PathBuf,
    port: u16,
}

impl Script {
    /// Starts a script `FOLDER PORT [SETTING...]` with a free port, and waits until it is ready.
    ///
    /// # Panics
    /// If it does not get ready.
    pub fn start(script: &str, settings: &[&str]) -> Script {
        let folder = tempfile::tempdir().expect("a folder").keep();
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(format!("{script}\ncd / && rm -rf -- \"$folder\"\n"))
            .arg("sh")
            .arg(&folder)
            .arg("0")
            .args(settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut ready = String::new();
        let output = child.stdout.take().expect("a pipe");
        let mut output = BufReader::new(output);
        output.read_line(&mut ready).expect("a line");
        let port = ready.trim().strip_prefix("ready ");
        let port = port.and_then(|port| port.parse().ok());
        Script {
            child,
            output: Mutex::new(output),
            folder,
            port: port.expect("the servers start; `cargo xtask doctor` shows missing packages"),
        }
    }

    /// Sends a line to the script, and waits for a line from it.
    ///
    /// # Panics
    /// If the script has ended.
    pub fn ask(&self, line: &str) -> String {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let mut input = self.child.stdin.as_ref().expect("a pipe");
        writeln!(input, "{line}").expect("the script reads");
        let mut answer = String::new();
        output.read_line(&mut answer).expect("a line");
        answer.trim().to_owned()
    }

    /// The port of the database.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // The script ends by itself.
        let _ended = self.child.wait();
    }
}
