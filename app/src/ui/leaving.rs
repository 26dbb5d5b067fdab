//! Confirmation before the user leaves a page that has unsaved input.
//!
//! When a tab closes or another site is opened, the browser displays its own dialog. This does not include navigation
//! within the app: links, Back and Forward, the command palette and its keys only change the address. All of these are
//! checked here. A page with unsaved input registers with [`Leaving::ask_first`].

use leptos::prelude::*;
use leptos_router::{hooks::use_location, location::Location};

use crate::browser;

const QUESTION: &str = "Your changes are not saved. Leave the page?";

/// Page with possibly unsaved input.
#[derive(Clone)]
struct Page {
    has_unprotected_changes: Callback<(), bool>,
    address: Location,
}

/// Check before a page is left.
#[derive(Clone, Copy)]
pub struct Leaving {
    page: StoredValue<Option<Page>>,
}

/// Provides the check, for [`crate::App`]. It must be called before the router is created: history events reach
/// listeners in the order of registration, and only the first listener can stop them for all others.
pub fn provide_leaving() {
    let leaving = Leaving {
        page: StoredValue::new(None),
    };
    browser::on_capture("popstate", move |event| {
        if let Some(address) = leaving.kept_address() {
            event.stop_immediate_propagation();
            browser::show_address(&address);
        }
    });
    provide_context(leaving);
}

/// Check of this page.
pub fn use_leaving() -> Leaving {
    expect_context()
}

impl Leaving {
    /// True if the user can leave the page now. Displays a question if input would be lost.
    pub fn can_leave(self) -> bool {
        let has_unprotected_changes = self
            .page()
            .is_some_and(|page| page.has_unprotected_changes.run(()));
        !has_unprotected_changes || browser::confirm(QUESTION)
    }

    /// Registers the calling page: if it `has_unprotected_changes`, the user must confirm before leaving it.
    pub fn ask_first(self, has_unprotected_changes: impl Fn() -> bool + Send + Sync + 'static) {
        let page = Page {
            has_unprotected_changes: Callback::new(move |()| has_unprotected_changes()),
            address: use_location(),
        };
        Effect::new(move |_| {
            self.page.try_set_value(Some(page.clone()));
            browser::on_capture("click", move |event| {
                if browser::leads_to_page(event) && !self.can_leave() {
                    event.prevent_default();
                    event.stop_propagation();
                }
            });
        });
        on_cleanup(move || {
            self.page.try_set_value(None);
        });
    }

    fn page(self) -> Option<Page> {
        self.page.try_get_value().flatten()
    }

    /// Address of the page, if the browser already displays another one and the user wants to stay.
    fn kept_address(self) -> Option<String> {
        let address = self.page()?.address;
        let path = address.pathname.try_get_untracked()?;
        if browser::path() == path || self.can_leave() {
            return None;
        }
        let query = address.search.try_get_untracked()?;
        Some(match query.as_str() {
            "" => path,
            query => format!("{path}?{query}"),
        })
    }
}
