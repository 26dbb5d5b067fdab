//! Templates of others, as HOT.

use serde::{Deserialize, Serialize};

use crate::ExportNoteKind;

/// `POST /api/v1/import`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportRequest {
    /// A CloudFormation template, JSON or YAML, of Amazon's or of Heat's dialect.
    pub text: String,
}

impl ImportRequest {
    /// Whether a text reads like a template of others rather than HOT: by its version, or by `Resources` where HOT says `resources`.
    pub fn fits(text: &str) -> bool {
        let key = |name: &str| {
            text.lines().any(|line| {
                let line = line.trim_start_matches([' ', '\t', '{', '"', '\'']);
                let rest = line.strip_prefix(name);
                rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
            })
        };
        key("AWSTemplateFormatVersion")
            || key("HeatTemplateFormatVersion")
            || (key("Resources") && !key("heat_template_version"))
    }
}

/// A template made from another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Imported {
    /// HOT.
    pub template: String,
    /// What was not plain, in the order of the text.
    pub report: Vec<ImportNote>,
}

/// Something that an import leaves out, or says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportNote {
    /// How it matters.
    pub kind: ExportNoteKind,
    /// Where in the text, such as `Resources.Web.Properties.Tenancy`.
    pub path: String,
    /// Its line there, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// One sentence.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::ImportRequest;

    #[test]
    fn templates_of_others_are_known_by_their_keys() {
        assert!(ImportRequest::fits(
            "{\n  \"AWSTemplateFormatVersion\" : \"2010-09-09\"}"
        ));
        assert!(ImportRequest::fits(
            "HeatTemplateFormatVersion: '2012-12-12'\n"
        ));
        assert!(ImportRequest::fits("Resources:\n  Web: {}\n"));
        assert!(!ImportRequest::fits(
            "heat_template_version: 2021-04-16\nresources: {}\n"
        ));
        assert!(!ImportRequest::fits(
            "parameters:\n  Resources: 3\nheat_template_version: 1\n"
        ));
    }
}
