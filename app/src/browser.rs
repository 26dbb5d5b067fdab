//! Browser features for pages. On the server each of them does nothing or returns an empty value.

use leptos::prelude::{StoredValue, UpdateValue, on_cleanup};
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Document, Event, HtmlElement, IdleRequestOptions, MouseEvent, Storage, Window};

/// The window. `None` on the server.
pub fn window() -> Option<Window> {
    if cfg!(target_arch = "wasm32") {
        web_sys::window()
    } else {
        None
    }
}

/// The document. `None` on the server.
pub fn document() -> Option<Document> {
    window()?.document()
}

/// Size of the user's text, relative to the usual one: 1.25 for a font size of 20 pixels.
pub fn text_scale() -> f64 {
    let size = || {
        let root = document()?.document_element()?;
        let style = window()?.get_computed_style(&root).ok()??;
        let size = style.get_property_value("font-size").ok()?;
        size.strip_suffix("px")?.parse::<f64>().ok()
    };
    size().map_or(1.0, |size| size / 16.0)
}

/// True if the page's tab can be seen.
pub fn is_visible() -> bool {
    document().is_some_and(|document| !document.hidden())
}

/// True if the browser has notifications. Some have none on pages without TLS.
pub fn has_notifications() -> bool {
    window().is_some_and(|window| {
        js_sys::Reflect::has(&window, &JsValue::from_str("Notification")).unwrap_or(false)
    })
}

/// Sets the tab's icon. `None` sets the icon that the page came with.
pub fn set_tab_icon(address: Option<&str>) {
    let link = document().and_then(|it| it.query_selector("link[rel=icon]").ok().flatten());
    let Some(link) = link else { return };
    let first = link
        .get_attribute("data-first")
        .or_else(|| link.get_attribute("href"));
    let Some(first) = first else { return };
    let _ = link.set_attribute("data-first", &first);
    let _ = link.set_attribute("href", address.unwrap_or(&first));
}

fn storage() -> Option<Storage> {
    window()?.local_storage().ok()?
}

/// A value from the browser's local storage. Read it after mount only, because it is not available on the server.
pub fn remembered(key: &str) -> Option<String> {
    storage()?.get_item(&format!("stackloom.{key}")).ok()?
}

/// The keys in the local storage that begin with `start`.
pub fn remembered_keys(start: &str) -> Vec<String> {
    let Some(storage) = storage() else {
        return Vec::new();
    };
    let keys = (0..storage.length().unwrap_or(0)).filter_map(|at| storage.key(at).ok()?);
    let ours = keys.filter_map(|key| key.strip_prefix("stackloom.").map(str::to_owned));
    ours.filter(|key| key.starts_with(start)).collect()
}

/// Writes a value to the browser's local storage. Returns false if the storage is full or forbidden.
///
/// Suitable for preferences, but not as the only copy of unsaved work.
pub fn remember(key: &str, value: &str) -> bool {
    storage().is_some_and(|storage| storage.set_item(&format!("stackloom.{key}"), value).is_ok())
}

/// Removes a value from the local storage.
pub fn forget(key: &str) {
    if let Some(storage) = storage() {
        let _ = storage.remove_item(&format!("stackloom.{key}"));
    }
}

fn storage_of_tab() -> Option<Storage> {
    window()?.session_storage().ok()?
}

/// A value of this tab, which outlives a reload but not the tab.
pub fn remembered_in_tab(key: &str) -> Option<String> {
    storage_of_tab()?
        .get_item(&format!("stackloom.{key}"))
        .ok()?
}

/// Keeps a value for this tab. A full storage keeps none.
pub fn remember_in_tab(key: &str, value: &str) {
    if let Some(storage) = storage_of_tab() {
        let key = format!("stackloom.{key}");
        if storage.set_item(&key, value).is_err() {
            let _ = storage.remove_item(&key);
        }
    }
}

