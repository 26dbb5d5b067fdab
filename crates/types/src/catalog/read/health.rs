//! Parser of the manifest's `health`.

use super::{Reader, manifest::words};
use crate::catalog::{CatalogItem, HealthCheck, Probe, RecordType, names};
use hot::{
    text::{did_you_mean, listed},
    yaml::{Entry, Node},
};
use yaql::shown;

const KEYS: [&str; 15] = [
    "title", "tcp", "http", "dns", "command", "scheme", "path", "status", "contains", "name",
    "type", "interval", "timeout", "deadline", "when",
];
/// Keys of the probes, of which a check has one.
const PROBES: [&str; 4] = ["tcp", "http", "dns", "command"];
/// Keys that only an HTTP request has.
const OF_HTTP: [&str; 4] = ["scheme", "path", "status", "contains"];
/// Keys that only a DNS query has.
const OF_DNS: [&str; 2] = ["name", "type"];
/// Maximum number of checks of an item.
const CHECKS_MAX: usize = 8;
/// Maximum time that a health check waits, in seconds: half of a step's time limit, of which the role needs a part.
const WAIT_SECONDS_MAX: u32 = 900;
/// Maximum length of texts in a check, in bytes.
const TEXT_BYTES_MAX: usize = 2000;

impl Reader<'_> {
    pub(super) fn health(&mut self, root: &Node) -> Vec<HealthCheck> {
        let nodes = self.items(root, "health");
        if nodes.len() > CHECKS_MAX {
            let message = format!("an item has at most {CHECKS_MAX} health checks");
            self.error("health", nodes[CHECKS_MAX].span.start, message);
        }
        let nodes = nodes.into_iter().enumerate();
        nodes
            .filter_map(|(index, node)| self.health_check(node, &format!("health.{index}")))
            .collect()
    }

    fn health_check(&mut self, node: &Node, path: &str) -> Option<HealthCheck> {
        let entries = node.entries().unwrap_or_default();
        self.unknown_keys(path, entries, &KEYS);
        let title = self.required(node, "title", path);
        let probe = self.probe(node, path);
        Some(HealthCheck {
            title,
            interval: self.seconds(node, "interval", path, 2, 60),
            timeout: self.seconds(node, "timeout", path, 5, 60),
            deadline: self.seconds(node, "deadline", path, 120, WAIT_SECONDS_MAX),
            when: self.text(node, "when", path),
            probe: probe?,
        })
    }

    fn probe(&mut self, node: &Node, path: &str) -> Option<Probe> {
        let entries = node.entries().unwrap_or_default();
        let is_probe = |entry: &&Entry| PROBES.contains(&entry.key.as_str());
        let probes: Vec<&Entry> = entries.iter().filter(is_probe).collect();
        let [probe] = probes[..] else {
            let message = "a health check has one of `tcp`, `http`, `dns` and `command`".to_owned();
            self.error(path, node.span.start, message);
            return None;
        };
        let kind = probe.key.as_str();
        for entry in entries {
            let key = entry.key.as_str();
            for (owner, keys) in [("http", &OF_HTTP[..]), ("dns", &OF_DNS[..])] {
                if kind != owner && keys.contains(&key) {
                    let article = if owner == "http" { "an" } else { "a" };
                    let message = format!("only {article} `{owner}` check has `{key}`");
                    self.error(path, entry.key_span.start, message);
                }
            }
        }
        let value = self.bounded(node, kind, path)?;
        Some(match kind {
            "tcp" => Probe::Tcp { port: value },
            "command" => Probe::Command { command: value },
            "dns" => Probe::Dns {
                port: value,
                name: self.domain_name(node, path),
                record: self.record(node, path),
            },
            _ => Probe::Http {
                port: value,
                scheme: self.scheme(node, path),
                path: self.http_path(node, path),
                status: self.status(node, path),
                contains: self.bounded(node, "contains", path),
            },
        })
    }

    fn bounded(&mut self, node: &Node, key: &str, path: &str) -> Option<String> {
        let text = self.text(node, key, path)?;
        if text.len() > TEXT_BYTES_MAX {
            let message = format!("`{key}` has at most {TEXT_BYTES_MAX} bytes");
            self.error(path, node.span.start, message);
            return None;
        }
        Some(text)
    }

    /// `http`, `https`, or an option of the role in braces.
    fn scheme(&mut self, node: &Node, path: &str) -> Option<String> {
        let scheme = self.text(node, "scheme", path)?;
        let option = words(&scheme).next();
        let is_option = option.is_some_and(|word| scheme == format!("{{{word}}}"));
        if !is_option && !matches!(scheme.as_str(), "http" | "https") {
            let message = format!(
                "`{}` is no scheme: use `http`, `https`, or `{{option}}` with the option of the role that holds one of them",
                shown(&scheme)
            );
            self.error(path, node.span.start, message);
            return None;
        }
        Some(scheme)
    }

    fn http_path(&mut self, node: &Node, path: &str) -> String {
        let text = self.bounded(node, "path", path);
        let text = text.unwrap_or_else(|| "/".to_owned());
        if !text.starts_with(['/', '{']) || !text.chars().all(|c| c.is_ascii_graphic()) {
            let message = format!(
                "`{}` is no path of a URL such as `/health`: it begins with `/`; write other characters as `%20`",
                shown(&text)
            );
            self.error(path, node.span.start, message);
        }
        text
    }

    /// A domain name, in which options stand in braces.
    fn domain_name(&mut self, node: &Node, path: &str) -> String {
        let name = self.required(node, "name", path);
        let mut plain = name.clone();
        for word in words(&name) {
            plain = plain.replace(&format!("{{{word}}}"), "");
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.len() > TEXT_BYTES_MAX || !plain.chars().all(fits) {
            let message = format!(
                "`{}` is no domain name such as `www.example.org`, in which `{{option}}` stands for an option of the role",
                shown(&name)
            );
            self.error(path, node.span.start, message);
        }
        name
    }

    fn record(&mut self, node: &Node, path: &str) -> RecordType {
        let Some(name) = self.text(node, "type", path) else {
            return RecordType::A;
        };
        RecordType::named(&name).unwrap_or_else(|| {
            let near = did_you_mean(&name, RecordType::names());
            let all: Vec<&str> = RecordType::names().collect();
            let message = format!(
                "`{}` is no type of record{near}; there are {}",
                shown(&name),
                listed(&all)
            );
            self.error(path, node.span.start, message);
            RecordType::A
        })
    }

    /// A number, or an option of the role in braces.
    fn status(&mut self, node: &Node, path: &str) -> Option<String> {
        let status = self.text(node, "status", path)?;
        let number = status.parse::<u16>().ok();
        let is_status = number.is_some_and(|status| (100..600).contains(&status));
        if !is_status && words(&status).next().is_none() {
            let message = "`status` takes an HTTP status from 100 to 599".to_owned();
            self.error(path, node.span.start, message);
            return None;
        }
        Some(status)
    }

    fn seconds(&mut self, node: &Node, key: &str, path: &str, default: u32, most: u32) -> u32 {
        let seconds = self.number(node, key, path).unwrap_or(default);
        if !(1..=most).contains(&seconds) {
            let message = format!("`{key}` takes seconds from 1 to {most}");
            self.error(path, node.span.start, message);
        }
        seconds
    }

    /// Checks that the ports of health checks, and the variables of their commands, are inputs.
    pub(super) fn health_inputs(&mut self, item: &CatalogItem, at: usize) {
        let inputs: Vec<&str> = item
            .inputs
            .iter()
            .map(|input| input.name.as_str())
            .collect();
        for (index, check) in item.health.iter().enumerate() {
            let path = format!("health.{index}");
            if let Some(port) = check.probe.port().filter(|port| !inputs.contains(port)) {
                let near = did_you_mean(port, inputs.iter().copied());
                let message = format!(
                    "`{}` is no option of the role{near}; a check names the option that holds the port",
                    shown(port)
                );
                self.error(&path, at, message);
            }
            if let Some(option) = check.when.as_deref().filter(|one| !inputs.contains(one)) {
                let near = did_you_mean(option, inputs.iter().copied());
                let message = format!(
                    "`{}` is no option of the role{near}; `when` names the option without which the check is left out",
                    shown(option)
                );
                self.error(&path, at, message);
            }
            let secret = item.inputs.iter().filter(|input| input.secret);
            for (place, text) in filled_texts(&check.probe) {
                for word in words(text) {
                    let problem = if secret.clone().any(|input| input.name == word) {
                        ": it is secret, and the service and the log see it".to_owned()
                    } else if inputs.contains(&word) || place == "text" {
                        continue;
                    } else {
                        did_you_mean(word, inputs.iter().copied())
                    };
                    let message =
                        format!("`{{{}}}` cannot stand in a {place}{problem}", shown(word));
                    self.error(&path, at, message);
                }
            }
            let Probe::Command { command } = &check.probe else {
                continue;
            };
            for input in secret.filter(|input| names(command, &input.name)) {
                let message = format!(
                    "the command of a health check cannot use the secret `{}`: every user of the server sees the commands that run",
                    input.name
                );
                self.error(&path, at, message);
            }
        }
    }
}

/// The texts of a probe in which options stand in braces, each with its place. Braces in a text that an answer contains
/// can also be the answer's own, as in JSON.
fn filled_texts(probe: &Probe) -> Vec<(&'static str, &str)> {
    match probe {
        Probe::Http {
            scheme,
            path,
            status,
            contains,
            ..
        } => {
            let scheme = scheme.as_deref().map(|scheme| ("scheme", scheme));
            let status = status.as_deref().map(|status| ("status", status));
            let text = contains.as_deref().map(|text| ("text", text));
            let texts = [scheme, Some(("path", path.as_str())), status, text];
            texts.into_iter().flatten().collect()
        }
        Probe::Dns { name, .. } => vec![("name", name)],
        Probe::Tcp { .. } | Probe::Command { .. } => Vec::new(),
    }
}
