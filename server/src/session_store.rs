//! Where sessions are kept: in the database, and yet nobody can read them there.
//!
//! A session holds the user's Keystone token and the key to their sealed secrets. Whoever reads the
//! database, a backup of it or its log must not get those. So the row's key is the SHA-256 of the
//! session id, and the record is sealed with XChaCha20-Poly1305 under a key that HKDF derives from
//! the session id itself. The id is 128 random bits and lives in one place only: the person's
//! cookie. Without it neither the server nor its administrator can open the record.
//!
//! The id's hash and the expiry are bound to the record as associated data: a row cannot be moved
//! to another id or made to live longer.

use std::fmt;

use async_trait::async_trait;
use chacha20poly1305::{
    AeadCore, KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, OsRng, Payload},
};
use hkdf::Hkdf;
use sha2::{Digest, Sha256};
use sqlx::SqlitePool;
use time::OffsetDateTime;
use tokio::sync::broadcast;
use tower_sessions::{
    SessionStore,
    session::{Id, Record},
    session_store::{Error, Result},
};

const NONCE_BYTES: usize = 24;

/// Ends of sessions that a slow listener may lag behind before it has to look for itself.
const ENDS: usize = 256;

/// The store; see the module's doc.
#[derive(Clone)]
pub struct SealedStore {
    pool: SqlitePool,
    ends: broadcast::Sender<Ended>,
}

/// A session that has ended, told without its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended([u8; 32]);

impl Ended {
    /// Of the session with this id.
    pub fn of(id: &Id) -> Ended {
        Ended(id_hash(id))
    }
}

impl fmt::Debug for SealedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealedStore")
    }
}

impl SealedStore {
    /// Over a migrated database.
    pub fn new(pool: SqlitePool) -> SealedStore {
        SealedStore {
            pool,
            ends: broadcast::Sender::new(ENDS),
        }
    }

    /// Tells of sessions that somebody ends from now on; of those that expire it does not.
    pub fn ends(&self) -> broadcast::Receiver<Ended> {
        self.ends.subscribe()
    }

    /// Remove what has expired. Returns how many there were.
    pub async fn sweep(&self, now: OffsetDateTime) -> sqlx::Result<u64> {
        let done = sqlx::query("DELETE FROM sessions WHERE expires <= ?")
            .bind(now.unix_timestamp())
            .execute(&self.pool)
            .await?;
        Ok(done.rows_affected())
    }

    /// How many sessions are alive.
    pub async fn count(&self, now: OffsetDateTime) -> sqlx::Result<i64> {
        sqlx::query_scalar("SELECT count(*) FROM sessions WHERE expires > ?")
            .bind(now.unix_timestamp())
            .fetch_one(&self.pool)
            .await
    }
}

