//! The left side: the palette of new resources, and the outline of existing ones.
//!
//! Entries are buttons. A pointer drag drops one on the canvas, and Enter adds it to the selection. The drag uses
//! pointer events instead of the browser's drag and drop, because they support touch and report the position during the
//! move.

use canvas::{commands::Item, geometry::ScreenPoint, palette};
use leptos::{ev, prelude::*};
use wasm_bindgen::JsCast;

use super::{
    hover,
    outline::{self, Outline},
    stage::Stage,
    store::Workspace,
    surface,
    type_icon::TypeIcon,
};
use crate::{browser, ui::Icon};

/// Distance in CSS pixels after which a press becomes a drag.
const SLOP_PX: f64 = 4.0;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tab {
    Resources,
    Catalogue,
    Outline,
}

impl Tab {
    const ALL: [Tab; 3] = [Tab::Resources, Tab::Catalogue, Tab::Outline];

    fn title(self) -> &'static str {
        match self {
            Tab::Resources => "Resources",
            Tab::Catalogue => "Catalogue",
            Tab::Outline => "Outline",
        }
    }
}

/// Dragged entry, and its position in the window.
#[derive(Clone, PartialEq)]
struct Carried {
    entry: palette::Entry,
    x: f64,
    y: f64,
}

/// The contents of the palette.
#[component]
pub fn Contents(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let tab = RwSignal::new(Tab::Resources);
    let search = RwSignal::new(String::new());
    let carried = RwSignal::new(None::<Carried>);
    let stage = workspace.stage();
    let on_key = move |event: ev::KeyboardEvent| {
        let index = Tab::ALL
            .iter()
            .position(|one| *one == tab.get_untracked())
            .unwrap_or_default();
        let next = match event.key().as_str() {
            "ArrowRight" => (index + 1) % 3,
            "ArrowLeft" => (index + 2) % 3,
            _ => return,
        };
        event.prevent_default();
        tab.set(Tab::ALL[next]);
        browser::focus(&format!("palette-tab-{next}"));
    };
    let is_searching = Memo::new(move |_| search.with(|search| !search.trim().is_empty()));
    let on_search_key = move |event: ev::KeyboardEvent| {
        if event.key() != "Enter" {
            return;
        }
        event.prevent_default();
        if !is_searching.get_untracked() {
            return;
        }
        if tab.get_untracked() == Tab::Outline {
            search.with_untracked(|search| outline::open_first(workspace, search));
            return;
        }
        let best = workspace.types.with_untracked(|types| {
            let recent = workspace.recent_items();
            let found = search.with_untracked(|search| palette::search(types, &recent, search));
            found.into_iter().next()
        });
        if let Some(best) = best {
            workspace.add(&best.item);
        }
    };
    view! {
        <div class="panel-tabs" role="tablist" aria-label="Palette" on:keydown=on_key>
            {Tab::ALL.iter().enumerate().map(|(index, one)| view! {
                <button
                    type="button" role="tab" id=format!("palette-tab-{index}") aria-controls="palette-list"
                    aria-selected=move || (tab.get() == *one).to_string()
                    tabindex=move || if tab.get() == *one { "0" } else { "-1" }
                    on:click=move |_| tab.set(*one)
                >
                    {one.title()}
                </button>
            }).collect_view()}
        </div>
        <div class="panel-search">
            <label class="search">
                <Icon name="search" />
                <span class="sr-only">"Search the palette"</span>
                <input
                    class="input" type="search" placeholder="Search" autocomplete="off"
                    prop:value=move || search.get() on:input=move |event| search.set(event_target_value(&event))
                    on:keydown=on_search_key
                />
            </label>
        </div>
        <div class="palette-list" role="tabpanel" id="palette-list" aria-label=move || tab.get().title()>
            {move || match tab.get() {
                Tab::Resources | Tab::Catalogue if is_searching.get() => view! { <Found workspace stage search carried /> }.into_any(),
                Tab::Resources => view! { <Resources workspace stage carried /> }.into_any(),
                Tab::Catalogue => view! { <Components workspace stage carried /> }.into_any(),
                Tab::Outline => view! { <Outline workspace search /> }.into_any(),
            }}
        </div>
        {move || carried.get().map(|carried| {
            let hint = workspace.hint.get();
            let over = hint.is_some();
            view! {
                <div class="carried" data-over=over.then_some("true") style:transform=format!("translate({}px, {}px)", carried.x + 10.0, carried.y + 10.0)>
                    <span class="carried-card">
                        <TypeIcon resource_type=carried.entry.resource_type category=carried.entry.category stage />
                        {carried.entry.title}
                    </span>
                    {hint.map(|hint| view! {
                        <span class="hint" data-refused=hint.refused.then_some("true")>
                            <Icon name=if hint.refused { "ban" } else { "plus" } />
                            {hint.text}
                        </span>
                    })}
                </div>
            }
        })}
    }
}

