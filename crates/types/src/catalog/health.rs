//! Health checks of components.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A check that tells whether a component works. It runs on the component's server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthCheck {
    /// Title in a few words, such as `Answers requests`.
    pub title: String,
    /// The probe of one attempt.
    pub probe: Probe,
    /// Pause between two attempts, in seconds.
    pub interval: u32,
    /// Time limit of an attempt, in seconds.
    pub timeout: u32,
    /// Time after the end of the role until which an attempt must succeed, in seconds.
    pub deadline: u32,
    /// Input that must have a value; without one the check is left out. `None` for a check that is always made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

impl HealthCheck {
    /// True if the check is made for a component with these inputs.
    pub fn applies(&self, inputs: &Map<String, Value>) -> bool {
        let Some(input) = &self.when else { return true };
        match inputs.get(input) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(_) => true,
        }
    }
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
        /// `http`, `https`, or an input in braces that holds one of them. `None` means `http`. With `https` every
        /// certificate is accepted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scheme: Option<String>,
        /// Path, such as `/health`, with inputs in braces.
        path: String,
        /// Expected status: a number, or an input in braces. `None` and an empty input accept every status below 500: a
        /// page may redirect or ask for a login.
        status: Option<String>,
        /// Text that the answer contains, with inputs in braces. An empty one is not looked for.
        contains: Option<String>,
    },
    /// A DNS query over TCP is answered with a record.
    Dns {
        /// Input with the port number.
        port: String,
        /// Name, such as `www.example.org`, with inputs in braces.
        name: String,
        /// Type of the record.
        record: RecordType,
    },
    /// A command of the server's shell ends with exit status 0. The inputs that it names are variables of the shell, and
    /// so is the component's name, `stackloom_component`.
    Command {
        /// Text of the command.
        command: String,
    },
}

impl Probe {
    /// Input with the port number.
    pub fn port(&self) -> Option<&str> {
        match self {
            Probe::Tcp { port } | Probe::Http { port, .. } | Probe::Dns { port, .. } => Some(port),
            Probe::Command { .. } => None,
        }
    }
}

/// The type of a DNS record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RecordType {
    /// IPv4 address.
    A,
    /// IPv6 address.
    Aaaa,
    /// Another name of the same.
    Cname,
    /// Mail server.
    Mx,
    /// Name server.
    Ns,
    /// Start of a zone.
    Soa,
    /// Server and port of a service.
    Srv,
    /// Text.
    Txt,
}

impl RecordType {
    /// All types, with their names and numbers. Source: IANA, "Domain Name System (DNS) Parameters".
    const ALL: [(RecordType, &str, u16); 8] = [
        (RecordType::A, "A", 1),
        (RecordType::Aaaa, "AAAA", 28),
        (RecordType::Cname, "CNAME", 5),
        (RecordType::Mx, "MX", 15),
        (RecordType::Ns, "NS", 2),
        (RecordType::Soa, "SOA", 6),
        (RecordType::Srv, "SRV", 33),
        (RecordType::Txt, "TXT", 16),
    ];

    /// The names of all types.
    pub fn names() -> impl Iterator<Item = &'static str> {
        RecordType::ALL.into_iter().map(|(_, name, _)| name)
    }

    /// The type of a name, such as `SRV`.
    pub fn named(name: &str) -> Option<RecordType> {
        let mut all = RecordType::ALL.into_iter();
        all.find(|one| one.1 == name).map(|(record, _, _)| record)
    }

    /// Number in DNS messages.
    pub fn number(self) -> u16 {
        let mut all = RecordType::ALL.into_iter();
        all.find(|one| one.0 == self)
            .map_or(0, |(_, _, number)| number)
    }
}

impl fmt::Display for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = RecordType::ALL.into_iter();
        let name = all
            .find(|one| one.0 == *self)
            .map_or("", |(_, name, _)| name);
        f.write_str(name)
    }
}