#[async_trait]
impl SessionStore for SealedStore {
    async fn create(&self, record: &mut Record) -> Result<()> {
        loop {
            let row = Row::seal(record)?;
            let done =
                sqlx::query("INSERT INTO sessions (id_hash, expires, sealed) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
                    .bind(row.id_hash.as_slice())
                    .bind(row.expires)
                    .bind(row.sealed)
                    .execute(&self.pool)
                    .await
                    .map_err(backend)?;
            if done.rows_affected() == 1 {
                return Ok(());
            }
            record.id = Id::default(); // taken: another 128 random bits
        }
    }

    async fn save(&self, record: &Record) -> Result<()> {
        let row = Row::seal(record)?;
        sqlx::query(
            "INSERT INTO sessions (id_hash, expires, sealed) VALUES (?, ?, ?)
             ON CONFLICT (id_hash) DO UPDATE SET expires = excluded.expires, sealed = excluded.sealed",
        )
        .bind(row.id_hash.as_slice())
        .bind(row.expires)
        .bind(row.sealed)
        .execute(&self.pool)
        .await
        .map_err(backend)?;
        Ok(())
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let found: Option<(i64, Vec<u8>)> = sqlx::query_as(
            "SELECT expires, sealed FROM sessions WHERE id_hash = ? AND expires > ?",
        )
        .bind(id_hash(id).as_slice())
        .bind(OffsetDateTime::now_utc().unix_timestamp())
        .fetch_optional(&self.pool)
        .await
        .map_err(backend)?;
        found
            .map(|(expires, sealed)| open(id, expires, &sealed))
            .transpose()
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        sqlx::query("DELETE FROM sessions WHERE id_hash = ?")
            .bind(id_hash(id).as_slice())
            .execute(&self.pool)
            .await
            .map_err(backend)?;
        // Mostly nobody listens.
        let _ = self.ends.send(Ended::of(id));
        Ok(())
    }
}

struct Row {
    id_hash: [u8; 32],
    expires: i64,
    sealed: Vec<u8>,
}

impl Row {
    fn seal(record: &Record) -> Result<Row> {
        let plain =
            serde_json::to_vec(&record.data).map_err(|error| Error::Encode(error.to_string()))?;
        let id_hash = id_hash(&record.id);
        let expires = record.expiry_date.unix_timestamp();
        let nonce = XChaCha20Poly1305::generate_nonce(&mut OsRng);
        let ciphertext = cipher(&record.id)
            .encrypt(
                &nonce,
                Payload {
                    msg: &plain,
                    aad: &bound(&id_hash, expires),
                },
            )
            .map_err(|_| Error::Encode("the session could not be sealed".into()))?;
        let mut sealed = nonce.to_vec();
        sealed.extend(ciphertext);
        Ok(Row {
            id_hash,
            expires,
            sealed,
        })
    }
}

fn open(id: &Id, expires: i64, sealed: &[u8]) -> Result<Record> {
    let broken = || Error::Decode("the session's seal is broken".into());
    let (nonce, ciphertext) = sealed.split_at_checked(NONCE_BYTES).ok_or_else(broken)?;
    let plain = cipher(id)
        .decrypt(
            XNonce::from_slice(nonce),
            Payload {
                msg: ciphertext,
                aad: &bound(&id_hash(id), expires),
            },
        )
        .map_err(|_| broken())?;
    Ok(Record {
        id: *id,
        data: serde_json::from_slice(&plain).map_err(|error| Error::Decode(error.to_string()))?,
        expiry_date: OffsetDateTime::from_unix_timestamp(expires)
            .map_err(|error| Error::Decode(error.to_string()))?,
    })
}

fn id_hash(id: &Id) -> [u8; 32] {
    Sha256::new()
        .chain_update(b"stackloom session id\0")
        .chain_update(id.0.to_le_bytes())
        .finalize()
        .into()
}

fn cipher(id: &Id) -> XChaCha20Poly1305 {
    let mut key = [0; 32];
    Hkdf::<Sha256>::new(None, &id.0.to_le_bytes())
        .expand(b"stackloom session record", &mut key)
        .expect("32 bytes are within what HKDF-SHA256 gives");
    XChaCha20Poly1305::new(&key.into())
}

fn bound(id_hash: &[u8; 32], expires: i64) -> Vec<u8> {
    [id_hash.as_slice(), &expires.to_le_bytes()].concat()
}

fn backend(error: sqlx::Error) -> Error {
    Error::Backend(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;
    use time::Duration;

    use super::*;

    fn record() -> Record {
        Record {
            id: Id::default(),
            data: HashMap::from([("token".to_owned(), json!("gAAAAAB-secret"))]),
            expiry_date: OffsetDateTime::now_utc() + Duration::hours(1),
        }
    }

    #[test]
    fn what_is_sealed_opens_again_with_the_id() {
        let record = record();
        let row = Row::seal(&record).unwrap();
        assert_eq!(
            open(&record.id, row.expires, &row.sealed).unwrap().data,
            record.data
        );
    }

    #[test]
    fn nothing_readable_is_in_the_row() {
        let record = record();
        let row = Row::seal(&record).unwrap();
        let bytes = String::from_utf8_lossy(&row.sealed).into_owned();
        assert!(!bytes.contains("secret") && !bytes.contains("token"));
        assert_ne!(row.id_hash[..16], record.id.0.to_le_bytes());
    }

    #[test]
    fn another_id_or_a_later_expiry_does_not_open_it() {
        let record = record();
        let row = Row::seal(&record).unwrap();
        assert!(open(&Id::default(), row.expires, &row.sealed).is_err());
        assert!(open(&record.id, row.expires + 1, &row.sealed).is_err());
        assert!(open(&record.id, row.expires, &row.sealed[..10]).is_err());
    }
}
