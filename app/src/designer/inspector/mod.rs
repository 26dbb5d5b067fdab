//! The inspector on the right side: the form of the selected resource, generated from its type.
//!
//! The form is derived from the document on every change. Each control reads its own field, so a keystroke redraws only
//! its text and its problems. A new value is one edit of the document.

mod connection;
mod context;
mod controls;
mod fault;
mod field;
mod field_list;
mod fold;
mod form;
mod linked;
mod marks;
mod members;
mod name;
mod pairs;
mod preview;
mod script;
mod sections;
mod several;
mod table;

use canvas::drawing::REMOVED;
use leptos::prelude::*;

pub use self::preview::FormPreview;
use self::{connection::ConnectionInspector, form::Form, several::SeveralInspector};
use super::{files::Files, store::Workspace, type_icon::TypeIcon};
use crate::browser;

/// The content of the inspector.
#[component]
pub fn Inspector(
    /// The page's state.
    workspace: Workspace,
) -> impl IntoView {
    let lead = Memo::new(move |_| {
        workspace
            .selection
            .with(|selection| selection.lead().map(str::to_owned))
    });
    let is_several = Memo::new(move |_| {
        workspace
            .selection
            .with(|selection| selection.names().count() > 1)
    });
    Effect::new(move |before: Option<()>| {
        let Some(next) = workspace.next_focus.get() else {
            return;
        };
        workspace.next_focus.set(None);
        // Until the inspector was loaded, the user may have gone on, and types elsewhere.
        let is_late = before.is_none() && browser::text_field_has_focus();
        if !is_late {
            browser::focus_later(next.id, next.after_ms);
        }
    });
    move || match (lead.get(), is_several.get()) {
        (_, true) => view! { <SeveralInspector workspace /> }.into_any(),
        (Some(id), _) if workspace.is_line(&id) => {
            view! { <ConnectionInspector workspace id /> }.into_any()
        }
        (Some(name), _) => view! { <ResourceInspector workspace name /> }.into_any(),
        (None, _) => view! { <EmptyInspector workspace /> }.into_any(),
    }
}

#[component]
fn EmptyInspector(workspace: Workspace) -> impl IntoView {
    let name = workspace.saving.name;
    let counts = Memo::new(move |_| {
        workspace.editor.with(|editor| {
            let template = editor.template();
            let count = |prefix: &str| {
                template
                    .resources
                    .iter()
                    .filter(|resource| resource.resource_type.starts_with(prefix))
                    .count()
            };
            [
                ("Networks", count("OS::Neutron::Net")),
                ("Servers", count("OS::Nova::Server")),
                ("Software", count("Stackloom::Catalog::")),
                ("Resources in all", template.resources.len()),
            ]
        })
    });
    view! {
        <div class="inspector-body">
            <div class="field">
                <label for="design-name">"Design name"</label>
                <input
                    class="input" id="design-name" autocomplete="off" prop:value=move || name.get()
                    on:change=move |event| workspace.saving.rename(workspace, &event_target_value(&event))
                />
            </div>
            <dl class="inspector-facts">
                {move || counts.get().into_iter().map(|(what, count)| view! { <div><dt>{what}</dt><dd>{count}</dd></div> }).collect_view()}
            </dl>
            <sections::Sections workspace />
            <Files workspace />
            <p class="quiet">"Select something on the canvas to edit it."</p>
            <ul class="inspector-tips">
                <li><kbd>"Tab"</kbd>" moves between resources"</li>
                <li><kbd>"Ctrl"</kbd><kbd>"F"</kbd>" finds a resource"</li>
                <li><kbd>"F"</kbd>" fits everything on the screen"</li>
                <li><kbd>"Shift"</kbd>" and a drag select what is in a rectangle"</li>
                <li><kbd>"Space"</kbd>" and a drag move the view"</li>
                <li><kbd>"Ctrl"</kbd><kbd>"Z"</kbd>" undoes the last change"</li>
                <li><kbd>"?"</kbd>" shows all shortcuts"</li>
            </ul>
        </div>
    }
}

#[component]
fn ResourceInspector(workspace: Workspace, name: String) -> impl IntoView {
    let drawn = {
        let name = name.clone();
        Memo::new(move |_| {
            workspace
                .editor
                .with(|editor| editor.template().resource(&name).is_some())
        })
    };
    move || {
        if drawn.get() {
            view! { <Form workspace name=name.clone() /> }.into_any()
        } else {
            view! { <Ghost workspace name=name.clone() /> }.into_any()
        }
    }
}

/// Resource that a pass adds, or that an older version has. It is read-only and displays the reason.
#[component]
fn Ghost(workspace: Workspace, name: String) -> impl IntoView {
    let found = workspace.drawing.with_untracked(|drawing| {
        let node = drawing.owner(&name)?;
        if node.name == name {
            return Some((
                node.title.clone(),
                node.resource_type.clone(),
                node.category,
                node.ghost.clone()?,
            ));
        }
        let part = node.parts.iter().find(|part| part.name == name)?;
        Some((
            part.title.clone(),
            part.resource_type.clone(),
            part.category,
            part.ghost.clone()?,
        ))
    });
    let stage = workspace.stage();
    found.map(|(title, resource_type, category, why)| {
        let word = if why == REMOVED {
            "Removed"
        } else {
            "Added when deployed"
        };
        view! {
            <div class="inspector-body">
                <header class="inspector-head">
                    <TypeIcon resource_type=resource_type.clone() category stage />
                    <div><h2>{name}</h2><p class="meta">{title}</p></div>
                </header>
                <p><span class="pill" data-tone="derived">{word}</span></p>
                <p>{crate::ui::prose(&why)}</p>
                <p class="meta mono">{resource_type}</p>
            </div>
        }
    })
}
