//! A drawing to look at: the same nodes and lines as in the editor, with a state on each.

use std::collections::HashMap;

use leptos::prelude::*;

/// A template drawn without the means to change it.
#[component]
pub fn Board(
    #[prop(into)] template: Signal<String>,
    #[prop(into)] layout: Signal<api::Layout>,
    #[prop(into)] states: Signal<HashMap<String, String>>,
    #[prop(into)] selected: RwSignal<Option<String>>,
) -> impl IntoView {
    let _ = (template, layout, states, selected);
    view! { <div class="board" data-testid="canvas"></div> }
}
