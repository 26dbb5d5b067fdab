//! The database's handle, and transactions.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::AnyPool;

use crate::{Error, Result};

pub(crate) type Database = sqlx::Any;
pub(crate) type Connection = sqlx::AnyConnection;
pub(crate) type Row = sqlx::any::AnyRow;

/// The kind of a database, where statements differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// The handle for requests and runs. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(crate) pool: AnyPool,
    pub(crate) kind: Kind,
    /// Id of this server, while it has a lease.
    server: Arc<Mutex<String>>,
    /// Address of the database, if other servers may use it.
    pub(crate) address: Option<Arc<str>>,
}

/// Writes that take effect together. Without [`Transaction::commit`], none takes effect.
#[must_use = "a transaction that is not committed changes nothing"]
pub struct Transaction {
    pub(crate) inner: sqlx::Transaction<'static, Database>,
    /// Id of this server.
    pub(crate) server: String,
    doing: &'static str,
}

/// A part of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Maximum number of rows.
    pub limit: u32,
    /// Number of rows before the part.
    pub offset: u32,
}

impl Page {
    /// Everything, for tests and small tables.
    pub const ALL: Page = Page {
        limit: u32::MAX,
        offset: 0,
    };
}

/// The result of a conditional write.
#[must_use = "a conflict has changed nothing, and somebody must be told"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The write took effect.
    Done,
    /// A key is taken, or the row is not in the expected state any more. Nothing was changed.
    Conflict,
}

impl Outcome {
    pub(crate) fn of(rows: u64) -> Outcome {
        if rows == 0 {
            Outcome::Conflict
        } else {
            Outcome::Done
        }
    }
}

impl fmt::Debug for Store {
    /// Without the address, which has a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut store = f.debug_struct("Store");
        store.field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Kind {
    /// The start of a transaction with writes. SQLite takes the write lock at once, so that a transaction that reads
    /// first cannot lose it to another one. PostgreSQL locks the written rows.
    pub(crate) fn begin(self) -> &'static str {
        match self {
            Kind::Sqlite => "BEGIN IMMEDIATE",
            Kind::Postgres => "BEGIN",
        }
    }

    /// The start of a transaction whose queries use the same snapshot.
    pub(crate) fn begin_reading(self) -> &'static str {
        match self {
            Kind::Sqlite => "BEGIN",
            Kind::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        }
    }

    /// The end of a `SELECT` that locks its rows until the end of the transaction. SQLite has locked everything at its
    /// beginning.
    pub(crate) fn lock_rows(self) -> &'static str {
        match self {
            Kind::Sqlite => "",
            Kind::Postgres => " FOR NO KEY UPDATE",
        }
    }

    /// Sets the durability of commits. If `is_durable`, a commit waits for the disk, otherwise only for the operating
    /// system. PostgreSQL always waits: it combines the commits of all connections.
    pub(crate) async fn set_durable(
        self,
        connection: &mut Connection,
        is_durable: bool,
    ) -> sqlx::Result<()> {
        let level = match (self, is_durable) {
            (Kind::Postgres, _) => return Ok(()),
            (Kind::Sqlite, true) => "PRAGMA synchronous = FULL",
            (Kind::Sqlite, false) => "PRAGMA synchronous = NORMAL",
        };
        sqlx::query(level).execute(connection).await.map(drop)
    }
}

impl Store {
    pub(crate) fn new(pool: AnyPool, kind: Kind, address: Option<Arc<str>>) -> Store {
        Store {
            pool,
            kind,
            server: Arc::default(),
            address,
        }
    }

    /// Id of this server, while it has a lease. Empty before it joins the servers.
    pub(crate) fn server(&self) -> String {
        let server = self.server.lock();
        server.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_server(&self, id: String) {
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }

    /// Begins a transaction. `doing` completes "the database failed while".
    ///
    /// # Errors
    /// If the database stays locked.
    pub async fn begin(&self, doing: &'static str) -> Result<Transaction> {
        let inner = self.pool.begin_with(self.kind.begin()).await;
        Ok(Transaction {
            inner: inner.map_err(Error::at(doing))?,
            server: self.server(),
            doing,
        })
    }

    /// Checks that the database responds.
    ///
    /// # Errors
    /// If it does not.
    pub async fn ping(&self) -> Result<()> {
        sqlx::query("SELECT 1")
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(Error::at("answering"))
    }

    /// Closes all connections. Later queries fail.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

impl Transaction {
    /// Commits all writes.
    ///
    /// # Errors
    /// If the database cannot write. Then none takes effect.
    pub async fn commit(self) -> Result<()> {
        self.inner.commit().await.map_err(Error::at(self.doing))
    }

    pub(crate) fn connection(&mut self) -> &mut Connection {
        &mut self.inner
    }

    /// Conversion of an error, for `map_err`.
    pub(crate) fn failed(&self) -> impl Fn(sqlx::Error) -> Error + use<> {
        Error::at(self.doing)
    }
}

/// A statement made of constants of this crate.
pub(crate) fn statement(parts: &[&'static str]) -> sqlx::AssertSqlSafe<String> {
    sqlx::AssertSqlSafe(parts.concat())
}

/// The parameters of a statement with `rows` rows of `columns` values: `($1, $2), ($3, $4)`.
pub(crate) fn parameters(rows: usize, columns: usize) -> String {
    let row = |row: usize| {
        let numbers = (1..=columns).map(|column| format!("${}", row * columns + column));
        format!("({})", numbers.collect::<Vec<_>>().join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

/// Rows as their types.
pub(crate) fn read_all<T>(
    rows: sqlx::Result<Vec<Row>>,
    read: impl Fn(&Row) -> sqlx::Result<T>,
    doing: &'static str,
) -> Result<Vec<T>> {
    rows.and_then(|rows| rows.iter().map(read).collect())
        .map_err(Error::at(doing))
}

/// One row as its type. `None` if there is none.
pub(crate) fn read_one<T>(
    row: sqlx::Result<Option<Row>>,
    read: impl Fn(&Row) -> sqlx::Result<T>,
    doing: &'static str,
) -> Result<Option<T>> {
    row.and_then(|row| row.as_ref().map(read).transpose())
        .map_err(Error::at(doing))
}
