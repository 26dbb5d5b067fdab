//! The interface of the terminal's script, `web/terminal.ts`.

use js_sys::Object;
use wasm_bindgen::prelude::*;
use web_sys::HtmlElement;

use crate::script::object;

#[wasm_bindgen]
extern "C" {
    /// The module.
    pub type Module;

    #[wasm_bindgen(method, catch)]
    fn mount(
        this: &Module,
        parent: &HtmlElement,
        options: &Object,
        page: &Object,
    ) -> Result<Mounted, JsValue>;

    /// A mounted terminal.
    #[derive(Clone)]
    pub type Mounted;

    /// Connects, again if a connection has ended.
    #[wasm_bindgen(method)]
    pub fn connect(this: &Mounted);

    /// Moves the focus into the terminal.
    #[wasm_bindgen(method)]
    pub fn focus(this: &Mounted);

    /// Ends the connection and removes the terminal.
    #[wasm_bindgen(method)]
    pub fn destroy(this: &Mounted);
}

/// Functions that the terminal calls. They must tolerate calls after the disposal of the page's state.
pub struct Page {
    /// The shell is there.
    pub opened: Closure<dyn Fn()>,
    /// The shell has ended, or was not opened, for this reason.
    pub ended: Closure<dyn Fn(String)>,
    /// The keys for leaving the terminal were pressed.
    pub leave: Closure<dyn Fn()>,
}

/// Shows a terminal in an element. It is not connected yet.
///
/// # Errors
/// The error of the script.
pub fn mount(
    module: &Module,
    parent: &HtmlElement,
    path: &str,
    label: &str,
    page: Page,
) -> Result<Mounted, JsValue> {
    let options = object([("path", path.into()), ("label", label.into())]);
    let page = object([
        ("opened", page.opened.into_js_value()),
        ("ended", page.ended.into_js_value()),
        ("leave", page.leave.into_js_value()),
    ]);
    module.mount(parent, &options, &page)
}
