//! Tables of data.

use leptos::prelude::*;

/// Title of the column with the buttons of a row. Only screen readers read it.
pub const ACTIONS: &str = "Actions";

/// Number of rows that a long table shows at once, and that [`MoreRows`] adds.
pub const ROWS: usize = 50;

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

/// The number of shown rows with a button that adds more, or nothing if all are shown.
#[component]
pub fn MoreRows(
    /// Maximum number of shown rows. [`ROWS`] at first.
    rows: RwSignal<usize>,
    /// Number of all rows.
    count: Memo<usize>,
) -> impl IntoView {
    move || {
        let count = count.get();
        let rest = count.saturating_sub(rows.get());
        (rest > 0).then(|| {
            let label = format!("Show {} more", rest.min(ROWS));
            view! {
                <div class="table-more">
                    <span class="meta" role="status">{format!("{} of {count} are shown", rows.get())}</span>
                    <button type="button" class="button" on:click=move |_| rows.update(|rows| *rows += ROWS)>{label}</button>
                </div>
            }
        })
    }
}
