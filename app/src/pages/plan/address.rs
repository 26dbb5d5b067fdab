//! The address of a plan: design and version, or run; deployment; parameter values that are neither hidden nor long.

use leptos::prelude::*;

use super::{Page, source::Origin};
use crate::{
    browser,
    links::{DesignLink, parameter_fields},
    pages::deployment::runs::roll_back_href,
};

impl Page {
    /// Address of the present plan. `version` is another version of the design. Does not track.
    pub(super) fn address(self, version: Option<u32>) -> Option<String> {
        let target = self.target.get_untracked();
        let source = self.source.peek()?;
        let start = match &source.origin {
            Origin::Design {
                id,
                version: planned,
                ..
            } => DesignLink {
                design: id,
                deployment: target.as_deref(),
                version: Some(version.unwrap_or(*planned)),
                ..DesignLink::default()
            }
            .plan(),
            Origin::Run { run, .. } => roll_back_href(run),
        };
        Some(with_parameters(start, &self.form.shared()))
    }

    /// Shows the address of the present plan in the address bar.
    pub(super) fn show_address(self) {
        let address = untrack(|| self.address(None));
        if let Some(address) = address.filter(|address| *address != browser::current_address()) {
            browser::replace_address(&address);
        }
    }
}

/// An address with a query, and parameter values after it.
fn with_parameters(mut address: String, values: &[(String, String)]) -> String {
    for field in parameter_fields(values) {
        address = format!("{address}&{field}");
    }
    address
}

#[cfg(test)]
mod tests {
    use super::with_parameters;

    #[test]
    fn parameters_follow_the_version() {
        let values = [("size".to_owned(), "3".to_owned())];
        assert_eq!(
            with_parameters("/designs/d/plan?version=5".to_owned(), &values),
            "/designs/d/plan?version=5&parameter.size=3"
        );
    }
}
