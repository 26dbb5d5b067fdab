//! Generation of SSH key pairs: for the deployment, for host keys of servers, for key pairs without a public key.
//!
//! Ed25519 only: short enough for metadata and cloud-config, and supported by OpenSSH since 2014.

use ssh_key::private::{Ed25519Keypair, KeypairData};
use ssh_key::{LineEnding, PrivateKey};
use zeroize::Zeroizing;

use crate::driver::DriverError;

/// A key pair in OpenSSH's formats.
pub struct Pair {
    /// Private key as a PEM block; never stored outside a vault.
    pub private: Zeroizing<String>,
    /// Public key in one line, without a line end.
    pub public: String,
}

/// Generates a pair; the comment is at the end of the public key.
pub fn make(comment: &str) -> Result<Pair, DriverError> {
    let seed = Zeroizing::new(rand::random::<[u8; 32]>());
    let key = KeypairData::Ed25519(Ed25519Keypair::from_seed(&seed));
    let key = PrivateKey::new(key, comment).map_err(failed)?;
    Ok(Pair {
        private: key.to_openssh(LineEnding::LF).map_err(failed)?,
        public: key.public_key().to_openssh().map_err(failed)?,
    })
}

/// The public key of a private key.
pub fn public_of(private: &str) -> Result<String, DriverError> {
    let key = PrivateKey::from_openssh(private).map_err(failed)?;
    key.public_key().to_openssh().map_err(failed)
}

fn failed(error: ssh_key::Error) -> DriverError {
    DriverError::Other(format!("an SSH key cannot be made or read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_half_follows_from_the_private_one() {
        let pair = make("stackloom d1").unwrap();
        assert!(pair.public.starts_with("ssh-ed25519 "));
        assert!(pair.public.ends_with(" stackloom d1"));
        assert_eq!(public_of(&pair.private).unwrap(), pair.public);
        assert_ne!(make("").unwrap().public, make("").unwrap().public);
    }
}
