//! A button that opens a small panel. The browser's popover handles Escape, clicks outside and focus.

use leptos::prelude::*;

/// Menu. `id` is unique on the page, `button` is the content of the button.
#[component]
pub fn Menu(
    /// Id, unique on the page.
    #[prop(into)]
    id: String,
    /// The button's label.
    #[prop(into)]
    label: String,
    /// Look of the button, as in `data-look`.
    #[prop(default = "ghost")]
    look: &'static str,
    /// The content of the button.
    button: AnyView,
    /// The panel.
    children: Children,
) -> impl IntoView {
    // CSS anchor positioning places the panel under the button by this common name.
    let anchor = format!("--{id}");
    view! {
        <button
            type="button" class="button" data-look=look aria-label=label popovertarget=id.clone()
            style=("anchor-name", anchor.clone())
        >
            {button}
        </button>
        <div class="menu" popover="auto" id=id style=("position-anchor", anchor)>
            {children()}
        </div>
    }
}

/// Closes the menu with this id.
pub fn close(id: &str) {
    use wasm_bindgen::JsCast;
    if let Some(element) =
        crate::browser::document().and_then(|document| document.get_element_by_id(id))
        && let Some(element) = element.dyn_ref::<web_sys::HtmlElement>()
    {
        // Closing a closed menu has no effect.
        let _ = element.hide_popover();
    }
}
