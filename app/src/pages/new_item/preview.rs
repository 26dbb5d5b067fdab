//! Preview of the item: as a card of the catalogue, in the designer's palette and inspector, and as files of the role.

use leptos::prelude::*;
use types::catalog::{CatalogItem, recipe::Recipe};

use super::form::Form;
use crate::{
    designer::preview::{self, PreviewFn},
    ui::ItemCard,
};

/// The preview, while the form is filled in.
#[component]
pub fn Preview(form: Form) -> impl IntoView {
    let files = Memo::new(move |_| form.recipe.with(Recipe::files));
    let item = Memo::new(move |_| {
        files.with(|files| {
            let text = |path: &str| files.get(path).map_or("", String::as_str);
            CatalogItem::parse(text("item.yml"), text("meta/argument_specs.yml")).ok()
        })
    });
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
    let card = move || {
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
    let opened = RwSignal::new("tasks/main.yml".to_owned());
    let paths = Memo::new(move |_| files.with(|files| files.keys().cloned().collect::<Vec<_>>()));
    let text = move || {
        let path = opened.get();
        files.with(|files| files.get(&path).or(files.get("tasks/main.yml")).cloned())
    };
    let tabs = move || {
        paths
            .get()
            .into_iter()
            .map(|path| {
                let own = path.clone();
                let is_open = move || opened.with(|opened| *opened == own);
                view! {
                    <button
                        type="button" class="button" data-look="ghost" data-size="small" aria-pressed=move || is_open().to_string()
                        on:click={ let path = path.clone(); move |_| opened.set(path.clone()) }
                    >
                        {path.clone()}
                    </button>
                }
            })
            .collect_view()
    };
    view! {
        <aside class="item-preview" aria-label="Preview">
            <h2>"Preview"</h2>
            {card}
            {missing}
            <section class="section" aria-label="Files of the role">
                <h2>"Files of the role"</h2>
                <div class="item-files">{tabs}</div>
                <pre class="item-text mono" tabindex="0" aria-label="File">{text}</pre>
            </section>
        </aside>
    }
}