/// Forgets all values of this tab, for the next user.
pub fn forget_tab() {
    if let Some(storage) = storage_of_tab() {
        let _ = storage.clear();
    }
}

/// Milliseconds since 1970. 0 on the server.
pub fn now_ms() -> f64 {
    if cfg!(target_arch = "wasm32") {
        js_sys::Date::now()
    } else {
        0.0
    }
}

/// A random number to distinguish values that are created at the same time. 0 on the server.
pub fn random_u32() -> u32 {
    if cfg!(target_arch = "wasm32") {
        (js_sys::Math::random() * f64::from(u32::MAX)) as u32
    } else {
        0
    }
}

/// Awaits `work` and records its duration in the browser's performance timeline as `stackloom <name>`, for profiles and
/// benchmarks.
pub async fn measured<T>(name: &str, work: impl Future<Output = T>) -> T {
    let performance = window().and_then(|window| window.performance());
    let Some(performance) = performance else {
        return work.await;
    };
    let name = format!("stackloom {name}");
    // If the timeline is full, only the measurement is lost.
    let _ = performance.mark(&name);
    let done = work.await;
    let _ = performance.measure_with_start_mark(&name, &name);
    performance.clear_marks_with_mark_name(&name);
    done
}

/// Writes text to the clipboard. Returns false if the browser refuses it.
pub async fn copy(text: &str) -> bool {
    let Some(window) = window() else { return false };
    let clipboard = window.navigator().clipboard();
    // Insecure contexts have no clipboard.
    if AsRef::<JsValue>::as_ref(&clipboard).is_undefined() {
        return false;
    }
    JsFuture::from(clipboard.write_text(text)).await.is_ok()
}

/// The clipboard's text. `None` if the browser refuses access.
pub async fn pasted() -> Option<String> {
    let clipboard = window()?.navigator().clipboard();
    if AsRef::<JsValue>::as_ref(&clipboard).is_undefined() {
        return None;
    }
    let text = JsFuture::from(clipboard.read_text()).await;
    text.ok()?.as_string()
}

/// True if text of the page is selected, which is then the target of a copy.
pub fn has_selected_text() -> bool {
    let selection = window().and_then(|window| window.get_selection().ok().flatten());
    selection.is_some_and(|selection| !selection.is_collapsed())
}

/// Saves text as a file on the user's machine.
pub fn download(name: &str, mime: &str, text: &str) {
    let _ = try_download(name, mime, text);
}

/// Downloads a file from the server to the user's machine.
pub fn fetch_file(name: &str, address: &str) {
    let link = document().and_then(|document| document.create_element("a").ok());
    let Some(link) = link else { return };
    let set = link.set_attribute("href", address);
    if set.and(link.set_attribute("download", name)).is_ok()
        && let Some(link) = link.dyn_ref::<HtmlElement>()
    {
        link.click();
    }
}

fn try_download(name: &str, mime: &str, text: &str) -> Option<()> {
    let parts = js_sys::Array::of1(&JsValue::from_str(text));
    let options = web_sys::BlobPropertyBag::new();
    options.set_type(mime);
    let blob = web_sys::Blob::new_with_str_sequence_and_options(&parts, &options).ok()?;
    try_download_blob(name, &blob)
}

/// Saves a file on the user's machine.
pub fn download_blob(name: &str, blob: &web_sys::Blob) {
    let _ = try_download_blob(name, blob);
}

fn try_download_blob(name: &str, blob: &web_sys::Blob) -> Option<()> {
    let document = document()?;
    let url = web_sys::Url::create_object_url_with_blob(blob).ok()?;
    let link = document.create_element("a").ok()?;
    link.set_attribute("href", &url).ok()?;
    link.set_attribute("download", name).ok()?;
    link.dyn_ref::<HtmlElement>()?.click();
    web_sys::Url::revoke_object_url(&url).ok()
}

/// Longest side of a painted picture, in pixels. All browsers paint this much.
const PICTURE_SIDE_MAX: f64 = 8192.0;

