//! Known vulnerabilities of the crates in `Cargo.lock`, as `cargo audit` finds them.
//!
//! The list of advisories is a repository that changes every day. So the check needs the network, and can only be made where
//! `cargo-audit` is installed. Elsewhere the summary says that it was not made: a build without a network must not fail, and must not
//! claim a check either. Exceptions are in `.cargo/audit.toml`.

use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::counted::Counts;
use crate::shell::{self, cargo};

/// The result of a check without findings.
#[derive(Debug, PartialEq, Eq)]
enum Checked {
    /// No crate has a known vulnerability.
    Clean,
    /// The check was not made, for this reason.
    Not(String),
}

/// Checks `Cargo.lock`.
///
/// # Errors
/// If a crate has a known vulnerability.
pub fn run() -> Result<Counts> {
    let checked = if shell::succeeds(&mut cargo(["audit", "--version"])) {
        audit()?
    } else {
        let why = "cargo-audit is not installed (`cargo install --locked cargo-audit`)";
        Checked::Not(why.to_owned())
    };
    match checked {
        Checked::Clean => {
            println!("no crate in Cargo.lock has a known vulnerability");
            Ok(Counts::default())
        }
        Checked::Not(why) => {
            println!("Cargo.lock was not checked: {why}");
            Ok(Counts {
                unchecked: 1,
                ..Counts::default()
            })
        }
    }
}

fn audit() -> Result<Checked> {
    let mut audit = cargo(["audit", "--json"]);
    let output = audit
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{}`", shell::shown(&audit)))?;
    judge(
        &String::from_utf8_lossy(&output.stdout),
        &String::from_utf8_lossy(&output.stderr),
    )
}

/// The meaning of a report. Without one, the list of advisories could not be fetched: `cargo audit` has the same exit status then.
fn judge(report: &str, complaints: &str) -> Result<Checked> {
    let report = serde_json::from_str::<Value>(report).ok();
    let found = report
        .as_ref()
        .and_then(|report| report["vulnerabilities"]["list"].as_array());
    let Some(found) = found else {
        let why = complaints.lines().rfind(|line| !line.trim().is_empty());
        let why = why.unwrap_or("it printed no report");
        return Ok(Checked::Not(format!("cargo audit: {}", why.trim())));
    };
    if found.is_empty() {
        return Ok(Checked::Clean);
    }
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let lines: Vec<String> = found
        .iter()
        .map(|one| {
            let (package, advisory) = (&one["package"], &one["advisory"]);
            let patched = one["versions"]["patched"].as_array();
            let patched: Vec<String> = patched.into_iter().flatten().map(text).collect();
            let remedy = match &*patched.join(" or ") {
                "" => "no version mends it yet".to_owned(),
                versions => format!("update it to {versions}"),
            };
            format!(
                "{} {} has {} ({}): {remedy}",
                text(&package["name"]),
                text(&package["version"]),
                text(&advisory["id"]),
                text(&advisory["title"]),
            )
        })
        .collect();
    bail!("known vulnerabilities:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_known_vulnerability_fails_with_its_remedy() {
        let report = json!({"vulnerabilities": {"found": true, "count": 1, "list": [{
            "advisory": {"id": "RUSTSEC-2026-0001", "title": "Reads beyond the end"},
            "versions": {"patched": [">=1.2.3"]},
            "package": {"name": "example", "version": "1.2.2"},
        }]}});
        let error = judge(&report.to_string(), "")
            .err()
            .map(|error| error.to_string());
        let expected = "known vulnerabilities:\nexample 1.2.2 has RUSTSEC-2026-0001 (Reads beyond the end): update it to >=1.2.3";
        assert_eq!(error.as_deref(), Some(expected));
    }

    #[test]
    fn a_check_without_a_report_was_not_made() {
        let clean = json!({"vulnerabilities": {"found": false, "count": 0, "list": []}});
        let clean = judge(&clean.to_string(), "").ok();
        assert_eq!(clean, Some(Checked::Clean));
        let offline =
            "    Fetching advisory database\nerror: couldn't fetch advisory database: no network\n";
        let why = "cargo audit: error: couldn't fetch advisory database: no network";
        assert_eq!(judge("", offline).ok(), Some(Checked::Not(why.to_owned())));
    }
}
