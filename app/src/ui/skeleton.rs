//! Placeholders while the data of a page loads.

use leptos::prelude::*;

/// Placeholder rows of a list.
pub fn rows(count: usize) -> AnyView {
    shapes("skeleton-stack", "row", count)
}

/// Placeholder cards.
pub fn cards(count: usize) -> AnyView {
    shapes("cards", "card", count)
}

/// A large placeholder panel.
pub fn panel() -> AnyView {
    shapes("skeleton-stack", "panel", 1)
}

fn shapes(class: &'static str, shape: &'static str, count: usize) -> AnyView {
    view! {
        <div class=class aria-busy="true" aria-label="Loading">
            {(0..count).map(|_| view! { <div class="skeleton" data-shape=shape></div> }).collect_view()}
        </div>
    }
    .into_any()
}
