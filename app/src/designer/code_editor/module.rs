//! The interface of the code editor's script, `web/editor.ts`.

use js_sys::{Array, Object};
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

    /// A mounted editor.
    #[derive(Clone)]
    pub type Mounted;

    /// Shows a text that was changed elsewhere. With `follow`, the caret goes to the change.
    #[wasm_bindgen(method, js_name = setText)]
    pub fn set_text(this: &Mounted, text: &str, follow: bool);

    /// Shows problems, given as JSON.
    #[wasm_bindgen(method, js_name = setProblems)]
    pub fn set_problems(this: &Mounted, json: &str);

    /// Marks lines, 0 for none, and scrolls to them unless the user is at work in the editor.
    #[wasm_bindgen(method, js_name = setMarked)]
    pub fn set_marked(this: &Mounted, first: u32, last: u32);

    /// Removes the editor.
    #[wasm_bindgen(method)]
    pub fn destroy(this: &Mounted);
}

/// Initial state of an editor.
pub struct Options<'a> {
    /// Name for screen readers.
    pub label: &'a str,
    /// Id of the element that describes how to leave the editor.
    pub described_by: &'a str,
    /// Name of the file, which decides the language.
    pub file: &'a str,
    /// The text.
    pub text: &'a str,
    /// Longest text in bytes. A longer one can only be shortened.
    pub bytes_max: usize,
    /// Words of the template language to highlight.
    pub words: &'a [&'a str],
}

/// Proposals for a text, an offset, and whether the user asked. As JSON.
pub type Complete = Closure<dyn Fn(String, u32, bool) -> String>;
/// Help for a text and an offset. As JSON.
pub type Explain = Closure<dyn Fn(String, u32) -> String>;

/// Functions that the editor calls. They must tolerate calls after the disposal of the page's state.
pub struct Page {
    /// The user changed the text to this.
    pub changed: Closure<dyn Fn(String)>,
    /// An insertion was refused, because the text would have this size in bytes.
    pub refused: Closure<dyn Fn(f64)>,
    /// The user put the caret on this line.
    pub followed: Closure<dyn Fn(u32)>,
    /// The next change is a new entry of the history.
    pub seal: Closure<dyn Fn()>,
    /// Undo.
    pub undo: Closure<dyn Fn()>,
    /// Redo.
    pub redo: Closure<dyn Fn()>,
    /// Completion and help. `None` for languages without.
    pub assistant: Option<(Complete, Explain)>,
    /// Labels of the quick fixes of a problem, as JSON.
    pub fixes: Closure<dyn Fn(usize) -> String>,
    /// Applies a quick fix of a problem.
    pub fix: Closure<dyn Fn(usize, String)>,
}

/// Shows an editor in an element.
///
/// # Errors
/// The error of the script.
pub fn mount(
    module: &Module,
    parent: &HtmlElement,
    options: &Options<'_>,
    page: Page,
) -> Result<Mounted, JsValue> {
    let words: Array = options.words.iter().copied().map(JsValue::from).collect();
    let options = object([
        ("label", options.label.into()),
        ("describedBy", options.described_by.into()),
        ("file", options.file.into()),
        ("text", options.text.into()),
        ("bytesMax", (options.bytes_max as f64).into()),
        ("words", words.into()),
    ]);
    let assistant = page.assistant.map(|(complete, explain)| {
        [
            ("complete", complete.into_js_value()),
            ("explain", explain.into_js_value()),
        ]
    });
    let page = [
        ("changed", page.changed.into_js_value()),
        ("refused", page.refused.into_js_value()),
        ("followed", page.followed.into_js_value()),
        ("seal", page.seal.into_js_value()),
        ("undo", page.undo.into_js_value()),
        ("redo", page.redo.into_js_value()),
        ("fixes", page.fixes.into_js_value()),
        ("fix", page.fix.into_js_value()),
    ];
    let page = object(page.into_iter().chain(assistant.into_iter().flatten()));
    module.mount(parent, &options, &page)
}
