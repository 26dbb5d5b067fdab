//! Lists of rows of which only those in view have elements: a run can have thousands of steps.
//!
//! Each row has a known height, so its position follows from its index. Elements come and go by blocks of rows, and a block
//! never moves in the document: a moved element would lose the focus. Blocks near the view have elements, too, and so has
//! the one with the focus: the keyboard moves on from it, wherever the list is scrolled to.

use std::ops::Range;

use leptos::{ev, html, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::{
    browser,
    designer::surface::{attribute_of, on_resize_of},
};

/// Minimum number of rows above and below the view that have elements.
const SPARE: usize = 10;
/// Number of rows of a block.
const BLOCK: usize = 10;

/// Heights of the rows of a list. Pure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Number of rows.
    pub count: usize,
    /// Height of a row, in pixels.
    pub height: f64,
    /// Additional height of a tall row, in pixels.
    pub extra: f64,
    /// Indices of the tall rows, ascending.
    pub tall: Vec<usize>,
}

impl Rows {
    /// Upper edge of a row, in pixels from the first row's.
    pub fn top(&self, row: usize) -> f64 {
        let tall = self.tall.partition_point(|one| *one < row);
        row as f64 * self.height + tall as f64 * self.extra
    }

    /// Height of all rows, in pixels.
    pub fn total(&self) -> f64 {
        self.top(self.count)
    }

    /// Index of the row at a position, or the nearest one.
    fn at(&self, position: f64) -> usize {
        let (mut low, mut high) = (0, self.count.saturating_sub(1));
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.top(middle + 1) <= position {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Number of blocks.
    fn blocks(&self) -> usize {
        self.count.div_ceil(BLOCK)
    }

    /// Indices of the rows of a block.
    fn of_block(&self, block: usize) -> Range<usize> {
        let first = block * BLOCK;
        first..(first + BLOCK).min(self.count)
    }

    /// Numbers of the blocks in view, and near it.
    fn near(&self, place: Place) -> Range<usize> {
        let first = self.at(place.top).saturating_sub(SPARE);
        let last = self.at(place.top + place.height) + SPARE;
        first / BLOCK..(last / BLOCK + 1).min(self.blocks())
    }
}

/// Scroll position and height of the view, in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Place {
    top: f64,
    height: f64,
}

/// The scrolled element of a list. Each of its rows has `data-row` with its index, and a button.
#[derive(Clone, Copy)]
pub struct RowsView {
    /// The scrolled element.
    pub root: NodeRef<html::Div>,
    /// Heights of the rows.
    pub rows: Memo<Rows>,
    /// Numbers of the blocks in view, and near it.
    near: Memo<Range<usize>>,
    place: RwSignal<Place>,
    /// Index of the row with the focus.
    focused: RwSignal<Option<usize>>,
}

impl RowsView {
    /// The view of a list. To be called when the list is created.
    pub fn new(rows: Memo<Rows>) -> RowsView {
        let root = NodeRef::<html::Div>::new();
        let place = RwSignal::new(Place::default());
        let focused = RwSignal::new(None::<usize>);
        Effect::new(move |_| {
            if let Some(root) = root.get() {
                on_resize_of(&root, move |size| {
                    place.try_update(|place| place.height = size.height);
                });
            }
        });
        let near = Memo::new(move |_| rows.with(|rows| rows.near(place.get())));
        RowsView {
            root,
            rows,
            near,
            place,
            focused,
        }
    }

    /// True if the rows of a block have elements. Tracks.
    fn has(self, block: usize) -> bool {
        let is_focused = |row: usize| row / BLOCK == block;
        self.near.with(|near| near.contains(&block)) || self.focused.get().is_some_and(is_focused)
    }

    /// Handles `scroll`.
    pub fn scrolled(self) {
        if let Some(root) = self.root.get_untracked() {
            let top = f64::from(root.scroll_top());
            self.place.update(|place| place.top = top);
        }
    }

    /// Handles `focusin`.
    pub fn focus_came(self, event: &ev::FocusEvent) {
        self.focused.set(row_of(event));
    }

    /// Handles `focusout`.
    pub fn focus_left(self) {
        self.focused.set(None);
    }

