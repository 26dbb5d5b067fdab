//! Sealing: XChaCha20-Poly1305 with a random nonce per text, bound to a purpose.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

/// A key for sealing and opening.
#[derive(Clone)]
pub struct SealingKey(Zeroizing<[u8; 32]>);

/// The text was sealed with another key or for another purpose, or it was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sealed secret cannot be opened with this key")]
pub struct Unsealable;

const NONCE: usize = 24;

impl SealingKey {
    /// A key from bytes that are random, or derived from a secret.
    pub fn new(bytes: Zeroizing<[u8; 32]>) -> SealingKey {
        SealingKey(bytes)
    }

    /// The key's id: a digest that tells keys apart and reveals nothing else.
    pub fn id(&self) -> String {
        let mut id = [0u8; 4];
        let expander =
            Hkdf::<Sha256>::from_prk(self.0.as_ref()).expect("a key is as long as a digest");
        expander
            .expand(b"key id", &mut id)
            .expect("a few bytes can always be made");
        id.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Seals a text for a purpose. It can be opened only with the same purpose.
    pub fn seal(&self, purpose: &str, secret: &str) -> String {
        let nonce: [u8; NONCE] = rand::random();
        let payload = Payload {
            msg: secret.as_bytes(),
            aad: purpose.as_bytes(),
        };
        let sealed = self
            .cipher()
            .encrypt(XNonce::from_slice(&nonce), payload)
            .expect("a text in memory is never too long to seal");
        STANDARD.encode([&nonce[..], &sealed].concat())
    }

    /// Opens the output of [`SealingKey::seal`].
    ///
    /// # Errors
    /// [`Unsealable`], without a reason, because no reason would help an honest caller.
    pub fn open(&self, purpose: &str, sealed: &str) -> Result<Zeroizing<String>, Unsealable> {
        let bytes = STANDARD.decode(sealed).map_err(|_not_base64| Unsealable)?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE).ok_or(Unsealable)?;
        let payload = Payload {
            msg: sealed,
            aad: purpose.as_bytes(),
        };
        let opened = self
            .cipher()
            .decrypt(XNonce::from_slice(nonce), payload)
            .map_err(|_forged| Unsealable)?;
        String::from_utf8(opened)
            .map(Zeroizing::new)
            .map_err(|_not_text| Unsealable)
    }

    /// A keyed digest that shows if two texts are equal. Without the key it reveals nothing else.
    pub fn digest(&self, purpose: &str, secret: &str) -> String {
        let mut digest = [0u8; 16];
        let expander =
            Hkdf::<Sha256>::from_prk(self.0.as_ref()).expect("a key is as long as a digest");
        expander
            .expand_multi_info(
                &[b"digest ", purpose.as_bytes(), b"\0", secret.as_bytes()],
                &mut digest,
            )
            .expect("half a block can always be made");
        STANDARD.encode(digest)
    }

    /// The signature of a text: HMAC-SHA256 with a key that is derived for signatures only.
    pub fn sign(&self, text: &str) -> [u8; 32] {
        self.signer(text).finalize().into_bytes().into()
    }

    /// True if the signature was made by [`SealingKey::sign`] for the text. Takes the same time for every wrong one.
    pub fn verify(&self, text: &str, signature: &[u8]) -> bool {
        self.signer(text).verify_slice(signature).is_ok()
    }

    fn signer(&self, text: &str) -> Hmac<Sha256> {
        let mut key = Zeroizing::new([0u8; 32]);
        let expander =
            Hkdf::<Sha256>::from_prk(self.0.as_ref()).expect("a key is as long as a digest");
        expander
            .expand(b"signatures", key.as_mut())
            .expect("one block can always be made");
        let signer = <Hmac<Sha256> as Mac>::new_from_slice(key.as_ref());
        signer
            .expect("a key of any length will do")
            .chain_update(text)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(self.0.as_ref().into())
    }
}

impl std::fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealingKey(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SealingKey {
        SealingKey::new(Zeroizing::new([byte; 32]))
    }

    #[test]
    fn a_sealed_value_opens_with_its_key_and_purpose_only() {
        let sealed = key(1).seal("run/7", "hunter2");
        assert!(!sealed.contains("hunter2"));
        assert_eq!(key(1).open("run/7", &sealed).unwrap().as_str(), "hunter2");
        assert_eq!(key(2).open("run/7", &sealed), Err(Unsealable));
        assert_eq!(key(1).open("run/8", &sealed), Err(Unsealable));
        assert_eq!(key(1).open("run/7", "AAAA"), Err(Unsealable));
        assert_eq!(key(1).open("run/7", "not base64!"), Err(Unsealable));
        assert_ne!(
            sealed,
            key(1).seal("run/7", "hunter2"),
            "the nonce is new each time"
        );
    }

    #[test]
    fn a_digest_depends_on_value_and_key() {
        let key = SealingKey::new(Zeroizing::new([7; 32]));
        let other = SealingKey::new(Zeroizing::new([8; 32]));
        let digest = key.digest("word", "secret");
        assert_eq!(digest, key.digest("word", "secret"));
        assert_ne!(digest, key.digest("word", "secrets"));
        assert_ne!(digest, key.digest("words", "ecret"));
        assert_ne!(digest, other.digest("word", "secret"));
    }
}
