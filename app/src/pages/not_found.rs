//! The page for an unknown address.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::ui::Empty;

/// A message with a link to the start page.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    view! {
        <Title text="Not found" />
        <main id="main">
            <Empty is_page=true icon="search" title="This page does not exist" text="The address may be wrong, or the page was removed.">
                <a class="button" data-look="primary" href="/designs">"Go to the designs"</a>
            </Empty>
        </main>
    }
}
