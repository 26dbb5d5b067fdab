//! Tables of data.

use leptos::prelude::*;

/// Title of the column with the buttons of a row. Only screen readers read it.
pub const ACTIONS: &str = "Actions";

/// A table with the titles of its columns.
pub fn data_table<const N: usize>(
    columns: [&'static str; N],
    rows: impl IntoView,
) -> impl IntoView {
    let head = columns.map(|column| {
        let title = match column {
            ACTIONS => view! { <span class="sr-only">{ACTIONS}</span> }.into_any(),
            title => title.into_any(),
        };
        view! { <th scope="col">{title}</th> }
    });
    view! {
        <div class="table">
            <table>
                <thead>
                    <tr>{head}</tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}
