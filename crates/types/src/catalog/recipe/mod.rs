//! Catalogue items that are made from a form: packages, configuration files, a service, ports and options.
//!
//! A recipe becomes an ordinary Ansible role with a manifest ([`Recipe::files`]), the same that an author would write by
//! hand. So there is one kind of item: everything that reads items needs to know nothing of recipes. The role keeps the
//! recipe itself as [`RECIPE_FILE`], from which the form of the next version is filled.
//!
//! [`Recipe::check`] finds what the form got wrong, with the path of each value. It is pure, so that the browser calls it
//! on every keystroke, and the server again.

mod check;
mod files;

use serde::{Deserialize, Serialize};

/// The file of the role that contains the recipe as JSON.
pub const RECIPE_FILE: &str = "recipe.json";

/// The content of the form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Unique name in lower case, which names the resource type.
    pub name: String,
    /// Display name.
    pub title: String,
    /// Semantic version.
    pub version: String,
    /// Summary in one line.
    pub summary: String,
    /// Category, such as `web`.
    pub category: String,
    /// Debian packages that are installed.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Files that are written after the packages are installed.
    #[serde(default)]
    pub files: Vec<RecipeFile>,
    /// Name of the system service that is started now and at boot, and restarted when a file changes. Empty for none.
    #[serde(default)]
    pub service: String,
    /// Ports that the service listens on.
    #[serde(default)]
    pub ports: Vec<RecipePort>,
    /// Further options.
    #[serde(default)]
    pub options: Vec<RecipeOption>,
}

/// A file on the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecipeFile {
    /// Absolute path.
    pub path: String,
    /// Permissions as octal digits, such as `0644`.
    pub mode: String,
    /// Jinja template; `{{ listen_port }}` is the value of an option.
    pub content: String,
}

/// A port, which is an option of the item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecipePort {
    /// Name of the option with the number, such as `listen_port`.
    pub option: String,
    /// Default number. Without one, the option is required.
    #[serde(default)]
    pub number: String,
    /// The transport protocol.
    pub protocol: Protocol,
    /// Capability that other components connect to, such as `http`. Empty for none.
    #[serde(default)]
    pub capability: String,
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP. The item is healthy when the port accepts a connection.
    #[default]
    Tcp,
    /// UDP.
    Udp,
}

/// An option of the item: a field of its form in the designer, and a variable of the templates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecipeOption {
    /// Name of the variable.
    pub name: String,
    /// The kind of value.
    pub kind: OptionKind,
    /// Default as text. A number without one is required; a secret has none.
    #[serde(default)]
    pub default: String,
    /// Description in one sentence.
    #[serde(default)]
    pub summary: String,
}

/// The kind of an option's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptionKind {
    /// Any text.
    #[default]
    Text,
    /// A whole number.
    Number,
    /// True or false.
    Switch,
    /// A text that is required, and covered in logs and pages.
    Secret,
}

impl Recipe {
    /// An empty form of a first version.
    pub fn new() -> Recipe {
        Recipe {
            version: "1.0.0".to_owned(),
            category: "your own".to_owned(),
            ..Recipe::default()
        }
    }

    /// The form of the next version: the same with a higher minor number.
    pub fn next(self) -> Recipe {
        let core = self.version.split(['-', '+']).next().unwrap_or_default();
        let numbers: Vec<u32> = core
            .split('.')
            .filter_map(|part| part.parse().ok())
            .collect();
        let version = match numbers[..] {
            [major, minor, _] => format!("{major}.{}.0", minor.saturating_add(1)),
            _ => self.version.clone(),
        };
        Recipe { version, ..self }
    }
}

impl Protocol {
    /// The name in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
        }
    }
}

/// True if a template uses the variable: it is a separate word in the text.
fn uses(template: &str, variable: &str) -> bool {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    template.match_indices(variable).any(|(at, _)| {
        let before = template[..at].chars().next_back();
        let after = template[at + variable.len()..].chars().next();
        !before.is_some_and(is_of_word) && !after.is_some_and(is_of_word)
    })
}

#[cfg(test)]
mod tests;
