//! What went wrong, for people and programs.

use hot::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};

/// RFC 9457 problem details.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// `/errors/<code>`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// Stable, kebab-case.
    pub code: String,
    /// What was tried, on what, what came back.
    pub detail: String,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The field or template path at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// 1-based line in the template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// All problems of a template, where it was refused for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub diagnostics: Vec<Diagnostic>,
}
