//! The spool: the folder on a server from which the engine fetches signals over SSH. Pure.
//!
//! Where servers cannot reach this server, `curl_cli` is a command that takes curl's options and leaves the data as one
//! file in the spool. It brings its own script, because user data runs before the engine's first login. The script is
//! packed, so that the command has no quotes but its own, and nothing that a shell expands: it can be used wherever Heat's
//! command can, in double quotes for example.
//!
//! Any user on the server can signal, as over HTTP: the token is in the user data, which all programs on the server can
//! read.

use std::io::Write;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use store::SignalTarget;

const PUT: &str = include_str!("put.sh");

/// The folder of a handle's signals. It survives a reboot, and every user can write to it.
pub(crate) fn spool(target: &SignalTarget) -> String {
    let SignalTarget {
        deployment,
        resource,
        incarnation,
        ..
    } = target;
    let digest = Sha256::digest(format!("{deployment} {resource} {incarnation}"));
    let name = &format!("{digest:x}")[..32];
    format!("/var/tmp/stackloom-signals-{name}")
}

/// The command that leaves a signal in a spool.
pub(crate) fn command(spool: &str) -> String {
    let lines = PUT.lines().map(str::trim_start);
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with('#')).collect();
    let script = format!("folder={spool}\n{}\n", lines.join("\n"));
    // Writing to memory does not fail.
    let script = STANDARD.encode(packed(&script).unwrap_or_default());
    format!(
        "sh -c 'exec 3<&0; echo {script} | base64 -d | gzip -d | . /dev/stdin' stackloom-signal"
    )
}

fn packed(text: &str) -> std::io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(text.as_bytes())?;
    packed.finish()
}

#[cfg(test)]
mod tests {
    use store::Tenant;

    use super::*;

    fn handle(incarnation: u32) -> SignalTarget {
        SignalTarget {
            tenant: Tenant {
                cloud: "lab".into(),
                project_id: "p".into(),
            },
            deployment: "d-1".into(),
            resource: "it's/0/$handle".into(),
            incarnation,
        }
    }

    #[test]
    fn each_handle_has_a_spool_of_its_own() {
        assert_eq!(spool(&handle(1)), spool(&handle(1)));
        assert_ne!(spool(&handle(1)), spool(&handle(2)));
    }

    #[test]
    fn a_command_can_stand_in_double_quotes_as_heats_can() {
        let command = command(&spool(&handle(1)));
        let expanded = |one: char| "\"$`\\!\n".contains(one);
        assert!(!command.contains(expanded), "{command}");
        assert_eq!(command.matches('\'').count(), 2, "{command}");
        assert!(command.len() < 2000, "user data has room for some");
    }
}
