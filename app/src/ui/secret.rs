//! A secret, which is covered until the user wants to see it.

use leptos::prelude::*;

use crate::ui::{CopyButton, Icon};

/// The cover. Its length tells nothing about the secret.
const COVER: &str = "••••••••";

/// A covered secret whose value the page does not have.
pub fn covered() -> AnyView {
    view! { <span class="quiet" role="img" aria-label="Covered secret">{COVER}</span> }.into_any()
}

/// A covered secret with "Show" and "Copy". A copy does not show it.
#[component]
pub fn SecretText(
    /// Name of the secret, for the labels of the buttons.
    name: String,
    /// The secret.
    text: String,
) -> impl IntoView {
    let shown = RwSignal::new(false);
    let secret = StoredValue::new(text.clone());
    let value = move || {
        if shown.get() {
            view! { <code>{secret.get_value()}</code> }.into_any()
        } else {
            covered()
        }
    };
    let verb = move || if shown.get() { "Hide" } else { "Show" };
    let label = format!("Copy {name}");
    view! {
        {value}
        <button
            type="button" class="button" data-size="small" aria-label=move || format!("{} {name}", verb())
            on:click=move |_| shown.update(|shown| *shown = !*shown)
        >
            <Icon name="eye" />
            {verb}
        </button>
        <CopyButton text label />
    }
}
