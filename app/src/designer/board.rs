//! A read-only drawing: the same nodes and lines as in the editor, with a state on each.
//!
//! The pages Plan, Run and Deployment use it. It can be panned and zoomed, and nodes can be selected. The drawing is
//! fitted to the canvas until the user pans or zooms.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use api::CloudFacts;

use canvas::{
    drawing::{self, Drawing},
    geometry::{CanvasPoint, Rect, ScreenPoint, Size},
    layout::Places,
    selection::Selection,
    viewport::Viewport,
};
use hot::{bundle::Bundle, document::Document};
use leptos::{ev, html, prelude::*};
use planner::scaling::SCALING_GROUP;
use types::Registry;
use wasm_bindgen::JsCast;

use super::{
    arranging::{ArrangingNotice, arranged},
    icon_images::IconImages,
    inks::InkProbes,
    lines::{Labels, Lines},
    nodes::Nodes,
    painted::Painted,
    scene::Scene,
    stage::{Aim, Stage},
    surface,
};
use crate::{client, ui::Icon, worker};

/// Converts a layout of the API to the canvas's places.
pub fn places_of(layout: &api::Layout) -> Places {
    let place = |place: &api::NodePosition| canvas::layout::Place {
        x: place.x,
        y: place.y,
        width: place.width,
        height: place.height,
        folded: place
            .folded
            .map(|corner| CanvasPoint::new(corner.x, corner.y)),
    };
    layout
        .nodes
        .iter()
        .map(|(name, at)| (name.clone(), place(at)))
        .collect()
}

/// Converts the canvas's places to a layout of the API.
pub fn layout_of(places: &Places) -> api::Layout {
    let place = |place: &canvas::layout::Place| api::NodePosition {
        x: place.x,
        y: place.y,
        width: place.width,
        height: place.height,
        folded: place.folded.map(|corner| api::NodeCorner {
            x: corner.x,
            y: corner.y,
        }),
    };
    api::Layout {
        nodes: places
            .iter()
            .map(|(name, at)| (name.clone(), place(at)))
            .collect(),
    }
}

/// The read-only drawing of a template.
#[component]
pub fn Board(
    /// The template's text, in HOT.
    #[prop(into)]
    template: Signal<String>,
    /// Files and environments beside the template.
    #[prop(into)]
    beside: Signal<api::TemplateFiles>,
    /// Positions of the nodes.
    #[prop(into)]
    layout: Signal<api::Layout>,
    /// API name of the state, by resource name. Resources that passes add to members of groups and nested templates are
    /// not included.
    #[prop(into)]
    states: Signal<HashMap<String, String>>,
    /// The selected resource.
    #[prop(into)]
    selected: RwSignal<Option<String>>,
) -> impl IntoView {
    let types = RwSignal::new(Arc::new(Registry::default()));
    let described = RwSignal::new(false);
    let cloud = RwSignal::new(Arc::new(CloudFacts::default()));
    let scene = Scene::new();
    let bounds = RwSignal::new(None::<Rect>);
    let ready = RwSignal::new(false);
    let is_arranging = RwSignal::new(false);
    let root = NodeRef::<html::Div>::new();
    let view = RwSignal::new(Viewport::default());
    let touched = StoredValue::new(false);
    let asked = StoredValue::new(0_u32);
    let size = RwSignal::new(Size::default());
    surface::show_visible(scene, view, size);
    let under = move |event: &web_sys::Event, at: ScreenPoint| {
        surface::node_of(event).or_else(|| scene.painted_at(view.get_untracked().to_canvas(at)))
    };
    let stage = Stage {
        selection: Signal::derive(move || selected.get().map(Selection::only).unwrap_or_default()),
        states,
        problems: Signal::stored(Arc::default()),
        related: Signal::stored(None),
        aim: Signal::stored(Aim::default()),
        eligible: Signal::stored(None),
        others: Signal::stored(HashMap::new()),
        types: types.into(),
        icons: IconImages::new(),
        fold: None,
        editable: false,
    };
    let members = Memo::new(move |_| {
        states.with(|states| {
            let mut members: Vec<String> = states
                .keys()
                .filter(|name| name.contains('/'))
                .cloned()
                .collect();
            members.sort();
            members
        })
    });
    let fit = move || {
        let bounds = bounds.get_untracked();
        if let Some(fitted) = bounds.and_then(|bounds| surface::fit(root, bounds)) {
            view.try_set(fitted);
        }
    };
    // The types arrive after mount; until then all nodes are plain cards. The cloud's facts decide which resources the
    // passes add; these are drawn too.
    Effect::new(move |_| {
        leptos::task::spawn_local(async move {
            if let Ok(known) = client::resource_types().await {
                types.try_set(known.0);
            }
            described.try_set(true);
        });
        leptos::task::spawn_local(async move {
            if let Ok(facts) = client::cloud_facts().await {
                cloud.try_set(Arc::new(facts));
            }
        });
    });
    Effect::new(move |_| {
        if !described.get() {
            return;
        }
        let number = asked.get_value() + 1;
        asked.set_value(number);
        let input = DrawingInput {
            template: template.get(),
            bundle: beside.with(api::TemplateFiles::bundle),
            layout: layout.get(),
            members: members.get(),
            types: types.get(),
            cloud: cloud.get(),
        };
        leptos::task::spawn_local(async move {
            let drawing = input.draw(is_arranging).await;
            if asked.try_get_value() != Some(number) {
                return;
            }
            let drawing = Arc::new(drawing);
            scene.show(&drawing);
            bounds.set(drawing.bounds());
            if !touched.get_value() {
                fit();
            }
            ready.set(true);
        });
    });
    surface::on_resize(root, move |now: Size| {
        size.try_set(now);
        if touched.try_get_value() == Some(false) {
            fit();
        }
    });

    let pan = StoredValue::new(None::<(ScreenPoint, Viewport)>);
    let down = move |event: ev::PointerEvent| {
        let Some(at) = surface::point(root, &event) else {
            return;
        };
        selected.set(under(&event, at));
        pan.set_value(Some((at, view.get_untracked())));
        if let Some(element) = root.get_untracked() {
            // Without pointer capture a pan ends at the canvas's edge, which is acceptable.
            let _ = element.set_pointer_capture(event.pointer_id());
        }
    };
    let moved = move |event: ev::PointerEvent| {
        let (Some((start, before)), Some(at)) = (pan.get_value(), surface::point(root, &event))
        else {
            return;
        };
        if start.distance(at) > 3.0 {
            touched.set_value(true);
            view.set(before.panned(at.x - start.x, at.y - start.y));
        }
    };
    let wheel = move |event: ev::WheelEvent| {
        event.prevent_default();
        touched.set_value(true);
        if let Some(at) = surface::point(root, event.unchecked_ref()) {
            view.update(|view| *view = surface::wheel(*view, &event, at));
        }
    };
    let key = move |event: ev::KeyboardEvent| {
        if matches!(event.key().as_str(), "Enter" | " ")
            && let Some(name) = surface::node_of(&event)
        {
            event.prevent_default();
            selected.set(Some(name));
        }
    };
    let is_far = Memo::new(move |_| view.get().is_far());
    view! {
        <div
            class="canvas board" data-testid="canvas" data-ready=move || (ready.get() && size.get() != Size::default()).to_string() node_ref=root
            on:pointerdown=down on:pointermove=moved
            on:pointerup=move |_| pan.set_value(None) on:pointercancel=move |_| pan.set_value(None)
            on:wheel=wheel on:keydown=key
            on:focusin=move |event| if let Some(name) = surface::node_of(&event) { scene.focus(&name) }
        >
            <ArrangingNotice is_arranging />
            <InkProbes inks=stage.icons.inks />
            <Painted scene stage view size />
            <div
                class="viewport" data-testid="viewport" data-far=move || is_far.get().then_some("true")
                style:transform=move || surface::transform(view.get())
            >
                <Nodes scene stage />
                <Lines scene stage />
                <Labels scene stage />
            </div>
            <div class="canvas-controls">
                <button
                    type="button" class="button" data-look="ghost" data-size="icon" aria-label="Fit to screen" title="Fit to screen"
                    on:pointerdown=|event| event.stop_propagation()
                    on:click=move |_| { touched.set_value(false); fit() }
                >
                    <Icon name="maximize" />
                </button>
            </div>
        </div>
    }
}

