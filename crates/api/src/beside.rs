//! The files beside a template, and which of them are environments.

use std::collections::BTreeMap;

use hot::bundle::Bundle;
use serde::{Deserialize, Serialize};

/// Files beside a template. If left out, the files stored with the request's design or deployment are used. An empty
/// map means no files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TemplateFiles {
    /// Text by name, or by path relative to the template: nested templates, environments, and files for `get_file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<BTreeMap<String, String>>,
    /// Names of the environments among the files, in merge order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environments: Option<Vec<String>>,
}

impl TemplateFiles {
    /// The wire form of a bundle.
    pub fn of(bundle: &Bundle) -> TemplateFiles {
        let files = bundle
            .files()
            .map(|(path, text)| (path.to_owned(), text.to_owned()));
        TemplateFiles {
            files: Some(files.collect()),
            environments: Some(bundle.environments().to_vec()),
        }
    }

    /// No files and no environments. Responses omit such a value.
    pub fn nothing() -> TemplateFiles {
        TemplateFiles::default()
    }

    /// The bundle for the template language.
    pub fn bundle(&self) -> Bundle {
        Bundle::new(
            self.files.clone().unwrap_or_default(),
            self.environments.clone().unwrap_or_default(),
        )
    }

    /// Fills omitted parts from `stored`.
    pub fn or(self, stored: &TemplateFiles) -> TemplateFiles {
        TemplateFiles {
            files: self.files.or_else(|| stored.files.clone()),
            environments: self.environments.or_else(|| stored.environments.clone()),
        }
    }
}
