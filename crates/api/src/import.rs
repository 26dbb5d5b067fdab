//! Imports of templates in other formats as HOT.

use serde::{Deserialize, Serialize};

use crate::ExportNoteKind;

/// `POST /api/v1/import`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportRequest {
    /// A CloudFormation template in JSON or YAML, of Amazon's or Heat's dialect; or an exported plain HOT.
    pub text: String,
}

impl ImportRequest {
    /// True if a text is probably an importable template and not ordinary HOT: it has CloudFormation's version, or
    /// `Resources` where HOT has `resources`. Exported HOT is importable too and is recognised by its marks, because
    /// the server can restore the design from it.
    ///
    /// Only top-level keys count, because a template can be embedded in another one, for example as a server's user
    /// data.
    pub fn fits(text: &str) -> bool {
        let keys = top_keys(text);
        let has = |name: &str| keys.contains(&name);
        if ImportRequest::is_hot(text) {
            return ["stackloom", "exported"]
                .iter()
                .all(|mark| text.contains(mark));
        }
        has("AWSTemplateFormatVersion") || has("HeatTemplateFormatVersion") || has("Resources")
    }

    /// True if the text has HOT's version.
    pub fn is_hot(text: &str) -> bool {
        top_keys(text).contains(&"heat_template_version")
    }

    /// The file name after the conversion: with `.yaml`, as in references to nested templates, and with a number if the
    /// name is taken.
    pub fn name_for(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let plain = format!("{stem}.yaml");
        if !is_taken(&plain) {
            return plain;
        }
        let mut number = 2_usize;
        loop {
            let numbered = format!("{stem}-{number}.yaml");
            if !is_taken(&numbered) {
                return numbered;
            }
            number += 1;
        }
    }
}

/// Keys in the first column, or directly inside the outermost brace of JSON. Other texts can have such keys too, but no
/// relevant ones.
fn top_keys(text: &str) -> Vec<&str> {
    let text = text
        .trim_start_matches('\u{feff}')
        .trim_start_matches(['\r', '\n']);
    if let Some(inner) = text.trim_start().strip_prefix('{') {
        return keys_in_brace(inner);
    }
    let lines = text.lines().filter(|line| !line.starts_with([' ', '\t']));
    let keys = lines.filter_map(|line| line.split_once(':'));
    keys.map(|(key, _)| unquoted(key)).collect()
}

/// Keys of a map, after its opening brace.
fn keys_in_brace(inner: &str) -> Vec<&str> {
    let mut keys = Vec::new();
    let mut key_starts = Some(0);
    let (mut depth, mut in_text, mut is_escaped) = (1_usize, false, false);
    for (at, c) in inner.char_indices() {
        if in_text {
            in_text = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            continue;
        }
        match c {
            '"' => in_text = true,
            '{' | '[' => depth += 1,
            '}' | ']' if depth == 1 => break,
            '}' | ']' => depth -= 1,
            ',' if depth == 1 => key_starts = Some(at + 1),
            ':' if depth == 1 => {
                if let Some(start) = key_starts.take() {
                    keys.push(unquoted(&inner[start..at]));
                }
            }
            _ => {}
        }
    }
    keys
}

fn unquoted(key: &str) -> &str {
    key.trim().trim_matches(['"', '\''])
}

/// A converted template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Imported {
    /// The template, in HOT.
    pub template: String,
    /// Inexact conversions, in the order of the text.
    pub report: Vec<ImportNote>,
}

/// A note on a part that an import leaves out or changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportNote {
    /// Kind of note.
    pub kind: ExportNoteKind,
    /// Path in the text, such as `Resources.Web.Properties.Tenancy`.
    pub path: String,
    /// Line in the text, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Message, one sentence.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::ImportRequest;

    #[test]
    fn cloudformation_templates_are_recognised_by_their_keys() {
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
        assert!(ImportRequest::fits(
            "heat_template_version: 2021-04-16\nresources:\n  net: {type: OS::Neutron::Net, metadata: {stackloom: {exported: added}}}\n"
        ));
        assert!(!ImportRequest::fits(
            "parameters:\n  Resources: 3\nheat_template_version: 1\n"
        ));
    }

    #[test]
    fn nested_keys_do_not_decide_the_kind_of_template() {
        for (text, fits) in [
            ("config:\n  Resources: {}\n", false),
            (
                "heat_template_version: 2021-04-16\nresources:\n  web:\n    properties:\n      user_data: |\n        AWSTemplateFormatVersion: x\n        Resources: {}\n",
                false,
            ),
            (
                "AWSTemplateFormatVersion: x\nheat_template_version: y\n",
                false,
            ),
            (r#"{"config": {"Resources": {}}}"#, false),
            (r#"{"note": "{\"Resources\": 1}, \"Resources\": 2"}"#, false),
            (
                r#"{"heat_template_version": "2021-04-16", "Resources": {}}"#,
                false,
            ),
            (r#"{"a": [1, {"b": "}"}], "Resources" : {}}"#, true),
            ("\u{feff}\n{Resources: {}}", true),
            ("# Ours: a site\n'Resources':\n  Web: {}\n", true),
        ] {
            assert_eq!(ImportRequest::fits(text), fits, "{text}");
        }
    }

    #[test]
    fn imported_files_get_different_names() {
        let name =
            |taken: &[&str]| ImportRequest::name_for("site.json", |one| taken.contains(&one));
        assert_eq!(name(&[]), "site.yaml");
        assert_eq!(name(&["site.yaml"]), "site-2.yaml");
        assert_eq!(name(&["site.yaml", "site-2.yaml"]), "site-3.yaml");
        assert_eq!(ImportRequest::name_for("site", |_| false), "site.yaml");
    }
}