/// An SVG picture painted at twice its size, or as large as browsers can. `None` if the browser cannot paint it.
pub async fn png_of(svg: &str) -> Option<web_sys::Blob> {
    let image = web_sys::HtmlImageElement::new().ok()?;
    image.set_src(&svg_address(svg));
    JsFuture::from(image.decode()).await.ok()?;
    let (width, height) = (
        f64::from(image.natural_width()),
        f64::from(image.natural_height()),
    );
    let scale = (PICTURE_SIDE_MAX / width.max(height)).min(2.0);
    let canvas = document()?.create_element("canvas").ok()?;
    let canvas = canvas.dyn_into::<web_sys::HtmlCanvasElement>().ok()?;
    canvas.set_width((width * scale) as u32);
    canvas.set_height((height * scale) as u32);
    let context = canvas.get_context("2d").ok()??;
    let context = context
        .dyn_into::<web_sys::CanvasRenderingContext2d>()
        .ok()?;
    context
        .draw_image_with_html_image_element_and_dw_and_dh(
            &image,
            0.0,
            0.0,
            width * scale,
            height * scale,
        )
        .ok()?;
    let painted = js_sys::Promise::new(&mut |resolve, _| {
        let _ = canvas.to_blob(&resolve);
    });
    JsFuture::from(painted).await.ok()?.dyn_into().ok()
}

/// Names and texts of files chosen in an `<input type=file>` or dropped on the page.
///
/// # Errors
/// The name of the first file that could not be read as text.
pub async fn texts(files: web_sys::FileList) -> Result<Vec<(String, String)>, String> {
    let mut read = Vec::new();
    for file in (0..files.length()).filter_map(|at| files.get(at)) {
        let text = JsFuture::from(file.text()).await;
        let text = text.ok().and_then(|text| text.as_string());
        match text.filter(|text| !text.contains('\0')) {
            Some(text) => read.push((file.name(), text)),
            None => return Err(file.name()),
        }
    }
    Ok(read)
}

/// The files of a drop event, if there are any.
pub fn dropped(event: &web_sys::DragEvent) -> Option<web_sys::FileList> {
    event
        .data_transfer()?
        .files()
        .filter(|files| files.length() > 0)
}

/// True if the current drag contains files.
pub fn drags_files(event: &web_sys::DragEvent) -> bool {
    event
        .data_transfer()
        .is_some_and(|data| data.types().includes(&JsValue::from_str("Files"), 0))
}

/// Opens another address with a full page load.
pub fn navigate(address: &str) {
    if let Some(window) = window() {
        let _ = window.location().assign(address);
    }
}

/// Path and query of the current page.
pub fn current_address() -> String {
    let Some(location) = window().map(|window| window.location()) else {
        return String::from("/");
    };
    format!(
        "{}{}",
        location.pathname().unwrap_or_default(),
        location.search().unwrap_or_default()
    )
}

/// The path of the current page.
pub fn path() -> String {
    let path = window().and_then(|window| window.location().pathname().ok());
    path.unwrap_or_else(|| String::from("/"))
}

/// Adds an address to the history without a page load.
pub fn show_address(address: &str) {
    let history = window().and_then(|window| window.history().ok());
    if let Some(history) = history {
        // If the browser refuses it, only the old address stays visible.
        let _ = history.push_state_with_url(&JsValue::NULL, "", Some(address));
    }
}

/// Replaces the current address without a page load and without a new entry in the history.
pub fn replace_address(address: &str) {
    let history = window().and_then(|window| window.history().ok());
    if let Some(history) = history {
        // If the browser refuses it, only the old address stays visible.
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(address));
    }
}

/// Percent-encodes `text` as one component of an address.
pub fn encode(text: &str) -> String {
    if cfg!(target_arch = "wasm32") {
        String::from(js_sys::encode_uri_component(text))
    } else {
        text.to_owned()
    }
}

/// Address of an SVG that is an image. Its scripts cannot run.
pub fn svg_address(svg: &str) -> String {
    format!("data:image/svg+xml,{}", encode(svg))
}

