//! Keystone's multi-factor authentication: TOTP credentials, rules of users, and receipts for completed methods.
//!
//! Codes follow RFC 6238 with SHA-1, six digits, 30 seconds. The code of the previous window is also valid.

use std::time::Duration;

use hmac::{Hmac, Mac};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha1::Sha1;

use crate::kit::ids::{digest, new_hex_id};
use crate::kit::record::{Attributes, Record};
use crate::kit::refusal::Refusal;
use crate::kit::table::keyed_by_id;
use crate::services::identity::Identity;

/// The lifetime of a receipt.
const RECEIPT_LIFETIME: Duration = Duration::from_secs(300);
/// Minimum length of seeds in Keystone's library.
const SEED_BYTES_MIN: usize = 16;
/// The validity of a code in seconds.
const WINDOW: i64 = 30;

/// A receipt for the completed methods of a login.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Receipt {
    /// The digest of its text.
    pub id: String,
    /// The user's id.
    pub user_id: String,
    /// The completed methods.
    pub methods: Vec<String>,
    /// The time of issue.
    pub issued_at: Timestamp,
    /// The time of expiry.
    pub expires_at: Timestamp,
}

keyed_by_id!(Receipt);

/// Whether these methods are sufficient for a token. Without rules, or with disabled rules, all are.
fn is_satisfied(user: &Record, methods: &[String]) -> bool {
    let options = &user.fields["options"];
    let rules = options["multi_factor_auth_rules"].as_array();
    let is_met = |rule: &Value| {
        let mut needed = rule.as_array().into_iter().flatten();
        needed.all(|method| methods.iter().any(|one| method == one))
    };
    let is_disabled = options["multi_factor_auth_enabled"] == false;
    is_disabled || rules.is_none_or(|rules| rules.iter().any(is_met))
}

impl Identity {
    /// Checks a one-time code of the user against the current time.
    pub fn check_code(&self, user_id: &str, code: &str) -> Result<(), Refusal> {
        let now = Timestamp::now().as_second();
        let mut seeds = self.credentials.iter().filter_map(|credential| {
            let theirs = credential.text("user_id") == user_id && credential.text("type") == "totp";
            let seed = theirs.then(|| base32(credential.text("blob"))).flatten();
            seed.filter(|seed| seed.len() >= SEED_BYTES_MIN)
        });
        let fits = seeds.any(|seed| {
            [now, now - WINDOW]
                .iter()
                .any(|time| code_at(&seed, *time) == code)
        });
        fits.then_some(()).ok_or_else(Refusal::unauthorized)
    }

    /// The completed methods of the receipt with this text.
    pub fn receipt(&self, text: &str, user_id: &str) -> Result<&[String], Refusal> {
        let receipt = self.receipts.get(&digest(text));
        receipt
            .filter(|receipt| receipt.user_id == user_id && receipt.expires_at > Timestamp::now())
            .map(|receipt| receipt.methods.as_slice())
            .ok_or_else(Refusal::unauthorized)
    }

    /// A receipt and its text, if the user's rules require further methods.
    pub fn receipt_if_incomplete(
        &mut self,
        user_id: &str,
        methods: &[String],
    ) -> Option<(String, Receipt)> {
        let user = self.users.get(user_id)?;
        if is_satisfied(user, methods) {
            return None;
        }
        let issued_at = Timestamp::now();
        self.receipts
            .remove_where(|receipt| receipt.expires_at < issued_at);
        let text = format!("lab-receipt-{}", new_hex_id());
        let receipt = Receipt {
            id: digest(&text),
            user_id: user_id.into(),
            methods: methods.to_vec(),
            issued_at,
            expires_at: issued_at + RECEIPT_LIFETIME,
        };
        self.receipts.insert(receipt.clone());
        Some((text, receipt))
    }
}

/// The six digits at a Unix time in seconds.
fn code_at(seed: &[u8], time: i64) -> String {
    let hash = hmac(seed, &(time / WINDOW).to_be_bytes());
    let at = usize::from(hash[19] & 15);
    let four = [hash[at] & 127, hash[at + 1], hash[at + 2], hash[at + 3]];
    format!("{:06}", u32::from_be_bytes(four) % 1_000_000)
}

/// HMAC with SHA-1 (RFC 2104).
fn hmac(key: &[u8], message: &[u8]) -> [u8; 20] {
    // Keys of any length are valid.
    let hmac = Hmac::<Sha1>::new_from_slice(key).map(|hmac| hmac.chain_update(message));
    hmac.map_or([0; 20], |hmac| hmac.finalize().into_bytes().into())
}

/// Decodes base32 (RFC 4648): capitals, with or without padding.
fn base32(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    data_encoding::BASE32_NOPAD.decode(text.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use crate::services::identity::second_factor::*;

    #[test]
    fn codes_of_the_standard() {
        // RFC 6238, appendix B: the last six of the eight digits.
        let seed = b"12345678901234567890";
        assert_eq!(code_at(seed, 59), "287082");
        assert_eq!(code_at(seed, 1_111_111_109), "081804");
        assert_eq!(code_at(seed, 20_000_000_000), "353130");
    }

    #[test]
    fn seeds_of_the_standard() {
        // RFC 4648, section 10.
        assert_eq!(base32("MZXW6YTBOI======").unwrap(), b"foobar");
        assert_eq!(base32("MZXW6").unwrap(), b"foo");
        assert_eq!(base32("mzxw6"), None);
    }

    #[test]
    fn long_keys_are_hashed_first() {
        // RFC 2202, case 6.
        let digest = hmac(
            &[0xaa; 80],
            b"Test Using Larger Than Block-Size Key - Hash Key First",
        );
        assert_eq!(digest[..4], [0xaa, 0x4a, 0xe5, 0xe1]);
    }
}
