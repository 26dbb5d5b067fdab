//! Ids and times in OpenStack's formats.

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// A new id with dashes (Nova, Neutron, Glance, Barbican).
pub fn new_id() -> String {
    Uuid::new_v4().to_string()
}

/// A new id without dashes (Keystone).
pub fn new_hex_id() -> String {
    Uuid::new_v4().simple().to_string()
}

/// An id derived from a name, so that projects, users and images keep their ids when a lab is recreated. A clouds.yaml
/// or a saved design stays valid. Keystone's form, without dashes.
pub fn stable_hex_id(name: &str) -> String {
    hex(&Sha256::digest(format!("stackloom-lab/{name}")))[..32].to_owned()
}

/// Like [`stable_hex_id`], with dashes.
pub fn stable_id(name: &str) -> String {
    Uuid::parse_str(&stable_hex_id(name))
        .map(|id| id.to_string())
        .unwrap_or_default()
}

/// Whether a text has the form of a UUID, with or without dashes.
pub fn looks_like_id(text: &str) -> bool {
    Uuid::parse_str(text).is_ok()
}

/// The digest under which a secret value (a token, an application credential) is stored.
pub fn digest(secret: &str) -> String {
    hex(&Sha256::digest(secret))
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A locally administered unicast address in Neutron's own range.
pub fn new_mac() -> String {
    let tail: [u8; 3] = rand::random();
    format!("fa:16:3e:{:02x}:{:02x}:{:02x}", tail[0], tail[1], tail[2])
}

/// The current time, to the second: `2026-01-31T12:00:00Z`.
pub fn now() -> String {
    seconds(Timestamp::now())
}

/// A time to the second.
pub fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A time in Keystone's form, with microseconds.
pub fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// A host name derived from a server's name, by Nova's rules: letters, digits and dashes.
pub fn host_name(name: &str) -> String {
    let mapped: String = name
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            'a'..='z' | '0'..='9' | '-' => Some(c),
            ' ' | '_' | '.' => Some('-'),
            _ => None,
        })
        .take(63)
        .collect();
    let trimmed = mapped.trim_matches('-');
    if trimmed.is_empty() {
        "server".into()
    } else {
        trimmed.into()
    }
}

#[cfg(test)]
mod tests {
    use super::host_name;

    #[test]
    fn a_host_has_a_name_that_hosts_may_have() {
        for (server, host) in [
            ("web", "web"),
            ("My Shop_web.1", "my-shop-web-1"),
            ("<b>", "b"),
            ("数据", "server"),
            ("-x-", "x"),
        ] {
            assert_eq!(host_name(server), host);
        }
    }
}
