//! Problems of a recipe. The path of a problem is that of the value: `files.0.path`.

use std::collections::BTreeSet;

use hot::diagnostic::Diagnostic;
use yaql::shown;

use super::{OptionKind, Recipe, RecipeFile, uses};
use crate::catalog::read::{is_item_name, is_version};

/// Maximum length of texts in one line, in bytes.
const LINE_BYTES_MAX: usize = 200;
/// Maximum size of a template in bytes.
const CONTENT_BYTES_MAX: usize = 128 * 1024;
/// Maximum number of packages, files, ports and options each.
const ROWS_MAX: usize = 50;

impl Recipe {
    /// All problems of the recipe. If there are none, [`Recipe::files`] makes a valid item.
    pub fn check(&self) -> Vec<Diagnostic> {
        let mut found = Problems(self.check_manifest());
        self.check_rows(&mut found);
        if self.packages.is_empty() && self.files.is_empty() && self.service.is_empty() {
            found.add(
                "packages",
                "The item does nothing yet: add a package, a file or a service.",
            );
        }
        found.0
    }

    /// The problems of the manifest: name, version, texts, ports and names of options.
    pub(in crate::catalog) fn check_manifest(&self) -> Vec<Diagnostic> {
        let mut found = Problems(Vec::new());
        self.check_head(&mut found);
        self.check_ports(&mut found);
        self.check_names(&mut found);
        found.0
    }

    fn check_head(&self, found: &mut Problems) {
        for (path, text) in [
            ("title", &self.title),
            ("summary", &self.summary),
            ("category", &self.category),
        ] {
            found.line(path, text);
        }
        if !is_item_name(&self.name) {
            let message = "A name has at most 63 lower case letters, digits, `_` and `-`, and begins with a letter.";
            found.add("name", message);
        }
        if !is_version(&self.version) {
            found.add("version", "A version has three numbers, such as `1.0.0`.");
        }
        if !(self.service.is_empty() || is_service(&self.service)) {
            let message = "A service has the name of its unit: letters, digits and `@._-`.";
            found.add("service", message);
        }
    }

    fn check_rows(&self, found: &mut Problems) {
        for (path, count) in [
            ("packages", self.packages.len()),
            ("files", self.files.len()),
            ("ports", self.ports.len()),
            ("options", self.options.len()),
        ] {
            if count > ROWS_MAX {
                found.add(path, &format!("At most {ROWS_MAX} are possible."));
            }
        }
        for (index, package) in self.packages.iter().enumerate() {
            if !is_package(package) {
                let message = format!(
                    "`{}` is no name of a Debian package: use lower case letters, digits and `.+-`.",
                    shown(package)
                );
                found.add(&format!("packages.{index}"), &message);
            }
        }
        for (index, file) in self.files.iter().enumerate() {
            self.check_file(&format!("files.{index}"), file, found);
            let before = &self.files[..index];
            if before.iter().any(|other| other.path == file.path) {
                found.add(
                    &format!("files.{index}.path"),
                    "Another file has this path.",
                );
            }
        }
        for (index, option) in self.options.iter().enumerate() {
            let default = option.default.as_str();
            let problem = match option.kind {
                OptionKind::Number if default.is_empty() || default.parse::<i64>().is_ok() => None,
                OptionKind::Number => Some("The default is a whole number, or empty."),
                OptionKind::Switch if matches!(default, "true" | "false") => None,
                OptionKind::Switch => Some("The default is `true` or `false`."),
                OptionKind::Secret if default.is_empty() => None,
                OptionKind::Secret => {
                    Some("A secret has no default: everybody in the project could read it.")
                }
                OptionKind::Text => None,
            };
            if let Some(message) = problem {
                found.add(&format!("options.{index}.default"), message);
            }
        }
    }

