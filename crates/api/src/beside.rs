//! What goes with a template: files, and which of them are environments.

use std::collections::BTreeMap;

use hot::bundle::Bundle;
use serde::{Deserialize, Serialize};

/// Files beside a template. Left out, those are meant that are stored with the design or deployment
/// that the request names; an empty map means none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Beside {
    /// By name, or by path relative to the template: nested templates, environments, and what
    /// `get_file` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<BTreeMap<String, String>>,
    /// Names of the files that are environments, in the order in which they are merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environments: Option<Vec<String>>,
}

impl Beside {
    /// As a request or an answer says it.
    pub fn of(bundle: &Bundle) -> Beside {
        let files = bundle
            .files()
            .map(|(path, text)| (path.to_owned(), text.to_owned()));
        Beside {
            files: Some(files.collect()),
            environments: Some(bundle.environments().to_vec()),
        }
    }

    /// Nothing at all, as answers leave it out.
    pub fn nothing() -> Beside {
        Beside::default()
    }

    /// As the language takes it.
    pub fn bundle(&self) -> Bundle {
        Bundle::new(
            self.files.clone().unwrap_or_default(),
            self.environments.clone().unwrap_or_default(),
        )
    }

    /// With what is left out taken from `stored`.
    pub fn or(self, stored: &Beside) -> Beside {
        Beside {
            files: self.files.or_else(|| stored.files.clone()),
            environments: self.environments.or_else(|| stored.environments.clone()),
        }
    }
}
