//! Preview of the item: as a card of the catalogue, in the designer's palette and inspector, and as files of the role.

use leptos::prelude::*;
use types::catalog::{CatalogItem, recipe::Recipe};

use super::form::Form;
use crate::pages::item_preview::ItemPreview;

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
            <ItemPreview item />
            <section class="section" aria-label="Files of the role">
                <h2>"Files of the role"</h2>
                <div class="item-files">{tabs}</div>
                <pre class="item-text mono" tabindex="0" aria-label="File">{text}</pre>
            </section>
        </aside>
    }
}
