//! The session store: records in the database, encrypted with a key that is only in the cookie.
//!
//! A session contains the user's Keystone token and the key of their sealed secrets. Access to the database, a backup
//! or its log must not reveal these. So the row's key is the SHA-256 of the session id, and the record is sealed with
//! XChaCha20-Poly1305 under a key that HKDF derives from the session id. The id is 128 random bits and exists only in
//! the user's cookie. Without it neither the server nor its administrator can decrypt the record.
//!
//! The id's hash and the expiry are bound to the record as associated data: a row cannot be moved to another id or
//! extended.

use std::fmt;

use async_trait::async_trait;
use chacha20poly1305::{
    AeadCore, KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, OsRng, Payload},
};
use hkdf::Hkdf;
use sha2::{Digest, Sha256};
use store::{Outcome, SessionRow, Store};
use time::OffsetDateTime;
use tokio::sync::broadcast;
use tower_sessions::{
    SessionStore,
    session::{Id, Record},
    session_store::{Error, Result},
};

const NONCE_BYTES: usize = 24;

/// Capacity of the channel for ended sessions. A listener with a larger lag checks its session itself.
const ENDS: usize = 256;

/// The store; see the module documentation.
#[derive(Clone)]
pub struct SealedStore {
    store: Store,
    ends: broadcast::Sender<Ended>,
}

/// The hash of an ended session's id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended([u8; 32]);

impl Ended {
    /// The value for the session with this id.
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
    /// The sessions in this database.
    pub fn new(store: Store) -> SealedStore {
        SealedStore {
            store,
            ends: broadcast::Sender::new(ENDS),
        }
    }

    /// Subscribes to sessions that are ended from now on. Expiries are not reported.
    pub fn ends(&self) -> broadcast::Receiver<Ended> {
        self.ends.subscribe()
    }
}

#[async_trait]
impl SessionStore for SealedStore {
    async fn create(&self, record: &mut Record) -> Result<()> {
        loop {
            let row = seal(record)?;
            if self.store.session_insert(&row).await.map_err(backend)? == Outcome::Done {
                return Ok(());
            }
            record.id = Id::default(); // taken: another 128 random bits
        }
    }

    async fn save(&self, record: &Record) -> Result<()> {
        let row = seal(record)?;
        self.store.session_save(&row).await.map_err(backend)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let found = self.store.session_find(&id_hash(id), now).await;
        found
            .map_err(backend)?
            .map(|row| open(id, row.expires, &row.sealed))
            .transpose()
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        let deleted = self.store.session_delete(&id_hash(id)).await;
        deleted.map_err(backend)?;
        // Usually there is no listener.
        let _ = self.ends.send(Ended::of(id));
        Ok(())
    }
}

fn seal(record: &Record) -> Result<SessionRow> {
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
    Ok(SessionRow {
        id_hash,
        expires,
        sealed,
    })
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

fn backend(error: store::Error) -> Error {
    Error::Backend(crate::problem::chain(&error))
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
        let row = seal(&record).unwrap();
        assert_eq!(
            open(&record.id, row.expires, &row.sealed).unwrap().data,
            record.data
        );
    }

    #[test]
    fn nothing_readable_is_in_the_row() {
        let record = record();
        let row = seal(&record).unwrap();
        let bytes = String::from_utf8_lossy(&row.sealed).into_owned();
        assert!(!bytes.contains("secret") && !bytes.contains("token"));
        assert_ne!(row.id_hash[..16], record.id.0.to_le_bytes());
    }

    #[test]
    fn another_id_or_a_later_expiry_does_not_open_it() {
        let record = record();
        let row = seal(&record).unwrap();
        assert!(open(&Id::default(), row.expires, &row.sealed).is_err());
        assert!(open(&record.id, row.expires + 1, &row.sealed).is_err());
        assert!(open(&record.id, row.expires, &row.sealed[..10]).is_err());
    }
}
