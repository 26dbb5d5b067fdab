//! A button that opens a small panel; the browser's popover does the rest (escape, a click outside, focus).

use leptos::prelude::*;

/// A menu: `id` is unique on the page, `button` what stands in the button.
#[component]
pub fn Menu(
    /// Unique on the page.
    #[prop(into)]
    id: String,
    /// The button's label.
    #[prop(into)]
    label: String,
    /// The button's look, as in `data-look`.
    #[prop(default = "ghost")]
    look: &'static str,
    /// What stands in the button.
    button: AnyView,
    /// The panel.
    children: Children,
) -> impl IntoView {
    // The panel is placed under its button by an anchor that both name.
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

/// Close the menu with this id.
pub fn close(id: &str) {
    use wasm_bindgen::JsCast;
    if let Some(element) =
        crate::browser::document().and_then(|document| document.get_element_by_id(id))
        && let Some(element) = element.dyn_ref::<web_sys::HtmlElement>()
    {
        // A menu that is closed already is what we want.
        let _ = element.hide_popover();
    }
}
