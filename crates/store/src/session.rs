//! Login sessions.
//!
//! The key of a row is a hash of the session id, which only the user's cookie contains, and the record is sealed under a key that
//! derives from that id. In clear text is what its owner needs to recognise and end it: a session belongs to a user of a cloud,
//! and not to a project.

use sqlx::Row as _;

use crate::{
    Error, Outcome, Result, Store,
    database::{Row, read_all, read_one},
};

/// A session as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// SHA-256 of the session id.
    pub id_hash: [u8; 32],
    /// End of the session in Unix seconds.
    pub expires: i64,
    /// Time of the last request in Unix seconds, at most a minute too early.
    pub seen: i64,
    /// The sealed record.
    pub sealed: Vec<u8>,
}

/// The owner of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOwner {
    /// Name of the cloud.
    pub cloud: String,
    /// The user's id in the cloud.
    pub user_id: String,
}

/// A session as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedSession {
    /// SHA-256 of the session id.
    pub id_hash: [u8; 32],
    /// Time of the login in Unix seconds.
    pub created: i64,
    /// Time of the last request in Unix seconds, at most a minute too early.
    pub seen: i64,
    /// The client's address at login.
    pub address: Option<String>,
}

/// The sessions that are open.
#[derive(Clone, Copy, Debug)]
pub struct OpenSessions {
    /// Lower limit of the sessions' end, in Unix seconds.
    pub now: i64,
    /// Lower limit of the sessions' last request, in Unix seconds.
    pub idle_since: i64,
}

