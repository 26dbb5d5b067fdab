//! Helpers of tests in several modules.

use crate::diagnostic::Diagnostic;

/// One line each: `line:column severity code path: message`.
pub fn told(diagnostics: &[Diagnostic]) -> String {
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
