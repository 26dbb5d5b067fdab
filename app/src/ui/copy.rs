//! A button that copies a text and confirms it.

use leptos::prelude::*;

use crate::{
    browser,
    ui::{Icon, use_toasts},
};

/// The button. `label` names the copied text.
#[component]
pub fn CopyButton(
    /// The text for the clipboard.
    #[prop(into)]
    text: String,
    /// The label, such as `Copy url`.
    #[prop(into)]
    label: String,
) -> impl IntoView {
    let toasts = use_toasts();
    let copied = RwSignal::new(false);
    let title = label.clone();
    let copy = move |_| {
        let text = text.clone();
        leptos::task::spawn_local(async move {
            if browser::copy(&text).await {
                copied.try_set(true);
                browser::after_ms(1_500, move || {
                    copied.try_set(false);
                });
            } else {
                toasts.warn("The browser did not allow copying. Select the text and press Ctrl C.");
            }
        });
    };
    view! {
        <button type="button" class="button" data-look="ghost" data-size="icon" aria-label=label title=title on:click=copy>
            {move || if copied.get() { view! { <Icon name="check" /> } } else { view! { <Icon name="copy" /> } }}
        </button>
    }
}
