//! The address of a plan: design and version, or run; deployment; parameter values that are neither hidden nor long, and
//! the names of the other entered parameters. Notes say which values the address omits, and which are missing here.

use leptos::prelude::*;

use super::{
    Page,
    sharing::{missing, omitted},
    source::Origin,
};
use crate::{
    browser,
    links::{DesignLink, SharedParameters},
    pages::deployment::runs::roll_back_href,
    ui::{Icon, prose},
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

/// An address with a query, and parameters after it.
fn with_parameters(start: String, parameters: &SharedParameters) -> String {
    let mut fields = vec![start];
    fields.extend(parameters.fields());
    fields.join("&")
}

/// The entered parameters that the page's address omits, with the reasons, for the user who shares it.
#[component]
pub(super) fn OmittedNote(
    /// The page's state.
    page: Page,
) -> impl IntoView {
    let names = Memo::new(move |_| omitted(&page.form.sharing()));
    move || {
        let names = names.get()?;
        let text = format!(
            "The address of this page omits values: {names}. Others who open it must enter them."
        );
        Some(view! { <p class="meta" role="note">{prose(&text)}</p> })
    }
}

/// The parameters whose values the opened address omits, for the user who opened it.
#[component]
pub(super) fn MissingNote(
    /// The page's state.
    page: Page,
) -> impl IntoView {
    let names = Memo::new(move |_| missing(&page.form.sharing()));
    move || {
        let names = names.get()?;
        let title = format!("The address of this page omits values: {names}.");
        Some(view! {
            <div class="plan-obstacle" role="note">
                <Icon name="info" />
                <div>
                    <p><strong>{prose(&title)}</strong></p>
                    <p>"They are hidden or too long for an address. Until you enter them, this plan uses defaults in their place, or the values of the deployment or the earlier run."</p>
                </div>
            </div>
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{SharedParameters, with_parameters};

    #[test]
    fn parameters_follow_the_version() {
        let parameters = SharedParameters {
            values: vec![("size".to_owned(), "3".to_owned())],
            omitted: vec!["key".to_owned()],
        };
        assert_eq!(
            with_parameters("/designs/d/plan?version=5".to_owned(), &parameters),
            "/designs/d/plan?version=5&parameter.size=3&omitted=key"
        );
    }
}
