//! The `clouds.yaml` of `cargo xtask run`: the lab, and the file given with `--clouds`.
//!
//! The given file is preserved with its comments; the lab's entry is inserted as text, directly below `clouds:`.

use std::path::Path;

use anyhow::{Context, Result, bail};

/// The content of the file. `lab` is the lab's address (`127.0.0.1:9500`), `more` the given file.
pub fn text(lab: Option<&str>, more: Option<&Path>) -> Result<String> {
    let more = match more {
        Some(path) => std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?,
        None => String::new(),
    };
    merge(lab, &more)
}

fn merge(lab: Option<&str>, more: &str) -> Result<String> {
    let Some(lab) = lab else {
        return Ok(if more.is_empty() {
            "clouds: {}\n".into()
        } else {
            more.to_owned()
        });
    };
    let lines: Vec<&str> = more.lines().collect();
    let Some(at) = lines.iter().position(|line| line.trim_end() == "clouds:") else {
        if !more.trim().is_empty() {
            bail!("the file given with --clouds has no line `clouds:`");
        }
        return Ok(format!("clouds:\n{}", entry(lab, "  ")));
    };
    let says_something =
        |line: &&&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let indent = lines[at + 1..]
        .iter()
        .find(says_something)
        .map_or("  ", |line| {
            let width = line.len() - line.trim_start().len();
            if width == 0 { "  " } else { &line[..width] }
        });
    if lines[at + 1..].iter().any(|line| {
        line.strip_prefix(indent)
            .is_some_and(|rest| rest.trim_end() == "lab:")
    }) {
        bail!(
            "the file given with --clouds names a cloud `lab`, which is the lab cloud's name; rename it or use --no-lab"
        );
    }
    let mut out = lines[..=at].join("\n");
    out.push('\n');
    out.push_str(&entry(lab, indent));
    out.push_str(&lines[at + 1..].join("\n"));
    out.push('\n');
    Ok(out)
}

fn entry(lab: &str, indent: &str) -> String {
    let lines = [
        "lab:".to_owned(),
        format!("{indent}auth:"),
        format!("{indent}{indent}auth_url: http://{lab}/identity/v3"),
        format!("{indent}region_name: lab"),
        format!("{indent}identity_api_version: 3"),
    ];
    lines
        .iter()
        .map(|line| format!("{indent}{line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lab_alone() {
        let text = merge(Some("127.0.0.1:9500"), "").expect("nothing is in the way");
        assert_eq!(
            text,
            "clouds:\n  lab:\n    auth:\n      auth_url: http://127.0.0.1:9500/identity/v3\n    region_name: lab\n    \
             identity_api_version: 3\n"
        );
    }

    #[test]
    fn another_file_is_kept_with_its_comments_and_indentation() {
        let more = "# mine\nclouds:\n    # far away\n    prod:\n        region_name: eu\n";
        let text = merge(Some("127.0.0.1:1"), more).expect("nothing is in the way");
        assert!(
            text.starts_with("# mine\nclouds:\n    lab:\n        auth:\n"),
            "{text}"
        );
        assert!(
            text.ends_with("    # far away\n    prod:\n        region_name: eu\n"),
            "{text}"
        );
    }

    #[test]
    fn a_second_cloud_named_lab_is_refused() {
        assert!(merge(Some("127.0.0.1:1"), "clouds:\n  lab:\n    auth: {}\n").is_err());
    }

    #[test]
    fn without_the_lab_the_file_is_untouched() {
        assert_eq!(
            merge(None, "clouds:\n  a: {}\n").expect("as it is"),
            "clouds:\n  a: {}\n"
        );
        assert_eq!(merge(None, "").expect("empty"), "clouds: {}\n");
    }
}
