//! The session store: records in the database, encrypted with a key that is only in the cookie.
//!
//! A session contains the user's Keystone token and the key of their sealed secrets. Access to the database, a backup
//! or its log must not reveal these. So the row's key is the SHA-256 of the session id, and the record is sealed with
//! XChaCha20-Poly1305 under a key that HKDF derives from the session id. The id is 128 random bits and exists only in
//! the user's cookie. Without it neither the server nor its administrator can decrypt the record.
//!
//! The id's hash and the expiry are bound to the record as associated data: a row cannot be moved to another id or
//! extended.

use std::{fmt, net::IpAddr, time::Duration};

use api::LoginSession;
use async_trait::async_trait;
use chacha20poly1305::{
    AeadCore, KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, OsRng, Payload},
};
use hkdf::Hkdf;
use sha2::{Digest, Sha256};
use store::{OpenSessions, Outcome, SessionOwner, SessionRow, Store};
use time::OffsetDateTime;
use tokio::sync::broadcast;
use tower_sessions::{
    SessionStore,
    session::{self, Id, Record},
    session_store::{Error, Result},
};

use crate::problem;

const NONCE_BYTES: usize = 24;

/// Time between two notes of a session's use, in seconds. Shorter if idle sessions end soon.
const SEEN_EVERY_S: i64 = 60;

/// Capacity of the channel for ended sessions. A listener that lags further behind checks its session itself.
const ENDS: usize = 256;

/// The store; see the module documentation.
#[derive(Clone)]
pub struct SealedStore {
    store: Store,
    idle: Duration,
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
    /// The sessions in this database. Each ends after the time `idle` without a request.
    pub fn new(store: Store, idle: Duration) -> SealedStore {
        SealedStore {
            store,
            idle,
            ends: broadcast::Sender::new(ENDS),
        }
    }

    /// Subscribes to sessions that are ended from now on. Expiries are not reported.
    pub fn ends(&self) -> broadcast::Receiver<Ended> {
        self.ends.subscribe()
    }

    /// The sessions that are open now.
    pub fn open_now(&self) -> OpenSessions {
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let idle = i64::try_from(self.idle.as_secs()).unwrap_or(i64::MAX);
        OpenSessions {
            now,
            idle_since: now.saturating_sub(idle),
        }
    }

    /// True if the session is open. Does not count as a request.
    pub async fn is_open(&self, id: &Id) -> Result<bool> {
        let found = self.store.session_find(&id_hash(id), self.open_now()).await;
        Ok(found.map_err(backend)?.is_some())
    }

    /// Stores the owner of a new session.
    pub async fn give(
        &self,
        id: &Id,
        owner: &SessionOwner,
        address: Option<IpAddr>,
    ) -> store::Result<()> {
        let address = address.map(|address| address.to_string());
        let hash = id_hash(id);
        self.store
            .session_give(&hash, owner, address.as_deref())
            .await
    }

    /// The open sessions of a user. The one with the id `current` is marked.
    pub async fn list(
        &self,
        owner: &SessionOwner,
        current: Option<Id>,
    ) -> store::Result<Vec<LoginSession>> {
        let current = current.map(|id| id_hash(&id));
        let all = self.store.session_list(owner, self.open_now()).await?;
        let shown = all.into_iter().map(|session| LoginSession {
            id: hex(&session.id_hash),
            created: rfc3339(session.created),
            seen: rfc3339(session.seen),
            is_current: current == Some(session.id_hash),
            address: session.address,
        });
        Ok(shown.collect())
    }

    /// Ends a session of a user. False if the user has no such session.
    pub async fn end(&self, owner: &SessionOwner, id: &str) -> store::Result<bool> {
        let all = self.store.session_list(owner, self.open_now()).await?;
        let Some(session) = all.into_iter().find(|one| hex(&one.id_hash) == id) else {
            return Ok(false);
        };
        let ended = self.store.session_end(owner, &session.id_hash).await?;
        // Usually there is no listener.
        let _ = self.ends.send(Ended(session.id_hash));
        Ok(ended == Outcome::Done)
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
        let saved = self.store.session_save(&seal(record)?).await;
        if saved.map_err(backend)? == Outcome::Conflict {
            tracing::debug!("a session that has ended is not saved");
        }
        Ok(())
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let open_now = self.open_now();
        let found = self.store.session_find(&id_hash(id), open_now).await;
        let Some(row) = found.map_err(backend)? else {
            return Ok(None);
        };
        let seen_every = SEEN_EVERY_S.min((open_now.now - open_now.idle_since) / 10);
        if open_now.now - row.seen >= seen_every {
            let seen = self.store.session_seen(&row.id_hash, open_now.now).await;
            seen.map_err(backend)?;
        }
        open(id, row.expires, &row.sealed).map(Some)
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
        seen: OffsetDateTime::now_utc().unix_timestamp(),
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn rfc3339(unix_seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(unix_seconds);
    time.unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}

/// Start of the text of an error while the database is not available. tower-sessions keeps only a text of an error.
const OUTAGE: &str = "the database is not available: ";

fn backend(error: store::Error) -> Error {
    let start = if error.is_transient() { OUTAGE } else { "" };
    Error::Backend(format!("{start}{}", problem::chain(&error)))
}

/// The problem of a request whose session could not be read or written. `doing` is a gerund with its object.
pub fn session_failed(doing: &str, error: &session::Error) -> problem::Error {
    match error {
        session::Error::Store(Error::Backend(cause)) if cause.starts_with(OUTAGE) => {
            problem::Error::session_unavailable(doing, cause)
        }
        _ => problem::Error::internal(doing, error),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use serde_json::json;

    fn record() -> Record {
        Record {
            id: Id::default(),
            data: HashMap::from([("token".to_owned(), json!("gAAAAAB-secret"))]),
            expiry_date: OffsetDateTime::now_utc() + Duration::from_secs(3600),
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
