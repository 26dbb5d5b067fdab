//! An item before it is published: as a card of the catalogue, and in the designer's palette and inspector.

use leptos::prelude::*;
use types::catalog::CatalogItem;

use crate::{
    designer::preview::{self, PreviewFn},
    ui::ItemCard,
};

/// The preview of an item. While there is none, it names the values that an item needs.
#[component]
pub fn ItemPreview(
    /// The item.
    #[prop(into)]
    item: Signal<Option<CatalogItem>>,
) -> impl IntoView {
    let in_designer = RwSignal::new(None::<PreviewFn>);
    let is_missing = RwSignal::new(false);
    Effect::new(move |_| {
        leptos::task::spawn_local(async move {
            match preview::load().await {
                Ok(build) => {
                    in_designer.try_set(Some(build));
                }
                Err(_missing) => {
                    is_missing.try_set(true);
                }
            }
        });
    });
    let shown = move || {
        match item.get() {
        Some(item) => view! {
            <ItemCard item=item.clone() />
            {move || in_designer.get().map(|build| build(item.clone()))}
        }
        .into_any(),
        None => view! { <p class="quiet">"Card and fields appear when the item has a title, name, version, category and summary."</p> }.into_any(),
    }
    };
    let missing = move || {
        is_missing.get().then(|| {
            view! { <p class="quiet">"Palette and inspector cannot be shown: the designer could not be loaded. Reload the page."</p> }
        })
    };
    view! {
        {shown}
        {missing}
    }
}