impl Store {
    /// Inserts a session. [`Outcome::Conflict`] if the id is taken.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn session_insert(&self, row: &SessionRow) -> Result<Outcome> {
        let done = sqlx::query(
            "INSERT INTO sessions (id_hash, expires, sealed, created, seen) VALUES ($1, $2, $3, $4, $4) \
             ON CONFLICT (id_hash) DO NOTHING",
        )
        .bind(row.id_hash.as_slice())
        .bind(row.expires)
        .bind(&row.sealed)
        .bind(row.seen)
        .execute(&self.pool)
        .await
        .map_err(Error::at("storing a session"))?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// Replaces the record of a session. [`Outcome::Conflict`] if it has ended: a late request must not open it again.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn session_save(&self, row: &SessionRow) -> Result<Outcome> {
        let done = sqlx::query(
            "UPDATE sessions SET expires = $1, sealed = $2, seen = $3 WHERE id_hash = $4",
        )
        .bind(row.expires)
        .bind(&row.sealed)
        .bind(row.seen)
        .bind(row.id_hash.as_slice())
        .execute(&self.pool)
        .await
        .map_err(Error::at("storing a session"))?;
        Ok(Outcome::of(done.rows_affected()))
    }

    /// Stores the owner of a session, who has just logged in.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn session_give(
        &self,
        id_hash: &[u8; 32],
        owner: &SessionOwner,
        address: Option<&str>,
    ) -> Result<()> {
        sqlx::query("UPDATE sessions SET cloud = $1, user_id = $2, address = $3 WHERE id_hash = $4")
            .bind(&owner.cloud)
            .bind(&owner.user_id)
            .bind(address)
            .bind(id_hash.as_slice())
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(Error::at("storing the owner of a session"))
    }

    /// Stores the time of a request, in Unix seconds.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn session_seen(&self, id_hash: &[u8; 32], now: i64) -> Result<()> {
        sqlx::query("UPDATE sessions SET seen = $1 WHERE id_hash = $2")
            .bind(now)
            .bind(id_hash.as_slice())
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(Error::at("storing the use of a session"))
    }

    /// The session, if it is open.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn session_find(
        &self,
        id_hash: &[u8; 32],
        open: OpenSessions,
    ) -> Result<Option<SessionRow>> {
        let row = sqlx::query(
            "SELECT expires, sealed, seen FROM sessions WHERE id_hash = $1 AND expires > $2 AND seen > $3",
        )
        .bind(id_hash.as_slice())
        .bind(open.now)
        .bind(open.idle_since)
        .fetch_optional(&self.pool)
        .await;
        let read = |row: &Row| {
            Ok(SessionRow {
                id_hash: *id_hash,
                expires: row.try_get("expires")?,
                seen: row.try_get("seen")?,
                sealed: row.try_get("sealed")?,
            })
        };
        read_one(row, read, "reading a session")
    }

    /// The open sessions of a user, the last used one first.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn session_list(
        &self,
        owner: &SessionOwner,
        open: OpenSessions,
    ) -> Result<Vec<OwnedSession>> {
        let rows = sqlx::query(
            "SELECT id_hash, created, seen, address FROM sessions \
             WHERE cloud = $1 AND user_id = $2 AND expires > $3 AND seen > $4 ORDER BY seen DESC, id_hash",
        )
        .bind(&owner.cloud)
        .bind(&owner.user_id)
        .bind(open.now)
        .bind(open.idle_since)
        .fetch_all(&self.pool)
        .await;
        let read = |row: &Row| {
            let id_hash: Vec<u8> = row.try_get("id_hash")?;
            let id_hash = <[u8; 32]>::try_from(id_hash);
            Ok(OwnedSession {
                id_hash: id_hash.map_err(|_| sqlx::Error::Decode("a hash has 32 bytes".into()))?,
                created: row.try_get("created")?,
                seen: row.try_get("seen")?,
                address: row.try_get("address")?,
            })
        };
        read_all(rows, read, "listing sessions")
    }

    /// Deletes a session of a user. [`Outcome::Conflict`] if the user has no such session.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn session_end(&self, owner: &SessionOwner, id_hash: &[u8; 32]) -> Result<Outcome> {
        let done =
            sqlx::query("DELETE FROM sessions WHERE id_hash = $1 AND cloud = $2 AND user_id = $3")
                .bind(id_hash.as_slice())
                .bind(&owner.cloud)
                .bind(&owner.user_id)
                .execute(&self.pool)
                .await
                .map_err(Error::at("ending a session"))?;
        Ok(Outcome::of(done.rows_affected()))
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
    use crate::testing::Database;

    fn row(byte: u8, expires: i64) -> SessionRow {
        SessionRow {
            id_hash: [byte; 32],
            expires,
            seen: 50,
            sealed: vec![byte],
        }
    }

    fn at(now: i64) -> OpenSessions {
        OpenSessions {
            now,
            idle_since: now - 60,
        }
    }

    async fn with(rows: &[SessionRow]) -> [Database; 2] {
        let databases = Database::each().await;
        for database in &databases {
            for row in rows {
                let inserted = database.store.session_insert(row).await.unwrap();
                assert_eq!(inserted, Outcome::Done);
            }
        }
        databases
    }

    #[tokio::test]
    async fn an_expired_or_idle_session_is_not_found_and_is_swept() {
        let rows = [row(1, 100), row(2, 300)];
        for database in with(&rows).await {
            let (store, operator) = (&database.store, &database.operator);
            let again = store.session_insert(&row(1, 300)).await.unwrap();
            assert_eq!(again, Outcome::Conflict);
            assert_eq!(store.session_find(&[1; 32], at(100)).await.unwrap(), None);
            let found = store.session_find(&[1; 32], at(99)).await.unwrap();
            assert_eq!(found, Some(row(1, 100)));
            assert_eq!(operator.session_count(100).await.unwrap(), 1);
            assert_eq!(operator.session_sweep(at(100)).await.unwrap(), 1);

            assert_eq!(store.session_find(&[2; 32], at(110)).await.unwrap(), None);
            store.session_seen(&[2; 32], 109).await.unwrap();
            let found = store.session_find(&[2; 32], at(110)).await.unwrap();
            assert_eq!(found.unwrap().seen, 109);
            assert_eq!(operator.session_sweep(at(110)).await.unwrap(), 0);
            assert_eq!(operator.session_sweep(at(200)).await.unwrap(), 1);
        }
    }

    #[tokio::test]
    async fn a_late_request_does_not_open_an_ended_session_again() {
        for database in with(&[row(1, 100)]).await {
            let store = &database.store;
            let saved = store.session_save(&row(1, 200)).await.unwrap();
            assert_eq!(saved, Outcome::Done);
            let found = store.session_find(&[1; 32], at(60)).await.unwrap();
            assert_eq!(found, Some(row(1, 200)));
            store.session_delete(&[1; 32]).await.unwrap();
            let saved = store.session_save(&row(1, 300)).await.unwrap();
            assert_eq!(saved, Outcome::Conflict);
            assert_eq!(database.operator.session_count(0).await.unwrap(), 0);
        }
    }

    #[tokio::test]
    async fn a_user_sees_and_ends_their_own_sessions_only() {
        for database in with(&[row(1, 100), row(2, 100), row(3, 100)]).await {
            let store = &database.store;
            let owner = |cloud: &str, user: &str| SessionOwner {
                cloud: cloud.into(),
                user_id: user.into(),
            };
            let (ada, eve) = (owner("lab", "ada"), owner("lab", "eve"));
            let address = Some("192.0.2.1");
            store.session_give(&[1; 32], &ada, address).await.unwrap();
            store.session_give(&[2; 32], &eve, None).await.unwrap();
            let expected = OwnedSession {
                id_hash: [1; 32],
                created: 50,
                seen: 50,
                address: address.map(Into::into),
            };
            assert_eq!(store.session_list(&ada, at(60)).await.unwrap(), [expected]);
            for stranger in [&eve, &owner("elsewhere", "ada")] {
                let ended = store.session_end(stranger, &[1; 32]).await.unwrap();
                assert_eq!(ended, Outcome::Conflict);
            }
            let ended = store.session_end(&ada, &[1; 32]).await.unwrap();
            assert_eq!(ended, Outcome::Done);
            assert_eq!(store.session_list(&ada, at(60)).await.unwrap(), []);
            assert_eq!(store.session_list(&eve, at(60)).await.unwrap().len(), 1);
        }
    }
}