/// Moves the focus to the element with this id.
pub fn focus(id: &str) {
    if let Some(element) = document().and_then(|document| document.get_element_by_id(id))
        && let Some(element) = element.dyn_ref::<HtmlElement>()
    {
        // An element in a closed `<details>` cannot have the focus.
        let mut folded = element.closest("details").ok().flatten();
        while let Some(details) = folded {
            let _ = details.set_attribute("open", "");
            let outside = details.parent_element();
            folded = outside.and_then(|outside| outside.closest("details").ok().flatten());
        }
        let _ = element.focus();
    }
}

/// Moves the focus to the deepest element on a dotted path, such as `field-rules.0.protocol`, `field-rules.0` or
/// `field-rules`.
fn focus_deepest(id: &str) {
    let Some(document) = document() else { return };
    let mut id = id;
    loop {
        if document.get_element_by_id(id).is_some() {
            return focus(id);
        }
        let Some((shorter, _)) = id.rsplit_once('.') else {
            return;
        };
        id = shorter;
    }
}

/// Moves the focus to the deepest element on a dotted path once the element is built, after `milliseconds`. A user who has
/// moved the focus in the meantime keeps it.
pub fn focus_later(id: String, milliseconds: i32) {
    let focused = || document().and_then(|document| document.active_element());
    let before = focused();
    after_ms(milliseconds, move || {
        // The focus also leaves elements that are removed, such as the button of a dialog.
        let has_moved = before.as_ref().is_some_and(|before| {
            before.tag_name() != "BODY"
                && before.is_connected()
                && focused().as_ref() != Some(before)
        });
        if !has_moved {
            focus_deepest(&id);
        }
    });
}

/// Scrolls the list around an option as little as possible, so that the option is visible.
pub fn scroll_in_list(option: &str) {
    let option = document().and_then(|document| document.get_element_by_id(option));
    let option = option.and_then(|option| option.dyn_into::<HtmlElement>().ok());
    let Some((option, list)) = option.and_then(|option| {
        let list = option.parent_element()?;
        Some((option, list))
    }) else {
        return;
    };
    let (top, height) = (option.offset_top(), option.offset_height());
    if top < list.scroll_top() {
        list.set_scroll_top(top);
    } else if top + height > list.scroll_top() + list.client_height() {
        list.set_scroll_top(top + height - list.client_height());
    }
}

/// Calls `callback` before the next paint. The call is cancelled when the owner is disposed.
pub fn on_next_frame(callback: impl FnOnce() + 'static) {
    if let Some(window) = window() {
        let callback = Closure::once_into_js(callback);
        let _ = window.request_animation_frame(callback.unchecked_ref());
    }
}

/// Calls `callback` once, when the browser is idle or after `at_latest_ms` milliseconds.
pub fn when_idle(at_latest_ms: u32, callback: impl FnOnce() + 'static) {
    let Some(window) = window() else { return };
    let callback = Closure::once_into_js(callback);
    let callback: &js_sys::Function = callback.unchecked_ref();
    let options = IdleRequestOptions::new();
    options.set_timeout(at_latest_ms);
    if has(&window, "requestIdleCallback") {
        // The request fails only if the window is closing.
        let _ = window.request_idle_callback_with_options(callback, &options);
    } else {
        let _ = window
            .set_timeout_with_callback_and_timeout_and_arguments_0(callback, at_latest_ms as i32);
    }
}

/// True if this browser has a function of that name. Safari added some of them late.
fn has(window: &Window, name: &str) -> bool {
    let found = js_sys::Reflect::get(window, &JsValue::from_str(name));
    found.is_ok_and(|function| function.is_function())
}

/// Calls `callback` once, after `milliseconds`.
pub fn after_ms(milliseconds: i32, callback: impl FnOnce() + 'static) {
    if let Some(window) = window() {
        let callback = Closure::once_into_js(callback);
        let _ = window.set_timeout_with_callback_and_timeout_and_arguments_0(
            callback.unchecked_ref(),
            milliseconds,
        );
    }
}

