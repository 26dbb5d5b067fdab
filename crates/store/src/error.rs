//! Failures of the database.

use std::sync::Arc;

/// The result of a query.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed query or transaction.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the database failed while {doing}")]
pub struct Error {
    doing: &'static str,
    source: Arc<sqlx::Error>,
}

impl Error {
    /// Conversion of an error, for `map_err`; `doing` completes "the database failed while".
    pub(crate) fn at(doing: &'static str) -> impl Fn(sqlx::Error) -> Error {
        move |source| Error {
            doing,
            source: Arc::new(source),
        }
    }

    /// True if the database is not available now, and the same request can succeed later: it cannot be reached, is in a
    /// failover, has no free connection, is locked, or its disk is full.
    ///
    /// SQLite (result codes): busy (5), locked (6), I/O error (10), full (13), cannot open (14), a thread that ended.
    /// PostgreSQL (SQLSTATE): connection (08), read-only standby (25006), transaction idle for too long (25P03), rollback
    /// because of other transactions (40), resources (53), operator (57), operating system (58). A proxy without a primary
    /// accepts connections and closes them, which the client reports as an answer against the protocol. Both: no free
    /// connection.
    pub fn is_transient(&self) -> bool {
        match &*self.source {
            sqlx::Error::Database(error) => error.code().is_some_and(|code| {
                // A SQLSTATE has five characters, a result code of SQLite has fewer.
                match code.get(..2).filter(|_| code.len() == 5) {
                    Some("08" | "40" | "53" | "57" | "58") => true,
                    Some(_) => matches!(&*code, "25006" | "25P03"),
                    None => code
                        .parse::<u32>()
                        .is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 10 | 13 | 14)),
                }
            }),
            sqlx::Error::PoolTimedOut
            | sqlx::Error::Io(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::WorkerCrashed => true,
            _ => false,
        }
    }

    /// The database's own message, for the log. It can name tables and columns.
    pub fn cause(&self) -> impl std::fmt::Display + '_ {
        &self.source
    }

    /// True if a stored value cannot be read as its type. That is permanent.
    pub fn is_unreadable(&self) -> bool {
        matches!(
            *self.source,
            sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Database;

    #[tokio::test]
    async fn an_outage_of_postgresql_differs_from_a_refusal() {
        let database = Database::postgres().await;
        let raised = async |code: &str| {
            let raise = format!("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{code}'; END $$");
            let done = sqlx::query(sqlx::AssertSqlSafe(raise))
                .execute(&database.store.pool)
                .await;
            Error::at("testing")(done.unwrap_err())
        };
        for outage in [
            "08006", "25006", "25P03", "40001", "53100", "53300", "57P01", "58030",
        ] {
            assert!(raised(outage).await.is_transient(), "{outage}");
        }
        for refusal in ["22P02", "23505", "25001", "42501", "42P01", "XX000"] {
            assert!(!raised(refusal).await.is_transient(), "{refusal}");
        }
    }
}