/// Resources and catalogue items that match the search, the best first. Enter in the search field adds the first.
#[component]
fn Found(
    workspace: Workspace,
    stage: Stage,
    search: RwSignal<String>,
    carried: RwSignal<Option<Carried>>,
) -> impl IntoView {
    move || {
        let entries = workspace
            .types
            .with(|types| palette::search(types, &workspace.recent_items(), &search.get()));
        if entries.is_empty() {
            return view! { <p class="panel-none" role="status">"Nothing matches."</p> }.into_any();
        }
        view! {
            <section class="kit-group" data-found="true">
                {entries.into_iter().map(|entry| view! { <EntryButton workspace stage entry carried /> }).collect_view()}
            </section>
        }
        .into_any()
    }
}

#[component]
fn Resources(
    workspace: Workspace,
    stage: Stage,
    carried: RwSignal<Option<Carried>>,
) -> impl IntoView {
    move || {
        let groups = workspace.types.with(|types| palette::resources(types, ""));
        groups
            .into_iter()
            .map(|group| {
                view! {
                    <section class="kit-group">
                        <h3>{group.title}</h3>
                        {group.entries.into_iter().map(|entry| view! { <EntryButton workspace stage entry carried /> }).collect_view()}
                    </section>
                }
            })
            .collect_view()
    }
}

#[component]
fn Components(
    workspace: Workspace,
    stage: Stage,
    carried: RwSignal<Option<Carried>>,
) -> impl IntoView {
    move || {
        let entries = workspace.types.with(|types| palette::components(types, ""));
        if entries.is_empty() {
            return view! { <p class="panel-none">"The catalogue is empty."</p> }.into_any();
        }
        view! {
            <section class="kit-group">
                <p class="panel-hint">"Drop these on a server."</p>
                {entries.into_iter().map(|entry| view! { <EntryButton workspace stage entry carried /> }).collect_view()}
            </section>
        }
        .into_any()
    }
}

#[component]
fn EntryButton(
    workspace: Workspace,
    stage: Stage,
    entry: palette::Entry,
    carried: RwSignal<Option<Carried>>,
) -> impl IntoView {
    let pressed = StoredValue::new(None::<ScreenPoint>);
    let item: Item = entry.item.clone();
    let window_point = |event: &ev::PointerEvent| {
        ScreenPoint::new(f64::from(event.client_x()), f64::from(event.client_y()))
    };
    let down = move |event: ev::PointerEvent| {
        if event.button() == 0 {
            pressed.set_value(Some(window_point(&event)));
            if let Some(element) = event
                .current_target()
                .and_then(|target| target.dyn_into::<web_sys::Element>().ok())
            {
                // Without pointer capture the drag ends at the button's edge.
                let _ = element.set_pointer_capture(event.pointer_id());
            }
        }
    };
    let moved = {
        let (entry, item) = (entry.clone(), item.clone());
        move |event: ev::PointerEvent| {
            let Some(start) = pressed.get_value() else {
                return;
            };
            let now = window_point(&event);
            if carried.with_untracked(Option::is_none) && start.distance(now) < SLOP_PX {
                return;
            }
            carried.set(Some(Carried {
                entry: entry.clone(),
                x: now.x,
                y: now.y,
            }));
            if let Some(at) = surface::client_point(workspace.root, now.x, now.y) {
                hover::hover_item(workspace, &item, at);
            }
        }
    };
    let up = {
        let item = item.clone();
        move |event: ev::PointerEvent| {
            pressed.set_value(None);
            if carried.with_untracked(Option::is_some) {
                carried.set(None);
                let now = window_point(&event);
                if let Some(at) = surface::client_point(workspace.root, now.x, now.y) {
                    hover::drop_item(workspace, &item, at);
                }
            }
        }
    };
    let cancel = move || {
        pressed.set_value(None);
        carried.set(None);
        hover::clear(workspace);
    };
    let keyed = move |event: ev::KeyboardEvent| match event.key().as_str() {
        "Enter" | " " => {
            event.prevent_default();
            workspace.add(&item);
        }
        "Escape" => cancel(),
        _ => {}
    };
    let double = {
        let item = entry.item.clone();
        move |_| workspace.add(&item)
    };
    let summary = entry.summary.clone();
    view! {
        <button
            type="button" class="palette-entry" title=summary
            on:pointerdown=down on:pointermove=moved on:pointerup=up on:pointercancel=move |_| cancel()
            on:keydown=keyed on:dblclick=double on:dragstart=|event| event.prevent_default()
        >
            <EntryFace entry stage />
        </button>
    }
}

/// The icon, title and summary of an entry. The title names its button, and the summary is the button's description.
#[component]
pub fn EntryFace(
    /// The entry.
    entry: palette::Entry,
    /// Access to the icons of catalogue items.
    stage: Stage,
) -> impl IntoView {
    view! {
        <TypeIcon resource_type=entry.resource_type category=entry.category stage />
        <span class="palette-entry-text">
            <span class="palette-entry-title">{entry.title}</span>
            <span class="palette-entry-summary" aria-hidden="true">{entry.summary}</span>
        </span>
    }
}
