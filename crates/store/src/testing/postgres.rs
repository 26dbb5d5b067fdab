//! PostgreSQL servers for tests.

use std::sync::{
    OnceLock,
    atomic::{AtomicU32, Ordering},
};

use sqlx::{
    Connection as _, Executor as _,
    any::{AnyConnectOptions, install_default_drivers},
};

use super::script::Script;
use crate::DatabaseUrl;

/// A PostgreSQL server with its own folder. The server stops, and the folder is removed, on drop or when the process
/// ends.
#[derive(Debug)]
pub struct Postgres {
    script: Script,
}

impl Postgres {
    /// Starts a server on 127.0.0.1 and 127.0.0.2.
    ///
    /// # Panics
    /// If PostgreSQL is not installed.
    pub fn start() -> Postgres {
        // The data is not needed after the test, so it does not have to be on the disk.
        Postgres::start_with(&["fsync=off", "full_page_writes=off"])
    }

    /// Starts a server whose commits wait for the disk, if `STACKLOOM_TEST_POSTGRES` wants figures on PostgreSQL.
    ///
    /// # Panics
    /// If PostgreSQL is not installed.
    pub fn measured() -> Option<Postgres> {
        let is_wanted = std::env::var_os("STACKLOOM_TEST_POSTGRES").is_some();
        is_wanted.then(|| Postgres::start_with(&[]))
    }

    fn start_with(more: &[&str]) -> Postgres {
        const SETTINGS: [&str; 3] = [
            "shared_buffers=32MB",
            "max_connections=400",
            "listen_addresses=127.0.0.1,127.0.0.2",
        ];
        let settings = [&SETTINGS, more].concat();
        Postgres {
            script: Script::start(include_str!("postgres.sh"), &settings),
        }
    }

    /// The shared server of this process's tests.
    pub fn shared() -> &'static Postgres {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(Postgres::start)
    }

    /// Creates an empty database.
    pub async fn create(&self) -> DatabaseUrl {
        self.create_behind(self.port()).await.into()
    }

    /// Creates an empty database that is used over another port. Returns its address in clear text.
    pub async fn create_behind(&self, port: u16) -> String {
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
        address(port, &name)
    }

    /// Stops the server at once, like a crash, and starts it again with its data. Returns when it accepts connections.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart(&self) {
        let ready = format!("ready {}", self.port());
        assert_eq!(self.script.ask("restart"), ready);
    }

    /// The server's port.
    pub fn port(&self) -> u16 {
        self.script.port()
    }

    /// The address of a database in clear text, for another program.
    pub fn address(&self, database: &str) -> String {
        address(self.port(), database)
    }
}

fn address(port: u16, database: &str) -> String {
    format!("postgres://postgres:postgres@127.0.0.1:{port}/{database}")
}
