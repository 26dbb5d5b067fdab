//! The address of the view: step, filter, search and marked lines. A link that is copied from the address bar opens the same
//! view, and so does the way back from another page or another view of the run. The page selects the step.

use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::{LogState, marked::Marked};
use crate::{browser, run::log_store::Filter};

/// Shows the view of the page's address after each navigation to it: by a link, or by the browser's "back".
pub fn follow_address(state: LogState) {
    let location = use_location();
    let own = location.pathname.get_untracked();
    Effect::new(move |_| {
        let query = location.query.get();
        let marked = Marked::parse(location.hash.get().trim_start_matches('#'));
        // On the way to another page, the address is already that of the other page.
        if location.pathname.get_untracked() != own {
            return;
        }
        state.query.set(query.get("search").unwrap_or_default());
        state.filter.set(Filter::of_query(|name| query.get(name)));
        state.marked.set(marked);
        if let Some(marked) = marked {
            state.goal.set(Some(*marked.numbers().start()));
            state.follow.set(false);
        }
    });
}

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
