//! The server's own keys: their sources and their rotation.
//!
//! The newest key seals, and every key opens. Each sealed text and each digest begins with the id of its key. At its
//! start, the engine seals the texts of older keys again with the newest key. After that, older keys can be removed. A
//! text without an id is from before keys had ids.
//!
//! A digest cannot be computed again, because its value is not stored. Without its key, a digest matches every value,
//! and the value counts as unchanged. Changes are still found, because the stored value of the parameter is compared
//! first.

use std::{fs, io, io::Write, os::unix::fs::OpenOptionsExt, path::Path, path::PathBuf};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use rand::TryRngCore;
use zeroize::Zeroizing;

use super::{SealingKey, Unsealable};

/// The place of the server's keys.
#[derive(Clone, Default)]
pub enum KeySource {
    /// `engine.key` in the data folder, which is created if it is missing.
    #[default]
    DataFolder,
    /// A file, such as a systemd credential.
    File(PathBuf),
    /// The text of such a file, from the environment.
    Text(Zeroizing<String>),
}

impl std::fmt::Debug for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KeySource::DataFolder => f.write_str("DataFolder"),
            KeySource::File(path) => f.debug_tuple("File").field(path).finish(),
            KeySource::Text(_) => f.write_str("Text(***)"),
        }
    }
}

/// The server's keys, the newest first.
#[derive(Clone, Debug)]
pub struct SealingKeys(Vec<SealingKey>);

impl SealingKeys {
    /// Reads the keys.
    ///
    /// # Errors
    /// If the file cannot be read or created, or is not a list of keys.
    pub fn read(source: &KeySource, data_dir: &Path) -> io::Result<SealingKeys> {
        match source {
            KeySource::Text(text) => parse(text.as_bytes(), "STACKLOOM_KEYS"),
            KeySource::File(path) => from_file(path),
            KeySource::DataFolder => {
                let path = data_dir.join("engine.key");
                match from_file(&path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => create(&path),
                    read => read,
                }
            }
        }
    }

    fn newest(&self) -> &SealingKey {
        &self.0[0]
    }

    /// Ids of the keys, the newest first.
    pub fn ids(&self) -> Vec<String> {
        self.0.iter().map(SealingKey::id).collect()
    }

    /// Id of the key that seals.
    pub fn newest_id(&self) -> String {
        self.newest().id()
    }

    /// Seals a text for a purpose.
    pub fn seal(&self, purpose: &str, secret: &str) -> String {
        let key = self.newest();
        format!("{}.{}", key.id(), key.seal(purpose, secret))
    }

    /// Opens the output of [`SealingKeys::seal`].
    ///
    /// # Errors
    /// If it was sealed for another purpose, or with a key that is not among these.
    pub fn open(&self, purpose: &str, sealed: &str) -> Result<Zeroizing<String>, Unsealable> {
        match sealed.split_once('.') {
            Some((id, sealed)) => self.key(id).ok_or(Unsealable)?.open(purpose, sealed),
            None => {
                let mut opened = self.0.iter().map(|key| key.open(purpose, sealed));
                opened.find(Result::is_ok).unwrap_or(Err(Unsealable))
            }
        }
    }

    /// The text sealed with the newest key, if an older one has sealed it.
    ///
    /// # Errors
    /// As [`SealingKeys::open`].
    pub fn reseal(&self, purpose: &str, sealed: &str) -> Result<Option<String>, Unsealable> {
        let opened = self.open(purpose, sealed)?;
        Ok((!self.is_newest(sealed)).then(|| self.seal(purpose, &opened)))
    }

    /// A signature of a text, which can stand in a URL as it is.
    pub fn sign(&self, text: &str) -> String {
        let key = self.newest();
        format!("{}.{}", key.id(), URL_SAFE_NO_PAD.encode(key.sign(text)))
    }

    /// True if one of these keys has signed the text.
    pub fn verify(&self, text: &str, signature: &str) -> bool {
        let Some((id, signature)) = signature.split_once('.') else {
            return false;
        };
        let signature = URL_SAFE_NO_PAD.decode(signature);
        let key = self.key(id);
        key.zip(signature.ok())
            .is_some_and(|(key, signature)| key.verify(text, &signature))
    }

    /// A keyed digest, to compare two texts.
    pub fn digest(&self, purpose: &str, secret: &str) -> String {
        let key = self.newest();
        format!("{}.{}", key.id(), key.digest(purpose, secret))
    }

    /// False if the digest is of another text. True if they match, or if the key of the digest is missing.
    pub fn may_match(&self, purpose: &str, secret: &str, digest: &str) -> bool {
        match digest.split_once('.') {
            Some((id, digest)) => self
                .key(id)
                .is_none_or(|key| key.digest(purpose, secret) == digest),
            None => self
                .0
                .iter()
                .any(|key| key.digest(purpose, secret) == digest),
        }
    }

    /// The digest with the id of its key, if it has none: keys without an id are older than all others.
    pub fn name_digest(&self, digest: &str) -> Option<String> {
        let oldest = self.0.last()?;
        (self.0.len() > 1 && !digest.contains('.')).then(|| format!("{}.{digest}", oldest.id()))
    }

    fn is_newest(&self, sealed: &str) -> bool {
        let id = sealed.split_once('.').map(|(id, _)| id);
        id == Some(&self.newest().id())
    }

    fn key(&self, id: &str) -> Option<&SealingKey> {
        self.0.iter().find(|key| key.id() == id)
    }
}

fn from_file(path: &Path) -> io::Result<SealingKeys> {
    parse(
        &Zeroizing::new(fs::read(path)?),
        &path.display().to_string(),
    )
}

