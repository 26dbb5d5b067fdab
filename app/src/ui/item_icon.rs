//! The icon of a catalogue item.

use leptos::prelude::*;

use super::Icon;
use crate::browser;

/// Icon of an item. Rendered as an image, so that scripts in the author's SVG cannot run.
#[component]
pub fn ItemIcon(
    /// The SVG text.
    icon: String,
    /// The size: `large` on the item's page.
    #[prop(default = "small")]
    size: &'static str,
) -> impl IntoView {
    let picture = if icon.trim().is_empty() {
        view! { <Icon name="box" /> }.into_any()
    } else {
        view! { <img alt="" src=browser::svg_address(&icon) /> }.into_any()
    };
    view! { <span class="item-icon" data-size=size>{picture}</span> }
}
