//! Debian packages, and the package sources of this machine.

use std::path::Path;

use anyhow::{Context, Result};

use crate::shell::{self, as_root, cmd};

/// Retries per package download.
const RETRIES: [&str; 2] = ["-o", "Acquire::Retries=5"];

/// The packages that are not installed.
pub fn missing<'a>(packages: &[&'a str]) -> Vec<&'a str> {
    let installed = |package: &str| {
        shell::read(&mut cmd(
            "dpkg-query",
            ["--show", "--showformat=${Status}", package],
        ))
        .is_ok_and(|status| status.ends_with(" installed"))
    };
    packages
        .iter()
        .copied()
        .filter(|package| !installed(package))
        .collect()
}

/// Installs missing packages, without recommended ones.
pub fn install(packages: &[&str]) -> Result<()> {
    let missing = missing(packages);
    if missing.is_empty() {
        return Ok(());
    }
    let apt = |args: &[&str]| {
        let mut command = as_root(
            "env",
            ["DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"],
        );
        command.args(RETRIES);
        command.args(args).args(&missing);
        command
    };
    let install = ["install", "--no-install-recommends"];
    // With current package lists, no update is needed. With old or missing lists, the first attempt fails.
    if shell::succeeds(&mut apt(&install)) {
        return Ok(());
    }
    shell::fetch(as_root("apt-get", ["-q", "update"]).args(RETRIES))?;
    shell::fetch(&mut apt(&install))
        .with_context(|| format!("cannot install {}", missing.join(" ")))
}

/// A package source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The URL of the archive.
    pub uri: String,
    /// The suite, such as `bookworm` or `bookworm-security`.
    pub suite: String,
}

/// The sources that this machine uses. They are read at run time, so that the repository contains no URL of a mirror.
pub fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    if let Ok(text) = std::fs::read_to_string("/etc/apt/sources.list") {
        found.extend(one_line_sources(&text));
    }
    let Ok(entries) = std::fs::read_dir("/etc/apt/sources.list.d") else {
        return found;
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        match path.extension().and_then(|kind| kind.to_str()) {
            Some("list") => found.extend(one_line_sources(&text)),
            Some("sources") => found.extend(deb822_sources(&text)),
            _ => {}
        }
    }
    found.retain(|source| {
        !source.uri.starts_with("file:") || Path::new(&source.uri["file:".len()..]).exists()
    });
    found
}

/// Parses lines `deb [options] URI suite component...`.
fn one_line_sources(text: &str) -> Vec<Source> {
    let source = |line: &str| {
        let rest = line.trim().strip_prefix("deb ")?.trim();
        let rest = match rest.strip_prefix('[') {
            Some(options) => options.split_once(']')?.1,
            None => rest,
        };
        let mut words = rest.split_whitespace();
        Some(Source {
            uri: words.next()?.to_owned(),
            suite: words.next()?.to_owned(),
        })
    };
    text.lines().filter_map(source).collect()
}

/// Parses stanzas of `Field: values`. A line that begins with a blank continues the previous field.
fn deb822_sources(text: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    for stanza in lines.split(|line| line.trim().is_empty()) {
        let mut fields: Vec<(String, String)> = Vec::new();
        for line in stanza {
            match line.split_once(':') {
                Some((name, value)) if !line.starts_with([' ', '\t']) => {
                    fields.push((name.to_ascii_lowercase(), value.to_owned()));
                }
                _ => {
                    if let Some((_, value)) = fields.last_mut() {
                        value.push(' ');
                        value.push_str(line);
                    }
                }
            }
        }
        let words = |name: &str| -> Vec<String> {
            let field = fields.iter().find(|(known, _)| known == name);
            field
                .map(|(_, value)| value.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default()
        };
        if words("enabled").first().is_some_and(|value| value == "no")
            || !words("types").iter().any(|kind| kind == "deb")
        {
            continue;
        }
        for uri in words("uris") {
            found.extend(words("suites").into_iter().map(|suite| Source {
                uri: uri.clone(),
                suite,
            }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(uri: &str, suite: &str) -> Source {
        Source {
            uri: uri.into(),
            suite: suite.into(),
        }
    }

    #[test]
    fn the_one_line_form_with_and_without_options() {
        let text = "# a comment\ndeb http://a.test/debian bookworm main\ndeb-src http://a.test/debian bookworm main\n\
                    deb [arch=amd64 signed-by=/k] https://b.test/x bookworm-updates main contrib\n";
        let expected = [
            source("http://a.test/debian", "bookworm"),
            source("https://b.test/x", "bookworm-updates"),
        ];
        assert_eq!(one_line_sources(text), expected);
    }

    #[test]
    fn the_stanza_form_with_several_suites_and_continued_lines() {
        let text = "Types: deb\n# comment\nURIs: http://a.test/debian\nSuites: bookworm\n bookworm-updates\nComponents: main\n\n\
                    Types: deb deb-src\nURIs: http://s.test/sec\nSuites: bookworm-security\n\n\
                    Enabled: no\nTypes: deb\nURIs: http://off.test/\nSuites: bookworm\n\nTypes: deb-src\nURIs: http://src.test\nSuites: x\n";
        let expected = [
            source("http://a.test/debian", "bookworm"),
            source("http://a.test/debian", "bookworm-updates"),
            source("http://s.test/sec", "bookworm-security"),
        ];
        assert_eq!(deb822_sources(text), expected);
    }
}
