//! Exports of designs to other formats.
//!
//! | format | content | software and additions of passes |
//! | --- | --- | --- |
//! | [`Format::Hot`] | template for Heat | additions as resources; software as `OS::Heat::SoftwareDeployment` |
//! | [`Format::Terraform`] | JSON for the OpenStack provider | additions as resources; no software |
//! | [`Format::Tosca`] | Simple Profile in YAML 1.3 | software as node types; no routers, rules and the like |
//! | [`Format::Svg`] | picture without external files | drawn as on the canvas, without ghosts |
//!
//! No format can express everything, so each export has a [`Report`]: parts that were left out, parts with a changed
//! meaning, and values that the user has to provide. The report is also a comment in the file, because a file can be
//! passed on without it.
//!
//! A design can have several files: nested templates, environments, and files for `get_file`. HOT keeps them as files,
//! with names that Heat's own client can resolve. Terraform and TOSCA expand nested templates and groups. An export of
//! more than one file is packed into an [`archive`].
//!
//! Plain HOT can be converted back: [`restored`] returns the original design.
//!
//! This is its own crate, because the browser does not need it: the server exports on the page's request.
//!
//! Exporters read expressions in their HOT form (`{"get_attr": ["web", "name"]}`) instead of enum variants. A new
//! function of the language therefore needs only a line in a table here, and appears in the report until then.

pub mod archive;
mod expand;
mod plain_hot;
mod structure;
mod svg;
mod terraform;
mod tosca;

use std::fmt;
use std::str::FromStr;

use canvas::layout::Places;
use hot::bundle::Bundle;
use hot::document::Document;
use planner::cloud::CloudFacts;
use types::Registry;

pub use crate::report::{Kind, Note, Report};

/// The input of an export.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Name of the design.
    pub name: &'a str,
    /// The template.
    pub document: &'a Document,
    /// Files and environments beside the template.
    pub bundle: &'a Bundle,
    /// Resource types, including those of the catalogue.
    pub types: &'a Registry,
    /// The facts of the cloud, which passes use.
    pub cloud: &'a CloudFacts,
    /// Positions of the nodes, for the picture.
    pub places: &'a Places,
    /// Treatment of the additions of passes.
    pub additions: Additions,
}

/// Treatment of the resources that passes add: floating IPs, security groups, routers and the like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Additions {
    /// Additions are part of the export, so that it creates the same resources as a deployment.
    #[default]
    Expanded,
    /// Additions are left out and listed in the report, so that the file has the drawn resources only. In HOT, the secrets of
    /// software stay.
    Drawn,
}

/// Format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// HOT, for OpenStack Heat.
    Hot,
    /// JSON, for Terraform and OpenTofu.
    Terraform,
    /// TOSCA, for its orchestrators.
    Tosca,
    /// SVG, as a picture.
    Svg,
}

/// An exported file, the files beside it and the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// File name, such as `shop.tf.json`.
    pub file_name: String,
    /// Content.
    pub text: String,
    /// Files that it needs. Usually none.
    pub files: Vec<ExportFile>,
    /// Parts that were left out or changed.
    pub report: Report,
}

/// A file beside the main one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFile {
    /// Path relative to the main file, with `/`.
    pub path: String,
    /// Content.
    pub text: String,
}

/// The error for a template that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The syntax error and its place.
    pub message: String,
    /// Line, from 1. `None` if unknown.
    pub line: Option<u32>,
}

impl Format {
    /// All formats, in the order of a menu.
    pub const ALL: [Format; 4] = [Format::Hot, Format::Terraform, Format::Tosca, Format::Svg];

    /// The name of the format in URLs.
    pub fn word(self) -> &'static str {
        match self {
            Format::Hot => "hot",
            Format::Terraform => "terraform",
            Format::Tosca => "tosca",
            Format::Svg => "svg",
        }
    }

    /// Media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Hot | Format::Tosca => "application/yaml",
            Format::Terraform => "application/json",
            Format::Svg => "image/svg+xml",
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Format::Hot => "hot.yaml",
            Format::Terraform => "tf.json",
            Format::Tosca => "tosca.yaml",
            Format::Svg => "svg",
        }
    }
}

impl FromStr for Format {
    type Err = ();

    fn from_str(word: &str) -> Result<Format, ()> {
        Format::ALL
            .into_iter()
            .find(|format| format.word() == word)
            .ok_or(())
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Exports the design. Problems of the template other than syntax errors are exported unchanged and listed in the report.
///
/// # Errors
/// If the template's text has a syntax error.
pub fn export(source: &Source<'_>, format: Format) -> Result<Export, Unreadable> {
    if !source.document.is_readable() {
        let problem = source
            .document
            .diagnostics()
            .iter()
            .find(|one| one.is_error());
        return Err(Unreadable {
            message: problem.map_or(
                "The template has a syntax error. Correct it and export again".to_owned(),
                |one| one.message.clone(),
            ),
            line: problem.and_then(|one| one.line),
        });
    }
    let alone = |(text, report)| (text, Vec::new(), report);
    let (text, files, report) = match format {
        Format::Hot => plain_hot::export(source),
        Format::Terraform => terraform::export(source),
        Format::Tosca => alone(tosca::export(source)),
        Format::Svg => alone(svg::export(source)),
    };
    // The main file must not overwrite a file of the design.
    let mut stem = file_stem(source.name);
    let named = |stem: &str| format!("{stem}.{}", format.ending());
    while files.iter().any(|file| file.path == named(&stem)) {
        stem.push_str("-export");
    }
    Ok(Export {
        file_name: named(&stem),
        text,
        files,
        report,
    })
}

/// The design that an exported plain HOT was made from, with later changes of the file. `None` for any other text.
pub fn restored(text: &str, types: &Registry) -> Option<String> {
    let document = Document::parse(text);
    if !document.is_readable() {
        return None;
    }
    plain_hot::marks::restored(&document, types)
}

/// A name that is valid in every file system and shell.
fn file_stem(name: &str) -> String {
    let mut stem = String::new();
    for c in name.chars().take(64) {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => stem.push(c.to_ascii_lowercase()),
            _ if !stem.is_empty() && !stem.ends_with('-') => stem.push('-'),
            _ => {}
        }
    }
    let stem = stem.trim_end_matches('-');
    if stem.is_empty() {
        "design".to_owned()
    } else {
        stem.to_owned()
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
