//! The drawer below or beside the canvas: problems, code and versions.

use api::Severity;
use leptos::{ev, prelude::*};

use super::{
    code_editor::{EditorKeys, Source},
    later::{CodeEditor, History},
    problem_list::ProblemList,
    store::{Drawer, Workspace},
};
use crate::{browser, ui::Icon};

/// The drawer. The head is always visible, the body can be closed.
#[component]
pub fn DrawerPanel(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let open = workspace.drawer;
    let is_beside = workspace.panels.drawer_is_beside;
    let (height, width) = (Length::new(&HEIGHT), Length::new(&WIDTH));
    let length = move || {
        if is_beside.get_untracked() {
            width
        } else {
            height
        }
    };
    let counts = Memo::new(move |_| {
        workspace.problems.with(|problems| {
            let count = |severity| {
                problems
                    .iter()
                    .filter(|problem| problem.severity == severity)
                    .count()
            };
            (count(Severity::Error), count(Severity::Warning))
        })
    });
    let toggle = move |which: Drawer| {
        open.update(|now| *now = if *now == which { Drawer::Closed } else { which })
    };
    let show = move |which: Drawer| open.set(which);
    let held = StoredValue::new(None::<(i32, f64)>);
    let along = move |event: &ev::PointerEvent| {
        if is_beside.get_untracked() {
            event.client_x()
        } else {
            event.client_y()
        }
    };
    let grab = move |event: ev::PointerEvent| {
        use wasm_bindgen::JsCast;
        held.set_value(Some((along(&event), length().px.get_untracked())));
        if let Some(element) = event
            .current_target()
            .and_then(|target| target.dyn_into::<web_sys::Element>().ok())
        {
            // Without pointer capture the drag ends at the edge.
            let _ = element.set_pointer_capture(event.pointer_id());
        }
    };
    let drag = move |event: ev::PointerEvent| {
        if let Some((start, before)) = held.get_value() {
            length().set(before + f64::from(start - along(&event)));
        }
    };
    let let_go = move || {
        if held.get_value().is_some() {
            held.set_value(None);
            length().remember();
        }
    };
    let by_key = move |event: ev::KeyboardEvent| {
        let by = match (is_beside.get_untracked(), event.key().as_str()) {
            (false, "ArrowUp") | (true, "ArrowLeft") => 24.0,
            (false, "ArrowDown") | (true, "ArrowRight") => -24.0,
            _ => return,
        };
        event.prevent_default();
        length().set(length().px.get_untracked() + by);
        length().remember();
    };
    let sizes = move || {
        let (height, width) = (height.px.get(), width.px.get());
        format!("--drawer-height: {height}px; --drawer-width: {width}px")
    };
    view! {
        <section class="drawer" aria-label="Problems, code and history" style=sizes data-open=move || (open.get() != Drawer::Closed).to_string()>
            {move || (open.get() != Drawer::Closed).then(|| view! {
                <div
                    class="drawer-split" role="separator" tabindex="0"
                    aria-orientation=move || if is_beside.get() { "vertical" } else { "horizontal" }
                    aria-label=move || if is_beside.get() { "Width of the drawer" } else { "Height of the drawer" }
                    aria-valuenow=move || format!("{:.0}", if is_beside.get() { width.px.get() } else { height.px.get() })
                    on:pointerdown=grab on:pointermove=drag on:pointerup=move |_| let_go() on:pointercancel=move |_| let_go() on:keydown=by_key
                ></div>
            })}
            <div class="drawer-head">
                <div class="panel-tabs" role="tablist" aria-label="Drawer">
                    <button type="button" role="tab" id="drawer-tab-problems" aria-controls="drawer-problems" aria-selected=move || (open.get() == Drawer::Problems).to_string() on:click=move |_| show(Drawer::Problems)>
                        "Problems"
                        {move || {
                            let (errors, warnings) = counts.get();
                            (errors + warnings > 0).then(|| view! { <span class="count" data-severe=(errors > 0).then_some("true")>{errors + warnings}</span> })
                        }}
                    </button>
                    <button type="button" role="tab" id="drawer-tab-code" aria-controls="drawer-code" aria-selected=move || (open.get() == Drawer::Code).to_string() on:click=move |_| show(Drawer::Code)>
                        "Code"
                    </button>
                    <button type="button" role="tab" id="drawer-tab-history" aria-controls="drawer-history" aria-selected=move || (open.get() == Drawer::History).to_string() on:click=move |_| show(Drawer::History)>
                        "History"
                    </button>
                </div>
                {move || (open.get() == Drawer::Code).then(|| view! { <EditorKeys source=Source::Template /> })}
                {move || (open.get() != Drawer::Closed).then(|| view! {
                    <button
                        type="button" class="button drawer-move" data-look="ghost" data-size="icon-small"
                        title=move || place_words(is_beside.get()) aria-label=move || place_words(is_beside.get())
                        on:click=move |_| workspace.panels.move_drawer()
                    >
                        {move || if is_beside.get() { view! { <Icon name="panel-bottom" /> } } else { view! { <Icon name="panel-right" /> } }}
                    </button>
                })}
                <button
                    type="button" class="button" data-look="ghost" data-size="icon-small"
                    aria-label=move || if open.get() == Drawer::Closed { "Open the drawer" } else { "Close the drawer" }
                    aria-expanded=move || (open.get() != Drawer::Closed).to_string()
                    on:click=move |_| if open.get_untracked() == Drawer::Closed { show(Drawer::Code) } else { toggle(open.get_untracked()) }
                >
                    {move || if open.get() == Drawer::Closed { view! { <Icon name="chevron-up" /> } } else { view! { <Icon name="chevron-down" /> } }}
                </button>
            </div>
            {move || match open.get() {
                Drawer::Closed => ().into_any(),
                Drawer::Problems => view! {
                    <div class="drawer-body" role="tabpanel" id="drawer-problems" aria-labelledby="drawer-tab-problems">
                        <ProblemList workspace />
                    </div>
                }.into_any(),
                Drawer::Code => view! {
                    <div class="drawer-body" role="tabpanel" id="drawer-code" aria-labelledby="drawer-tab-code">
                        <CodeEditor workspace source=Source::Template />
                    </div>
                }.into_any(),
                Drawer::History => view! {
                    <div class="drawer-body" role="tabpanel" id="drawer-history" aria-labelledby="drawer-tab-history">
                        <History workspace />
                    </div>
                }.into_any(),
            }}
        </section>
    }
}

