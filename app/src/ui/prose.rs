//! Text with names in backticks, as in messages of the server and of validation.

use leptos::prelude::*;

/// Text with the parts between backticks as code.
pub fn prose(text: &str) -> AnyView {
    // If the number of backticks is odd, the text is not changed.
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

/// Text without its backticks, for titles, lists and screen readers, which cannot show code.
pub fn plain_text(text: &str) -> String {
    text.replace('`', "")
}
