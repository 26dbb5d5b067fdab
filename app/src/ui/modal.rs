//! A dialog with a title and whatever stands in it, shown while a signal says so.

use leptos::{html::Dialog, prelude::*};

/// A dialog; what stands in it is made anew each time it opens.
#[component]
pub fn Modal(
    /// Whether it is open; closing it by any way sets it.
    open: RwSignal<bool>,
    /// Its heading and accessible name.
    #[prop(into)]
    title: String,
    /// `large` for more than a form.
    #[prop(default = "small")]
    size: &'static str,
    /// What stands below the heading.
    children: ChildrenFn,
) -> impl IntoView {
    let dialog = NodeRef::<Dialog>::new();
    Effect::new(move |_| {
        let Some(dialog) = dialog.get() else { return };
        if open.get() {
            if !dialog.open() {
                // A dialog that is shown already is what we want.
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
