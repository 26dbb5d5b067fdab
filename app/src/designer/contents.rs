//! Buttons that show or hide the contents of a node: members of a group or nested template, servers of a network.

use leptos::prelude::*;

use crate::ui::Icon;

/// The button that folds a network to a card, or unfolds a card with the number of its servers.
#[component]
pub fn FoldButton(
    /// Name of the network.
    network: String,
    /// Folds or unfolds a network.
    fold: Callback<String>,
    /// Number of servers of a folded network.
    #[prop(optional)]
    count: Option<usize>,
) -> impl IntoView {
    let (class, icon, label, title) = match count {
        Some(count) => (
            "node-count",
            "unfold-vertical",
            format!("Unfold {network}, members: {count}"),
            "Unfold this network (O)",
        ),
        None => (
            "node-fold",
            "fold-vertical",
            format!("Fold {network}"),
            "Fold this network to a card (O)",
        ),
    };
    view! {
        <button
            type="button" class=class title=title aria-label=label aria-expanded=count.is_none().to_string()
            on:pointerdown=|event| event.stop_propagation() on:pointerup=|event| event.stop_propagation()
            on:keydown=|event| event.stop_propagation() on:dblclick=|event| event.stop_propagation()
            on:click=move |_| fold.run(network.clone())
        >
            {count.map(|count| view! { <span data-testid="member-count">{count}</span> })}
            <Icon name=icon />
        </button>
    }
}

/// Number of members, and the button that displays them.
#[component]
pub fn MemberCount(
    /// The number, as text.
    label: String,
    /// True if the members are known.
    can_open: bool,
    /// Whether the members are displayed.
    opened: RwSignal<bool>,
) -> impl IntoView {
    if !can_open {
        return view! { <span class="node-count" data-testid="member-count">{label}</span> }
            .into_any();
    }
    view! {
        <button
            type="button" class="node-count" title="Show what is inside" aria-expanded=move || opened.get().to_string()
            on:pointerdown=|event| event.stop_propagation() on:pointerup=|event| event.stop_propagation()
            on:keydown=|event| event.stop_propagation()
            on:click=move |_| opened.update(|opened| *opened = !*opened)
        >
            <span class="sr-only">"Members: "</span>
            <span data-testid="member-count">{label}</span>
            <Icon name="chevron-down" />
        </button>
    }
    .into_any()
}
