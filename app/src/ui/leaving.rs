//! Before a page is left for another one of ours: would something be lost that a person typed?
//!
//! Where a tab closes or another site comes, the browser asks by itself. Within the app nothing is left in its eyes: links,
//! Back and Forward, the command palette and its keys only change the address. All of these ask here, and a page that holds
//! what is nowhere else says so by [`Leaving::ask_first`].

use leptos::prelude::*;
use leptos_router::{hooks::use_location, location::Location};

use crate::browser;

const QUESTION: &str = "What you typed is not saved anywhere. Leave?";

/// A page that may hold what is nowhere else.
#[derive(Clone)]
struct Page {
    would_lose: Callback<(), bool>,
    address: Location,
}

/// Who asks before the page is left.
#[derive(Clone, Copy)]
pub struct Leaving {
    page: StoredValue<Option<Page>>,
}

/// For [`crate::App`], before the router is there: a step through the history is heard in the order of asking for it, and
/// who says no must be first.
pub fn provide_leaving() {
    let leaving = Leaving {
        page: StoredValue::new(None),
    };
    browser::before("popstate", move |event| {
        if let Some(address) = leaving.stays() {
            event.stop_immediate_propagation();
            browser::show_address(&address);
        }
    });
    provide_context(leaving);
}

/// The page's own.
pub fn use_leaving() -> Leaving {
    expect_context()
}

impl Leaving {
    /// Whether the page may be left now; the person is asked where something would be lost.
    pub fn may(self) -> bool {
        let would_lose = self.page().is_some_and(|page| page.would_lose.run(()));
        !would_lose || browser::agrees(QUESTION)
    }

    /// Before the calling page is left, whichever way, its person is asked if it `would_lose` something.
    pub fn ask_first(self, would_lose: impl Fn() -> bool + Send + Sync + 'static) {
        let page = Page {
            would_lose: Callback::new(move |()| would_lose()),
            address: use_location(),
        };
        Effect::new(move |_| {
            self.page.try_set_value(Some(page.clone()));
            browser::before("click", move |event| {
                if browser::leads_to_page(event) && !self.may() {
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

    /// The address of the page, where the browser shows another one already and the person wants to stay.
    fn stays(self) -> Option<String> {
        let address = self.page()?.address;
        let path = address.pathname.try_get_untracked()?;
        if browser::path() == path || self.may() {
            return None;
        }
        let query = address.search.try_get_untracked()?;
        Some(match query.as_str() {
            "" => path,
            query => format!("{path}?{query}"),
        })
    }
}
