//! Problem details, for people and programs.

use hot::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};

/// RFC 9457 problem details.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// Type: `/errors/<code>`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Title of a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// Stable code in kebab case.
    pub code: String,
    /// Failed operation, its object and the reason.
    pub detail: String,
    /// Next step for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Path of the invalid field or template part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Line in the template, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// All problems of a template, if it was refused because of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub diagnostics: Vec<Diagnostic>,
}