/// Waits for a time in milliseconds.
pub async fn pause(milliseconds: i32) {
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        after_ms(milliseconds, move || {
            // It is no error if the promise is already settled.
            let _ = resolve.call0(&JsValue::NULL);
        });
    });
    // A timer does not fail.
    let _ = JsFuture::from(promise).await;
}

/// Maximum number of attempts of [`with_retries`].
const ATTEMPTS_MAX: u32 = 3;

/// Pause between two attempts, in milliseconds.
const BETWEEN_ATTEMPTS_MS: i32 = 300;

/// The result of an attempt, which is repeated twice if it fails: a change of networks interrupts all requests for a moment.
///
/// # Errors
/// The error of the last attempt.
pub async fn with_retries<T, E, F: Future<Output = Result<T, E>>>(
    attempt: impl Fn() -> F,
) -> Result<T, E> {
    for _ in 1..ATTEMPTS_MAX {
        if let Ok(loaded) = attempt().await {
            return Ok(loaded);
        }
        pause(BETWEEN_ATTEMPTS_MS).await;
    }
    attempt().await
}

/// Calls `callback` for each event of this kind in the capture phase, before other listeners, until the owner is
/// disposed.
pub fn on_capture(kind: &'static str, callback: impl Fn(&Event) + 'static) {
    let Some(window) = window() else { return };
    let listener = Closure::<dyn Fn(Event)>::new(move |event: Event| callback(&event));
    let function = listener.as_ref().unchecked_ref();
    // If the listener cannot be added, it is never called.
    let _ = window.add_event_listener_with_callback_and_bool(kind, function, true);
    let registration = StoredValue::new_local(Some((window, listener)));
    on_cleanup(move || {
        registration.try_update_value(|registration| {
            if let Some((window, listener)) = registration.take() {
                let function = listener.as_ref().unchecked_ref();
                let _ = window.remove_event_listener_with_callback_and_bool(kind, function, true);
            }
        });
    });
}

/// True if a click follows a link to another page of the app in this tab, without a full page load.
pub fn leads_to_page(event: &Event) -> bool {
    let Some(event) = event.dyn_ref::<MouseEvent>() else {
        return false;
    };
    let is_plain = event.button() == 0
        && !(event.meta_key() || event.alt_key() || event.ctrl_key() || event.shift_key());
    let target = event.target();
    let element = target.and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    let link = element.and_then(|element| element.closest("a[href]").ok().flatten());
    is_plain
        && link.is_some_and(|link| {
            let href = link.get_attribute("href").unwrap_or_default();
            href.starts_with('/')
                && !link.has_attribute("target")
                && !link.has_attribute("download")
        })
}

/// Opens the browser's own modal dialog, which blocks the page until the user answers. True if the user agrees.
pub fn confirm(question: &str) -> bool {
    window().is_some_and(|window| window.confirm_with_message(question) == Ok(true))
}

/// True if a dialog is open.
pub fn dialog_is_open() -> bool {
    let found = document().map(|document| document.query_selector("dialog[open]"));
    matches!(found, Some(Ok(Some(_))))
}

/// True if the event comes from a text field, where single keys are input and not shortcuts.
pub fn is_typing(event: &Event) -> bool {
    event
        .target()
        .and_then(|target| target.dyn_into::<HtmlElement>().ok())
        .is_some_and(|element| takes_text(&element))
}

/// True if a text field has the focus.
pub fn text_field_has_focus() -> bool {
    document()
        .and_then(|document| document.active_element()?.dyn_into::<HtmlElement>().ok())
        .is_some_and(|element| takes_text(&element))
}

fn takes_text(element: &HtmlElement) -> bool {
    matches!(element.tag_name().as_str(), "INPUT" | "TEXTAREA" | "SELECT")
        || element.is_content_editable()
}
