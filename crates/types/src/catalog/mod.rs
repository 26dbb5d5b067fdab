//! Catalogue items: an Ansible role and a small manifest as a resource type.
//!
//! `meta/argument_specs.yml` of the role defines the properties. `item.yml` adds information without an equivalent in
//! Ansible. This module is pure; the caller reads the files.

use std::{cmp::Ordering, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use crate::property::Property;

mod health;
mod read;
pub mod recipe;
pub mod role;

pub use health::{HealthCheck, Probe, RecordType};

/// Prefix of values set by the role's `set_stats`, in the text of an output.
pub const STATS: &str = "stats.";
/// The folder of a role's tasks.
const TASKS: &str = "tasks/";
/// Separates a draft's version from the digest of its files.
const DRAFT: &str = "-draft.";
/// Number of the digest's digits in a draft's version.
const DRAFT_DIGITS: usize = 12;
/// The tasks of a role.
pub const MAIN_TASKS: &str = "tasks/main.yml";
/// The tasks that run when a component is removed from the design and its server stays.
pub const REMOVAL_TASKS: &str = "tasks/remove.yml";
/// The tasks that install the software, and that need no other component. `tasks/main.yml` imports them.
pub const INSTALLATION_TASKS: &str = "tasks/install.yml";

/// A software component for servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CatalogItem {
    /// Unique name in lower case: `nginx`. The resource type is `Stackloom::Catalog::nginx`.
    pub name: String,
    /// Display name.
    pub title: String,
    /// Semantic version. A deployment stays on the version that its components were set up with, until an upgrade.
    pub version: String,
    /// Summary in one line.
    pub summary: String,
    /// Category, such as `web`.
    pub category: String,
    /// SVG text, validated to contain only drawing elements.
    #[serde(default)]
    pub icon: String,
    /// Readme in Markdown.
    #[serde(default)]
    pub readme: String,
    /// Properties from the role's `main` argument specification.
    #[serde(default)]
    pub inputs: Vec<Property>,
    /// Listening ports.
    #[serde(default)]
    pub listens: Vec<Listen>,
    /// Capabilities for connections from other components.
    #[serde(default)]
    pub provides: Vec<Capability>,
    /// Connections to other components. Each is a property with references, and a role variable of the same name with a
    /// list of endpoints: `{name, address, port}` and the values that the capability shares.
    #[serde(default)]
    pub requires: Vec<Requirement>,
    /// Attributes. The text of an output can contain `{address}` (public, else private), `{private_address}`,
    /// `{<input>}` and `{stats.<name>}`, a value of the role's `set_stats`.
    #[serde(default)]
    pub outputs: Vec<Output>,
    /// Commands for running components, such as `reload`.
    #[serde(default)]
    pub commands: Vec<ItemCommand>,
    /// Checks that tell whether a component works, in the order in which they run after the role.
    #[serde(default)]
    pub health: Vec<HealthCheck>,
    /// True if the role has [`REMOVAL_TASKS`], which take the software off its server.
    #[serde(default)]
    pub removes: bool,
    /// True if the role has [`INSTALLATION_TASKS`], which run before the components that it requires are ready.
    #[serde(default)]
    pub installs: bool,
    /// Images that the item was tested on.
    #[serde(default)]
    pub tested: Vec<String>,
}

/// A listening port of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listen {
    /// Input with the port number.
    pub port: String,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// True for a port that only peers use: components of the same item that are connected to each other, directly or
    /// through others. It is open in both directions, and to nobody else.
    #[serde(default)]
    pub peers: bool,
}

/// A capability that a component provides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {
    /// Name, such as `http`.
    pub name: String,
    /// Input with the port number.
    pub port: String,
    /// Inputs whose values connected components get beside the address, such as `database`, `user` and `password`.
    #[serde(default)]
    pub shares: Vec<String>,
    /// Values of inputs with which a component provides it, by input. Empty means that it always does.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, String>,
    /// Role variable with the connected components: a list of `{name, secret}`. Each secret is generated for one
    /// consumer, whose endpoint has both as [`CONSUMER_KEY`] and [`SECRET_KEY`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumers: Option<String>,
}

impl Capability {
    /// The inputs whose values are in its endpoints: the port, and those that it shares.
    pub fn endpoint_inputs(&self) -> impl Iterator<Item = &str> {
        let shares = self.shares.iter().map(String::as_str);
        std::iter::once(self.port.as_str()).chain(shares)
    }
}

/// Keys of every endpoint. A capability cannot share inputs with these names.
pub const ENDPOINT_KEYS: [&str; 3] = ["name", "address", "port"];
/// Key of a component's name, in endpoints and in lists of [`Capability::consumers`].
pub const NAME_KEY: &str = "name";
/// Key of a consumer's secret, in its endpoint and in the list of [`Capability::consumers`].
pub const SECRET_KEY: &str = "secret";
/// Key of the consumer's own name in its endpoint.
pub const CONSUMER_KEY: &str = "consumer";