/// Present members of the template's scaling groups, from the names of members that have a state.
fn present_members(document: &Document, members: &[String]) -> BTreeMap<String, Vec<String>> {
    let groups = document.template().resources.iter();
    let groups = groups.filter(|one| one.resource_type == SCALING_GROUP);
    let present = groups.filter_map(|group| {
        let own = members.iter().filter_map(|name| {
            let member = name.strip_prefix(&group.name)?.strip_prefix('/')?;
            let is_number = member.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| member.to_owned())
        });
        let own: Vec<String> = own.collect();
        (!own.is_empty()).then(|| (group.name.clone(), own))
    });
    present.collect()
}

struct DrawingInput {
    template: String,
    bundle: Bundle,
    layout: api::Layout,
    members: Vec<String>,
    types: Arc<Registry>,
    cloud: Arc<CloudFacts>,
}

impl DrawingInput {
    /// The drawing with all members, and with all frames unfolded: each resource has its state. Without a plan, it has no
    /// resources that the passes add. The signal is true while the worker arranges it.
    async fn draw(&self, is_arranging: RwSignal<bool>) -> Drawing {
        let document = Document::parse(self.template.as_str());
        let preview = worker::plan(worker::Template {
            text: &self.template,
            bundle: &self.bundle,
            members: present_members(&document, &self.members),
            types: &self.types,
            cloud: &self.cloud,
        })
        .await
        .ok();
        let preview = preview.as_ref();
        let described = planner::compose::described(&self.types, &self.bundle, &document);
        let (template, places) = (document.template(), places_of(&self.layout));
        let places = arranged(template, preview, &described, places, is_arranging).await;
        let mut drawing = drawing::draw_unfolded(template, preview, &described, &places);
        drawing.add_run_members(self.members.iter().map(String::as_str));
        drawing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_layout_keeps_sizes_and_folded_networks() {
        let position = api::NodePosition {
            x: 8.0,
            y: 16.0,
            width: Some(400.0),
            height: None,
            folded: Some(api::NodeCorner { x: 0.0, y: -8.0 }),
        };
        let layout = api::Layout {
            nodes: BTreeMap::from([("net".to_owned(), position)]),
        };
        assert_eq!(layout_of(&places_of(&layout)), layout);
    }
}
