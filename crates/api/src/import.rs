//! Templates of others, as HOT.

use serde::{Deserialize, Serialize};

use crate::ExportNoteKind;

/// `POST /api/v1/import`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportRequest {
    /// A CloudFormation template, JSON or YAML, of Amazon's or of Heat's dialect; or plain HOT that we exported.
    pub text: String,
}

impl ImportRequest {
    /// Whether a text reads like a template of others rather than HOT: by its version, or by `Resources` where HOT says
    /// `resources`. HOT that was exported here is one too, by its marks: the server knows the design that it was made from.
    ///
    /// Only the template's own keys count: a template may well stand in another one's text, as a server's user data.
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

    /// Whether a text says that it is HOT.
    pub fn is_hot(text: &str) -> bool {
        top_keys(text).contains(&"heat_template_version")
    }

    /// What a file is called once it is HOT: `.yaml`, as a nested one is asked for, or with a number where another file has that
    /// name.
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

/// Keys at the first column, or within the outermost brace of JSON. Texts that are neither have some too; nobody looks for those.
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

/// Keys of a map whose opening brace has been read.
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
        assert!(ImportRequest::fits(
            "heat_template_version: 2021-04-16\nresources:\n  net: {type: OS::Neutron::Net, metadata: {stackloom: {exported: added}}}\n"
        ));
        assert!(!ImportRequest::fits(
            "parameters:\n  Resources: 3\nheat_template_version: 1\n"
        ));
    }

    #[test]
    fn keys_further_in_are_not_the_templates_own() {
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
    fn no_file_takes_the_name_of_another() {
        let name =
            |taken: &[&str]| ImportRequest::name_for("site.json", |one| taken.contains(&one));
        assert_eq!(name(&[]), "site.yaml");
        assert_eq!(name(&["site.yaml"]), "site-2.yaml");
        assert_eq!(name(&["site.yaml", "site-2.yaml"]), "site-3.yaml");
        assert_eq!(ImportRequest::name_for("site", |_| false), "site.yaml");
    }
}