/// A connection that a component requires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// Name of the property and the role variable, such as `backends`.
    pub name: String,
    /// Required capability, such as `http`.
    pub capability: String,
    /// Minimum number of connections.
    #[serde(default)]
    pub min: u32,
    /// Maximum number of connections. `None` means unlimited.
    #[serde(default)]
    pub max: Option<u32>,
    /// Summary in one sentence.
    #[serde(default)]
    pub summary: String,
    /// False if only the addresses of the others are used, as by a name server: no port is opened for the connection.
    #[serde(default = "yes")]
    pub opens: bool,
    /// Condition of the others before the role runs.
    #[serde(default)]
    pub needs: Need,
}

/// Condition of a component before a role that requires it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// Health: it is set up, and its health checks succeed.
    #[default]
    Health,
    /// An address: its server exists, and its port and shared inputs are known. Components can require each other so.
    Address,
}

fn yes() -> bool {
    true
}

/// An attribute of a running component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Name of the attribute.
    pub name: String,
    /// Text with placeholders in braces.
    pub value: String,
}

/// A command for a running component: tasks of its role, with the component's inputs as variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemCommand {
    /// Name, such as `reload`.
    pub name: String,
    /// Summary in one line.
    pub summary: String,
    /// File with the tasks, in the folder `tasks` of the role: `tasks/reload.yml`.
    pub tasks: String,
}

impl ItemCommand {
    /// The file as Ansible's `tasks_from` names it.
    pub fn tasks_from(&self) -> &str {
        self.tasks.strip_prefix(TASKS).unwrap_or(&self.tasks)
    }
}

/// True if a command of a shell uses the variable of an input: `$port` or `${port}`.
pub fn names(command: &str, input: &str) -> bool {
    let mut uses = command.split('$').skip(1);
    uses.any(|rest| {
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        rest.strip_prefix(input)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    })
}

/// The version of a draft: that of its manifest, and the beginning of the hexadecimal digest of its files.
pub fn draft_version(version: &str, digest: &str) -> String {
    let digest = digest.get(..DRAFT_DIGITS).unwrap_or(digest);
    format!("{version}{DRAFT}{digest}")
}

/// True for the version of a draft, which is deployed by tests only. No manifest can have such a version.
pub fn is_draft(version: &str) -> bool {
    version.rsplit_once(DRAFT).is_some_and(|(_, digest)| {
        digest.len() == DRAFT_DIGITS && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Compares two versions by Semantic Versioning 2.0: numbers compare as numbers, a release is newer than its
/// pre-releases, and build metadata after `+` is ignored.
pub fn precedence(one: &str, other: &str) -> Ordering {
    let parts = |version: &str| {
        let version = version.split('+').next().unwrap_or_default().to_owned();
        match version.split_once('-') {
            Some((core, before)) => (core.to_owned(), Some(before.to_owned())),
            None => (version, None),
        }
    };
    let ((core, before), (other_core, other_before)) = (parts(one), parts(other));
    dotted(&core, &other_core).then_with(|| match (before, other_before) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(before), Some(other)) => dotted(&before, &other),
    })
}

fn dotted(one: &str, other: &str) -> Ordering {
    // Numbers precede words, as in Semantic Versioning; `Ok` is less than `Err`.
    let key = |part: &str| part.parse::<u64>().map_err(|_| part.to_owned());
    one.split('.').map(key).cmp(other.split('.').map(key))
}

impl CatalogItem {
    /// Parses the texts of `item.yml` and `meta/argument_specs.yml`. The caller sets icon, readme, `removes`
    /// and `installs`.
    ///
    /// # Errors
    /// All problems of both texts. A path begins with the name of the file.
    pub fn parse(
        manifest: &str,
        argument_specs: &str,
    ) -> Result<CatalogItem, Vec<hot::diagnostic::Diagnostic>> {
        read::item(manifest, argument_specs)
    }

    /// The capability with this name.
    pub fn capability(&self, name: &str) -> Option<&Capability> {
        self.provides.iter().find(|offered| offered.name == name)
    }

    /// The requirement with this name.
    pub fn requirement(&self, name: &str) -> Option<&Requirement> {
        self.requires.iter().find(|one| one.name == name)
    }

    /// True for a role variable whose value comes from connections: a requirement, or a list of consumers.
    pub fn is_from_connections(&self, variable: &str) -> bool {
        let mut consumers = self
            .provides
            .iter()
            .filter_map(|one| one.consumers.as_deref());
        self.requirement(variable).is_some() || consumers.any(|consumers| consumers == variable)
    }

    /// The command with this name.
    pub fn command(&self, name: &str) -> Option<&ItemCommand> {
        self.commands.iter().find(|command| command.name == name)
    }

    /// The name of the resource type: `Stackloom::Catalog::<name>`.
    pub fn type_name(&self) -> String {
        format!("Stackloom::Catalog::{}", self.name)
    }
}

#[cfg(test)]
mod tests;
