//! Sentences with names in backticks, as the server and the checks write them.

use leptos::prelude::*;

/// Text, with what stands between backticks as code.
pub fn prose(text: &str) -> AnyView {
    // An odd number of backticks: the last one is just a backtick.
    let pieces: Vec<&str> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        return text.to_owned().into_any();
    }
    pieces
        .into_iter()
        .enumerate()
        .filter(|(_, piece)| !piece.is_empty())
        .map(|(index, piece)| {
            let piece = piece.to_owned();
            if index.is_multiple_of(2) {
                piece.into_any()
            } else {
                view! { <code>{piece}</code> }.into_any()
            }
        })
        .collect_view()
        .into_any()
}
