//! The items of a project's catalogue.

use serde::{Deserialize, Serialize};
use types::catalog::CatalogItem;

/// A catalogue item and its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CatalogEntry {
    /// The item.
    #[serde(flatten)]
    pub item: CatalogItem,
    /// The upload, for the project's own items. `None` for the server's items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uploaded: Option<Uploaded>,
}

/// The upload of a project's own item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uploaded {
    /// User who uploaded this version.
    pub author: String,
    /// Time of the upload, in RFC 3339.
    pub time: String,
    /// All versions, newest first. Deployments keep the version of their creation.
    pub versions: Vec<String>,
    /// True if this version was made from a form, so that the form of the next version can be filled.
    #[serde(default)]
    pub from_form: bool,
    /// The template of the item's own test, `tests/design.yaml`. Only of drafts that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
}

/// A draft of an item: a version that is in no catalogue, for tests before it is published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ItemDraft {
    /// Name of the item.
    pub name: String,
    /// The version, with a part of the digest of its files.
    pub version: String,
    /// User who stored it.
    pub author: String,
    /// Time of the upload, in RFC 3339.
    pub time: String,
}

/// A catalogue item that a deployment uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeployedItem {
    /// Name of the item.
    pub name: String,
    /// The version that the deployment uses.
    pub version: String,
    /// All versions that the deployment can change to, newest first: those of the project's item, or the server's
    /// present one and older ones that deployments use or used.
    pub versions: Vec<String>,
    /// Its components in the deployment, by name.
    pub components: Vec<String>,
}

/// A catalogue item in a git repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Repository {
    /// Address of the repository: https, without a name or password.
    pub url: String,
    /// Branch, tag or commit. The default branch if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Folder of the item in the repository. The repository itself if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// A finding of Ansible's linter on an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LintFinding {
    /// The linter's rule, such as `name[missing]`.
    pub rule: String,
    /// Severity of the finding.
    pub level: LintLevel,
    /// Text of the finding.
    pub message: String,
    /// Path of the file in the item.
    pub path: String,
    /// Line in the file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// Severity of a finding of the linter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum LintLevel {
    /// The role may not work.
    Error,
    /// The role works, and could be better.
    Warning,
}

/// A deployment with components of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ItemUse {
    /// Id of the deployment.
    pub deployment: String,
    /// Name of the deployment.
    pub name: String,
    /// The version that the deployment uses. `None` if it was last changed before versions of the server's items were
    /// recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The item's components in the deployment, by name.
    pub components: Vec<String>,
}

/// The files that differ between two versions of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ItemComparison {
    /// Files that differ, by path.
    pub files: Vec<FileChange>,
}

/// A file of an item in two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileChange {
    /// Path inside the item.
    pub path: String,
    /// The text in the one version. Absent if that has no such file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The text in the other version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
}
