//! PostgreSQL servers for tests.
//!
//! The script `postgres.sh` runs the server and stops it when its standard input ends. So a server never outlives the
//! process that started it, even if that process panics or is killed.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use sqlx::{
    Connection as _, Executor as _,
    any::{AnyConnectOptions, install_default_drivers},
};

use crate::DatabaseUrl;

/// A PostgreSQL server with its own folder. The server stops, and the folder is removed, on drop or when the process
/// ends.
#[derive(Debug)]
pub struct Postgres {
    script: Child,
    port: u16,
}

impl Postgres {
    /// Starts a server.
    ///
    /// # Panics
    /// If PostgreSQL is not installed.
    pub fn start() -> Postgres {
        const SCRIPT: &str = concat!(
            include_str!("postgres.sh"),
            "\ncd / && rm -rf -- \"$folder\"\n"
        );
        // The data is not needed after the test, so it does not have to be on the disk.
        const SETTINGS: [&str; 4] = [
            "fsync=off",
            "full_page_writes=off",
            "shared_buffers=32MB",
            "max_connections=400",
        ];
        let folder = tempfile::tempdir().expect("a folder").keep();
        let mut script = Command::new("sh")
            .args(["-c", SCRIPT, "postgres.sh"])
            .arg(&folder)
            .arg("0")
            .args(SETTINGS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut ready = String::new();
        let output = script.stdout.take().expect("a pipe");
        BufReader::new(output)
            .read_line(&mut ready)
            .expect("a line");
        let port = ready.trim().strip_prefix("ready ");
        let port = port.and_then(|port| port.parse().ok());
        let port = port.expect("PostgreSQL starts; install Debian's package `postgresql`");
        Postgres { script, port }
    }

    /// The shared server of this process's tests.
    pub fn shared() -> &'static Postgres {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(Postgres::start)
    }

    /// Creates an empty database.
    pub async fn create(&self) -> DatabaseUrl {
        self.create_behind(self.port).await
    }

    /// Creates an empty database that is used over another port.
    pub async fn create_behind(&self, port: u16) -> DatabaseUrl {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", LAST.fetch_add(1, Ordering::Relaxed));
        install_default_drivers();
        let options: AnyConnectOptions = self.address("postgres").parse().expect("a URL");
        let mut admin = sqlx::AnyConnection::connect_with(&options)
            .await
            .expect("the server");
        let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
        admin.execute(create).await.expect("a database");
        admin.close().await.expect("closed");
        address(port, &name).into()
    }

    /// The server's port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of a database in clear text, for another program.
    pub fn address(&self, database: &str) -> String {
        address(self.port, database)
    }
}

fn address(port: u16, database: &str) -> String {
    format!("postgres://postgres:postgres@127.0.0.1:{port}/{database}")
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.script.stdin.take());
        // The script ends by itself.
        let _ended = self.script.wait();
    }
}
