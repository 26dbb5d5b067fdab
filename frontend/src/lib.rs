//! The wasm entry: hydrate, nothing else.

/// Called by the page that the server rendered.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(app::App);
}
