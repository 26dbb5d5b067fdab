//! Catalogue items: an Ansible role and a small manifest, read as a resource type.
//!
//! `meta/argument_specs.yml` of the role gives the properties; `item.yml` adds what Ansible has no
//! word for. Reading the files is the caller's; this is the pure part.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::property::Property;

mod read;

/// Before the name of a value that a role tells by `set_stats`, in the text of an output.
pub const STATS: &str = "stats.";

/// What can be dropped on a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CatalogItem {
    /// Unique, lower case: `nginx`. The resource type is `Stackloom::Catalog::nginx`.
    pub name: String,
    /// For people.
    pub title: String,
    /// Semantic version.
    pub version: String,
    /// One line.
    pub summary: String,
    /// Such as `web`.
    pub category: String,
    /// SVG text, checked to hold nothing but drawing.
    #[serde(default)]
    pub icon: String,
    /// Markdown.
    #[serde(default)]
    pub readme: String,
    /// From the role's `main` argument specification.
    #[serde(default)]
    pub inputs: Vec<Property>,
    /// What it listens on.
    #[serde(default)]
    pub listens: Vec<Listen>,
    /// Capabilities that others can be connected to.
    #[serde(default)]
    pub provides: Vec<Capability>,
    /// What it can be connected to. Each is a property that takes references, and a role variable of
    /// the same name that gets a list of `{name, address, port}`.
    #[serde(default)]
    pub requires: Vec<Requirement>,
    /// Attribute name to text with `{address}` (public, else private), `{private_address}`, `{<input>}` and
    /// `{stats.<name>}` in it: what the role told by Ansible's `set_stats`.
    #[serde(default)]
    pub outputs: Vec<Output>,
    /// Images that it was tested on.
    #[serde(default)]
    pub tested: Vec<String>,
}

/// A port that a component listens on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listen {
    /// The input that holds the port number.
    pub port: String,
    /// `tcp` or `udp`.
    pub protocol: String,
}

/// What a component offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {
    /// Such as `http`.
    pub name: String,
    /// The input that holds its port number.
    pub port: String,
}

/// What a component needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// The property and the role variable, such as `backends`.
    pub name: String,
    /// The capability that fits, such as `http`.
    pub capability: String,
    /// At least.
    #[serde(default)]
    pub min: u32,
    /// At most; no limit where absent.
    #[serde(default)]
    pub max: Option<u32>,
    /// One sentence.
    #[serde(default)]
    pub summary: String,
}

/// What a component tells when it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The attribute.
    pub name: String,
    /// Text with `{...}` in it.
    pub value: String,
}

/// Which of two versions is newer, by the rules of Semantic Versioning 2.0: numbers count as numbers, a release is newer than
/// what led to it, and what follows a `+` does not count.
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
    // Numbers are older than words, as the rules say; `Ok` is less than `Err`.
    let key = |part: &str| part.parse::<u64>().map_err(|_| part.to_owned());
    one.split('.').map(key).cmp(other.split('.').map(key))
}

impl CatalogItem {
    /// From the texts of `item.yml` and `meta/argument_specs.yml`; icon and readme are set by the caller.
    ///
    /// # Errors
    /// All problems of both texts; a path begins with the file's name.
    pub fn parse(
        manifest: &str,
        argument_specs: &str,
    ) -> Result<CatalogItem, Vec<hot::diagnostic::Diagnostic>> {
        read::item(manifest, argument_specs)
    }

    /// The name of its resource type: `Stackloom::Catalog::<name>`.
    pub fn type_name(&self) -> String {
        format!("Stackloom::Catalog::{}", self.name)
    }
}

#[cfg(test)]
mod tests;
