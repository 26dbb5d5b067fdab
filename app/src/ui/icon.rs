//! Icons from the sprite that the build generates from `style/icons.txt`.

use std::borrow::Cow;

use leptos::prelude::*;

/// One icon, hidden from screen readers. Its meaning is in the text beside it or in the control's label.
#[component]
pub fn Icon(
    /// A name in `style/icons.txt`.
    #[prop(into)]
    name: Cow<'static, str>,
) -> impl IntoView {
    view! {
        <svg class="icon" aria-hidden="true">
            <use href=format!("/pkg/icons.svg#{name}")></use>
        </svg>
    }
}
