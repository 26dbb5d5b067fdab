//! Login sessions.
//!
//! A row has no tenant. Its key is a hash of the session id, which only the user's cookie contains, and the record is
//! sealed with a key that is derived from that id.

use sqlx::Row as _;

use crate::{Error, Outcome, Result, Store, database::read_one};

/// A session as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// SHA-256 of the session id.
    pub id_hash: [u8; 32],
    /// End of the session in Unix seconds.
    pub expires: i64,
    /// The sealed record.
    pub sealed: Vec<u8>,
}

impl Store {
    /// Inserts a session. [`Outcome::Conflict`] if the id is taken.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn session_insert(&self, row: &SessionRow) -> Result<Outcome> {
        let done = sqlx::query(
            "INSERT INTO sessions (id_hash, expires, sealed) VALUES ($1, $2, $3) ON CONFLICT (id_hash) DO NOTHING",
        )
        .bind(row.id_hash.as_slice())
        .bind(row.expires)
        .bind(&row.sealed)
        .execute(&self.pool)
        .await
        .map_err(Error::at("storing a session"))?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// Inserts a session or replaces its record.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn session_save(&self, row: &SessionRow) -> Result<()> {
        sqlx::query(
            "INSERT INTO sessions (id_hash, expires, sealed) VALUES ($1, $2, $3) \
             ON CONFLICT (id_hash) DO UPDATE SET expires = excluded.expires, sealed = excluded.sealed",
        )
        .bind(row.id_hash.as_slice())
        .bind(row.expires)
        .bind(&row.sealed)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(Error::at("storing a session"))
    }

    /// The session, if it has not expired at `now`, in Unix seconds.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn session_find(&self, id_hash: &[u8; 32], now: i64) -> Result<Option<SessionRow>> {
        let row =
            sqlx::query("SELECT expires, sealed FROM sessions WHERE id_hash = $1 AND expires > $2")
                .bind(id_hash.as_slice())
                .bind(now)
                .fetch_optional(&self.pool)
                .await;
        let read = |row: &crate::database::Row| {
            Ok(SessionRow {
                id_hash: *id_hash,
                expires: row.try_get("expires")?,
                sealed: row.try_get("sealed")?,
            })
        };
        read_one(row, read, "reading a session")
    }

    /// Deletes a session.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn session_delete(&self, id_hash: &[u8; 32]) -> Result<()> {
        sqlx::query("DELETE FROM sessions WHERE id_hash = $1")
            .bind(id_hash.as_slice())
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(Error::at("removing a session"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(byte: u8, expires: i64) -> SessionRow {
        SessionRow {
            id_hash: [byte; 32],
            expires,
            sealed: vec![byte],
        }
    }

    #[tokio::test]
    async fn an_expired_session_is_not_found_and_is_swept() {
        for database in crate::testing::Database::each().await {
            let (store, operator) = (&database.store, &database.operator);
            for session in [row(1, 100), row(2, 200)] {
                assert_eq!(store.session_insert(&session).await.unwrap(), Outcome::Done);
            }
            assert_eq!(
                store.session_insert(&row(1, 300)).await.unwrap(),
                Outcome::Conflict
            );
            assert_eq!(store.session_find(&[1; 32], 100).await.unwrap(), None);
            assert_eq!(
                store.session_find(&[1; 32], 99).await.unwrap(),
                Some(row(1, 100))
            );
            assert_eq!(operator.session_count(100).await.unwrap(), 1);
            assert_eq!(operator.session_sweep(100).await.unwrap(), 1);
            store.session_save(&row(2, 300)).await.unwrap();
            assert_eq!(
                store.session_find(&[2; 32], 250).await.unwrap(),
                Some(row(2, 300))
            );
            store.session_delete(&[2; 32]).await.unwrap();
            assert_eq!(operator.session_count(0).await.unwrap(), 0);
        }
    }
}
