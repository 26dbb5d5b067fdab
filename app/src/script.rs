//! Scripts of npm packages (`web/`), loaded when a view first needs them.
//!
//! They are modules beside the program, not parts of it: the browser keeps a loaded module, so a second import costs
//! nothing.

use std::sync::atomic::{AtomicU32, Ordering};

use api::Problem;
use js_sys::{Object, Reflect};
use wasm_bindgen::prelude::*;

use crate::{browser, client};

#[wasm_bindgen(inline_js = "export const load = (address) => import(address);")]
extern "C" {
    #[wasm_bindgen(catch)]
    async fn load(address: &str) -> Result<JsValue, JsValue>;
}

/// Failed imports. Browsers remember a failed import by its address, so that each further attempt needs a new one.
static FAILURES: AtomicU32 = AtomicU32::new(0);

/// Loads a script by its name, such as `editor`. Returns the module.
///
/// # Errors
/// The script could not be loaded: no connection, or a newer release on the server than in this tab.
pub async fn script(name: &str) -> Result<JsValue, Problem> {
    let module = browser::with_retries(|| imported(name)).await;
    module.map_err(|_| client::page_missing())
}

async fn imported(name: &str) -> Result<JsValue, JsValue> {
    let address = match FAILURES.load(Ordering::Relaxed) {
        0 => format!("/pkg/{name}.js"),
        failures => format!("/pkg/{name}.js?attempt={failures}"),
    };
    load(&address).await.inspect_err(|_| {
        FAILURES.fetch_add(1, Ordering::Relaxed);
    })
}

/// A JavaScript object, such as the options of a script's function.
pub fn object(properties: impl IntoIterator<Item = (&'static str, JsValue)>) -> Object {
    let object = Object::new();
    for (name, value) in properties {
        // A new object takes any property.
        let _ = Reflect::set(&object, &name.into(), &value);
    }
    object
}
