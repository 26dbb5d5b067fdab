//! Diagnostics: the problems of a template, with their places.
//!
//! A diagnostic is created with a path only; [`crate::document::Document::locate`] adds line and column from the text.
//! Checks and passes therefore need no positions.

use serde::{Deserialize, Serialize};

/// All codes of this crate and of the crates that use it. Each has a page under `docs/errors/`.
pub const CODES: &[&str] = &[
    "action-restricted",
    "alias-bomb",
    "archive-invalid",
    "attribute-not-given",
    "bad-name",
    "bastion-ambiguous",
    "bastion-missing",
    "bastion-picked",
    "bastion-unreachable",
    "capability-not-provided",
    "circular-reference",
    "cloudformation-template",
    "component-without-host",
    "condition-late",
    "connection-count",
    "constraint-invalid",
    "constraint-not-looked-up",
    "deletion-policy-unknown",
    "duplicate-key",
    "environment-conflict",
    "environment-encrypted",
    "environment-ignored",
    "environment-overrides",
    "environment-secret",
    "external-depends",
    "external-id-changed",
    "external-network-picked",
    "external-network-unknown",
    "file-missing",
    "former-name",
    "function-arguments",
    "function-unsupported",
    "gateway-added",
    "group-count",
    "group-definition",
    "group-size",
    "hidden-value-lost",
    "item-invalid",
    "item-not-tested",
    "item-version",
    "kept-in-the-way",
    "manifest-missing",
    "merge-key-invalid",
    "nested-recursion",
    "nested-too-deep",
    "nested-too-large",
    "network-without-subnet",
    "parameter-group-invalid",
    "parameter-immutable",
    "parameter-invalid",
    "parameter-missing",
    "parameter-type-unknown",
    "port-conflict",
    "property-conflict",
    "property-constraint",
    "property-missing",
    "property-type",
    "property-unsupported",
    "quota-exceeded",
    "reference-type",
    "resource-off",
    "resource-type-missing",
    "resource-type-not-deployable",
    "resource-type-unknown",
    "server-without-network",
    "server-without-port",
    "service-missing",
    "several-documents",
    "signal-url-missing",
    "software-not-run",
    "software-stays",
    "software-tool-needed",
    "software-unsupported",
    "template-too-deep",
    "template-too-large",
    "too-many-resources",
    "unknown-attribute",
    "unknown-availability-zone",
    "unknown-condition",
    "unknown-external-network",
    "unknown-flavor",
    "unknown-image",
    "unknown-in-cloud",
    "unknown-key",
    "unknown-key-pair",
    "unknown-network",
    "unknown-parameter",
    "unknown-property",
    "unknown-resource",
    "unknown-volume-type",
    "values-too-large",
    "version-missing",
    "version-unknown",
    "wrong-shape",
    "yaml-key",
    "yaml-syntax",
    "yaml-tag",
];

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Must be corrected before a deployment.
    Error,
    /// Deployment is possible, but the result can be unexpected.
    Warning,
    /// A decision of the passes.
    Info,
}

/// Problem at one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The error code: stable, in kebab-case, with a page under `docs/errors/`.
    pub code: String,
    /// One sentence: the problem, and the correct form.
    pub message: String,
    /// Dotted path in the template, such as `resources.web.properties.networks.0`. Empty for the whole template.
    pub path: String,
    /// File beside the template. `None` for the template itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// 1-based line. `None` if the problem has no position in the text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// 1-based column in characters. `None` if the problem has no position in the text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub column: Option<u32>,
}

impl Diagnostic {
    /// Error at a path, without a line yet.
    pub fn error(code: &str, path: impl Into<String>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, path, message)
    }

    /// Warning at a path, without a line yet.
    pub fn warning(code: &str, path: impl Into<String>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, path, message)
    }

    /// Notice at a path, without a line yet.
    pub fn info(code: &str, path: impl Into<String>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Info, code, path, message)
    }

    fn new(
        severity: Severity,
        code: &str,
        path: impl Into<String>,
        message: impl Into<String>,
    ) -> Diagnostic {
        debug_assert!(CODES.contains(&code), "`{code}` is not in CODES");
        Diagnostic {
            severity,
            code: code.to_owned(),
            message: message.into(),
            path: path.into(),
            file: None,
            line: None,
            column: None,
        }
    }

    /// True if the diagnostic prevents a deployment.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Resource of the diagnostic, if its path contains one.
    pub fn resource(&self) -> Option<&str> {
        self.path.strip_prefix("resources.")?.split('.').next()
    }
}

/// Code of the diagnostic about values with an excessive total size.
pub const TOO_MUCH: &str = "values-too-large";

impl Diagnostic {
    /// True for a diagnostic with the code [`TOO_MUCH`].
    pub fn is_too_much(&self) -> bool {
        self.code == TOO_MUCH
    }
}

/// Sorts in the order of the text. Diagnostics without a line come last.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by_key(|one| {
        (
            one.line.unwrap_or(u32::MAX),
            one.column.unwrap_or(u32::MAX),
            one.severity,
        )
    });
    // Diagnostics of the template come first, then those of the files beside it.
    diagnostics.sort_by(|one, other| one.file.cmp(&other.file));
}

/// Diagnostics as text, one line each: `line:column severity code path: message`. For tests.
pub fn listing(diagnostics: &[Diagnostic]) -> String {
    let lines = diagnostics.iter().map(|one| {
        let at = one.line.map_or("-".to_owned(), |line| {
            format!("{line}:{}", one.column.unwrap_or(0))
        });
        format!(
            "{at} {:?} {} {}: {}",
            one.severity, one.code, one.path, one.message
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_kebab_case() {
        assert!(CODES.is_sorted());
        assert!(
            CODES
                .iter()
                .all(|code| code.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        );
    }

    #[test]
    fn every_code_has_a_page() {
        let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors/");
        let missing: Vec<_> = CODES
            .iter()
            .filter(|code| !std::path::Path::new(&format!("{pages}{code}.md")).exists())
            .collect();
        assert!(missing.is_empty(), "no page for {missing:?}");
    }

    #[test]
    fn a_path_into_a_resource_names_it() {
        assert_eq!(
            Diagnostic::error("bad-name", "resources.web.properties.image", "").resource(),
            Some("web")
        );
        assert_eq!(
            Diagnostic::error("bad-name", "outputs.url", "").resource(),
            None
        );
    }
}
