//! The designer: palette, canvas, inspector and code editor over one document.
//!
//! All of them are views of the text in [`store::Workspace`]. The `canvas` crate decides the effect of a gesture or a
//! form edit. The server renders only an outline of the page; the editor is created in the browser after mount, so
//! there is no hydration mismatch.

mod actions;
mod arranging;
mod backdrop;
pub mod board;
mod bundle;
mod clipboard;
mod code_editor;
mod conflict;
mod contents;
mod controls;
mod decision;
mod deployed;
mod drafts;
mod drawer;
mod file_editor;
mod files;
mod fixes;
pub(crate) mod forms;
mod gesture;
mod grip;
mod header;
mod history;
mod hover;
mod icon_images;
mod icons;
mod inks;
mod inspector;
mod kept_history;
pub(crate) mod later;
mod lines;
mod menu;
mod merge;
mod minimap;
mod nodes;
mod others;
mod outline;
mod overlay;
mod painted;
mod palette;
mod panels;
mod picker;
pub mod preview;
mod problem_list;
mod save_state;
mod saving;
mod scene;
mod stage;
mod store;
pub mod surface;
mod type_icon;
mod view;

use std::{collections::BTreeMap, sync::Arc};

use canvas::layout::Places;
use hot::document::Document;
use leptos::{ev, prelude::*};
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_query_map};
use planner::{compose, preview::Preview};

use self::{
    arranging::{ArrangingNotice, arranged},
    board::places_of,
    conflict::ConflictNotice,
    forms::{DeploymentNote, DrawerPanel, Inspector, Palette},
    store::{Drawer, Workspace},
    view::Canvas,
};
use crate::{
    browser,
    client::{self, Types},
    frame::{Crumb, use_frame},
    load::{Load, Loaded},
    ui::{ProblemCard, use_leaving},
    worker,
};

/// The editor page of one design.
#[component]
pub fn DesignPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| params.with(|params| params.get("id").unwrap_or_default()));
    let is_arranging = RwSignal::new(false);
    let opened = Load::new(move || open(id.get(), is_arranging));
    // The worker starts while design and types are fetched.
    Effect::new(|_| worker::warm_up());
    let name = RwSignal::new(None::<String>);
    use_frame().crumbs(move || {
        vec![
            Crumb::link("Designs", "/designs"),
            Crumb::here(name.get().unwrap_or_else(|| "Design".to_owned())),
        ]
    });
    view! {
        <Title text=move || name.get().unwrap_or_else(|| "Design".to_owned()) />
        {move || match opened.state() {
            Loaded::Ready(opened) => view! { <Designer opened name /> }.into_any(),
            Loaded::Failed(problem) => view! { <ProblemCard is_page=true problem retry=Callback::new(move |()| opened.reload()) /> }.into_any(),
            Loaded::Loading => view! { <Skeleton is_arranging /> }.into_any(),
        }}
    }
}

/// A fetched design with its types, its preview and the places of its nodes.
#[derive(Clone, PartialEq)]
struct Opened {
    design: api::Design,
    types: Types,
    preview: Arc<Preview>,
    places: Places,
}

async fn open(id: String, is_arranging: RwSignal<bool>) -> client::Answer<Opened> {
    let (design, types) = futures::try_join!(client::design(&id), client::resource_types())?;
    let (bundle, cloud) = (design.beside.bundle(), Arc::default());
    let preview = browser::with_retries(|| {
        worker::plan(worker::Template {
            text: &design.template,
            bundle: &bundle,
            members: BTreeMap::new(),
            types: &types.0,
            cloud: &cloud,
        })
    });
    // The worker plans meanwhile.
    let document = async { Document::parse(design.template.as_str()) };
    let (preview, document) = futures::join!(preview, document);
    let preview = preview?;
    let places = {
        let described = compose::described(&types.0, &bundle, &document);
        let (template, places) = (document.template(), places_of(&design.layout));
        arranged(template, Some(&preview), &described, places, is_arranging).await
    };
    Ok(Opened {
        design,
        types,
        preview: Arc::new(preview),
        places,
    })
}

