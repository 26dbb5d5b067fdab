//! Designs: templates with layout and versions, their validation and plans.

use std::collections::BTreeMap;

use hot::diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::TemplateFiles;

/// Positions of the nodes, stored beside the template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Layout {
    /// Positions by resource name.
    pub nodes: BTreeMap<String, NodePosition>,
}

/// Position of a node and, for frames, its size. In canvas pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodePosition {
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
    /// Width, if set by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<f64>,
    /// Height, if set by the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<f64>,
    /// For a folded frame: its corner before it was folded. The positions of its contents are relative to that corner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folded: Option<NodeCorner>,
}

/// Upper left corner of a node, in canvas pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodeCorner {
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
}

/// `POST /api/v1/designs` and `PUT /api/v1/designs/{id}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DesignRequest {
    /// Name for users. Need not be unique.
    pub name: String,
    /// The template's text, in HOT.
    pub template: String,
    /// Files and environments beside the template.
    #[serde(flatten)]
    pub beside: TemplateFiles,
    /// Positions of the nodes.
    #[serde(default)]
    pub layout: Layout,
    /// For `PUT`: the version that was edited. If the stored version differs, the request is a conflict (409). Without
    /// it the last writer wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_version: Option<u32>,
}

/// A design with its template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Design {
    /// Id.
    pub id: String,
    /// Name for users.
    pub name: String,
    /// The template's text, in HOT.
    pub template: String,
    /// Files and environments beside the template.
    #[serde(flatten)]
    pub beside: TemplateFiles,
    /// Positions of the nodes.
    pub layout: Layout,
    /// Version number. Starts at 1 and increases with every save.
    pub version: u32,
    /// Time of creation, in RFC 3339.
    pub created: String,
    /// Time of the last save, in RFC 3339.
    pub updated: String,
    /// User who saved it last.
    pub author: String,
}

/// An entry of `GET /api/v1/designs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DesignSummary {
    /// Id.
    pub id: String,
    /// Name for users.
    pub name: String,
    /// The newest version.
    pub version: u32,
    /// Time of the last save, in RFC 3339.
    pub updated: String,
    /// User who saved it last.
    pub author: String,
    /// Number of resources in the template.
    pub resources: u32,
}

/// An entry of `GET /api/v1/designs/{id}/versions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DesignVersionSummary {
    /// Version number, from 1.
    pub version: u32,
    /// Time of the save, in RFC 3339.
    pub saved: String,
    /// User who saved it.
    pub author: String,
    /// Name that a user gave it. A version with a label is not removed for newer ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// `GET /api/v1/designs/{id}/versions/{version}`: the content of a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DesignVersion {
    /// Number, time, author and label.
    #[serde(flatten)]
    pub summary: DesignVersionSummary,
    /// The template's text, in HOT.
    pub template: String,
    /// Files and environments beside the template.
    #[serde(flatten)]
    pub beside: TemplateFiles,
    /// Positions of the nodes.
    pub layout: Layout,
}

/// `PUT /api/v1/designs/{id}/versions/{version}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DesignVersionLabel {
    /// The new label, at most 100 characters. An empty one is removed.
    pub label: String,
}

/// `POST /api/v1/designs/{id}/viewers`: the caller has the design open, or leaves it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ViewerRequest {
    /// Random id of the page, 1 to 64 characters. It tells the pages of a user apart.
    pub page: String,
    /// Names of the resources that are selected on the page, at most 20.
    #[serde(default)]
    pub selected: Vec<String>,
    /// Whether the page is being left. It counts no more then.
    #[serde(default)]
    pub leaves: bool,
}

/// The response to a [`ViewerRequest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DesignWatch {
    /// Number of the design's newest version.
    pub version: u32,
    /// The other pages on which the design is open, by the name of their users.
    pub others: Vec<DesignViewer>,
}

/// A page on which a user has a design open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DesignViewer {
    /// Name of the user.
    pub user: String,
    /// Whether the user is the caller, on another page.
    pub is_caller: bool,
    /// Names of the resources that are selected there.
    pub selected: Vec<String>,
}

/// `POST /api/v1/validate`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ValidateRequest {
    /// The template's text, in HOT.
    pub template: String,
    /// Files and environments beside the template.
    #[serde(flatten)]
    pub beside: TemplateFiles,
    /// Parameter values. A value under `parameters` of an environment takes precedence.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
}

/// The response to a validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ValidateResponse {
    /// All problems.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub diagnostics: Vec<Diagnostic>,
}

/// `POST /api/v1/plan`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanRequest {
    /// The template's text, in HOT.
    pub template: String,
    /// Files and environments beside the template.
    #[serde(flatten)]
    pub beside: TemplateFiles,
    /// Parameter values. A value under `parameters` of an environment takes precedence.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// Id of the deployment to update. Without it the plan is for a new one.
    #[serde(default)]
    pub deployment: Option<String>,
    /// Sizes of scaling groups, by name. The other groups keep their members.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, u64>,
    /// Repairs what the last check of the deployment has found, unless a run has come after it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repair: bool,
    /// Versions of catalogue items, by name, which can be drafts. Of the other items, the deployment keeps its versions,
    /// and a new one gets the newest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
}

/// Format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// A template for OpenStack Heat. Extensions of this program are written as plain resources.
    Hot,
    /// JSON for Terraform's OpenStack provider.
    Terraform,
    /// TOSCA Simple Profile in YAML 1.3.
    Tosca,
    /// An SVG picture.
    Svg,
}

impl ExportFormat {
    /// The format's name in URLs.
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
    /// Format.
    pub format: ExportFormat,
    /// The template's text, in HOT.
    pub template: String,
    /// Files and environments beside the template.
    #[serde(flatten)]
    pub beside: TemplateFiles,
    /// Name of the design. The file name is derived from it.
    #[serde(default)]
    pub name: String,
    /// Positions of the nodes, for a picture.
    #[serde(default)]
    pub layout: Layout,
    /// Treatment of the resources that a deployment adds.
    #[serde(default)]
    pub additions: ExportAdditions,
}

/// Treatment of the resources that a deployment adds to a design: floating IPs, security groups, routers and the like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ExportAdditions {
    /// They are part of the export.
    #[default]
    Expanded,
    /// They are left out and listed in the report.
    Drawn,
}

/// An exported file, and a report of what it leaves out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Exported {
    /// Format.
    pub format: ExportFormat,
    /// File name of a download: `shop.tf.json`, or `shop.hot.tar.gz` if there are files beside it.
    pub file_name: String,
    /// Media type of a download: `application/json`, or `application/gzip`.
    pub media_type: String,
    /// Content of the file.
    pub content: String,
    /// Files that it needs, by path relative to it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Parts that were left out or changed, in the order of the template.
    pub report: Vec<ExportNote>,
}

/// A note on a part that an export leaves out or changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExportNote {
    /// Kind of note.
    pub kind: ExportNoteKind,
    /// Path in the template, such as `resources.web.properties.metadata`. Empty for the whole template.
    pub path: String,
    /// Message, one sentence.
    pub message: String,
}

/// Kind of an export note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExportNoteKind {
    /// The part is not in the export.
    LeftOut,
    /// The part has another form, with a slightly different meaning.
    Changed,
    /// The user has to do or provide something.
    Needed,
}
