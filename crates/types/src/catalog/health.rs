//! Health checks of components.

use serde::{Deserialize, Serialize};

/// A check that tells whether a component works. It runs on the component's server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthCheck {
    /// Title in a few words, such as `Answers requests`.
    pub title: String,
    /// What is tried.
    pub probe: Probe,
    /// Pause between two attempts, in seconds.
    pub interval: u32,
    /// Time limit of an attempt, in seconds.
    pub timeout: u32,
    /// Time after the end of the role until which an attempt must succeed, in seconds.
    pub deadline: u32,
}

/// An attempt of a health check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// A TCP connection to the port is accepted.
    Tcp {
        /// Input with the port number.
        port: String,
    },
    /// A GET request is answered.
    Http {
        /// Input with the port number.
        port: String,
        /// Path, such as `/health`.
        path: String,
        /// Expected status. `None` accepts every status below 500: a page may redirect or ask for a login.
        status: Option<u16>,
        /// Text that the answer contains.
        contains: Option<String>,
    },
    /// A command of the server's shell ends with exit status 0. The inputs that it names are variables of the shell.
    Command {
        /// Text of the command.
        command: String,
    },
}

impl Probe {
    /// Input with the port number.
    pub fn port(&self) -> Option<&str> {
        match self {
            Probe::Tcp { port } | Probe::Http { port, .. } => Some(port),
            Probe::Command { .. } => None,
        }
    }
}
