//! Icons from the sprite that the build makes of `style/icons.txt`.

use std::borrow::Cow;

use leptos::prelude::*;

/// One icon, for the eye only: what it means stands beside it or in the control's label.
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