/// One key in base64 a line, the newest first. The first version wrote the 32 bytes themselves.
fn parse(content: &[u8], place: &str) -> io::Result<SealingKeys> {
    let wrong = || {
        let why = format!(
            "{place} is not a list of keys: it needs one a line, each 32 random bytes in base64 (`openssl rand -base64 32`), the newest first"
        );
        io::Error::new(io::ErrorKind::InvalidData, why)
    };
    if let Ok(key) = <[u8; 32]>::try_from(content) {
        return Ok(SealingKeys(vec![SealingKey::new(Zeroizing::new(key))]));
    }
    let text = std::str::from_utf8(content).map_err(|_not_text| wrong())?;
    let key = |line: &str| {
        let bytes = Zeroizing::new(STANDARD.decode(line).map_err(|_not_base64| wrong())?);
        let bytes = <[u8; 32]>::try_from(bytes.as_slice()).map_err(|_length| wrong())?;
        Ok(SealingKey::new(Zeroizing::new(bytes)))
    };
    let lines = text.split([',', '\n']).map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let keys: Vec<SealingKey> = lines.map(key).collect::<io::Result<_>>()?;
    if keys.is_empty() {
        return Err(wrong());
    }
    Ok(SealingKeys(keys))
}

fn create(path: &Path) -> io::Result<SealingKeys> {
    let mut key = Zeroizing::new([0u8; 32]);
    rand::rngs::OsRng
        .try_fill_bytes(key.as_mut())
        .map_err(io::Error::other)?;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    let line = Zeroizing::new(format!("{}\n", STANDARD.encode(key.as_ref())));
    file.write_all(line.as_bytes())?;
    file.sync_all()?;
    Ok(SealingKeys(vec![SealingKey::new(key)]))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn keys(bytes: &[u8]) -> SealingKeys {
        let keys = bytes.iter().map(|byte| Zeroizing::new([*byte; 32]));
        SealingKeys(keys.map(SealingKey::new).collect())
    }

    #[test]
    fn a_new_key_seals_and_the_older_one_still_opens() {
        let sealed = keys(&[1]).seal("run/7", "hunter2");
        let both = keys(&[2, 1]);
        assert_eq!(both.open("run/7", &sealed).unwrap().as_str(), "hunter2");
        let anew = both.reseal("run/7", &sealed).unwrap().unwrap();
        assert_eq!(both.reseal("run/7", &anew), Ok(None), "once is enough");
        assert_eq!(keys(&[2]).open("run/7", &anew).unwrap().as_str(), "hunter2");
        assert_eq!(keys(&[2]).open("run/7", &sealed), Err(Unsealable));
        assert_eq!(keys(&[1]).open("run/7", &anew), Err(Unsealable));
    }

    #[test]
    fn a_text_from_before_keys_had_ids_is_opened_and_sealed_anew() {
        let old = SealingKey::new(Zeroizing::new([1; 32])).seal("run/7", "hunter2");
        let both = keys(&[2, 1]);
        assert_eq!(both.open("run/7", &old).unwrap().as_str(), "hunter2");
        assert!(both.reseal("run/7", &old).unwrap().is_some());
        assert_eq!(keys(&[2]).open("run/7", &old), Err(Unsealable));
    }

    #[test]
    fn a_digest_whose_key_is_gone_tells_nothing() {
        let old = keys(&[1]).digest("word", "secret");
        for ring in [keys(&[1]), keys(&[2, 1])] {
            assert!(ring.may_match("word", "secret", &old));
            assert!(!ring.may_match("word", "other", &old));
        }
        assert!(keys(&[2]).may_match("word", "other", &old));
        let nameless = SealingKey::new(Zeroizing::new([1; 32])).digest("word", "secret");
        assert!(keys(&[2, 1]).may_match("word", "secret", &nameless));
        assert!(!keys(&[2, 1]).may_match("word", "other", &nameless));
        assert_eq!(keys(&[1]).name_digest(&nameless), None);
        assert_eq!(keys(&[2, 1]).name_digest(&nameless), Some(old.clone()));
        assert_eq!(keys(&[2, 1]).name_digest(&old), None);
    }

    #[test]
    fn the_key_in_the_data_folder_is_made_once_and_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let read = || SealingKeys::read(&KeySource::DataFolder, folder.path());
        let sealed = read().unwrap().seal("x", "y");
        let path = folder.path().join("engine.key");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(read().unwrap().open("x", &sealed).unwrap().as_str(), "y");
        fs::write(&path, [7; 32]).unwrap();
        assert_eq!(read().unwrap().ids(), keys(&[7]).ids(), "the first format");
        fs::write(&path, "short").unwrap();
        assert!(read().is_err());
    }

    #[test]
    fn keys_come_from_a_file_elsewhere_or_a_text() {
        let line = |byte: u8| STANDARD.encode([byte; 32]);
        let text = format!("# since May\n{}\n\n{}\n", line(2), line(1));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        fs::write(&path, &text).unwrap();
        let read = |source: KeySource| SealingKeys::read(&source, Path::new("nowhere"));
        let expected = keys(&[2, 1]).ids();
        assert_eq!(read(KeySource::File(path)).unwrap().ids(), expected);
        let commas = format!("{},{}", line(2), line(1));
        for text in [text, commas] {
            let source = KeySource::Text(Zeroizing::new(text));
            assert_eq!(read(source).unwrap().ids(), expected);
        }
        let missing = read(KeySource::File("nowhere/keys".into())).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
