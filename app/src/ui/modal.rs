//! A dialog with a title and any content, open while a signal is true.

use leptos::{html::Dialog, prelude::*};

/// A dialog. Its content is rebuilt each time it opens.
#[component]
pub fn Modal(
    /// True while the dialog is open. Closing it in any way sets it to false.
    open: RwSignal<bool>,
    /// The heading and accessible name.
    #[prop(into)]
    title: String,
    /// The size: `large` for more than a form.
    #[prop(default = "small")]
    size: &'static str,
    /// The content below the heading.
    children: ChildrenFn,
) -> impl IntoView {
    let dialog = NodeRef::<Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if open.get() {
            if !dialog.open() {
                // Opening an open dialog has no effect.
                let _ = dialog.show_modal();
            }
        } else if dialog.open() {
            dialog.close();
        }
    });
    let children = StoredValue::new(children);
    let label = title.clone();
    view! {
        <dialog class="dialog" data-size=size node_ref=dialog aria-label=label on:close=move |_| { open.try_set(false); }>
            {move || open.get().then(|| view! {
                <div class="dialog-body">
                    <h2>{title.clone()}</h2>
                    {children.with_value(|children| children())}
                </div>
            })}
        </dialog>
    }
}