/// The page's outline while the design and the resource types load.
#[component]
fn Skeleton(is_arranging: RwSignal<bool>) -> impl IntoView {
    // The canvas is not busy: what is announced there would wait until it is not.
    view! {
        <div class="designer">
            <div class="palette-panel" aria-busy="true"></div>
            <div class="designer-centre"><div class="canvas" data-testid="canvas" data-ready="false">
                <ArrangingNotice is_arranging />
            </div></div>
            <div class="inspector" aria-busy="true"></div>
        </div>
    }
}

#[component]
fn Designer(opened: Opened, name: RwSignal<Option<String>>) -> impl IntoView {
    let Opened {
        design,
        types,
        preview,
        places,
    } = opened;
    let workspace = Workspace::open(&design, places, types, preview);
    actions::provide(workspace);
    forms::provide(workspace);
    use_frame().actions(forms::header_actions(workspace));
    Effect::new(move |_| {
        name.try_set(Some(workspace.saving.name.get()));
    });
    workspace.saving.restore_draft(workspace, &design.layout);
    workspace.restore_history();
    let has_loaded_cloud = load_cloud(workspace);
    keep_on_leaving(workspace);
    show_asked(workspace, has_loaded_cloud);
    show_asked_version(workspace);
    view! {
        <div
            class="designer"
            data-palette=move || (!workspace.panels.palette.get()).then_some("folded")
            data-inspector=move || (!workspace.panels.inspector.get()).then_some("folded")
        >
            <Palette workspace />
            <div class="designer-centre" data-drawer=move || workspace.panels.drawer_is_beside.get().then_some("beside")>
                <DeploymentNote workspace />
                <ConflictNotice workspace />
                <Canvas workspace />
                <DrawerPanel workspace />
            </div>
            <Inspector workspace />
        </div>
    }
}

/// Shows the resource and property of the page's address, for example after a link on a plan.
///
/// The property's field gets the focus when the cloud's facts are here: they make selections of text fields.
fn show_asked(workspace: Workspace, has_loaded_cloud: RwSignal<bool>) {
    let query = use_query_map();
    Effect::new(move |_| {
        let (resource, property) =
            query.with(|query| (query.get("resource"), query.get("property")));
        if let Some(resource) = resource {
            let property = property.filter(|_| has_loaded_cloud.get());
            workspace.show(&resource, property.as_deref());
        }
    });
}

/// Opens the list of versions if the page's address has an older one. The list compares the design with it.
fn show_asked_version(workspace: Workspace) {
    let asked = history::asked_version(workspace);
    Effect::new(move |_| {
        if asked.get().is_some() {
            workspace.drawer.set(Drawer::History);
        }
    });
}

/// Loads the cloud's facts. The editor works without them. The signal becomes true when they are here, or cannot be read.
fn load_cloud(workspace: Workspace) -> RwSignal<bool> {
    let has_ended = RwSignal::new(false);
    leptos::task::spawn_local(async move {
        if let Ok(facts) = client::cloud_facts().await {
            workspace.cloud.try_set(Arc::new(facts));
            workspace.refresh();
        }
        has_ended.try_set(true);
    });
    has_ended
}

/// Writes unsaved changes to the local storage and sends them to the server when the page closes.
///
/// If both may fail, the browser first displays a confirmation. If the user stays, the page is unchanged.
fn keep_on_leaving(workspace: Workspace) {
    let saving = workspace.saving;
    let has_unprotected_changes = move || {
        saving.keep_now(workspace);
        saving.has_unprotected_changes()
    };
    use_leaving().ask_first(has_unprotected_changes);
    Effect::new(move |_| {
        let closes = window_event_listener(ev::beforeunload, move |event| {
            if has_unprotected_changes() {
                event.prevent_default();
            }
        });
        let goes = window_event_listener_untyped("pagehide", move |_| {
            workspace.keep_history();
            saving.leave(workspace);
        });
        // A hidden tab may never become visible again. On a phone most visits end like this.
        let hides = window_event_listener_untyped("visibilitychange", move |_| {
            saving.keep_now(workspace);
        });
        on_cleanup(move || {
            closes.remove();
            goes.remove();
            hides.remove();
        });
    });
    on_cleanup(move || {
        workspace.keep_history();
        saving.leave(workspace);
    });
}
