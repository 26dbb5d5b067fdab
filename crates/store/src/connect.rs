//! Opens a database: a SQLite file, or a database on a PostgreSQL server.
//!
//! Only this file, [`crate::database`], the notices and the migrations distinguish the two kinds.

use std::{fmt, path::Path, sync::Arc, time::Duration};

use sqlx::{
    AnyPool, ConnectOptions as _, Connection as _, Executor as _,
    any::{AnyConnectOptions, AnyPoolOptions, install_default_drivers},
    migrate::MigrateError,
    sqlite::SqliteConnectOptions,
};

use crate::{
    Error, Result,
    database::{Connection, Kind, Store},
    migrations,
};

/// Maximum number of connections to a database file. Reads run in parallel, writes one after the other.
const FILE_CONNECTIONS: u32 = 8;

/// Maximum number of connections to a PostgreSQL server. Its own limit is 100 by default, for all its clients.
const SERVER_CONNECTIONS: u32 = 16;

/// The address of a database on a PostgreSQL server: `postgres://user:password@host/database`. [`fmt::Display`] and
/// [`fmt::Debug`] hide the password. [`connect`](crate::connect()) parses the address, because the command line shows
/// values that it cannot parse.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl From<String> for DatabaseUrl {
    fn from(text: String) -> DatabaseUrl {
        DatabaseUrl(text)
    }
}

