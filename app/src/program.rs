//! Recovery of a page whose program did not load, for example because of a change of networks.
//!
//! A script in the document (`program.js`) notices that the program's script or module is missing. The routes notice a
//! missing piece of the first page, and call [`failed`]. The document is then loaded again, once: a mark in the session
//! storage stays until [`started`]. After a second failure the page shows a message with a button, which removes the mark.

#[cfg(feature = "ssr")]
use leptos::prelude::*;
use wasm_bindgen::prelude::wasm_bindgen;

#[cfg(feature = "ssr")]
use crate::ui::Icon;

#[wasm_bindgen]
extern "C" {
    /// Ends the recovery: the page is hydrated. Browser only.
    #[wasm_bindgen(js_namespace = stackloomProgram)]
    pub fn started();

    /// Begins the recovery: a piece of the first page did not load. Browser only.
    #[wasm_bindgen(js_namespace = stackloomProgram)]
    pub fn failed();
}

/// The script and its message, for the document's head before the program. Server side only.
#[cfg(feature = "ssr")]
#[component]
pub fn Recovery() -> impl IntoView {
    view! {
        <script nonce=leptos::nonce::use_nonce()>{include_str!("program.js")}</script>
        <template id="program-missing">
            <main>
                <section class="problem-card" role="alert">
                    <Icon name="circle-alert" />
                    <div>
                        <h1>"The page could not be loaded"</h1>
                        <p>"The browser did not get the page's program from the server, most likely because the connection was interrupted."</p>
                        <p class="quiet">"Check that you are online, then load the page again."</p>
                        <button type="button" class="button">
                            <Icon name="rotate-cw" />
                            "Load again"
                        </button>
                    </div>
                </section>
            </main>
        </template>
    }
}
