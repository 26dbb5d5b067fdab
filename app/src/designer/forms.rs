//! Parts of the designer beside and over the drawing: the palette, the inspector, the drawer, the actions in the top bar,
//! the buttons of the canvas, the map, the list of choices, the context menu, and the note on the deployment to update.
//! Their code is the piece `forms` (see [`lazy`](crate::lazy)). The browser loads it as soon as the canvas is built. Until
//! then placeholders keep the room of palette, inspector and drawer.

use canvas::geometry::Size;
use leptos::prelude::*;

use super::{
    controls, deployed, drawer, header, inspector, menu, minimap, others, overlay::ContextMenu,
    palette, picker, store::Workspace,
};
use crate::{
    browser,
    client::page_missing,
    load::Load,
    opening::Missing,
    ui::{Icon, skeleton, use_toasts},
};

/// Rows of a panel's placeholder. On a phone they are as high as the inspector, and the palette cuts them.
const PLACEHOLDER_ROWS: usize = 8;

/// The views of the piece, and the function that follows other people on the design.
#[derive(Clone, Copy)]
pub(crate) struct Forms {
    inspector: fn(Workspace) -> AnyView,
    palette: fn(Workspace) -> AnyView,
    over: fn(Workspace, RwSignal<Size>) -> AnyView,
    drawer: fn(Workspace) -> AnyView,
    header: fn(Workspace) -> AnyView,
    menu: fn(Workspace, ContextMenu) -> AnyView,
    deployment: fn(Workspace, String) -> AnyView,
    follow_others: fn(Workspace),
}

/// The views are the same after each load.
impl PartialEq for Forms {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[leptos::wasm_split::wasm_split(forms, wasm_split_path = ::leptos::wasm_split, preload(fetch), fallible)]
pub(crate) fn forms_piece() -> Result<Forms, Missing> {
    Ok(Forms {
        inspector: |workspace| view! { <inspector::Inspector workspace /> }.into_any(),
        palette: |workspace| view! { <palette::Contents workspace /> }.into_any(),
        over: |workspace, size| {
            let buttons = view! { <controls::Controls workspace /> };
            let map = view! { <minimap::Minimap workspace size /> };
            let list = view! { <picker::PickerPanel workspace /> };
            (buttons, map, list).into_any()
        },
        drawer: |workspace| view! { <drawer::DrawerPanel workspace /> }.into_any(),
        header: |workspace| view! { <header::HeaderActions workspace /> }.into_any(),
        menu: |workspace, menu| view! { <menu::MenuPanel workspace menu /> }.into_any(),
        deployment: |workspace, id| view! { <deployed::DeploymentNote workspace id /> }.into_any(),
        follow_others: others::follow,
    })
}

/// Loads the piece, once for all parts of the page. If that fails, "Try again" in one part loads it for all of them.
pub fn provide(workspace: Workspace) {
    let forms = Load::<Forms>::new(|| async {
        let forms = browser::with_retries(forms_piece).await;
        forms.map_err(|Missing| page_missing())
    });
    provide_context(forms);
    Effect::new(move |_| {
        if let Some(forms) = forms.get() {
            (forms.follow_others)(workspace);
        }
    });
}

fn forms() -> Load<Forms> {
    expect_context()
}

/// The inspector.
#[component]
pub fn Inspector(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    view! {
        <aside class="inspector" aria-label="Inspector">
            {forms().view(placeholder, move |forms| (forms.inspector)(workspace))}
        </aside>
    }
}

/// The palette.
#[component]
pub fn Palette(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    view! {
        <aside class="palette-panel" aria-label="Palette">
            {forms().view(placeholder, move |forms| (forms.palette)(workspace))}
        </aside>
    }
}

fn placeholder() -> AnyView {
    view! { <div class="inspector-body">{skeleton::rows(PLACEHOLDER_ROWS)}</div> }.into_any()
}

/// The buttons, the map and the list of choices, over the canvas. Nothing until their code is loaded.
#[component]
pub fn Over(
    /// The page's state.
    workspace: Workspace,
    /// Size of the surface.
    size: RwSignal<Size>,
) -> impl IntoView {
    let forms = forms();
    move || forms.get().map(|forms| (forms.over)(workspace, size))
}

/// The drawer. Until its code is loaded, an empty head keeps its room.
#[component]
pub fn DrawerPanel(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let forms = forms();
    let head = || {
        view! { <section class="drawer" data-open="false" aria-busy="true"><div class="drawer-head"></div></section> }
            .into_any()
    };
    move || match forms.get() {
        Some(forms) => (forms.drawer)(workspace),
        None => head(),
    }
}

/// The design's part of the top bar. Nothing until its code is loaded.
pub fn header_actions(workspace: Workspace) -> impl Fn() -> Option<AnyView> {
    let forms = forms();
    move || forms.get().map(|forms| (forms.header)(workspace))
}

/// The open context menu, if there is one. If its code cannot be loaded, the menu closes, and the next one asks again.
#[component]
pub fn MenuPanel(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let toasts = use_toasts();
    let forms = RwSignal::new(None::<Forms>);
    Effect::new(move |_| {
        if workspace.menu.with(Option::is_none) || forms.with_untracked(Option::is_some) {
            return;
        }
        leptos::task::spawn_local(async move {
            match forms_piece().await {
                Ok(loaded) => {
                    forms.try_set(Some(loaded));
                }
                Err(Missing) => {
                    workspace.menu.try_set(None);
                    toasts.problem(&page_missing());
                }
            }
        });
    });
    move || {
        let menu = workspace.menu.get()?;
        let forms = forms.get()?;
        Some((forms.menu)(workspace, menu))
    }
}

/// The note on the deployment to update. Nothing if there is none.
#[component]
pub fn DeploymentNote(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let (target, forms) = (deployed::target(), forms());
    let placeholder = move || {
        view! {
            <div class="design-target" role="note" aria-label="Deployment to update" aria-busy="true">
                <Icon name="pencil" />
                <p>"Changes are planned for a deployment."</p>
                <deployed::StopLink workspace />
            </div>
        }
        .into_any()
    };
    move || {
        let id = target.get()?;
        Some(forms.view(placeholder, move |forms| {
            (forms.deployment)(workspace, id.clone())
        }))
    }
}
