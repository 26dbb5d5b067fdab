//! Example designs that contain the item.

use api::DesignRequest;
use leptos::prelude::*;
use leptos_router::hooks::use_navigate;

use crate::{
    client,
    starters::{STARTERS, Starter},
    ui::{StarterCard, use_toasts},
};

/// The example designs with a component of the item, each with its picture. One that is selected becomes a new design.
#[component]
pub fn Examples(
    /// Name of the item.
    item: String,
) -> impl IntoView {
    let toasts = use_toasts();
    let navigate = StoredValue::new_local(use_navigate());
    let start = Callback::new(move |starter: Starter| {
        let request = DesignRequest {
            name: starter.name.to_owned(),
            template: starter.template.to_owned(),
            ..DesignRequest::default()
        };
        leptos::task::spawn_local(async move {
            match client::design_create(&request).await {
                Ok(design) => {
                    navigate.try_with_value(|navigate| {
                        navigate(&format!("/designs/{}", design.id), Default::default())
                    });
                }
                Err(problem) => toasts.problem(&problem),
            }
        });
    });
    let starters = STARTERS.into_iter();
    let starters: Vec<Starter> = starters.filter(|one| one.has_item(&item)).collect();
    (!starters.is_empty()).then(|| {
        let cards = starters.into_iter();
        let cards = cards.map(|starter| view! { <StarterCard starter start /> });
        view! {
            <section class="section" aria-label="Example designs">
                <h2>"Example designs"</h2>
                <div class="cards">{cards.collect_view()}</div>
            </section>
        }
    })
}
