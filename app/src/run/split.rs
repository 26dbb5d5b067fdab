//! Two panes, one above the other, with a bar between them that can be moved by pointer or arrow keys.

use leptos::{
    ev::{KeyboardEvent, PointerEvent},
    html,
    prelude::*,
};

use crate::browser;

const PERCENT_MIN: f64 = 15.0;
const PERCENT_MAX: f64 = 80.0;

/// The panes. The position of the bar is stored in the browser.
#[component]
pub fn Split(
    /// The key for the stored position.
    key: &'static str,
    /// The upper pane.
    upper: AnyView,
    /// The lower pane.
    lower: AnyView,
) -> impl IntoView {
    let percent = RwSignal::new(46.0_f64);
    let dragged = RwSignal::new(false);
    let whole = NodeRef::<html::Div>::new();
    Effect::new(move |_| {
        if let Some(kept) = browser::remembered(key).and_then(|kept| kept.parse::<f64>().ok()) {
            percent.set(kept.clamp(PERCENT_MIN, PERCENT_MAX));
        }
    });
    let set = move |to: f64| {
        let to = to.clamp(PERCENT_MIN, PERCENT_MAX);
        percent.set(to);
        browser::remember(key, &format!("{to:.1}"));
    };
    let on_down = move |event: PointerEvent| {
        event.prevent_default();
        if let Some(bar) = event.current_target().and_then(|bar| {
            use wasm_bindgen::JsCast;
            bar.dyn_into::<web_sys::Element>().ok()
        }) {
            // Without pointer capture the drag ends at the bar's edge.
            let _ = bar.set_pointer_capture(event.pointer_id());
        }
        dragged.set(true);
    };
    let on_move = move |event: PointerEvent| {
        if dragged.get_untracked()
            && let Some(whole) = whole.get_untracked()
        {
            let frame = whole.get_bounding_client_rect();
            set((f64::from(event.client_y()) - frame.top()) / frame.height().max(1.0) * 100.0);
        }
    };
    let on_key = move |event: KeyboardEvent| {
        let step = match event.key().as_str() {
            "ArrowUp" => -4.0,
            "ArrowDown" => 4.0,
            _ => return,
        };
        event.prevent_default();
        set(percent.get_untracked() + step);
    };
    view! {
        <div class="split" node_ref=whole data-dragged=move || dragged.get().to_string()>
            <div class="split-part" style:flex-basis=move || format!("{}%", percent.get())>{upper}</div>
            <div
                class="split-bar" role="separator" aria-orientation="horizontal" aria-label="Size of the halves" tabindex="0"
                aria-valuenow=move || percent.get().round() aria-valuemin=PERCENT_MIN aria-valuemax=PERCENT_MAX
                on:pointerdown=on_down on:pointermove=on_move on:pointerup=move |_| dragged.set(false)
                on:pointercancel=move |_| dragged.set(false) on:keydown=on_key
            ></div>
            <div class="split-part" data-rest>{lower}</div>
        </div>
    }
}
