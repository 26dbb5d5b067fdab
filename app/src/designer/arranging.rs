//! The first arrangement of a large drawing. The worker computes it, so that it does not block the page.
//!
//! An editor that gets a large text without positions later, such as a pasted one, has an empty canvas until the worker
//! has arranged it.

use canvas::{drawing::Unplaced, layout::Places};
use hot::template::Template;
use leptos::prelude::*;
use planner::preview::Preview;
use types::Registry;

use crate::{ui::Icon, worker};

/// Number of nodes above which the worker arranges them: fewer take less than a frame.
pub const ARRANGED_AT_ONCE: usize = 300;

/// The places of a template's nodes, completed by the worker if many are missing. A small drawing gets them when it is
/// drawn. The signal is true while the worker arranges.
pub async fn arranged(
    template: &Template,
    preview: Option<&Preview>,
    types: &Registry,
    mut places: Places,
    is_arranging: RwSignal<bool>,
) -> Places {
    let unplaced = Unplaced::of(template, preview, types, &places);
    if unplaced.missing(&places) <= ARRANGED_AT_ONCE {
        return places;
    }
    is_arranging.try_set(true);
    let rects = worker::arranged(unplaced.arrangement()).await;
    is_arranging.try_set(false);
    for (name, place) in unplaced.placed(&rects).places() {
        places.entry(name).or_insert(place);
    }
    places
}

/// The notice on a canvas while its drawing is arranged.
#[component]
pub fn ArrangingNotice(
    /// True while the worker arranges.
    is_arranging: RwSignal<bool>,
) -> impl IntoView {
    // The region is there before its text, or screen readers would not announce it.
    view! {
        <div role="status">
            {move || is_arranging.get().then(|| view! {
                <p class="canvas-notice" data-tone="quiet"><Icon name="layout-template" />"Arranging…"</p>
            })}
        </div>
    }
}
