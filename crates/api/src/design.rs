//! Designs: templates with a layout and versions; checks and plans of them.

use std::collections::BTreeMap;

use hot::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Beside;

/// Where nodes stand, beside the template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Layout {
    /// Resource name to place.
    pub nodes: BTreeMap<String, Place>,
}

/// A node's place and, for frames, size; in canvas pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Place {
    /// Left.
    pub x: f64,
    /// Top.
    pub y: f64,
    /// Width, where a person chose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<f64>,
    /// Height, where a person chose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<f64>,
}

/// `POST /api/v1/designs` and `PUT /api/v1/designs/{id}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DesignRequest {
    /// For people; not unique.
    pub name: String,
    /// HOT.
    pub template: String,
    /// Files and environments beside it.
    #[serde(flatten)]
    pub beside: Beside,
    /// Where nodes stand.
    #[serde(default)]
    pub layout: Layout,
    /// On `PUT`: the version that was edited. Another one in the store is a conflict (409); without
    /// it the last writer wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_version: Option<u32>,
}

/// A design, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Design {
    /// Its id.
    pub id: String,
    /// For people.
    pub name: String,
    /// HOT.
    pub template: String,
    /// Files and environments beside it.
    #[serde(flatten)]
    pub beside: Beside,
    /// Where nodes stand.
    pub layout: Layout,
    /// Counts up from 1 with every save.
    pub version: u32,
    /// RFC 3339.
    pub created: String,
    /// RFC 3339.
    pub updated: String,
    /// Who saved it last.
    pub author: String,
}

/// One of `GET /api/v1/designs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DesignSummary {
    /// Its id.
    pub id: String,
    /// For people.
    pub name: String,
    /// The newest version.
    pub version: u32,
    /// RFC 3339.
    pub updated: String,
    /// Who saved it last.
    pub author: String,
    /// How many resources are drawn.
    pub resources: u32,
}

/// One of `GET /api/v1/designs/{id}/versions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DesignVersion {
    /// Counts up from 1.
    pub version: u32,
    /// RFC 3339.
    pub saved: String,
    /// Who saved it.
    pub author: String,
    /// HOT.
    pub template: String,
    /// Files and environments beside it.
    #[serde(flatten)]
    pub beside: Beside,
}

/// `POST /api/v1/validate`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ValidateRequest {
    /// HOT.
    pub template: String,
    /// Files and environments beside it.
    #[serde(flatten)]
    pub beside: Beside,
    /// Parameter values. A value under `parameters` of an environment wins over one that is given here.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
}

/// The answer to a validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ValidateResponse {
    /// All problems.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub diagnostics: Vec<Diagnostic>,
}

/// `POST /api/v1/plan`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanRequest {
    /// HOT.
    pub template: String,
    /// Files and environments beside it.
    #[serde(flatten)]
    pub beside: Beside,
    /// Parameter values. A value under `parameters` of an environment wins over one that is given here.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// Id of a deployment to compare with.
    #[serde(default)]
    pub deployment: Option<String>,
}

/// In which form a design leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// A template that OpenStack Heat takes: what is ours is written out.
    Hot,
    /// JSON for Terraform's OpenStack provider.
    Terraform,
    /// TOSCA Simple Profile in YAML 1.3.
    Tosca,
    /// A picture.
    Svg,
}

impl ExportFormat {
    /// As in an address.
    pub fn word(self) -> &'static str {
        match self {
            ExportFormat::Hot => "hot",
            ExportFormat::Terraform => "terraform",
            ExportFormat::Tosca => "tosca",
            ExportFormat::Svg => "svg",
        }
    }
}

/// `POST /api/v1/export`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExportRequest {
    /// In which form.
    pub format: ExportFormat,
    /// HOT.
    pub template: String,
    /// Files and environments beside it.
    #[serde(flatten)]
    pub beside: Beside,
    /// What it is called; the file's name is made from it.
    #[serde(default)]
    pub name: String,
    /// Where nodes stand, for a picture.
    #[serde(default)]
    pub layout: Layout,
    /// What becomes of what a deployment adds.
    #[serde(default)]
    pub additions: ExportAdditions,
}

/// What becomes of what a deployment adds to a design: floating IPs, security groups, routers and the like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ExportAdditions {
    /// It is written out.
    #[default]
    Expanded,
    /// It is left out and named in the report.
    Drawn,
}

/// A file made from a design, and what it does not say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Exported {
    /// In which form.
    pub format: ExportFormat,
    /// What a download is called: `shop.tf.json`, or `shop.hot.tar.gz` where there are files beside it.
    pub file_name: String,
    /// What a download is: `application/json`, or `application/gzip`.
    pub media_type: String,
    /// The file itself.
    pub content: String,
    /// Files that it needs, by path relative to it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// What was left out or changed, in the order of the template.
    pub report: Vec<ExportNote>,
}

/// Something that an export does not say, or says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExportNote {
    /// How it matters.
    pub kind: ExportNoteKind,
    /// Where in the template, such as `resources.web.properties.metadata`; empty for the whole.
    pub path: String,
    /// One sentence.
    pub message: String,
}

/// How a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExportNoteKind {
    /// It is not in the export.
    LeftOut,
    /// It is there in another form, which does not mean quite the same.
    Changed,
    /// A person has to do or give something.
    Needed,
}
