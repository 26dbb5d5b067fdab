//! Entry point of the wasm: only hydration.

// The types of views are deeply nested.
#![recursion_limit = "512"]

/// Called by the server-rendered page. Lazy, because the wasm piece of the page may still be loading.
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    wasm_bindgen_futures::spawn_local(async {
        leptos::mount::hydrate_from_async(leptos::tachys::dom::body(), app::App)
            .await
            .forget();
        app::program::started();
    });
}
