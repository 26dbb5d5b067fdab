//! The address of the view: step, filter, search and marked lines. A link that is copied from the address bar opens the same
//! view, and so does the way back from another page.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::LogState;
use crate::browser;

/// Shows the address of the present view in the address bar.
pub fn show_address(state: LogState) {
    let path = use_location().pathname;
    let own = path.get_untracked();
    Effect::new(move |_| {
        let query = state.address_query();
        // On the way to another page, the router has the other path. After the browser's "back", so has the address bar.
        if path.get_untracked() == own && browser::path() == own {
            browser::replace_address(&format!("{own}{query}"));
        }
    });
}

impl LogState {
    /// The part of the address after its path.
    fn address_query(self) -> String {
        let mut query = self.query_of(None);
        let search = self.query.get();
        if !search.is_empty() {
            query.push_str("&search=");
            query.push_str(&browser::encode(&search));
        }
        let mut query = query.replacen('&', "?", 1);
        if let Some(marked) = self.marked.get() {
            query.push('#');
            query.push_str(&marked.fragment());
        }
        query
    }
}