fn place_words(is_beside: bool) -> &'static str {
    if is_beside {
        "Move the drawer below the canvas"
    } else {
        "Move the drawer beside the canvas"
    }
}

/// Limits of a length of the drawer.
struct Limits {
    /// Key of the browser's storage.
    key: &'static str,
    first: f64,
    min: f64,
    max: f64,
}

const HEIGHT: Limits = Limits {
    key: "designer.drawer",
    first: 240.0,
    min: 96.0,
    max: 640.0,
};
const WIDTH: Limits = Limits {
    key: "designer.drawer-width",
    first: 440.0,
    min: 280.0,
    max: 1200.0,
};

/// Height or width of the drawer in CSS pixels, kept in the browser.
#[derive(Clone, Copy)]
struct Length {
    px: RwSignal<f64>,
    limits: &'static Limits,
}

impl Length {
    /// The length of earlier visits.
    fn new(limits: &'static Limits) -> Self {
        let length = Self {
            px: RwSignal::new(limits.first),
            limits,
        };
        Effect::new(move |_| {
            let kept = browser::remembered(limits.key).and_then(|text| text.parse().ok());
            if let Some(kept) = kept {
                length.set(kept);
            }
        });
        length
    }

    fn set(self, px: f64) {
        self.px.set(px.clamp(self.limits.min, self.limits.max));
    }

    fn remember(self) {
        browser::remember(self.limits.key, &self.px.get_untracked().to_string());
    }
}
