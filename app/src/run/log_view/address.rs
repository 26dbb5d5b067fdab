//! The address of the view: step, filter, search and marked lines. A link that is copied from the address bar opens the same
//! view, and so does the way back from another page.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::LogState;
use crate::browser;

/// Shows the address of the present view in the address bar.
pub fn show_address(state: LogState) {
    let page = use_location().pathname;
    Effect::new(move |_| {
        let address = state.address();
        // On the way to another page, the address bar still has this one.
        if page.get_untracked() == browser::path() {
            browser::replace_address(&address);
        }
    });
}

impl LogState {
    fn address(self) -> String {
        let mut query = self.query_of(None);
        let search = self.query.get();
        if !search.is_empty() {
            query.push_str("&search=");
            query.push_str(&browser::encode(&search));
        }
        let mut address = browser::path();
        if let Some(query) = query.strip_prefix('&') {
            address.push('?');
            address.push_str(query);
        }
        if let Some(marked) = self.marked.get() {
            address.push('#');
            address.push_str(&marked.fragment());
        }
        address
    }
}
