//! The database's handle, transactions, and how a database is opened.
//!
//! Only this file names SQLite: types, settings, the start of transactions, and durability.

use std::{path::Path, time::Duration};

use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use crate::{Error, Result, migrations};

pub(crate) type Database = sqlx::Sqlite;
pub(crate) type Connection = sqlx::SqliteConnection;
pub(crate) type Row = sqlx::sqlite::SqliteRow;

/// The handle for requests and runs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) pool: SqlitePool,
}

/// Writes that take effect together. Without [`Transaction::commit`], none takes effect.
#[must_use = "a transaction that is not committed changes nothing"]
pub struct Transaction {
    pub(crate) inner: sqlx::Transaction<'static, Database>,
    doing: &'static str,
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

/// Opens a database file, creates it if it is missing, and applies the migrations. See [`open`](crate::open).
pub(crate) async fn connect(path: &Path) -> Result<Store> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(Duration::from_secs(10))
        .foreign_keys(true);
    let pool = SqlitePoolOptions::new()
        .max_connections(8)
        .connect_with(options)
        .await
        .map_err(Error::at("opening it"))?;
    migrate(&pool).await?;
    Ok(Store { pool })
}

pub(crate) async fn migrate(pool: &SqlitePool) -> Result<()> {
    migrations::migrator()
        .run(pool)
        .await
        .map_err(|error| Error::at("migrating it")(error.into()))
}

/// Sets the durability of commits. If `is_durable`, a commit waits for the disk, else only for the operating system.
pub(crate) async fn set_durable(connection: &mut Connection, is_durable: bool) -> sqlx::Result<()> {
    let level = if is_durable {
        "PRAGMA synchronous = FULL"
    } else {
        "PRAGMA synchronous = NORMAL"
    };
    sqlx::query(level).execute(connection).await.map(drop)
}

/// SQLite takes the write lock at the start, so that a transaction that reads first cannot lose it to another one.
pub(crate) const BEGIN: &str = "BEGIN IMMEDIATE";

impl Store {
    /// Begins a transaction. `doing` completes "the database failed while".
    ///
    /// # Errors
    /// If the database stays locked.
    pub async fn begin(&self, doing: &'static str) -> Result<Transaction> {
        let inner = self.pool.begin_with(BEGIN).await;
        Ok(Transaction {
            inner: inner.map_err(Error::at(doing))?,
            doing,
        })
    }

    /// Checks that the database answers.
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
    /// Makes all writes take effect.
    ///
    /// # Errors
    /// If the database cannot write. Then none takes effect.
    pub async fn commit(self) -> Result<()> {
        self.inner.commit().await.map_err(Error::at(self.doing))
    }

    pub(crate) fn connection(&mut self) -> &mut Connection {
        &mut self.inner
    }

    /// For `map_err`.
    pub(crate) fn failed(&self) -> impl Fn(sqlx::Error) -> Error + use<> {
        Error::at(self.doing)
    }
}

/// A statement made of constants of this crate.
pub(crate) fn statement(parts: &[&'static str]) -> sqlx::AssertSqlSafe<String> {
    sqlx::AssertSqlSafe(parts.concat())
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
