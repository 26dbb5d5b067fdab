//! Before a page is left for another one of ours: would something be lost that a person typed?
//!
//! Where a tab closes or another site comes, the browser asks by itself. Within the app nothing is left in its eyes: links,
//! Back and Forward, the command palette and its keys only change the address. All of these ask here, and a page that holds
//! what is nowhere else says so by [`Leaving::ask_first`].

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use crate::browser;

const QUESTION: &str = "What you typed is not saved anywhere. Leave?";

/// Who asks before the page is left.
#[derive(Clone, Copy)]
pub struct Leaving {
    would_lose: StoredValue<Option<Callback<(), bool>>>,
}

/// For [`crate::App`].
pub fn provide_leaving() {
    provide_context(Leaving {
        would_lose: StoredValue::new(None),
    });
}

/// The page's own.
pub fn use_leaving() -> Leaving {
    expect_context()
}

impl Leaving {
    /// Whether the page may be left now; the person is asked where something would be lost.
    pub fn may(self) -> bool {
        let would_lose = self.would_lose.try_get_value().flatten();
        !would_lose.is_some_and(|would_lose| would_lose.run(())) || browser::agrees(QUESTION)
    }

    /// Before the calling page is left, whichever way, its person is asked if it `would_lose` something.
    pub fn ask_first(self, would_lose: impl Fn() -> bool + Send + Sync + 'static) {
        let would_lose = Callback::new(move |()| would_lose());
        let page = use_location();
        Effect::new(move |_| {
            self.would_lose.try_set_value(Some(would_lose));
            browser::before("click", move |event| {
                if browser::leads_to_page(event) && !self.may() {
                    event.prevent_default();
                    event.stop_propagation();
                }
            });
            // The address has changed by then, the page has not: the router hears of it after us.
            browser::before("popstate", move |event| {
                let (Some(path), Some(query)) = (
                    page.pathname.try_get_untracked(),
                    page.search.try_get_untracked(),
                ) else {
                    return;
                };
                if browser::path() != path && !self.may() {
                    event.stop_immediate_propagation();
                    let query = Some(query).filter(|query| !query.is_empty());
                    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
                    browser::show_address(&format!("{path}{query}"));
                }
            });
        });
        on_cleanup(move || {
            self.would_lose.try_set_value(None);
        });
    }
}