impl DatabaseUrl {
    /// The errors do not contain the text.
    fn parse(&self) -> Result<AnyConnectOptions> {
        const EXAMPLE: &str = "write it like postgres://user:password@host:5432/database";
        let wrong = |why: String| {
            let source = sqlx::Error::Configuration(format!("{why}; {EXAMPLE}").into());
            Error::at("reading its address")(source)
        };
        let options: AnyConnectOptions = match self.0.parse() {
            Ok(options) => options,
            Err(sqlx::Error::Configuration(why)) => return Err(wrong(why.to_string())),
            Err(_) => return Err(wrong("it is no URL".into())),
        };
        match options.database_url.scheme() {
            "postgres" | "postgresql" => Ok(options),
            _ => Err(wrong("it names no PostgreSQL database".into())),
        }
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HIDDEN: &str = "***";
        let Ok(AnyConnectOptions {
            database_url: mut shown,
            ..
        }) = self.parse()
        else {
            return f.write_str(HIDDEN);
        };
        // The query can contain a password too.
        shown.set_query(None);
        if shown.password().is_some() && shown.set_password(Some(HIDDEN)).is_err() {
            return f.write_str(HIDDEN);
        }
        fmt::Display::fmt(&shown, f)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Opens a database file, creates it if it is missing, and applies the migrations.
pub(crate) async fn open(path: &Path) -> Result<Store> {
    let path = std::path::absolute(path)
        .map_err(|error| Error::at("looking for its file")(sqlx::Error::Io(error)))?;
    let url = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .to_url_lossy();
    sqlite(url.as_str(), FILE_CONNECTIONS).await
}

/// Opens a database in memory, for tests.
#[cfg(feature = "testing")]
pub(crate) async fn memory() -> Result<Store> {
    sqlite("sqlite::memory:", 1).await
}

async fn sqlite(url: &str, connections: u32) -> Result<Store> {
    const SETTINGS: &str = "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON";
    install_default_drivers();
    let pool = AnyPoolOptions::new()
        .max_connections(connections)
        .after_connect(|connection, _| {
            Box::pin(async move { connection.execute(SETTINGS).await.map(drop) })
        })
        .after_release(|connection, _| Box::pin(is_usable(connection)))
        .connect(url)
        .await
        .map_err(Error::at("opening it"))?;
    migrated(pool, Kind::Sqlite, None).await
}

/// True if a connection to a SQLite database can begin a transaction. A full disk and an I/O error end a transaction inside
/// SQLite. Then sqlx cannot roll it back, believes for ever that it is open, and refuses to begin another one.
async fn is_usable(connection: &mut Connection) -> sqlx::Result<bool> {
    // Waits for the end of a roll-back that was begun when the transaction was dropped.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

/// Connects to a PostgreSQL server and applies the migrations. Programs that start at the same time do this one after
/// the other.
pub(crate) async fn connect(url: &DatabaseUrl) -> Result<Store> {
    install_default_drivers();
    let options = url.parse()?;
    // A pool retries until its timeout, and does not return the reason.
    let first = options.connect().await;
    let closed = first
        .map_err(Error::at("being connected to"))?
        .close()
        .await;
    closed.map_err(Error::at("being connected to"))?;
    // A server that is stopped or cut off in a transaction must not keep others from its rows.
    const SETTINGS: &str = "SET idle_in_transaction_session_timeout = '10s'";
    let pool = AnyPoolOptions::new()
        .max_connections(SERVER_CONNECTIONS)
        .after_connect(|connection, _| {
            Box::pin(async move { connection.execute(SETTINGS).await.map(drop) })
        })
        .acquire_timeout(Duration::from_secs(10))
        .connect_with(options)
        .await
        .map_err(Error::at("being connected to"))?;
    migrated(pool, Kind::Postgres, Some(url.0.as_str().into())).await
}

async fn migrated(pool: AnyPool, kind: Kind, address: Option<Arc<str>>) -> Result<Store> {
    migrations::migrator(kind)
        .run(&pool)
        .await
        .map_err(|error| Error::at("migrating it")(explained(error)))?;
    Ok(Store::new(pool, kind, address))
}

/// The error with a remedy for operators who start an older program after an upgrade.
fn explained(error: MigrateError) -> sqlx::Error {
    match error {
        MigrateError::VersionMissing(number) => sqlx::Error::Configuration(
            format!(
                "a newer program has changed its schema (migration {number}); start that program, or restore the backup from \
                 before the upgrade"
            )
            .into(),
        ),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Database;

    fn url(text: &str) -> DatabaseUrl {
        DatabaseUrl::from(text.to_owned())
    }

    /// The complete text of an error.
    fn complete_text(error: &Error) -> String {
        let source = std::error::Error::source(error).unwrap();
        format!("{error:?} {error} {source}")
    }

    #[tokio::test]
    async fn no_text_of_an_address_shows_its_password() {
        for address in [
            "postgres://u:sesam@db.example.org/x",
            "postgres://u:sesam@db.example.org:5433/x?sslmode=require",
            "postgresql://db.example.org/x?user=u&password=sesam",
        ] {
            let url = url(address);
            for shown in [url.to_string(), format!("{url:?}")] {
                assert!(!shown.contains("sesam"), "{shown}");
                assert!(shown.contains("db.example.org"), "{shown}");
            }
        }
        for wrong in [
            "mysql://u:sesam@db/x",
            "postgres://u:sesam@db:port/x",
            "u:sesam@db",
            "sesam",
        ] {
            let url = url(wrong);
            let text = complete_text(&connect(&url).await.unwrap_err());
            for shown in [url.to_string(), text.clone()] {
                assert!(!shown.contains("sesam"), "{shown}");
            }
            assert!(text.contains("postgres://user:password@"), "{text}");
        }
    }

    /// Sets the size of the disk, in pages of the database, for all connections of the pool.
    async fn limit(store: &Store, pages: u32) {
        let mut all = Vec::new();
        for _ in 0..FILE_CONNECTIONS {
            let mut connection = store.pool.acquire().await.unwrap();
            let limit = format!("PRAGMA max_page_count = {pages}");
            let limit = sqlx::AssertSqlSafe(limit);
            connection.execute(limit).await.unwrap();
            all.push(connection);
        }
    }

    #[tokio::test]
    async fn a_full_disk_is_an_outage_that_ends_when_there_is_space_again() {
        let Database { store, .. } = &Database::new().await;
        let write = async || {
            let mut transaction = store.begin("testing").await?;
            sqlx::query(
                "INSERT INTO servers (id, beat, patience, sealing_key) VALUES ($1, 0, 1, $2)",
            )
            .bind(uuid::Uuid::now_v7().to_string())
            .bind("x".repeat(100_000))
            .execute(transaction.connection())
            .await
            .map_err(transaction.failed())?;
            transaction.commit().await
        };
        limit(store, 1).await;
        let full = write().await.unwrap_err();
        assert!(
            full.is_transient() && complete_text(&full).contains("full"),
            "{full:?}"
        );
        for _ in 0..2 * FILE_CONNECTIONS {
            // Other connections, and new ones, which know no limit.
            if let Err(error) = write().await {
                assert!(complete_text(&error).contains("full"), "{error:?}");
            }
        }
        limit(store, 1_000_000).await;
        for _ in 0..2 * FILE_CONNECTIONS {
            write().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_program_refuses_the_schema_of_a_newer_one() {
        for Database { store, .. } in &Database::each().await {
            sqlx::query(
                "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                 SELECT 99999999, 'later', success, checksum, 0 FROM _sqlx_migrations ORDER BY version DESC LIMIT 1",
            )
            .execute(&store.pool)
            .await
            .unwrap();
            let refused = migrated(store.pool.clone(), store.kind, None).await;
            let refused = refused.unwrap_err();
            assert!(!refused.is_transient());
            let text = complete_text(&refused);
            assert!(
                text.contains("a newer program has changed its schema"),
                "{text}"
            );
        }
    }

    #[tokio::test]
    async fn a_server_that_does_not_answer_may_do_so_later() {
        let error = connect(&url("postgres://u:sesam@127.0.0.1:1/x")).await;
        let error = error.unwrap_err();
        assert!(error.is_transient() && !complete_text(&error).contains("sesam"));
    }

    #[tokio::test]
    async fn a_proxy_without_a_primary_may_have_one_later() {
        let proxy = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = proxy.local_addr().unwrap().port();
        let closing = tokio::spawn(async move {
            let (connection, _) = proxy.accept().await.unwrap();
            drop(connection);
        });
        let error = connect(&url(&format!("postgres://u:sesam@127.0.0.1:{port}/x"))).await;
        closing.await.unwrap();
        assert!(error.unwrap_err().is_transient());
    }
}