    /// Handles `keydown`: arrow keys, Home and End move the focus to another row.
    pub fn on_key(self, event: &ev::KeyboardEvent) {
        let Some(row) = row_of(event) else { return };
        let last = self
            .rows
            .with_untracked(|rows| rows.count.saturating_sub(1));
        let goal = match event.key().as_str() {
            "ArrowUp" => row.saturating_sub(1),
            "ArrowDown" => (row + 1).min(last),
            "Home" => 0,
            "End" => last,
            _ => return,
        };
        event.prevent_default();
        self.reveal(goal);
        browser::on_next_frame(move || {
            if let Some(button) = self.button(goal) {
                let _ = button.focus();
            }
        });
    }

    fn button(self, row: usize) -> Option<HtmlElement> {
        let root = self.root.try_get_untracked()??;
        let selector = format!("[data-row='{row}'] button, button[data-row='{row}']");
        let found = root.query_selector(&selector).ok()??;
        found.dyn_into().ok()
    }

    /// Scrolls so that a row is in view, in its middle if it was not.
    pub fn reveal(self, row: usize) {
        let Some(root) = self.root.get_untracked() else {
            return;
        };
        let (top, bottom, total) = self
            .rows
            .with_untracked(|rows| (rows.top(row), rows.top(row + 1), rows.total()));
        let height = f64::from(root.client_height());
        // A head above the rows and the padding below them scroll, too.
        let head = (f64::from(root.scroll_height()) - total).max(0.0);
        let from = f64::from(root.scroll_top());
        if top >= from && bottom + head <= from + height {
            return;
        }
        let goal = ((top + bottom + head - height) / 2.0).max(0.0);
        root.set_scroll_top(goal as i32);
        // The scroll event comes later.
        self.place.update(|place| place.top = goal);
    }
}

/// Elements of a list's rows.
#[component]
pub fn RowElements(
    /// The list.
    list: RowsView,
    /// The id of the row with an index. Tracks.
    id_of: Callback<usize, Option<String>>,
    /// The element of a row with its index and id.
    row: Callback<(usize, String), AnyView>,
) -> impl IntoView {
    let blocks = Memo::new(move |_| list.rows.with(Rows::blocks));
    view! {
        <For each=move || 0..blocks.get() key=|block| *block let:block>
            <Block list id_of row block />
        </For>
    }
}

#[component]
fn Block(
    list: RowsView,
    id_of: Callback<usize, Option<String>>,
    row: Callback<(usize, String), AnyView>,
    /// Number of the block.
    block: usize,
) -> impl IntoView {
    let is_here = Memo::new(move |_| list.has(block));
    let rows = Memo::new(move |_| {
        if !is_here.get() {
            return Vec::new();
        }
        let rows = list.rows.with(|rows| rows.of_block(block));
        rows.filter_map(|at| Some((at, id_of.run(at)?)))
            .collect::<Vec<_>>()
    });
    view! { <For each=move || rows.get() key=Clone::clone let:one>{row.run(one)}</For> }
}

fn row_of(event: &web_sys::Event) -> Option<usize> {
    attribute_of(event, "data-row")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize, tall: &[usize]) -> Rows {
        Rows {
            count,
            height: 28.0,
            extra: 16.0,
            tall: tall.to_vec(),
        }
    }

    #[test]
    fn tall_rows_move_those_below_them() {
        let rows = rows(10, &[2, 5]);
        assert_eq!(rows.top(2), 56.0);
        assert_eq!(rows.top(3), 56.0 + 28.0 + 16.0);
        assert_eq!(rows.total(), 10.0 * 28.0 + 2.0 * 16.0);
        for row in 0..10 {
            assert_eq!(rows.at(rows.top(row)), row);
            assert_eq!(rows.at(rows.top(row + 1) - 1.0), row);
        }
        assert_eq!(rows.at(1e9), 9, "the last one");
    }

    #[test]
    fn of_two_thousand_rows_those_near_the_view_are_shown() {
        let rows = rows(1_995, &[700]);
        let shown = |top: f64| {
            let near = rows.near(Place { top, height: 280.0 });
            near.flat_map(|block| rows.of_block(block))
                .collect::<Vec<_>>()
        };
        let middle = shown(28_000.0);
        assert!(middle.contains(&990) && middle.contains(&1_019));
        assert!(middle.len() <= 50, "{middle:?}");
        assert_eq!(shown(rows.total() - 280.0).last(), Some(&1_994));
        assert_eq!(shown(0.0).first(), Some(&0));
        assert_eq!(Rows::default().near(Place::default()), 0..0);
    }
}
