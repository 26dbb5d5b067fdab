//! A starter design as a card.

use leptos::prelude::*;

use super::Icon;
use crate::{
    session::use_session,
    starters::{EMPTY, Starter},
};

/// The card with the picture that is drawn from the template. The empty design has none.
#[component]
pub fn StarterCard(
    /// The starter.
    starter: Starter,
    /// Called when the card is selected.
    start: Callback<Starter>,
) -> impl IntoView {
    let session = use_session();
    let is_empty = starter.name == EMPTY.name;
    let title = if is_empty { "Empty" } else { starter.name };
    view! {
        <button type="button" class="card" disabled=move || !session.can_change() on:click=move |_| start.run(starter)>
            {(!is_empty).then(|| view! {
                <img class="card-picture" alt="" loading="lazy" src=format!("/api/v1/starters/{}/picture", starter.slug) />
            })}
            <span class="card-head">
                <span class="chip-icon" data-category="network"><Icon name=starter.icon /></span>
                <span class="card-title">{title}</span>
            </span>
            <span class="card-text">{starter.summary}</span>
        </button>
    }
}
