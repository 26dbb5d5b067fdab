//! A catalogue item as a card, before it is in the catalogue.

use leptos::prelude::*;
use types::catalog::CatalogItem;

use super::ItemIcon;

/// The card, without a link.
#[component]
pub fn ItemCard(
    /// The item.
    item: CatalogItem,
) -> impl IntoView {
    view! {
        <article class="card">
            <div class="card-head">
                <ItemIcon icon=item.icon />
                <div class="grow">
                    <h3 class="card-title">{item.title}</h3>
                    <p class="meta">{item.category}</p>
                </div>
                <span class="pill">{item.version}</span>
            </div>
            <p class="card-text">{item.summary}</p>
        </article>
    }
}