    fn check_ports(&self, found: &mut Problems) {
        for (index, port) in self.ports.iter().enumerate() {
            let is_port = port.number.parse::<u16>().is_ok_and(|number| number > 0);
            if !(port.number.is_empty() || is_port) {
                let path = format!("ports.{index}.number");
                found.add(&path, "A port is a number from 1 to 65535.");
            }
            if !(port.capability.is_empty() || is_item_name(&port.capability)) {
                let message =
                    "A capability has lower case letters, digits, `_` and `-`, such as `http`.";
                found.add(&format!("ports.{index}.capability"), message);
            }
            let mut before = self.ports[..index].iter();
            if !port.capability.is_empty()
                && before.any(|other| other.capability == port.capability)
            {
                found.add(
                    &format!("ports.{index}.capability"),
                    "Another port offers this capability.",
                );
            }
        }
    }

    fn check_file(&self, path: &str, file: &RecipeFile, found: &mut Problems) {
        if !is_path(&file.path) {
            let message = "A path begins with `/`, names a file, and has neither `..` nor braces.";
            found.add(&format!("{path}.path"), message);
        }
        let mode = file.mode.strip_prefix('0').unwrap_or(&file.mode);
        let is_mode = mode.len() == 3 && mode.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
        if !is_mode {
            let message = "Permissions are four octal digits, such as `0644`.";
            found.add(&format!("{path}.mode"), message);
        } else if self.secrets().any(|secret| uses(&file.content, secret)) && !mode.ends_with('0') {
            let message =
                "The file has a secret, so that not every user may read it: use `0600` or `0640`.";
            found.add(&format!("{path}.mode"), message);
        }
        if file.content.len() > CONTENT_BYTES_MAX {
            let message = format!("A file has at most {} KiB.", CONTENT_BYTES_MAX / 1024);
            found.add(&format!("{path}.content"), &message);
        }
    }

    /// Ports and options are variables of the role, each with its own name.
    fn check_names(&self, found: &mut Problems) {
        let ports = self.ports.iter().enumerate();
        let ports = ports.map(|(at, port)| (format!("ports.{at}.option"), &port.option));
        let options = self.options.iter().enumerate();
        let options = options.map(|(at, option)| (format!("options.{at}.name"), &option.name));
        let mut names = BTreeSet::new();
        for (path, name) in ports.chain(options) {
            if !is_variable(name) {
                let message = "An option has lower case letters, digits and `_`, and begins with a letter, such as `listen_port`.";
                found.add(&path, message);
            } else if name == "host" {
                found.add(&path, "`host` is the server that the item runs on.");
            } else if !names.insert(name) {
                found.add(&path, "Another option has this name.");
            }
        }
        for (index, option) in self.options.iter().enumerate() {
            if !option.summary.is_empty() {
                found.line(&format!("options.{index}.summary"), &option.summary);
            }
        }
    }

    /// The names of the secret options.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        let secrets = self.options.iter();
        let secrets = secrets.filter(|option| option.kind == OptionKind::Secret);
        secrets.map(|option| option.name.as_str())
    }
}

struct Problems(Vec<Diagnostic>);

impl Problems {
    fn add(&mut self, path: &str, message: &str) {
        self.0
            .push(Diagnostic::error("item-invalid", path, message));
    }

    fn line(&mut self, path: &str, text: &str) {
        if text.trim().is_empty() {
            self.add(path, "A text is missing.");
        } else if text.len() > LINE_BYTES_MAX || text.chars().any(char::is_control) {
            let message = format!("One line of at most {LINE_BYTES_MAX} bytes is possible.");
            self.add(path, &message);
        }
    }
}

fn is_package(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".+-".contains(c);
    (2..=100).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name.chars().all(is_plain)
}

fn is_service(name: &str) -> bool {
    name.len() <= 100
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "@._-".contains(c))
}

fn is_variable(name: &str) -> bool {
    name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn is_path(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else {
        return false;
    };
    path.len() <= 1000
        && rest
            .split('/')
            .all(|name| !matches!(name, "" | "." | "..") && name.len() <= 255)
        && !path.chars().any(|c| c.is_control() || "{}".contains(c))
}
