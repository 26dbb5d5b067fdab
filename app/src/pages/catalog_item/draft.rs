//! Publishing of a draft, with the files that were tested.

use leptos::prelude::*;
use leptos_router::hooks::use_navigate;

use crate::{
    client, links,
    session::use_session,
    ui::{Icon, use_toasts},
};

/// The button that publishes a draft, and then shows the published version.
#[component]
pub fn PublishDraft(
    /// Name of the item.
    name: String,
    /// The version of the draft.
    version: String,
) -> impl IntoView {
    let navigate = StoredValue::new_local(use_navigate());
    let (session, toasts) = (use_session(), use_toasts());
    let is_busy = RwSignal::new(false);
    let publish = move |_| {
        let (name, version) = (name.clone(), version.clone());
        is_busy.set(true);
        leptos::task::spawn_local(async move {
            let published = client::item_draft_publish(&name, &version).await;
            is_busy.try_set(false);
            match published {
                Ok(entry) => {
                    let item = entry.item;
                    toasts.done(format!(
                        "{} {} is in the catalogue",
                        item.title, item.version
                    ));
                    let place = links::item(&item.name, None);
                    navigate.try_with_value(|navigate| navigate(&place, Default::default()));
                }
                Err(problem) => toasts.problem(&problem),
            }
        });
    };
    view! {
        <button
            type="button" class="button" data-look="primary" disabled=move || is_busy.get() || !session.can_change() on:click=publish
        >
            <Icon name="file-up" />
            "Publish"
        </button>
    }
}
