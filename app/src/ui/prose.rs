//! Sentences with names in backticks, as the server and the checks write them.

use leptos::prelude::*;

/// Text, with what stands between backticks as code.
pub fn prose(text: &str) -> AnyView {
    // An odd number of backticks: the last one is just a backtick.
    let pieces: Vec<&str> = text.split('`').collect();
    if pieces.len() % 2 == 0 {
        return text.to_owned().into_any();
    }
    pieces
        .into_iter()
        .enumerate()
        .filter(|(_, piece)| !piece.is_empty())
        .map(|(index, piece)| {
            let piece = piece.to_owned();
            if index % 2 == 1 {
                view! { <code>{piece}</code> }.into_any()
            } else {
                piece.into_any()
            }
        })
        .collect_view()
        .into_any()
}
