//! User data of a server: the login user and the host key, for access and for verification of the server's identity.
//!
//! Our part creates the login user with the deployment's public key and sets a generated SSH host key, so the first
//! connection is verified like every later one. Programs on the server can read it here, so it is for the first connection
//! only: the server then makes its own key. User data of the template is kept: both parts form a MIME multipart
//! message, the template's first. Our lists (users, files) are appended to those of the template instead of replacing
//! them. Our part is written as JSON, which is valid YAML, so no value needs YAML quoting.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::keys::Pair;
use crate::driver::Login;

/// Nova's limit in bytes, after encoding.
pub(super) const BYTES_MAX: usize = 65_535;

/// The input of our part of the user data.
pub(super) struct Guest<'a> {
    pub login: &'a Login,
    pub host_key: &'a Pair,
    /// Whether the server is the bastion of other servers.
    pub bastion: bool,
}

/// User data in plain text: the template's, ours, or both.
pub(super) fn user_data(own: Option<&str>, guest: Option<&Guest<'_>>) -> Option<String> {
    match (own, guest) {
        (None, None) => None,
        (Some(own), None) => Some(own.to_string()),
        (None, Some(guest)) => Some(cloud_config(guest, true)),
        (Some(own), Some(guest)) => {
            // `default` is the image's own user. cloud-init drops it if any part lists users, so our part lists it,
            // unless the template has a list of users.
            let lists_users = own.lines().any(|line| line.starts_with("users:"));
            Some(multipart(own, &cloud_config(guest, !lists_users)))
        }
    }
}

/// User data in Nova's encoding.
pub(super) fn encode(user_data: &str) -> String {
    BASE64.encode(user_data)
}

fn cloud_config(guest: &Guest<'_>, default_user: bool) -> String {
    let user = json!({
        "name": guest.login.user,
        "gecos": "Stackloom",
        "shell": "/bin/bash",
        "sudo": "ALL=(ALL) NOPASSWD:ALL",
        "lock_passwd": true,
        "ssh_authorized_keys": [guest.login.public_key],
    });
    let mut config = json!({
        "users": if default_user { vec![json!("default"), user] } else { vec![user] },
        "ssh_keys": {
            "ed25519_private": guest.host_key.private.as_str(),
            "ed25519_public": guest.host_key.public,
        },
    });
    if guest.bastion {
        config["write_files"] = json!([{
            "path": "/etc/ssh/sshd_config.d/50-stackloom-bastion.conf",
            "permissions": "0644",
            "content": "# The other servers are reached through this one.\nAllowTcpForwarding yes\n",
        }]);
    }
    format!("#cloud-config\n{config:#}\n")
}

fn multipart(own: &str, ours: &str) -> String {
    let own = match content_type(own) {
        Some(kind) => part(kind, "", own),
        // The template's message has its own headers.
        None => own.trim_end().to_string() + "\n",
    };
    let merge = "Merge-Type: list(append)+dict(no_replace,recurse_list)+str()\n";
    let ours = part("text/cloud-config", merge, ours);
    message(&[own, ours])
}

/// Combines parts, with their headers, into one message.
pub(super) fn message(parts: &[String]) -> String {
    let digest = Sha256::digest(parts.concat());
    let boundary: String = digest
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let parts: String = parts
        .iter()
        .map(|part| format!("--{boundary}\n{part}\n"))
        .collect();
    format!(
        "Content-Type: multipart/mixed; boundary=\"{boundary}\"\nMIME-Version: 1.0\n\n{parts}--{boundary}--\n"
    )
}

/// One part; `headers` are further header lines, each with a line end.
pub(super) fn part(kind: &str, headers: &str, content: &str) -> String {
    let (encoding, content) = if content.is_ascii() {
        ("7bit", content.to_string())
    } else {
        let encoded = BASE64.encode(content);
        let lines: Vec<&str> = (0..encoded.len())
            .step_by(76)
            .map(|at| &encoded[at..encoded.len().min(at + 76)])
            .collect();
        ("base64", lines.join("\n"))
    };
    format!(
        "Content-Type: {kind}; charset=\"utf-8\"\nMIME-Version: 1.0\nContent-Transfer-Encoding: {encoding}\n{headers}\n{content}"
    )
}

