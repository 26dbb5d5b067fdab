//! A design as others read it.
//!
//! | format | what it is | what becomes of our own |
//! | --- | --- | --- |
//! | [`Format::Hot`] | a template that Heat itself takes | what passes add is written out; software becomes `OS::Heat::SoftwareDeployment` |
//! | [`Format::Terraform`] | JSON for the OpenStack provider | the same resources; software is left out |
//! | [`Format::Tosca`] | Simple Profile in YAML 1.3 | software is a node type of its own; routers, rules and the like are left out |
//! | [`Format::Svg`] | a picture that needs no other file | drawn as on the canvas, without ghosts |
//!
//! No format holds all that the others can say, so each export carries a [`Report`]: what was left out, what is meant otherwise,
//! and what a person still has to give. The report stands in the file too, as a comment, since files part from what was said
//! about them.
//!
//! A design may be several files: nested templates, environments, and what `get_file` names. HOT keeps them as files, with every
//! name leading to the file as Heat's own client follows it; Terraform and TOSCA take nested templates and groups apart. An
//! export of more than one file is packed into an [`archive`].
//!
//! Plain HOT knows the way back: [`restored`] makes of it the design that it was made from.
//!
//! A crate of its own, because the browser does not need it: the server exports, and the page only asks.
//!
//! Exporters read expressions in their HOT form (`{"get_attr": ["web", "name"]}`) and not as variants, so that a function that
//! the language learns is a line in a table here, and until then a line in the report.

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

/// What is exported, and what is known around it.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The design's name.
    pub name: &'a str,
    /// Its template.
    pub document: &'a Document,
    /// Files and environments beside it.
    pub bundle: &'a Bundle,
    /// Resource types, those of the catalogue included.
    pub types: &'a Registry,
    /// What the cloud has: passes choose by it.
    pub cloud: &'a CloudFacts,
    /// Where nodes stand, for the picture.
    pub places: &'a Places,
    /// What becomes of what a plan would add.
    pub additions: Additions,
}

/// What becomes of what passes add: floating IPs, security groups, routers and the like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Additions {
    /// It is written out, so that the file makes what a deployment would make.
    #[default]
    Expanded,
    /// It is left out and named in the report: the file says what is drawn.
    Drawn,
}

/// Who shall read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// OpenStack Heat.
    Hot,
    /// Terraform and OpenTofu.
    Terraform,
    /// Orchestrators that read TOSCA.
    Tosca,
    /// People.
    Svg,
}

/// A file, those that belong to it, and what they do not say.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// Such as `shop.tf.json`.
    pub file_name: String,
    /// Its content.
    pub text: String,
    /// Files that it needs, by path relative to it; mostly none.
    pub beside: Vec<ExportFile>,
    /// What was left out or changed.
    pub report: Report,
}

/// A file beside the main one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportFile {
    /// Relative to the main file, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// The template cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// What is wrong with it, and where.
    pub message: String,
    /// 1-based, where it is known.
    pub line: Option<u32>,
}

impl Format {
    /// All, in the order of a menu.
    pub const ALL: [Format; 4] = [Format::Hot, Format::Terraform, Format::Tosca, Format::Svg];

    /// As in an address.
    pub fn word(self) -> &'static str {
        match self {
            Format::Hot => "hot",
            Format::Terraform => "terraform",
            Format::Tosca => "tosca",
            Format::Svg => "svg",
        }
    }

    /// As HTTP calls it.
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

/// The design in a format.
///
/// # Errors
/// When the template's text has a syntax error. All else that is wrong with it is exported as it is, and named in the report.
pub fn export(source: &Source<'_>, format: Format) -> Result<Export, Unreadable> {
    if !source.document.is_readable() {
        let problem = source
            .document
            .diagnostics()
            .iter()
            .find(|one| one.is_error());
        return Err(Unreadable {
            message: problem.map_or("the template cannot be read".to_owned(), |one| {
                one.message.clone()
            }),
            line: problem.and_then(|one| one.line),
        });
    }
    let alone = |(text, report)| (text, Vec::new(), report);
    let (text, beside, report) = match format {
        Format::Hot => plain_hot::export(source),
        Format::Terraform => terraform::export(source),
        Format::Tosca => alone(tosca::export(source)),
        Format::Svg => alone(svg::export(source)),
    };
    // None of the design's own files takes the export's place.
    let mut stem = file_stem(source.name);
    let named = |stem: &str| format!("{stem}.{}", format.ending());
    while beside.iter().any(|file| file.path == named(&stem)) {
        stem.push_str("-export");
    }
    Ok(Export {
        file_name: named(&stem),
        text,
        beside,
        report,
    })
}

/// The design that an export of ours as plain HOT was made from, with what was changed in the file since; nothing for any other
/// text.
pub fn restored(text: &str, types: &Registry) -> Option<String> {
    let document = Document::parse(text);
    if !document.is_readable() {
        return None;
    }
    plain_hot::marks::restored(&document, types)
}

/// A name that every file system and shell takes.
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
