//! The pinned SSH host keys of a server: in its metadata, where they are found after a crash, and in its attribute
//! `host_key`, one a line.
//!
//! A new server gets a key in its user data, so that its first connection is verified. Every program on the server can read
//! its user data, and so can others in the project. So the server makes its own key at the first connection, and the
//! given one is not accepted any more. Until the own key is known to be in use, both are pinned.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The metadata key.
const METADATA: &str = "stackloom_host_key";
/// The comment of the key that the server has made.
const OWN: &str = "own";
/// Separator of keys in the metadata.
const SEPARATOR: &str = ",";

/// The pinned host keys of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostKeys {
    /// The key from its user data.
    given: Option<String>,
    /// The key that it has made itself.
    own: Option<String>,
}

impl HostKeys {
    /// The key of a new server, with or without a comment.
    pub(super) fn given_to(public_key: &str) -> HostKeys {
        HostKeys {
            given: Some(without_comment(public_key)),
            own: None,
        }
    }

    /// The keys in a server's metadata. `None` for a server without software.
    pub fn in_metadata(metadata: &BTreeMap<String, String>) -> Option<HostKeys> {
        let keys = metadata.get(METADATA)?;
        Some(HostKeys::of(keys.split(SEPARATOR)))
    }

    /// The keys in the attribute `host_key`.
    pub fn in_attribute(attribute: &str) -> HostKeys {
        HostKeys::of(attribute.lines())
    }

    fn of<'a>(keys: impl Iterator<Item = &'a str>) -> HostKeys {
        let is_own = |key: &&str| key.split_whitespace().nth(2) == Some(OWN);
        let (own, given): (Vec<&str>, Vec<&str>) = keys.partition(is_own);
        let first = |keys: Vec<&str>| keys.first().map(|key| without_comment(key));
        HostKeys {
            given: first(given),
            own: first(own),
        }
    }

    /// The key from the user data, if it is still pinned.
    pub fn given(&self) -> Option<&str> {
        self.given.as_deref()
    }

    /// Adds the key that the server has generated.
    pub fn with_own(&self, public_key: &str) -> HostKeys {
        HostKeys {
            given: self.given.clone(),
            own: Some(without_comment(public_key)),
        }
    }

    /// The key that the server has made, without the given one.
    pub fn own_alone(&self) -> HostKeys {
        HostKeys {
            given: None,
            own: self.own.clone(),
        }
    }

    /// The attribute `host_key`: a key a line.
    pub fn attribute(&self) -> String {
        self.join("\n")
    }

    /// The part of a server's metadata.
    pub fn metadata(&self) -> Value {
        json!({METADATA: self.join(SEPARATOR)})
    }

    fn join(&self, separator: &str) -> String {
        let own = self.own.as_ref().map(|key| format!("{key} {OWN}"));
        let keys: Vec<String> = self.given.clone().into_iter().chain(own).collect();
        keys.join(separator)
    }
}

/// Type and key: a comment can be a long name, and metadata is short.
fn without_comment(public_key: &str) -> String {
    let words: Vec<&str> = public_key.split_whitespace().take(2).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(keys: &HostKeys) -> HostKeys {
        let metadata: BTreeMap<String, String> = serde_json::from_value(keys.metadata()).unwrap();
        let read = HostKeys::in_metadata(&metadata).unwrap();
        assert_eq!(HostKeys::in_attribute(&keys.attribute()), read);
        read
    }

    #[test]
    fn both_are_pinned_until_the_own_key_is_in_use() {
        let given = HostKeys::given_to("ssh-ed25519 GIVEN shop web");
        assert_eq!(given.attribute(), "ssh-ed25519 GIVEN");
        assert_eq!(read(&given), given);

        let both = given.with_own("ssh-ed25519 OWN root@web\n");
        assert_eq!(both.attribute(), "ssh-ed25519 GIVEN\nssh-ed25519 OWN own");
        assert_eq!(read(&both), both);
        assert_eq!(both.given(), Some("ssh-ed25519 GIVEN"));
        // After a crash the server shows the same key again.
        assert_eq!(both.with_own("ssh-ed25519 OWN"), both);

        let own = both.own_alone();
        assert_eq!(own.attribute(), "ssh-ed25519 OWN own");
        assert_eq!((read(&own), own.given()), (own.clone(), None));
    }

    #[test]
    fn a_server_without_software_has_none() {
        assert_eq!(HostKeys::in_metadata(&BTreeMap::new()), None);
    }

    #[test]
    fn two_keys_fit_into_novas_255_characters() {
        let pair = || crate::keys::make("a long name of a server").unwrap().public;
        let both = HostKeys::given_to(&pair()).with_own(&pair());
        assert!(both.join(SEPARATOR).len() <= 255);
    }
}
