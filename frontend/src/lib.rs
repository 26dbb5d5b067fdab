//! The wasm entry: hydrate, nothing else.

// The types of views nest deeply.
#![recursion_limit = "512"]

/// Called by the page that the server rendered. Lazily, for the page's own piece of the program may still be on its way.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_lazy(app::App);
}