/// The content type that cloud-init derives from the first words. `None` for a MIME message, which has its own header.
fn content_type(own: &str) -> Option<&'static str> {
    const KINDS: [(&str, &str); 9] = [
        ("#!", "text/x-shellscript"),
        ("#cloud-config-archive", "text/cloud-config-archive"),
        ("#cloud-config", "text/cloud-config"),
        ("#include-once", "text/x-include-once-url"),
        ("#include", "text/x-include-url"),
        ("#cloud-boothook", "text/cloud-boothook"),
        ("#part-handler", "text/part-handler"),
        ("#upstart-job", "text/upstart-job"),
        ("## template: jinja", "text/jinja2"),
    ];
    let start = own.trim_start().to_lowercase();
    if start.starts_with("content-type:") || start.starts_with("mime-version:") {
        return None;
    }
    let known = KINDS.iter().find(|(words, _)| start.starts_with(words));
    Some(known.map_or("text/plain", |(_, kind)| kind))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn with_guest(own: Option<&str>, bastion: bool) -> String {
        let login = Login {
            user: "stackloom".into(),
            public_key: "ssh-ed25519 AAAA".into(),
        };
        let host_key = Pair {
            private: "-----BEGIN\nKEY-----\n".to_string().into(),
            public: "ssh-ed25519 HOST".into(),
        };
        let guest = Guest {
            login: &login,
            host_key: &host_key,
            bastion,
        };
        user_data(own, Some(&guest)).unwrap()
    }

    fn config_in(text: &str) -> Value {
        let start = text.rfind("#cloud-config\n").unwrap() + "#cloud-config\n".len();
        let json = text[start..].split("\n--").next().unwrap();
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn ours_alone_is_a_cloud_config() {
        let text = with_guest(None, false);
        assert!(text.starts_with("#cloud-config\n"));
        let config = config_in(&text);
        assert_eq!(config["users"][0], "default");
        assert_eq!(config["users"][1]["name"], "stackloom");
        assert_eq!(
            config["ssh_keys"]["ed25519_private"],
            "-----BEGIN\nKEY-----\n"
        );
        assert!(config.get("write_files").is_none());
    }

    #[test]
    fn the_bastion_forwards() {
        let config = config_in(&with_guest(None, true));
        assert!(
            config["write_files"][0]["content"]
                .as_str()
                .unwrap()
                .contains("AllowTcpForwarding yes")
        );
    }

    #[test]
    fn a_persons_own_comes_first_and_stays_whole() {
        let text = with_guest(Some("#!/bin/sh\necho hello\n"), false);
        assert!(text.starts_with("Content-Type: multipart/mixed; boundary="));
        let script = text.find("text/x-shellscript").unwrap();
        assert!(script < text.find("text/cloud-config").unwrap());
        assert!(text.contains("\n\n#!/bin/sh\necho hello\n"));
        assert!(text.contains("Merge-Type: list(append)"));
        assert_eq!(config_in(&text)["users"][0], "default");
    }

    #[test]
    fn who_lists_users_decides_about_the_default_one() {
        let text = with_guest(Some("#cloud-config\nusers:\n- name: me\n"), false);
        assert_eq!(config_in(&text)["users"][0]["name"], "stackloom");
    }

    #[test]
    fn other_alphabets_are_encoded() {
        let text = with_guest(Some("#!/bin/sh\necho grüße\n"), false);
        assert!(text.contains("Content-Transfer-Encoding: base64"));
        assert!(text.is_ascii());
    }

    #[test]
    fn a_message_in_parts_is_nested() {
        let own = "Content-Type: multipart/mixed; boundary=\"x\"\nMIME-Version: 1.0\n\n--x\n\nhi\n--x--\n";
        let text = with_guest(Some(own), false);
        assert_eq!(text.matches("multipart/mixed").count(), 2);
    }

    #[test]
    fn without_a_guest_nothing_is_added() {
        assert_eq!(user_data(None, None), None);
        assert_eq!(
            user_data(Some("#!/bin/sh"), None).as_deref(),
            Some("#!/bin/sh")
        );
    }
}
