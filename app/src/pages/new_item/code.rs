//! The control for a file's content: a text area, and the code editor in its place once its script is loaded.
//!
//! The editor has a history of its own, unlike those of a design. If the script cannot be loaded, the text area stays.

use js_sys::Object;
use leptos::{html, prelude::*, task::spawn_local};
use wasm_bindgen::prelude::*;
use web_sys::{HtmlElement, HtmlTextAreaElement};

use crate::script::{object, script};

#[wasm_bindgen]
extern "C" {
    /// The script `web/editor.ts`.
    type Module;

    #[wasm_bindgen(method, catch, js_name = mountPlain)]
    fn mount_plain(
        this: &Module,
        parent: &HtmlElement,
        area: &HtmlTextAreaElement,
        options: &Object,
        page: &Object,
    ) -> Result<Mounted, JsValue>;

    /// A mounted editor.
    #[derive(Clone)]
    type Mounted;

    /// Shows another text, with a new history.
    #[wasm_bindgen(method, js_name = setText)]
    fn set_text(this: &Mounted, text: &str);

    /// Highlights the language of a file with another name.
    #[wasm_bindgen(method, js_name = setFile)]
    fn set_file(this: &Mounted, file: &str);

    /// Marks the text as wrong, with the id of the message, or of none.
    #[wasm_bindgen(method, js_name = setFault)]
    fn set_fault(this: &Mounted, described_by: &str);

    /// Removes the editor.
    #[wasm_bindgen(method)]
    fn destroy(this: &Mounted);
}

/// The text of a file.
#[component]
pub fn CodeControl(
    /// Id of the control.
    id: String,
    /// Its name.
    label: &'static str,
    /// Example in the empty control.
    example: &'static str,
    /// Path of the file, which decides the language.
    file: Memo<String>,
    /// The text.
    value: Memo<String>,
    /// The id of the message about the text, if one is shown.
    fault: Signal<Option<String>>,
    /// Takes a changed text.
    write: impl Fn(String) + Copy + Send + Sync + 'static,
    /// Notes that the focus has left the control.
    leave: impl Fn() + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let (place, area) = (
        NodeRef::<html::Div>::new(),
        NodeRef::<html::Textarea>::new(),
    );
    let mounted = RwSignal::new_local(None::<Mounted>);
    let is_mounted = Memo::new(move |_| mounted.with(Option::is_some));
    // The text in the editor, unless the recipe was changed elsewhere since.
    let shown = StoredValue::new(String::new());

    let mount = move |module: &Module| {
        let place = place.get_untracked()?;
        let area = area.get_untracked()?;
        let options = object([
            ("label", label.into()),
            ("file", file.get_untracked().into()),
        ]);
        let changed = Closure::<dyn Fn(String)>::new(move |text: String| {
            if shown.try_set_value(text.clone()).is_none() {
                write(text);
            }
        });
        let left = Closure::<dyn Fn()>::new(move || {
            if shown.try_get_value().is_some() {
                leave();
            }
        });
        let page = object([
            ("changed", changed.into_js_value()),
            ("left", left.into_js_value()),
        ]);
        shown.set_value(area.value());
        module.mount_plain(&place, &area, &options, &page).ok()
    };
    let mount = StoredValue::new_local(mount);
    Effect::new(move |_| {
        if area.get().is_none() || mounted.with_untracked(Option::is_some) {
            return;
        }
        spawn_local(async move {
            let Ok(module) = script("editor").await else {
                return;
            };
            let editor = mount.try_with_value(|mount| mount(module.unchecked_ref()));
            mounted.try_set(editor.flatten());
        });
    });
    Effect::new(move |_| {
        let Some(editor) = mounted.get() else { return };
        let text = value.get();
        if shown.with_value(|shown| *shown != text) {
            editor.set_text(&text);
            shown.set_value(text);
        }
    });
    Effect::new(move |_| {
        if let Some(editor) = mounted.get() {
            file.with(|file| editor.set_file(file));
        }
    });
    Effect::new(move |_| {
        if let Some(editor) = mounted.get() {
            editor.set_fault(&fault.get().unwrap_or_default());
        }
    });
    on_cleanup(move || {
        let editor = mounted.try_update_untracked(Option::take);
        editor.flatten().iter().for_each(Mounted::destroy);
    });
    view! {
        {move || (!is_mounted.get()).then(|| view! {
            <textarea
                class="input mono command-text" id=id.clone() rows="10" placeholder=example spellcheck="false" autocomplete="off"
                aria-invalid=move || fault.get().map(|_| "true") aria-describedby=move || fault.get() prop:value=value
                on:input=move |event| write(event_target_value(&event)) on:blur=move |_| leave() node_ref=area
            ></textarea>
        })}
        <div class="item-code" node_ref=place></div>
    }
}
