//! Items of the catalogue, as a project has them.

use serde::{Deserialize, Serialize};
use types::catalog::CatalogItem;

/// An item, and where it came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CatalogEntry {
    /// What it is.
    #[serde(flatten)]
    pub item: CatalogItem,
    /// Who put it into the project's catalogue; the server's own items have nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uploaded: Option<Uploaded>,
}

/// Where a project's own item came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uploaded {
    /// Who uploaded this version.
    pub author: String,
    /// When, RFC 3339.
    pub time: String,
    /// All that there are, newest first. Deployments keep the one that they were made with.
    pub versions: Vec<String>,
}
