//! What is wrong with a template, and where.

use serde::{Deserialize, Serialize};

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing can be deployed until this is mended.
    Error,
    /// It can be deployed, but a person should know.
    Warning,
    /// What the passes decided, said aloud.
    Info,
}

/// One problem at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// Stable, kebab-case, one page each under `docs/errors/`.
    pub code: String,
    /// One sentence: what is wrong, and what would be right.
    pub message: String,
    /// Dotted path in the template, such as `resources.web.properties.networks.0`; empty for the whole.
    pub path: String,
    /// 1-based line in the text, where there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// 1-based column in characters, where there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub column: Option<u32>,
}

impl Diagnostic {
    /// The resource that this is about, if its path leads into one.
    pub fn resource(&self) -> Option<&str> {
        self.path.strip_prefix("resources.")?.split('.').next()
    }
}
