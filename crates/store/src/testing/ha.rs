//! A highly available PostgreSQL database for tests: three servers with Patroni, behind HAProxy.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    process::Command,
    time::Duration,
};

use super::script::Script;

/// The members.
const MEMBERS: [u16; 3] = [1, 2, 3];

/// Distance of Patroni's first port from that of the database: see `ha.sh`.
const PATRONI: u16 = 9;

/// A highly available database with its own folder. All its programs stop, and the folder is removed, on drop or when
/// the process ends.
#[derive(Debug)]
pub struct HighlyAvailable {
    script: Script,
}

impl HighlyAvailable {
    /// Starts one.
    ///
    /// # Panics
    /// If its packages are not installed.
    pub fn start() -> HighlyAvailable {
        HighlyAvailable {
            script: Script::start(include_str!("ha.sh"), &[]),
        }
    }

    /// The address of its database in clear text, for another program.
    pub fn address(&self) -> String {
        let port = self.script.port();
        format!("postgres://postgres:postgres@127.0.0.1:{port}/postgres")
    }

    /// The number of the primary. `None` during a failover.
    pub fn primary(&self) -> Option<u16> {
        MEMBERS.into_iter().find(|member| self.is_primary(*member))
    }

    /// True if a member believes that it is the primary.
    pub fn is_primary(&self, member: u16) -> bool {
        self.is(member, "/primary")
    }

    /// True if a standby confirms each write, so that a failover is possible.
    pub fn has_standby(&self) -> bool {
        MEMBERS.into_iter().any(|member| self.is(member, "/sync"))
    }

    /// Asks a member's Patroni for its role.
    fn is(&self, member: u16, role: &str) -> bool {
        const LIMIT: Duration = Duration::from_secs(2);
        let response = || {
            let port = self.script.port() + PATRONI + member;
            let address = (Ipv4Addr::LOCALHOST, port).into();
            // A stopped process accepts no connections after the first few.
            let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
            stream.set_read_timeout(Some(LIMIT))?;
            write!(stream, "GET {role} HTTP/1.0\r\n\r\n")?;
            let mut answer = [0; 12];
            stream.read_exact(&mut answer)?;
            Ok::<_, std::io::Error>(answer)
        };
        response().is_ok_and(|answer| answer.ends_with(b" 200"))
    }

    /// Kills Patroni and PostgreSQL of a member. They start again half a minute later.
    ///
    /// # Panics
    /// If they do not run.
    pub fn kill(&self, member: u16) {
        // Patroni first: it would start its server again.
        self.signal(member, "pid", "KILL");
        self.signal(member, "data/postmaster.pid", "KILL");
    }

    /// Sends a signal to the Patroni of a member. Its PostgreSQL server continues.
    ///
    /// # Panics
    /// If it does not run.
    pub fn signal_patroni(&self, member: u16, name: &str) {
        self.signal(member, "pid", name);
    }

    fn signal(&self, member: u16, file: &str, name: &str) {
        let file = self.script.folder().join(format!("db{member}/{file}"));
        let text = fs::read_to_string(file).expect("a process id");
        let process = text.lines().next().expect("a line");
        let sent = Command::new("kill").args(["-s", name, process]).status();
        assert!(sent.expect("a program").success());
    }
}
